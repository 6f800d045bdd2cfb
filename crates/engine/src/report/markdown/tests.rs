use proptest::prelude::*;
use pulldown_cmark::{Event as Md, Options, Parser, Tag, TagEnd};

use super::*;
use crate::domain::attempt::TierExit;
use crate::domain::event::Event;
use crate::domain::ladder::Mode;
use crate::domain::outcome::Outcome;
use crate::domain::verdict::Verdict;
use crate::report::fixtures::{self, Script};

#[test]
fn every_ending_reads_well_as_a_comment() {
    for (name, view) in fixtures::every_ending() {
        insta::with_settings!({snapshot_suffix => name, prepend_module_to_snapshot => false}, {
            insta::assert_snapshot!("markdown", render(&view, Surface::Comment, "default"));
        });
    }
}

#[test]
fn the_marker_is_the_first_line_and_a_key_cannot_leave_it() {
    let text = render(&fixtures::fixed().view(), Surface::Comment, "ci/test");
    assert_eq!(text.lines().next(), Some("<!-- upshift:report key=ci/test -->"));
    assert_eq!(marker("a --> <b> -x"), "<!-- upshift:report key=a%20-%2D%3E%20%3Cb%3E%20-x -->");
    assert_eq!(marker("a--b").matches("--").count(), 2);
    assert!(marker(&"k".repeat(10_000)).len() < 200);
}

#[test]
fn code_spans_hold_whatever_they_are_given() {
    for (text, span) in
        [("plain", "`plain`"), ("a `b` c", "``a `b` c``"), ("`", "`` ` ``"), ("", "—"), ("two\nlines", "`two lines`")]
    {
        assert_eq!(code(text, 80), span);
    }
    assert_eq!(cell("a|b\\|c", 80), "`a\\|b\\\u{200b}\\|c`");
    assert_eq!(fence("```\nx", "text"), "````text\n```\nx\n````");
}

fn crowded(tests: usize, tiers: u32, name: &str) -> Script {
    let ladder = (0..tiers).map(|n| fixtures::tier(&format!("{name}-{n}"), Mode::Simple, "ollama/m", 1)).collect();
    let mut script = Script::with(fixtures::started(ladder));
    let names: Vec<String> = (0..tests).map(|n| format!("{name}::{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    script.baseline(&names, Verdict::Red { reason: None });
    for tier in 0..tiers {
        script.tier(tier).iteration(tier, 1, 100, &["t"]).end_tier(tier, TierExit::ProviderError, Some(name), 1);
    }
    for n in 0..100 {
        script.push(Event::Warning { message: format!("{n} {name}") });
    }
    script.finish(Outcome::Exhausted, name, &names[..tests / 2]);
    script
}

#[test]
fn a_huge_run_stays_within_the_caps_and_says_what_was_left_out() {
    let script = crowded(20_000, 300, &"日本語".repeat(40));
    let view = script.view();
    let comment = render(&view, Surface::Comment, "k");
    assert!(comment.len() <= 65_536, "{}", comment.len());
    assert!(comment.contains("more in the audit log") && comment.contains("more tiers"));
    assert!(comment.contains("**Next**"), "what to do next is never crowded out by lists");
    let summary = render(&view, Surface::Summary, "k");
    assert!(summary.len() <= 1_048_576 && summary.len() > comment.len());
}

#[test]
fn blocks_that_do_not_fit_are_left_out_whole_and_named() {
    let block = |length: usize, optional| Block { text: "x".repeat(length), optional };
    let text = assemble(vec![block(10, None), block(500, Some("the tests")), block(20, Some("the budget"))], 120, "");
    let expected = format!(
        "{}\n\n{}\n\n_Left out to stay within GitHub's size limit: the tests._\n",
        "x".repeat(10),
        "x".repeat(20)
    );
    assert_eq!(text, expected);
}

/// A run in which everything that can come from outside is `evil`.
fn hostile(evil: &str, outcome: Outcome) -> Script {
    let mut tiers = fixtures::ladder();
    for tier in &mut tiers {
        tier.name = evil.to_owned();
        tier.artisan[0].model = evil.to_owned();
    }
    let mut run = fixtures::started(tiers);
    run.objective = evil.into();
    run.test_command = evil.into();
    run.audit_db = Some(evil.into());
    run.run_id = crate::domain::units::RunId(evil.into());
    let mut script = Script::with(run);
    script.baseline(&[evil, "b"], Verdict::Red { reason: Some(evil.into()) });
    script.tier(0).iteration(0, 1, 5, &[evil]).end_tier(0, TierExit::ProviderError, Some(evil), 1);
    script.push(Event::Warning { message: evil.into() });
    script.finish(outcome, evil, &["c", evil]);
    if let Some(Event::RunFinished(finished)) = script.events.last_mut() {
        finished.recent_errors = vec![evil.into(), evil.into()];
        finished.best_patch = Some(evil.into());
        finished.diff_stat.files =
            vec![crate::domain::event::FileStat { path: evil.into(), added: Some(1), removed: None }];
    }
    script
}

const OUR_HTML: [&str; 5] = ["<details>", "</details>", "<summary>", "</summary>", "<br>"];

#[expect(clippy::wildcard_enum_match_arm, reason = "the parser has many events, of which few matter here")]
/// Reads the page as Markdown does and fails on whatever foreign text made of it. Foreign text carries `EVIL`.
fn check_page(page: &str) -> Result<(), TestCaseError> {
    let mut lines = page.splitn(2, '\n');
    prop_assert_eq!(lines.next(), Some("<!-- upshift:report key=k -->"));
    let rest = lines.next().unwrap_or_default();
    prop_assert!(!rest.contains("<!--") && !rest.contains("-->"), "a second marker");
    let (mut in_code, mut cells) = (false, 0);
    for event in
        Parser::new_ext(rest, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_FOOTNOTES)
    {
        match event {
            Md::Start(Tag::Link { .. } | Tag::Image { .. } | Tag::FootnoteDefinition(_)) | Md::FootnoteReference(_) => {
                prop_assert!(false, "foreign text made a link or image");
            }
            Md::Start(Tag::CodeBlock(_)) => in_code = true,
            Md::End(TagEnd::CodeBlock) => in_code = false,
            Md::Start(Tag::TableRow) => cells = 0,
            Md::Start(Tag::TableCell) => cells += 1,
            Md::End(TagEnd::TableRow) => prop_assert_eq!(cells, 6, "a row has as many cells as its head"),
            Md::Text(text) => prop_assert!(in_code || !text.contains("EVIL"), "foreign text is bare: {}", text),
            Md::Html(html) | Md::InlineHtml(html) => {
                let ours = OUR_HTML.iter().fold(html.to_string(), |rest, tag| rest.replace(tag, ""));
                prop_assert!(!ours.contains(['<', '>']) && !ours.contains("EVIL"), "foreign HTML: {}", html);
            }
            _ => {}
        }
    }
    for line in rest.lines() {
        prop_assert!(!line.trim_start().starts_with("::") && !line.contains("##["), "a workflow command: {}", line);
    }
    Ok(())
}

#[test]
fn known_tricks_stay_text() {
    for trick in [
        "EVIL @octocat #1 https://evil.example www.evil.example",
        "EVIL![x](https://evil.example/a.png) [y](javascript:alert(1))",
        "EVIL<img src=x onerror=alert(1)><!-- upshift:report key=k --> -->",
        "EVIL | a | b |\n|---|---|\n| c | d |",
        "EVIL\\| `x` ``y`` ```\n```\n# heading\n</details>",
        "EVIL `",
        "EVIL\n\n::error::x\n##[error]y\n[ref]: https://evil.example",
        "`EVIL",
        "\\EVIL\\",
        "EVIL\\",
    ] {
        for outcome in
            [Outcome::Exhausted, Outcome::Blocked { reason: trick.into() }, Outcome::Broken { reason: trick.into() }]
        {
            check_page(&render(&hostile(trick, outcome).view(), Surface::Comment, "k")).unwrap();
        }
    }
}

proptest! {
    #[test]
    fn no_foreign_text_ever_leaves_its_cell_or_fence(
        parts in prop::collection::vec(
            "(`|``|```|\\||\\\\|\n|\r|\t| |<!--|-->|<b>|</details>|\\[|\\]|\\(|\\)|!|@x|#1|https://a.b|~~~|~|&#96;|&lt;|\\*|_|:|::|\\$|>|-|\u{200b}|\u{202e}|\\PC)",
            0..25,
        )
    ) {
        let evil = format!("EVIL{}EVIL", parts.concat().replace("\u{200b}", ""));
        let outcome = Outcome::Blocked { reason: evil.clone() };
        check_page(&render(&hostile(&evil, outcome).view(), Surface::Comment, "k"))?;
        check_page(&render(&hostile(&evil, Outcome::NoModel).view(), Surface::Summary, "k"))?;
    }
}

proptest! {
    // Each case renders thousands of names; a few sizes are enough.
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn the_caps_hold_for_any_size(tests in 0usize..2_000, tiers in 1u32..60, width in 1usize..200) {
        let view = crowded(tests, tiers, &"n|`".repeat(width)).view();
        prop_assert!(render(&view, Surface::Comment, "k").len() <= Surface::Comment.max_bytes());
    }
}
