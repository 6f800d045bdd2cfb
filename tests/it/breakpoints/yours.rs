//! Files that a person changes on their own machine while a run waits for CI: they stay as they are, however the wait ends.

use std::process::{Child, Command, Stdio};

use super::waiting::{RED_LOG, over, plan};
use super::{Site, mends};
use crate::world::github::{CiPlan, FakeGitHub};
use crate::world::program::Said;

/// A run that waits for CI, in a process of its own. CI is over when it is told so.
fn waits(conclusion: &str) -> (Site, FakeGitHub, Child) {
    let endless = CiPlan { takes_ms: 10_000_000_000, ..plan(conclusion, RED_LOG) };
    let (site, github) = over(Site::with_models(mends), vec![endless]);
    let site = site.with("UPSHIFT_CI_TIMEOUT_MINUTES", "1440");
    let arguments = site.arguments("pr");
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut command = site.program.command(&site.root(), &arguments);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    while !github.seen().iter().any(|seen| seen.path.contains("/check-runs")) {
        if child.try_wait().expect("a child").is_some() {
            panic!("it does not wait: {}", ended(child).all());
        }
        std::thread::yield_now();
    }
    (site, github, child)
}

fn over_now(github: &FakeGitHub) {
    github.world().later.iter_mut().for_each(|later| later.at_ms = 0);
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(status.expect("kill").success());
}

fn ended(child: Child) -> Said {
    Said::from(child.wait_with_output().expect("it ends"))
}

/// An hour of work.
fn edit(site: &Site) {
    let cart = site.root().join("shop/cart.py");
    let text = std::fs::read_to_string(&cart).expect("text");
    std::fs::write(cart, format!("# mine\n{text}")).expect("written");
    std::fs::write(site.root().join("notes.txt"), "mine\n").expect("written");
}

fn is_there(site: &Site, said: &Said) {
    let read = |name: &str| std::fs::read_to_string(site.root().join(name)).unwrap_or_default();
    assert!(read("shop/cart.py").starts_with("# mine\n"), "{}", said.all());
    assert_eq!(read("notes.txt"), "mine\n", "{}", said.all());
    let told = "files were changed here while the run waited";
    assert!(said.all().contains(told) && said.all().contains("notes.txt, shop/cart.py"), "{}", said.all());
}

#[test]
fn green_ci_ends_the_run_and_leaves_them() {
    let (site, github, child) = waits("success");
    edit(&site);
    over_now(&github);
    let said = ended(child);
    assert_eq!(said.code, 0, "{}", said.all());
    is_there(&site, &said);
    assert!(said.out.contains("CI green"), "{}", said.all());
    site.models.finish();
    github.finish();
}

#[test]
fn red_ci_has_no_model_work_over_them() {
    let (site, github, child) = waits("failure");
    edit(&site);
    over_now(&github);
    let said = ended(child);
    assert_eq!((said.code, site.models.requests().len(), site.server.pushes()), (1, 2, 1), "{}", said.all());
    is_there(&site, &said);
    assert!(said.out.contains("no model overwrites them"), "{}", said.all());
    site.models.finish();
    github.finish();
}

#[test]
fn whoever_interrupts_the_wait_keeps_them_and_so_does_who_resumes_it() {
    let (site, github, child) = waits("success");
    edit(&site);
    signal(&child, "-INT");
    let said = ended(child);
    assert_eq!(said.code, 130, "{}", said.all());
    is_there(&site, &said);
    over_now(&github);
    let resumed = site.resume();
    assert_eq!(resumed.code, 0, "{}", resumed.all());
    is_there(&site, &resumed);
    site.models.finish();
    github.finish();
}

#[test]
fn edits_after_a_kill_or_an_orderly_end_of_the_wait_are_kept() {
    for how in ["-KILL", "-INT"] {
        let (site, github, child) = waits("success");
        signal(&child, how);
        let said = ended(child);
        assert!(said.code != 0, "{how}: {}", said.all());
        edit(&site);
        over_now(&github);
        let resumed = site.resume();
        assert_eq!(resumed.code, 0, "{how}: {}", resumed.all());
        is_there(&site, &resumed);
        site.models.finish();
        github.finish();
    }
}

#[test]
fn without_any_the_fix_is_in_the_files_again_after_an_interrupted_wait() {
    let (site, github, child) = waits("success");
    signal(&child, "-INT");
    assert_eq!(ended(child).code, 130);
    let read = || std::fs::read_to_string(site.root().join("shop/cart.py")).expect("text");
    assert!(read().contains("sum(prices) - 1"), "{}", read());
    over_now(&github);
    let resumed = site.resume();
    assert_eq!(resumed.code, 0, "{}", resumed.all());
    assert!(read().contains("sum(prices)\n"), "{}", resumed.all());
    assert!(!resumed.all().contains("files were changed here"), "{}", resumed.all());
    site.models.finish();
    github.finish();
}
