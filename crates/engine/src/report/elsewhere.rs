//! Paths of one machine in text that is read elsewhere (pure).

/// The folders of a machine, and what a reader elsewhere is told in their place.
#[derive(Debug, Clone, Default)]
pub struct Elsewhere {
    root: String,
    folders: Vec<(String, &'static str)>,
}

impl Elsewhere {
    /// With the top of the repository, and other folders by the names that they have everywhere. Of two in one another the inner one counts.
    #[must_use]
    pub fn new(root: &str, folders: impl IntoIterator<Item = (String, &'static str)>) -> Self {
        let trimmed = |path: &str| path.trim_end_matches('/').to_owned();
        let root = trimmed(root);
        let named = folders.into_iter().map(|(path, name)| (trimmed(&path), name));
        let mut folders: Vec<_> = named.filter(|(path, _)| path.starts_with('/') && *path != root).collect();
        // The longest first: `/home/a/tmp` would otherwise be told as a folder of `/home/a`.
        folders.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        Self { root, folders }
    }

    /// The text with these paths as the repository, a home or a temporary folder has them anywhere.
    #[must_use]
    pub fn told(&self, text: &str) -> String {
        // Folders inside of the repository go first, or the root would take their beginning away.
        let (inner, outer): (Vec<_>, Vec<_>) = self.folders.iter().partition(|(path, _)| path.len() > self.root.len());
        let told = inner.into_iter().fold(text.to_owned(), |text, (path, name)| replaced(&text, path, name));
        let told = match self.root.is_empty() {
            true => told,
            // Files first, which stand without the repository's path anywhere. The root alone is `.`.
            false => replaced(&told.replace(&format!("{}/", self.root), ""), &self.root, "."),
        };
        outer.into_iter().fold(told, |text, (path, name)| replaced(&text, path, name))
    }
}

/// Puts a name in the place of a path, where the path is one by itself or the beginning of a longer one.
fn replaced(text: &str, path: &str, name: &str) -> String {
    let mut told = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(path) {
        // Where nothing stands between two finds, the text that was told so far ends before this one.
        let last = before.chars().next_back().or(told.chars().next_back());
        let begins = !last.is_some_and(is_of_a_name);
        // `/home/ab` is not a folder of `/home/a`.
        let ends = !after.chars().next().is_some_and(is_of_a_name);
        told.push_str(before);
        told.push_str(if begins && ends { name } else { path });
        rest = after;
    }
    told.push_str(rest);
    told
}

fn is_of_a_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_machine_are_told_as_they_are_named_anywhere() {
        let folders = [
            ("/home/ada", "~"),
            ("/tmp/upshift-x1/home", "~"),
            ("/tmp/upshift-x1/tmp/", "$TMPDIR"),
            ("/var/tmp", "$TMPDIR"),
            ("", "$TMPDIR"),
            ("/home/ada/work/shop/.home", "~"),
        ];
        let there = Elsewhere::new("/home/ada/work/shop", folders.map(|(path, name)| (path.to_owned(), name)));
        for (text, told) in [
            ("File \"/home/ada/work/shop/src/a.py\", line 3", "File \"src/a.py\", line 3"),
            ("0 != 4 : /home/ada/work/shop", "0 != 4 : ."),
            ("/home/ada/work/shopping and /home/adam", "~/work/shopping and /home/adam"),
            ("no /home/ada/.npmrc, no /tmp/upshift-x1/home/.npmrc", "no ~/.npmrc, no ~/.npmrc"),
            ("/tmp/upshift-x1/tmp/pytest-0:/var/tmp:/tmp/y", "$TMPDIR/pytest-0:$TMPDIR:/tmp/y"),
            ("/home/ada/work/shop/.home/x", "~/x"),
            ("/opt/var/tmp2 file:///home/ada/work/shop/x", "/opt/var/tmp2 file://x"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(there.told(text), told);
        }
    }

    #[test]
    fn without_folders_nothing_changes() {
        assert_eq!(Elsewhere::new("/", []).told("/a/b and / and //"), "/a/b and / and //");
    }
}
