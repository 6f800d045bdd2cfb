use super::*;
use crate::domain::attempt::TierExit;
use crate::domain::outcome::Outcome;
use crate::report::fixtures;
use crate::report::show;

fn page(script: &fixtures::Script, details: &Details, patch: &str) -> String {
    let view = script.view();
    let steps: Vec<(Step, Details)> =
        show::steps(&script.events).into_iter().map(|step| (step, details.clone())).collect();
    render(&Page { view: &view, events: &script.events, steps: &steps, patch })
}

#[test]
fn a_page_says_first_what_the_first_line_of_every_report_says() {
    for (name, view) in fixtures::every_ending() {
        let page = render(&Page { view: &view, events: &[], steps: &[], patch: "" });
        let text: String = page.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| text).collect();
        let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
        let (mark, sentence) = words::headline(&view);
        let ours = sentence.0.first().map(|piece| match piece {
            words::Piece::Ours(text) => text.clone(),
            words::Piece::Name(_) | words::Piece::Code(_) | words::Piece::Speech(_) | words::Piece::Advice(_) => {
                String::new()
            }
        });
        assert!(text.contains(&format!("{} {}", mark.sign(), ours.unwrap_or_default())), "{name}: {text}");
    }
}

#[test]
fn nothing_foreign_is_ever_interpreted() {
    const EVIL: &str = "</pre><script>alert(1)</script><img src=x onerror=alert(1)>\" onload=\"x\u{202e}";
    let body = serde_json::json!({ "role": "artisan", "system": EVIL, "result": EVIL, "entries": [
        { "entry": "theirs", "target": "a/<b>", "text": EVIL, "calls": [{ "id": "1", "name": EVIL, "arguments": { "path": EVIL } }] },
        { "entry": "results", "results": [{ "call_id": "1", "name": EVIL, "content": EVIL, "is_error": true }], "note": EVIL },
    ] });
    let details = Details {
        conversations: vec![body.to_string(), "{".to_owned()],
        tests: Some(EVIL.to_owned()),
        patch: Some(format!("+{EVIL}")),
        trouble: None,
    };
    let page = page(&fixtures::fixed(), &details, EVIL);
    for forbidden in ["<script", "<img", "onload=\"x", "\u{202e}", "http://", "https://", "url("] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    assert!(page.contains("&lt;script&gt;alert(1)") && page.contains("cannot be read"));
    assert_eq!(page.matches("<style>").count(), 1);
}

#[test]
fn a2_a_log_that_cannot_be_read_is_said_where_its_part_is_missing() {
    let details = Details { trouble: Some("the audit log is <locked>".to_owned()), ..Details::default() };
    let page = page(&fixtures::fixed(), &details, "");
    let said = "could not be read from the log: the audit log is &lt;locked&gt;";
    assert_eq!((page.matches(said).count(), page.contains("The log has no")), (7, false), "{page}");
}

#[test]
fn each_iteration_unfolds_and_stands_in_the_lane_of_its_tier() {
    let details = Details { tests: Some("3 failed".to_owned()), ..Details::default() };
    let page = page(&fixtures::fixed(), &details, "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n");
    for step in ["t1i1", "t1i5", "t2i1", "t2i2"] {
        assert!(page.contains(&format!("id=\"{step}\"")) && page.contains(&format!("href=\"#{step}\"")), "{step}");
    }
    assert_eq!(page.matches("<pre>3 failed</pre>").count(), 7);
    assert!(page.contains("<span class=\"added\">+new\n</span>") && page.contains("<polyline"), "{page}");
}

#[test]
fn a4_a_change_that_is_not_in_the_files_is_never_shown_as_the_runs() {
    let patch = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n";
    let mut script = fixtures::Script::new();
    script.red().tier(0).iteration(0, 1, 10, &fixtures::F0);
    script.end_tier(0, TierExit::IterationsExhausted, None, 1).finish(Outcome::Exhausted, "red", &fixtures::F0);
    let page = |script: &fixtures::Script| self::page(script, &Details::default(), patch);
    let failed = page(&script);
    assert!(failed.contains(">The best attempt, which is not in the files<"), "{failed}");
    assert!(!failed.contains("The whole change"), "{failed}");
    script.keep_green();
    assert!(page(&script).contains(">The whole change, which is not in the files<"));
    assert!(page(&fixtures::fixed()).contains(">The whole change<"));
}

#[test]
fn a4_the_page_says_once_what_the_budget_did_not_allow_and_no_signs_of_a_traceback() {
    const WHY: &str = "the budget does not allow another call: the next call may cost up to $0.01";
    let mut script = fixtures::Script::new();
    script.red().tier(0).begin(0, 1);
    let said =
        "adds: Traceback (most recent call last):\n  File \"t.py\", line 3, in adds\n    f(1)\n    ^^^^\nValueError: 1";
    let attempt = script.attempt(0, 1, 10, &["adds"], &[said]);
    script.push(Event::IterationFinished(attempt));
    script.end_tier(0, TierExit::BudgetExhausted, Some(WHY), 1).finish(Outcome::Budget, WHY, &["adds"]);
    let page = page(&script, &Details::default(), "");
    assert!(page.contains(WHY) && !page.contains("did not allow another call"), "{page}");
    assert!(page.contains("ValueError: 1") && !page.contains("^^^^") && !page.contains("Traceback"), "{page}");
}

#[test]
fn a4_an_iteration_says_once_why_it_changed_nothing() {
    const WHY: &str = "no model could be used: anthropic: cannot connect";
    let mut script = fixtures::Script::new();
    script.red().tier(0).begin(0, 1);
    let mut attempt = script.attempt(0, 1, 10, &["adds"], &[WHY]);
    attempt.code_change_summary = format!("no change. {WHY}");
    script.push(Event::IterationFinished(attempt));
    script.end_tier(0, TierExit::IterationsExhausted, None, 1).finish(Outcome::Exhausted, "", &["adds"]);
    let page = page(&script, &Details::default(), "");
    let (_, iteration) = page.split_once("no change. ").expect("the summary");
    assert_eq!(iteration.matches(WHY).count(), 1, "{iteration}");
}

#[test]
fn a_page_stays_small_and_says_where_the_rest_is() {
    let details = Details { tests: Some("x".repeat(250_000)), ..Details::default() };
    let mut script = fixtures::Script::new();
    script.red().tier(0);
    for iteration in 1..=60 {
        script.iteration(0, iteration, 10, &fixtures::F0);
    }
    let page = page(&script, &details, "");
    assert!(page.len() < MAX_BYTES + 1024 * 1024, "{}", page.len());
    assert!(page.contains("upshift show RUN --tier N --iteration N --tests"));
}
