//! Models without tool calling, and small models at their worst (issue 3, must-show 6).

use super::*;

fn text_bench(replies: &[&str]) -> Bench {
    Bench::new(replies.iter().map(|text| says(text)).collect()).without_tools()
}

#[tokio::test(start_paused = true)]
async fn a_model_without_tools_reads_edits_tests_and_reports() {
    let mut bench = text_bench(&[
        "Let me look.\nREAD calc.py",
        "The sign is wrong.\n\ncalc.py\n```python\n<<<<<<< SEARCH\n    return a - b\n=======\n    return a + b\n>>>>>>> REPLACE\n```\nRUN TESTS",
        "DONE Fixed the sign.",
    ]);
    bench.test_answers.borrow_mut().push_back(TestAnswer::Says("3 passed"));
    let end = bench.run().await;
    assert!(is_done(&end), "{end:?}");
    assert_eq!((bench.file("calc.py").as_str(), end.wrote.len()), ("def add(a, b):\n    return a + b\n", 1));
    let requests = bench.requests();
    assert!(requests.iter().all(|request| request.tools.is_empty()));
    assert!(requests[0].system.contains("<<<<<<< SEARCH"));
    assert!(bench.told(1).contains("### read_file calc.py: ok") && bench.told(1).contains("return a - b"));
    assert!(bench.told(2).contains("3 passed"));
}

#[tokio::test(start_paused = true)]
async fn a_model_with_tools_that_answers_in_text_is_understood() {
    let block = "calc.py\n<<<<<<< SEARCH\n    return a - b\n=======\n    return a + b\n>>>>>>> REPLACE";
    let mut bench = Bench::new(vec![says(block), done()]);
    assert!(is_done(&bench.run().await));
    assert!(bench.file("calc.py").contains("a + b"));
    assert!(bench.told(1).contains("### edit_file calc.py: ok"), "{}", bench.told(1));
}

#[tokio::test(start_paused = true)]
async fn a_conversation_moves_between_targets_with_and_without_tools() {
    let auth = fails(CallStatus::AuthError, false);
    let mut bench =
        Bench::with_targets(vec![("a/tools", vec![read_calc(), auth]), ("b/text", vec![says("DONE Fixed the sign.")])]);
    bench.info("b/text").tools = false;
    assert!(is_done(&bench.run().await));
    let last = bench.requests()[2].clone();
    assert!(last.messages.iter().all(|message| !matches!(message, Message::Tools { .. })));
    assert!(serde_json::to_string(&last.messages).unwrap().contains("return a - b"));
}

/// Answers that a small model may give to "fix calc.py", and the file's state afterwards: fixed, or as it was.
const WORST: [(&str, &str, bool); 22] = [
    ("a plain block", "calc.py\n<<<<<<< SEARCH\n    return a - b\n=======\n    return a + b\n>>>>>>> REPLACE", true),
    (
        "prose around, wrong language, CRLF",
        "Sure!\r\n\r\n**calc.py**\r\n```javascript\r\n<<<<<<< SEARCH\r\n    return a - b\r\n=======\r\n    return a + b\r\n>>>>>>> REPLACE\r\n```\r\nDone!",
        true,
    ),
    (
        "no indentation in the old line",
        "calc.py\n<<<<<<< SEARCH\nreturn a - b\n=======\nreturn a + b\n>>>>>>> REPLACE",
        true,
    ),
    ("a whole file", "calc.py\n```python\ndef add(a, b):\n    return a + b\n```", true),
    ("a whole file, tildes", "### `calc.py`\n~~~\ndef add(a, b):\n    return a + b\n~~~", true),
    ("path in the info string", "```python calc.py\ndef add(a, b):\n    return a + b\n```", true),
    ("path in the first comment", "```python\n# calc.py\ndef add(a, b):\n    return a + b\n```", true),
    ("path in a sentence", "Here is the fixed `calc.py`:\n\n```python\ndef add(a, b):\n    return a + b\n```", true),
    (
        "JSON in prose",
        "I will call the tool:\n```json\n{\"name\": \"edit_file\", \"arguments\": {\"path\": \"calc.py\", \"old_text\": \"a - b\", \"new_text\": \"a + b\"}}\n```",
        true,
    ),
    (
        "JSON with stringified arguments and tags",
        "<tool_call>{\"name\": \"edit_file\", \"arguments\": \"{\\\"path\\\": \\\"calc.py\\\", \\\"old_text\\\": \\\"a - b\\\", \\\"new_text\\\": \\\"a + b\\\"}\"}</tool_call>",
        true,
    ),
    ("a partial file", "calc.py\n```python\n    return a + b\n```", false),
    ("an ellipsis", "calc.py\n```python\ndef add(a, b):\n    ...\n    return a + b\n...\n```", false),
    ("a comment for the rest", "calc.py\n```python\n# ... existing code ...\n    return a + b\n```", false),
    (
        "a stand-in in an edit",
        "calc.py\n<<<<<<< SEARCH\n    return a - b\n=======\n    # rest unchanged\n>>>>>>> REPLACE",
        false,
    ),
    (
        "an old part that is not there",
        "calc.py\n<<<<<<< SEARCH\n    return a * b\n=======\n    return a + b\n>>>>>>> REPLACE",
        false,
    ),
    ("a piece of a line", "calc.py\n<<<<<<< SEARCH\nreturn a\n=======\nreturn b\n>>>>>>> REPLACE", false),
    ("no end", "calc.py\n<<<<<<< SEARCH\n    return a - b\n=======\n    return a + b\n", false),
    ("no middle", "calc.py\n<<<<<<< SEARCH\n    return a - b\n    return a + b\n>>>>>>> REPLACE", false),
    (
        "a diff",
        "calc.py\n```diff\n--- a/calc.py\n+++ b/calc.py\n@@ -1,2 +1,2 @@\n def add(a, b):\n-    return a - b\n+    return a + b\n```",
        false,
    ),
    ("a fence that does not end", "calc.py\n```python\ndef add(a, b):\n    return a + b\n", false),
    ("no path", "```python\ndef add(a, b):\n    return a + b\n```", false),
    ("an empty file", "calc.py\n```python\n```", false),
];

#[tokio::test(start_paused = true)]
async fn the_worst_replies_are_applied_rightly_or_refused_with_a_reason() {
    for tools in [false, true] {
        for (case, text, applied) in WORST {
            let mut bench = Bench::new(vec![says(text), says("x"), says("x"), says("x")]);
            bench.info("a/big").tools = tools;
            bench.run().await;
            let now = bench.file("calc.py");
            if applied {
                assert_eq!(now, "def add(a, b):\n    return a + b\n", "{case}, tools: {tools}");
            } else {
                assert_eq!(now, CALC, "{case}, tools: {tools}");
                let told = bench.told(1);
                let names_a_reason = told.contains("failed") || told.contains("asked for nothing");
                assert!(names_a_reason, "{case}, tools: {tools}: {told}");
            }
            let files = std::fs::read_dir(bench.repo()).unwrap().count();
            assert_eq!(files, 2, "{case}: nothing else was written");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_crlf_file_keeps_its_line_ends() {
    let whole = "calc.py\n```python\ndef add(a, b):\n    return a + b\n```";
    let block = "calc.py\n<<<<<<< SEARCH\ndef add(a, b):\n    return a - b\n=======\ndef add(a, b):\n    return a + b\n>>>>>>> REPLACE";
    for text in [whole, block] {
        let mut bench = text_bench(&[text, "DONE Fixed the sign."]);
        std::fs::write(bench.repo().join("calc.py"), CALC.replace('\n', "\r\n")).unwrap();
        bench.run().await;
        assert_eq!(bench.file("calc.py"), "def add(a, b):\r\n    return a + b\r\n", "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_file_is_made_from_either_form() {
    for text in ["src/new.py\n```\nx = 1\n```", "src/new.py\n<<<<<<< SEARCH\n=======\nx = 1\n>>>>>>> REPLACE"] {
        let mut bench = text_bench(&[text, "DONE Fixed the sign."]);
        let end = bench.run().await;
        assert!(is_done(&end));
        assert_eq!(bench.file("src/new.py"), "x = 1\n");
        assert_eq!(end.wrote, ["src/new.py"]);
    }
}

#[tokio::test(start_paused = true)]
async fn done_beside_an_edit_that_failed_is_not_accepted() {
    let mut bench = text_bench(&[
        "calc.py\n<<<<<<< SEARCH\nnope\n=======\nx\n>>>>>>> REPLACE\n\nDONE Fixed it.",
        "DELETE calc.py\nDONE Fixed the sign.",
    ]);
    assert!(is_done(&bench.run().await));
    assert!(bench.told(1).contains("not accepted"), "{}", bench.told(1));
    assert!(!exists(&bench.repo().join("calc.py")));
}
