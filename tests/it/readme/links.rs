//! Every relative link leads to a file, and to a heading where it names one.

use std::path::{Component, Path, PathBuf};

use super::markdown::{Page, pages, root};

/// The targets of a page's links and pictures.
fn targets(page: &Page) -> Vec<String> {
    let prose = page.prose();
    let after = prose.split("](").skip(1);
    after.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target.to_owned()).collect()
}

/// `docs/../README.md` as `README.md`: a link leads nowhere outside of the repository.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir {
            assert!(plain.pop(), "{} leads out of the repository", path.display());
        } else {
            plain.push(part);
        }
    }
    plain
}

#[test]
fn every_relative_link_leads_somewhere() {
    let all = pages();
    let mut seen = 0;
    for page in &all {
        for target in targets(page) {
            if target.contains("://") {
                continue;
            }
            seen += 1;
            let (file, heading) = target.split_once('#').unwrap_or((&target, ""));
            let folder = Path::new(&page.name).parent().expect("a folder");
            let path = if file.is_empty() { PathBuf::from(&page.name) } else { plain(&folder.join(file)) };
            assert!(root().join(&path).exists(), "{}: {target} leads nowhere", page.name);
            if !heading.is_empty() {
                let there = all.iter().find(|other| Path::new(&other.name) == path);
                let anchors = there.unwrap_or_else(|| panic!("{}: {target} is no page", page.name)).anchors();
                assert!(
                    anchors.iter().any(|anchor| anchor == heading),
                    "{}: {target} is none of {anchors:?}",
                    page.name
                );
            }
        }
    }
    assert!(seen >= 10, "{seen} relative links were found");
}

#[test]
fn every_page_of_the_documentation_is_linked_from_another() {
    let all = pages();
    for page in all.iter().filter(|page| page.name.starts_with("docs/")) {
        let name = page.name.trim_start_matches("docs/");
        let linked = all.iter().filter(|other| other.name != page.name);
        let linked =
            linked.flat_map(targets).any(|target| target.split('#').next().is_some_and(|file| file.ends_with(name)));
        assert!(linked, "no page leads to {}", page.name);
    }
}
