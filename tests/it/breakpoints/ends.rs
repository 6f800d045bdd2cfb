//! Ends behind a push: whatever came after it, the report says that the commit is on its branch, and the right next step.

use serde_json::json;

use super::refused::refusing;
use super::waiting::{RED_LOG, document, over, plan};
use super::{Site, mends};
use crate::world::model_server::{Request, Say, Scripted};

/// Whether the model was told of red CI.
fn is_told(request: &Request) -> bool {
    request.all_text().contains("CI is red on the commit")
}

fn blocked(request: &Request) -> Scripted {
    if !is_told(request) {
        return mends(request);
    }
    let report = json!({ "summary": "read", "status": "blocked", "reason": "which rounding?" });
    Say::call("final_report", report).usage(1_000, 20).into()
}

/// Breaks the code after red CI, in as many iterations as there are.
fn breaks(request: &Request) -> Scripted {
    match (request.turn(), is_told(request)) {
        (0, true) => {
            let content = "def total(prices):\n    return 41\n";
            let write = json!({ "path": "shop/cart.py", "content": content });
            Say::call("write_file", write).usage(1_000, 50).into()
        }
        _ => mends(request),
    }
}

/// What `runs`, `stats`, the JSON and the first line say of one run.
fn assert_told_alike(site: &Site, first: &str, mended: bool) {
    let document = document(site);
    let database = site.database().display().to_string();
    let of = |command: &str| site.program.run(&site.root(), &[command, "--audit-db", &database]).out;
    let (runs, stats) = (of("runs"), of("stats"));
    assert_eq!(document["mended"], json!(mended), "{document:#}");
    assert_eq!(first.contains("1 test fixed"), mended, "{first}");
    assert_eq!(runs.contains("1 of 1 fixed"), mended, "{runs}");
    assert_eq!(stats.contains("went to runs that fixed nothing") && !stats.contains("(0 %)"), !mended, "{stats}");
}

#[test]
fn a4_an_end_behind_a_push_tells_what_the_branch_holds() {
    type Script = fn(&Request) -> Scripted;
    let ends: [(&str, Script, &str, &str); 3] = [
        ("blocked", blocked, "3", "Answer what the model asks for"),
        ("exhausted", breaks, "3", "Fix the rest yourself, or add a stronger tier."),
        ("blocked", breaks, "1", "allow more pushes with max-pushes"),
    ];
    for (outcome, script, most, step) in ends {
        let (site, _github) = over(Site::with_models(script), vec![plan("failure", RED_LOG)]);
        let site = site.with("UPSHIFT_MAX_PUSHES", most);
        let said = site.run("commit");
        let head = site.server.head("main");
        assert_ne!(head, site.start, "{outcome}: it was pushed: {}", said.all());
        let (report, next) = said.out.split_once("Next:").expect("next steps");
        let first = report.lines().next().unwrap_or_default();
        let short: String = head.chars().take(7).collect();
        assert!(first.starts_with("✖ 1 test fixed") && first.contains("but CI is red"), "{outcome}: {}", said.out);
        assert!(first.contains(&short) && !first.contains("still fail"), "{outcome}: {}", said.out);
        assert!(report.contains("1 failing → 0 failing with the pushed change"), "{outcome}: {}", said.out);
        assert!(next.contains(&format!("Look at the checks of {short} on main")), "{outcome}: {next}");
        assert!(next.contains(step), "{outcome}: {next}");
        assert!(!next.contains("git apply") || next.contains("A later attempt"), "{outcome}: {next}");
        assert_eq!(document(&site)["outcome"], json!(outcome), "{}", said.all());
        assert_told_alike(&site, first, true);
    }
}

#[test]
fn a4_a_fix_that_is_nowhere_but_in_a_patch_counts_as_none_on_every_surface() {
    let (site, _github) = over(Site::new(), Vec::new());
    refusing(&site);
    let said = site.run("commit");
    let first = said.out.lines().next().unwrap_or_default();
    assert!(first.starts_with("✖ Found a fix for 1 test in cart.py (+1 −1)"), "{}", said.out);
    assert!(said.out.contains("git apply "), "{}", said.out);
    assert_told_alike(&site, first, false);
}
