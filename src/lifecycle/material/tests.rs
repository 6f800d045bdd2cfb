mod prompts;

use super::*;

fn candidate(named: &[(&str, u32)]) -> Candidate {
    Candidate {
        ran: true,
        tree: crate::domain::units::TreeId("t".to_owned()),
        fixed: BTreeSet::new(),
        lost: false,
        breaks: None,
        green: false,
        failing: Vec::new(),
        failures: Foreign::default(),
        named: named.iter().map(|(path, line)| ((*path).to_owned(), Some(*line))).collect(),
    }
}

#[test]
fn b10_the_line_of_a_test_is_no_line_of_the_file_under_it() {
    let candidate = candidate(&[("test_cart.py", 12), ("/w/shop/cart.py", 7), ("./lib/myshop/cart.py", 9)]);
    let files = ["cart.py", "test_cart.py", "shop/cart.py", "lib/myshop/cart.py"].map(str::to_owned);
    let named = named_lines(&candidate, &files);
    let named: Vec<(&str, u32)> = named.iter().map(|(path, line)| (path.as_str(), *line)).collect();
    assert_eq!(named, [("test_cart.py", 12), ("shop/cart.py", 7), ("lib/myshop/cart.py", 9)]);
}

#[test]
fn build_output_is_not_shown_as_code() {
    let files =
        ["CACHEDIR.TAG", "src/lib.rs", "target/CACHEDIR.TAG", "target/debug/x.d", "targets.py", "target.d/x.py"];
    let files = files.map(str::to_owned).to_vec();
    assert_eq!(without_caches(files), ["CACHEDIR.TAG", "src/lib.rs", "targets.py", "target.d/x.py"]);
}

#[test]
fn printed_paths_are_found_in_the_tree() {
    let files = ["src/lib.rs", "crates/a/src/lib.rs", "app/cart.py"].map(str::to_owned);
    assert_eq!(in_tree("./src/lib.rs", &files).as_deref(), Some("src/lib.rs"));
    assert_eq!(in_tree("/home/me/p/app/cart.py", &files).as_deref(), Some("app/cart.py"));
    assert_eq!(in_tree("a/src/lib.rs", &files).as_deref(), Some("crates/a/src/lib.rs"));
    assert_eq!(in_tree("/usr/lib/python3/unittest/case.py", &files), None);
}

#[test]
fn files_are_pointed_at_by_changes_messages_and_the_test_command_too() {
    let files = ["mod.py", "t/run.sh", "lib/add.sh", "other.py"].map(str::to_owned);
    let candidate =
        Candidate { failures: Foreign::new("case_one: f(1) gave 3, want 2 (at mod.py)."), ..candidate(&[]) };
    let touched = BTreeSet::from(["lib/add.sh".to_owned(), "gone.sh".to_owned()]);
    let found = pointers(&files, &candidate, &touched, "sh -e ./t/run.sh --quiet");
    assert_eq!(found, ["lib/add.sh", "mod.py", "t/run.sh"]);
}

#[test]
fn the_target_and_what_it_imports_come_before_files_of_a_higher_score() {
    let file = |path: &str, distance| Ranked { path: path.to_owned(), distance };
    let scored = [file("far.py", rank::UNREACHED), file("test.py", 0), file("price.py", 2), file("cart.py", 1)];
    let order: Vec<&str> = always_first(&scored).into_iter().map(|file| file.path.as_str()).collect();
    assert_eq!(order, ["test.py", "cart.py", "far.py", "price.py"]);
}

/// The shown parts of files for a failure at a place, with an empty objective: labels and texts.
fn shown(files: &[(String, String)], candidate: &Candidate) -> Vec<(String, String)> {
    let paths: Vec<String> = files.iter().map(|(path, _)| path.clone()).collect();
    let read = |path: &str| files.iter().find(|(name, _)| name == path).map(|(_, text)| text.clone());
    let tree = Tree { files: &paths, read: &read, clean: &str::to_owned };
    let pointers = pointers(&paths, candidate, &BTreeSet::new(), "run");
    let (excerpts, _) = gather(&tree, &pointers, candidate, None);
    excerpts.into_iter().map(|one| (one.label.one_line(), one.text.as_str().to_owned())).collect()
}

fn file(path: &str, text: &str) -> (String, String) {
    (path.to_owned(), text.to_owned())
}

#[test]
fn b10_a_long_file_that_no_grammar_reads_is_shown_around_the_named_line_or_from_its_beginning() {
    let text: String = (1..=500).map(|n| format!("line {n} of a file that is long\n")).collect();
    let files = [file("a.rb", &text), file("b.rb", &text)];
    let candidate = Candidate { failures: Foreign::new("see b.rb"), ..candidate(&[("a.rb", 100)]) };
    let shown = shown(&files, &candidate);
    let labels: Vec<&str> = shown.iter().map(|(label, _)| label.as_str()).collect();
    assert_eq!(labels, ["a.rb:75-125 of 500; read_file shows the rest", "b.rb:1-32 of 500; read_file shows the rest"]);
    assert!(shown[0].1.starts_with("line 75 ") && shown[0].1.ends_with("line 125 of a file that is long"));
}

#[test]
fn b10_a_file_of_python_and_its_test_of_a_like_name_are_shown_each_around_its_own() {
    let filler = |from: usize| -> String {
        (from..from + 60).map(|n| format!("def f_{n}(a):\n    b = a * {n} + 1000\n    return b\n\n\n")).collect()
    };
    let cart = format!("{}def total(prices):\n    return sum(prices) - 1\n", filler(100));
    let test = "from cart import total\n\n\ndef test_total():\n    assert total([1]) == 1\n";
    let candidate =
        Candidate { failing: vec!["test_cart.py::test_total".to_owned()], ..candidate(&[("test_cart.py", 5)]) };
    let shown = shown(&[file("cart.py", &cart), file("test_cart.py", test)], &candidate);
    let labels: Vec<&str> = shown.iter().map(|(label, _)| label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "test_cart.py",
            "cart.py, outline of its 302 lines; shown below: 301-302; read_file shows the rest",
            "cart.py:301-302"
        ]
    );
    assert_eq!(shown[2].1, "def total(prices):\n    return sum(prices) - 1");
    assert!(
        shown[1].1.starts_with("1-3 f_100\n6-8 f_101\n") && shown[1].1.ends_with("301-302 total\n"),
        "{}",
        shown[1].1
    );
}

#[test]
fn b10_the_cap_of_characters_is_kept_however_many_files_are_needed() {
    let body = "    value = value * 17 + 3  # one of many steps\n".repeat(120);
    let mut files: Vec<(String, String)> = (0..30)
        .map(|n| file(&format!("shop/part_{n}.py"), &format!("def step_{n}(value):\n{body}    return value\n")))
        .collect();
    let imports: String = (0..30).map(|n| format!("from shop.part_{n} import step_{n}\n")).collect();
    let calls: String = (0..30).map(|n| format!("    assert step_{n}(1) == 2\n")).collect();
    files.push(file("tests/test_all.py", &format!("{imports}\n\ndef test_all():\n{calls}")));
    let failing = vec!["tests/test_all.py::test_all".to_owned()];
    let candidate = Candidate { failing, ..candidate(&[("tests/test_all.py", 34)]) };
    let shown = shown(&files, &candidate);
    let size: usize = shown.iter().map(|(_, text)| text.chars().count()).sum();
    assert!(size <= 6_000, "{size}");
    assert!(shown.iter().any(|(label, _)| label.starts_with("shop/part_0.py:1-")), "{shown:?}");
    assert!(shown.iter().any(|(label, _)| label == "tests/test_all.py"), "{shown:?}");
}

#[test]
fn b10_files_that_import_each_other_in_circles_nest_deep_or_are_huge_do_no_harm() {
    let circle =
        |other: &str| format!("from {other} import *\nfrom {other} import gone\n\n\ndef helper():\n    gone()\n");
    let files = [
        file("test_a.py", "from a import *\nfrom .......... import up\n\n\ndef test_a():\n    gone()\n    helper()\n"),
        file("a.py", &circle("b")),
        file("b.py", &circle("a")),
        file("deep.py", &"(".repeat(300_000)),
        file("huge.py", &"x = 1\n".repeat(700_000)),
    ];
    let failing = vec!["test_a.py::test_a".to_owned()];
    let shown = shown(&files, &Candidate { failing, ..candidate(&[("test_a.py", 6), ("deep.py", 1), ("huge.py", 9)]) });
    let labels: Vec<&str> = shown.iter().map(|(label, _)| label.as_str()).collect();
    assert!(labels.contains(&"a.py") && labels.contains(&"b.py") && labels.contains(&"test_a.py"), "{labels:?}");
    assert!(labels.contains(&"huge.py:1-34 of 700000; read_file shows the rest"), "{labels:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn b10_an_import_that_a_link_leads_out_of_the_tree_is_not_read() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("cart.py"), "def total():\n    return 'hidden'\n").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    std::fs::create_dir_all(&root).unwrap();
    std::fs::write(
        root.join("test_a.py"),
        "from shop.cart import total\nfrom cart import total\n\n\ndef test_a():\n    total()\n",
    )
    .unwrap();
    std::os::unix::fs::symlink(outside.path(), root.join("shop")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("cart.py"), root.join("cart.py")).unwrap();
    let rules = crate::workspace::PathRules::default();
    let workspace = crate::workspace::Workspace::open(&root, &folder.path().join("shadow"), rules).await.unwrap();
    let candidate = Candidate { failing: vec!["test_a.py::test_a".to_owned()], ..candidate(&[("test_a.py", 6)]) };
    let read = |path: &str| workspace.read_text(path);
    let tree = Tree { files: &workspace.files(), read: &read, clean: &str::to_owned };
    let (excerpts, likely) = gather(&tree, &["test_a.py".to_owned()], &candidate, None);
    assert_eq!(excerpts.len(), 1);
    assert!(!format!("{excerpts:?}{likely:?}").contains("hidden"));
}

#[test]
fn b10_what_is_shown_in_part_is_cleaned_before_it_is_cut() {
    let filler: String =
        (0..80).map(|n| format!("def f_{n}(a):\n    b = a * {n} + 1000\n    return b\n\n\n")).collect();
    let cart = format!("KEY = \"hidden\n\nhidden\"\n{filler}def total():\n    return \"hidden\"\n");
    let files =
        [file("cart.py", &cart), file("test_cart.py", "from cart import total\n\n\ndef test_total():\n    total()\n")];
    let paths: Vec<String> = files.iter().map(|(path, _)| path.clone()).collect();
    let read = |path: &str| files.iter().find(|(name, _)| name == path).map(|(_, text)| text.clone());
    let tree = Tree { files: &paths, read: &read, clean: &|text| text.replace("hidden", "***") };
    let candidate =
        Candidate { failing: vec!["test_cart.py::test_total".to_owned()], ..candidate(&[("test_cart.py", 5)]) };
    let (excerpts, _) = gather(&tree, &["test_cart.py".to_owned()], &candidate, None);
    assert!(excerpts.iter().any(|one| one.text.as_str().contains("return \"***\"")), "{excerpts:?}");
    assert!(!format!("{excerpts:?}").contains("hidden"));
}
