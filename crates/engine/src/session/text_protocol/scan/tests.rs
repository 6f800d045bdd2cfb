use super::*;
use proptest::prelude::*;

fn edit(path: &str, search: &str, replace: &str) -> Piece {
    Piece::Edit { path: path.to_owned(), search: search.to_owned(), replace: replace.to_owned() }
}

fn file(path: &str, content: &str) -> Piece {
    Piece::File { path: path.to_owned(), naming: Naming::Stated, header: None, content: content.to_owned() }
}

/// The pieces that are no prose.
fn blocks(text: &str) -> Vec<Piece> {
    pieces(text).into_iter().filter(|piece| !matches!(piece, Piece::Prose(_))).collect()
}

fn why(text: &str) -> String {
    match blocks(text).as_slice() {
        [Piece::Broken { why, .. }] => why.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_block_is_found_wherever_its_path_stands() {
    let block = "<<<<<<< SEARCH\na - b\n=======\na + b\n>>>>>>> REPLACE";
    for text in [
        format!("src/a.rs\n{block}\n"),
        format!("Sure! Here is the fix.\n\n**`src/a.rs`**\n\n{block}\n\nThat should do."),
        format!("src/a.rs\n```rust\n{block}\n```\n"),
        format!("```rust src/a.rs\n{block}\n```\n"),
        format!("```python\nsrc/a.rs\n{block}\n```\n"),
        format!("```\n// src/a.rs\n{block}\n```\n"),
        format!("~~~rust\nsrc/a.rs\n{block}\n~~~\n"),
        format!("In `src/a.rs` the sign is wrong:\n{block}"),
        format!("src/a.rs\n{}", block.replace("<<<<<<< SEARCH", "<<<<<<< search")),
        format!("src/a.rs\n{}", block.replace(">>>>>>> REPLACE", ">>>>>>>")),
        block.replace("SEARCH", "SEARCH src/a.rs"),
        format!("src/a.rs\n{block}").replace('\n', "\r\n"),
        format!("File: src/a.rs\n```diff\n{block}\n```"),
    ] {
        assert_eq!(blocks(&text), [edit("src/a.rs", "a - b", "a + b")], "{text}");
    }
}

#[test]
fn blocks_that_follow_each_other_share_a_path() {
    let text = "src/a.rs\n```\n<<<<<<< SEARCH\n1\n=======\n2\n>>>>>>> REPLACE\n<<<<<<< SEARCH\n3\n=======\n>>>>>>> REPLACE\n```\n\
                b.rs\n<<<<<<< SEARCH\n5\n=======\n6\n>>>>>>> REPLACE";
    assert_eq!(blocks(text), [edit("src/a.rs", "1", "2"), edit("src/a.rs", "3", ""), edit("b.rs", "5", "6")]);
}

#[test]
fn fences_and_markers_inside_an_edit_are_its_text() {
    let text = "README.md\n<<<<<<< SEARCH\n```sh\nmake\n```\n=======\n```sh\nmake all\n```\n>>>>>>> REPLACE\n";
    assert_eq!(blocks(text), [edit("README.md", "```sh\nmake\n```", "```sh\nmake all\n```")]);
    let text = "a.rst\n<<<<<<<<< SEARCH\nTitle\n=======\n=========\nHead\n=======\n>>>>>>>>> REPLACE\n";
    assert_eq!(blocks(text), [edit("a.rst", "Title\n=======", "Head\n=======")]);
}

#[test]
fn blocks_that_cannot_be_told_apart_for_certain_are_refused() {
    assert!(why("a.rs\n<<<<<<< SEARCH\nx\n=======\ny\n").contains("no >>>>>>> REPLACE"));
    assert!(why("a.rs\n<<<<<<< SEARCH\nx\n>>>>>>> REPLACE\n").contains("no ======= line"));
    assert!(why("a.rst\n<<<<<<< SEARCH\nT\n=======\nx\n=======\ny\n>>>>>>> REPLACE\n").contains("more than one"));
    assert!(why("<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n").contains("no file is named"));
    let cut = "a.rs\n<<<<<<< SEARCH\nx\n=======\ny\nb.rs\n<<<<<<< SEARCH\n1\n=======\n2\n>>>>>>> REPLACE\n";
    let found = blocks(cut);
    assert!(matches!(found.first(), Some(Piece::Broken { path, .. }) if path == "a.rs"), "{found:?}");
    assert_eq!(found.get(1), Some(&edit("b.rs", "1", "2")));
}

#[test]
fn whole_files_are_found_with_any_fence_and_language() {
    for text in [
        "src/a.py\n```python\nx = 1\n```\n",
        "src/a.py\n\n```javascript\nx = 1\n```\n",
        "### `src/a.py`\n~~~~\nx = 1\n~~~~\n",
        "```python src/a.py\nx = 1\n```",
        "```python:src/a.py\r\nx = 1\r\n```\r\n",
        "Some words.\n\nFile: **src/a.py**\n````\nx = 1\n````\nMore words.",
    ] {
        assert_eq!(blocks(text), [file("src/a.py", "x = 1\n")], "{text}");
    }
}

#[test]
fn a_first_comment_that_names_the_path_is_kept_aside() {
    let headed = |text: &str| match blocks(text).as_slice() {
        [Piece::File { path, header, content, .. }] => (path.clone(), header.clone(), content.clone()),
        other => panic!("{other:?}"),
    };
    let wanted = ("src/a.rs".to_owned(), Some("// src/a.rs".to_owned()), "fn a() {}\n".to_owned());
    assert_eq!(headed("```rust\n// src/a.rs\nfn a() {}\n```"), wanted);
    assert_eq!(headed("src/a.rs\n```rust\n// src/a.rs\nfn a() {}\n```"), wanted);
    let other = headed("src/a.rs\n```rust\n// src/b.rs\nfn a() {}\n```");
    assert_eq!(other, ("src/a.rs".to_owned(), None, "// src/b.rs\nfn a() {}\n".to_owned()));
}

#[test]
fn a_path_in_a_sentence_is_marked_as_only_mentioned() {
    let found = blocks("Here is the updated `src/a.rs`:\n```rust\nfn a() {}\n```");
    assert!(matches!(found.as_slice(), [Piece::File { naming: Naming::Mentioned, .. }]), "{found:?}");
}

#[test]
fn code_without_a_path_is_only_code() {
    assert_eq!(blocks("Run:\n```sh\nmake test\n```"), [Piece::Code("make test".to_owned())]);
}

#[test]
fn files_whose_end_is_not_certain_are_refused() {
    for text in [
        "a.md\n```markdown\n# T\n```sh\nmake\n```\nmore\n```\n",
        "a.rs\n```rust\nfn a() {}\n",
        "a.rs\n```rust\nfn a() {}\n```js b.js\nlet x;\n```\n",
        "a.rs\n```rust\nfn a() {}\n```\nand then\n```\nfn b() {}\n",
    ] {
        let found = blocks(text);
        assert!(!found.iter().any(|piece| matches!(piece, Piece::File { .. })), "{text}\n{found:?}");
        assert!(
            found.iter().any(|piece| matches!(piece, Piece::Broken { path, .. } if path.starts_with("a."))),
            "{text}"
        );
    }
    assert_eq!(
        blocks("a.md\n~~~~markdown\n# T\n```sh\nmake\n```\n~~~~\n"),
        [file("a.md", "# T\n```sh\nmake\n```\n")],
        "another sort of fence makes it certain"
    );
}

#[test]
fn diffs_and_empty_files_are_refused() {
    assert!(why("a.rs\n```diff\n-x\n+y\n```").contains("diffs"));
    assert!(why("a.rs\n```\n--- a/a.rs\n+++ b/a.rs\n@@ -1 +1 @@\n-x\n+y\n```").contains("diffs"));
    assert!(why("a.rs\n```rust\n\n```").contains("DELETE"));
}

proptest! {
    #[test]
    fn no_text_makes_the_scanner_panic_or_invent_text(parts in prop::collection::vec(
        prop::sample::select(vec!["```", "~~~~", "```rust a.rs", "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE", "a.rs", "b/c.py:",
            "x = 1", "", "...", "// a.rs", "ünï", "\r", "    indented", "`a.rs` and `b.rs`", "<<<<<<<<< SEARCH a.rs"]), 0..25))
    {
        let text = parts.join("\n");
        for piece in pieces(&text) {
            let (Piece::Edit { search: content, .. } | Piece::File { content, .. } | Piece::Code(content) | Piece::Prose(content)) = piece else {
                continue;
            };
            let known = content.trim_end().split('\n').all(|line| parts.contains(&line) || line.is_empty());
            prop_assert!(known, "{content:?} is not from {text:?}");
        }
    }

    #[test]
    fn a_well_formed_edit_survives_any_lines_that_are_no_markers(
        old in prop::collection::vec("[a-zA-Z`~#./ \t{}-]{0,20}", 1..6),
        new in prop::collection::vec("[a-zA-Z`~#./ \t{}-]{0,20}", 0..6))
    {
        let (old, new) = (old.join("\n"), new.join("\n"));
        let gap = if new.is_empty() { "" } else { "\n" };
        let text = format!("a.rs\n<<<<<<< SEARCH\n{old}\n=======\n{new}{gap}>>>>>>> REPLACE\n");
        prop_assert_eq!(blocks(&text), vec![edit("a.rs", &old, &new)]);
    }
}
