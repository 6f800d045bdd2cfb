//! Answers to models, word for word where it matters, on files in temporary folders.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::super::{PathRules, ToolError, Workspace};

struct Place {
    folder: tempfile::TempDir,
    workspace: Workspace,
}

impl Place {
    async fn with(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        fs::create_dir(&root).unwrap();
        let workspace = Workspace::open(&root, &folder.path().join("shadow"), PathRules::default()).await.unwrap();
        let place = Self { folder, workspace };
        for (path, content) in files {
            place.put(path, content);
        }
        place
    }

    fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.workspace.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn get(&self, path: &str) -> Vec<u8> {
        fs::read(self.workspace.root().join(path)).unwrap()
    }

    fn edit(&self, path: &str, old: &str, new: &str) -> Result<String, String> {
        told(self.workspace.edit_file(path, old, new))
    }
}

fn told(result: Result<String, ToolError>) -> Result<String, String> {
    result.map_err(|error| match error {
        ToolError::ForModel(text) | ToolError::Refused(text) => text,
        ToolError::Fatal(text) => panic!("fatal: {text}"),
    })
}

#[tokio::test]
async fn files_are_listed_a_folder_a_line() {
    let place = Place::with(&[
        (".gitignore", "out\n"),
        ("Cargo.toml", ""),
        ("src/lib.rs", ""),
        ("src/a/b.rs", ""),
        ("src/a/c.rs", ""),
        ("out/x", ""),
    ])
    .await;
    assert_eq!(
        told(place.workspace.list_files(None, None)).unwrap(),
        "./: .gitignore Cargo.toml\nsrc/: lib.rs\nsrc/a/: b.rs c.rs\n"
    );
    assert_eq!(told(place.workspace.list_files(Some("src/a/"), None)).unwrap(), "src/a/: b.rs c.rs\n");
    assert_eq!(told(place.workspace.list_files(None, Some("b.*"))).unwrap(), "src/a/: b.rs\n");
    assert_eq!(told(place.workspace.list_files(Some("out"), None)).unwrap(), "out/: x\n", "asked for by name");
    assert_eq!(told(place.workspace.list_files(None, Some("*.py"))).unwrap(), "no files matching `*.py` below ./");
    assert!(told(place.workspace.list_files(Some("srx"), None)).unwrap_err().contains("did you mean `src`"));
}

#[tokio::test]
async fn a_large_tree_is_folded() {
    let place = Place::with(&[("src/main.rs", "")]).await;
    for number in 0..1500 {
        place.put(&format!("data/part{}/file{number}.txt", number % 7), "");
    }
    let list = told(place.workspace.list_files(None, None)).unwrap();
    assert!(list.len() < 6_100, "{}", list.len());
    assert_eq!(
        list,
        "src/: main.rs\ndata/part0/ (215 files)\ndata/part1/ (215 files)\ndata/part2/ (214 files)\ndata/part3/ (214 files)\ndata/part4/ (214 files)\ndata/part5/ (214 files)\ndata/part6/ (214 files)\n(1501 files; give a path or a glob to see more)"
    );
}

#[tokio::test]
async fn a_file_is_read_in_numbered_lines_and_says_how_to_read_on() {
    let long: String = (1..=4000).map(|number| format!("this is line number {number}\n")).collect();
    let place = Place::with(&[("a", "x\ny"), ("long", &long), ("empty", "")]).await;
    assert_eq!(told(place.workspace.read_file("a", None, None)).unwrap(), "1\tx\n2\ty\n(no newline at the end)");
    assert_eq!(
        told(place.workspace.read_file("a", Some(2), Some(2))).unwrap(),
        "2\ty\n(lines 2-2 of 2, no newline at the end)"
    );
    assert_eq!(told(place.workspace.read_file("empty", None, None)).unwrap(), "`empty` is empty");
    let first = told(place.workspace.read_file("long", None, None)).unwrap();
    assert!(first.len() <= 12_200 && first.contains("of 4000, read on with start_line="), "{first}");
    let next: u64 = first.rsplit('=').next().unwrap().trim_end_matches(')').parse().unwrap();
    assert!(
        told(place.workspace.read_file("long", Some(next), None))
            .unwrap()
            .starts_with(&format!("{next}\tthis is line number {next}\n"))
    );
    assert!(told(place.workspace.read_file("a", Some(3), None)).unwrap_err().contains("has 2 lines"));
}

#[tokio::test]
async fn encodings_are_told_and_binary_files_refused() {
    let place = Place::with(&[]).await;
    place.put("utf16", b"\xff\xfea\0\r\0\n\0");
    place.put("latin", b"caf\xe9\n");
    place.put("bin", b"\x7fELF\0");
    assert_eq!(told(place.workspace.read_file("utf16", None, None)).unwrap(), "1\ta\n(UTF-16, CR LF line ends)");
    assert_eq!(
        told(place.workspace.read_file("latin", None, None)).unwrap(),
        "1\tcafé\n(not UTF-8: shown and kept as ISO 8859-1)"
    );
    assert!(told(place.workspace.read_file("bin", None, None)).unwrap_err().contains("binary file of 5 bytes"));
    place.edit("utf16", "a", "b\nü").unwrap();
    assert_eq!(place.get("utf16"), b"\xff\xfeb\0\r\0\n\0\xfc\0\r\0\n\0");
    place.edit("latin", "é", "è").unwrap();
    assert_eq!(place.get("latin"), b"caf\xe8\n");
    assert!(place.edit("latin", "caf", "日").unwrap_err().contains("ISO 8859-1, which has no `日`"));
    assert_eq!(place.get("latin"), b"caf\xe8\n");
}

#[tokio::test]
async fn a_search_groups_matches_by_file_and_honours_ignore_rules() {
    let place = Place::with(&[
        (".gitignore", "out\n"),
        ("src/a.rs", "fn one() {}\nfn two() {}\n"),
        ("b.py", "def one(): pass\n"),
        ("out/c", "one"),
    ])
    .await;
    let search = |pattern: &str, path, glob| told(place.workspace.search(pattern, path, glob));
    assert_eq!(search("one", None, None).unwrap(), "b.py\n1\tdef one(): pass\nsrc/a.rs\n1\tfn one() {}\n");
    assert_eq!(search(r"fn \w+", Some("src"), None).unwrap(), "src/a.rs\n1\tfn one() {}\n2\tfn two() {}\n");
    assert_eq!(search("one", None, Some("*.py")).unwrap(), "b.py\n1\tdef one(): pass\n");
    assert_eq!(search("one", Some("b.py"), None).unwrap(), "b.py\n1\tdef one(): pass\n");
    assert_eq!(search("nowhere", None, None).unwrap(), "no matches");
    assert!(search("one(", None, None).unwrap().contains("src/a.rs\n1\tfn one() {}\n(searched literally"));
    assert!(search("", None, None).is_err() && search("x*", None, None).is_err());
}

#[tokio::test]
async fn many_matches_and_long_lines_are_cut() {
    let place =
        Place::with(&[("many", &"match\n".repeat(500)), ("long", &format!("{}needle", "x".repeat(10_000)))]).await;
    let many = told(place.workspace.search("match", None, None)).unwrap();
    assert!(many.ends_with("(400 matches not shown: narrow it by path or glob)\n"), "{many}");
    let long = told(place.workspace.search("needle", None, None)).unwrap();
    assert!(long.len() < 400 && long.contains("more bytes]"), "{long}");
}

#[tokio::test]
async fn an_edit_changes_one_place_and_keeps_mode_and_line_ends() {
    let place = Place::with(&[("a.sh", "one\r\ntwo\r\nthree\r\n"), ("mixed", "a\r\nb\nc\r\nd")]).await;
    let path = place.workspace.root().join("a.sh");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    assert_eq!(place.edit("a.sh", "two\nthree", "2\n3\n4").unwrap(), "edited `a.sh` at line 2: -2 +3");
    assert_eq!(place.get("a.sh"), b"one\r\n2\r\n3\r\n4\r\n");
    assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o7777, 0o750);
    place.edit("mixed", "b\nc", "B\nC").unwrap();
    assert_eq!(place.get("mixed"), b"a\r\nB\r\nC\r\nd", "only the replaced text takes the file's main line end");
}

#[tokio::test]
async fn a_line_end_that_the_files_last_line_lacks_is_no_reason_to_refuse_an_edit() {
    let place = Place::with(&[("a.sh", "one\none() { 1; }\ntwo() { 1; }")]).await;
    place.edit("a.sh", "two() { 1; }\n", "two() { 2; }\n").unwrap();
    assert_eq!(place.get("a.sh"), b"one\none() { 1; }\ntwo() { 2; }", "and it has none after it");
    assert!(place.edit("a.sh", "one() { 1; }\n\n", "z\n").unwrap_err().contains("nothing was changed"));
}

#[tokio::test]
async fn an_edit_that_fails_says_why_and_changes_nothing() {
    let content = "fn main() {\n    let total = add(1, 2);\n    println!(\"{total}\");\n}\nfn add(a: i32, b: i32) -> i32 {\n\ta - b \n}\n// it\u{2019}s\nx\nx\n";
    let place = Place::with(&[("src/main.rs", content)]).await;
    for (old, new, why) in [
        ("", "x", "old_text is empty"),
        ("x", "x", "are the same"),
        ("x\n", "y\n", "stands there 2 times, at lines 9, 10"),
        ("    a - b", "a + b", "differs from the file only in indentation"),
        ("\ta - b\n}", "\ta + b\n}", "white space at the ends of lines"),
        ("// it's", "// its", "quotes, dashes or special spaces"),
        ("let  total = add(1,  2);", "z", "only in white space"),
        ("2\t    let total = add(1, 2);", "z", "line numbers in front"),
        ("add(1, 2);\\n    println!", "z", "holds escapes"),
        ("let sum = add(9);", "    let total = add(1, 2);", "the edit seems to be done already"),
        ("fn add(a: i64, b: i64) -> i64 {", "z", "Nearest lines:\n5\tfn add(a: i32, b: i32) -> i32 {"),
        ("completely unrelated words here", "z", "nor anything like it"),
    ] {
        let error = place.edit("src/main.rs", old, new).unwrap_err();
        assert!(error.contains(why), "{old:?}: {error}");
        assert_eq!(place.get("src/main.rs"), content.as_bytes());
    }
    assert!(place.edit("src/man.rs", "a", "b").unwrap_err().contains("did you mean `src/main.rs`?"));
}

#[tokio::test]
async fn files_are_created_replaced_and_deleted() {
    let place = Place::with(&[("crlf", "a\r\n")]).await;
    let write = |path: &str, content: &str| told(place.workspace.write_file(path, content));
    assert_eq!(write("new/deep/a.rs", "1\n2\n").unwrap(), "created `new/deep/a.rs`: 2 lines");
    assert_eq!(write("crlf", "b\nc\n").unwrap(), "replaced `crlf`: 1 line before, 2 lines now");
    assert_eq!(place.get("crlf"), b"b\r\nc\r\n");
    assert_eq!(write("crlf", "b\nc\n").unwrap(), "`crlf` was so already; nothing was changed");
    assert!(write("crlf/under", "x").unwrap_err().contains("a part of the path is a file"));
    assert!(write("new", "x").unwrap_err().contains("is a folder"));
    assert_eq!(told(place.workspace.delete_file("new/deep/a.rs")).unwrap(), "deleted `new/deep/a.rs`");
    assert!(told(place.workspace.delete_file("new/deep")).unwrap_err().contains("is a folder"));
    assert!(told(place.workspace.delete_file("new/deep/a.rs")).unwrap_err().contains("does not exist"));
}

#[tokio::test]
async fn protected_files_are_not_written_and_the_model_is_told() {
    let place = Place::with(&[("tests/a.rs", "x"), (".github/workflows/ci.yml", "x"), (".git/config", "x")]).await;
    for (path, why) in [
        ("tests/a.rs", "make the code pass"),
        (".github/workflows/ci.yml", "configures CI"),
        (".git/config", "belongs to git"),
    ] {
        for error in [
            told(place.workspace.write_file(path, "y")),
            place.edit(path, "x", "y"),
            told(place.workspace.delete_file(path)),
        ] {
            let error = error.unwrap_err();
            assert!(error.contains(why), "{path}: {error}");
        }
        assert_eq!(place.get(path), b"x");
    }
    assert!(told(place.workspace.read_file(".git/config", None, None)).is_err(), "it may hold a credential");
    assert!(told(place.workspace.read_file("tests/a.rs", None, None)).is_ok());
}

#[tokio::test]
async fn links_devices_and_hard_links_lead_nowhere() {
    let place = Place::with(&[("src/a", "inside")]).await;
    let (root, outside) = (place.workspace.root().to_owned(), place.folder.path().join("outside"));
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("canary"), "sings").unwrap();
    symlink(&outside, root.join("folder")).unwrap();
    symlink(outside.join("canary"), root.join("file")).unwrap();
    symlink("src", root.join("inner")).unwrap();
    symlink(".git", root.join("g")).unwrap();
    fs::hard_link(outside.join("canary"), root.join("hard")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, root.join("fifo"), rustix::fs::FileType::Fifo, 0o666.into(), 0).unwrap();
    for path in ["folder/canary", "file", "inner/a", "fifo", "folder/new", "g/config"] {
        for result in [
            told(place.workspace.read_file(path, None, None)),
            told(place.workspace.write_file(path, "x")),
            place.edit(path, "sings", "x"),
        ] {
            assert!(result.is_err(), "{path}: {result:?}");
        }
    }
    assert!(told(place.workspace.read_file("inner/a", None, None)).unwrap_err().contains("symbolic link to `src`"));
    place.workspace.write_file("hard", "mine now").unwrap();
    assert_eq!(fs::read(outside.join("canary")).unwrap(), b"sings");
    assert_eq!(place.get("hard"), b"mine now");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    assert_eq!(told(place.workspace.search("sings", None, None)).unwrap(), "no matches");
}

#[tokio::test]
async fn a_secret_is_hidden_before_lines_are_numbered_cut_or_searched() {
    const SECRET: &str = "correct-horse-battery-staple";
    let (head, tail) = SECRET.split_at(14);
    let place = Place::with(&[
        ("split", &format!("one\n{head}\n  {tail}\nfour\n")),
        ("long", &format!("{}{SECRET} end\n", "x".repeat(988))),
        ("wide", &format!("needle {}{SECRET}\n", "x".repeat(220))),
    ])
    .await;
    let redactor = std::sync::Arc::new(crate::redact::Redactor::new(&[secrecy::SecretString::from(SECRET)]));
    let open = |place: Place| Place { workspace: place.workspace.hiding(redactor), folder: place.folder };
    let shown = told(place.workspace.search("correct|staple", None, None)).unwrap();
    assert!(shown.contains("2\tcorrect-horse-") && shown.contains("3\t  battery-staple"), "without a secret: {shown}");
    let place = open(place);
    assert_eq!(told(place.workspace.read_file("split", None, None)).unwrap(), "1\tone\n2\t***\n3\t***\n4\tfour\n");
    assert_eq!(
        told(place.workspace.read_file("split", Some(3), Some(4))).unwrap(),
        "3\t***\n4\tfour\n(lines 3-4 of 4)",
        "half of it is as secret"
    );
    let long = told(place.workspace.read_file("long", None, None)).unwrap();
    assert!(long.contains("x***") && !long.contains("correct"), "{long}");
    let wide = told(place.workspace.search("needle", None, None)).unwrap();
    assert!(wide.ends_with("x***\n"), "{wide}");
    for guess in ["correct", "c[a-z]+t-h", "staple"] {
        assert_eq!(told(place.workspace.search(guess, None, None)).unwrap(), "no matches", "{guess}");
    }
    let near = place.edit("split", &format!("{head} \n{tail}"), "x").unwrap_err();
    assert!(!near.contains("horse"), "{near}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_new_script_that_names_its_interpreter_can_be_run() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::with(&[("old.sh", "#!/bin/sh\n")]).await;
    assert_eq!(
        told(place.workspace.write_file("bin/go.sh", "#!/bin/sh\nexit 0\n")).unwrap(),
        "created `bin/go.sh`: 2 lines, executable"
    );
    told(place.workspace.write_file("data.txt", "x\n")).unwrap();
    told(place.workspace.write_file("old.sh", "#!/bin/sh\nexit 0\n")).unwrap();
    let runs = |path: &str| fs::metadata(place.workspace.root().join(path)).unwrap().permissions().mode() & 0o111 != 0;
    assert_eq!(["bin/go.sh", "data.txt", "old.sh"].map(runs), [true, false, false]);
}
