//! Red CI of a parked fix that runs once more: nobody is paid, and no job waits for it.

use super::reentry::Repository;

#[test]
fn red_ci_of_a_parked_fix_runs_once_more_and_its_green_end_ends_the_run() {
    let mut repository = Repository::new(&["failure"]);
    let first = repository.job(&repository.told("failure"));
    assert_eq!(first.output("outcome"), "parked", "{}", first.said());
    {
        let mut world = repository.site.github.world();
        world.token.lacks.clear();
        world.reruns = vec!["success".to_owned()];
    }
    let asked = repository.models.requests().len();
    let red = repository.ci_ends();
    let woken = repository.job(&red);
    assert_eq!(woken.output("outcome"), "parked", "{}", woken.said());
    assert!(woken.said().contains("test failed in CI and runs once more"), "{}", woken.said());
    assert!(repository.comment().contains(" standing=waiting"), "{}", repository.comment());
    let green = repository.ci_ends();
    let last = repository.job(&green);
    assert_eq!(
        (last.output("checkout"), last.output("outcome"), last.output("run-id")),
        ("false".into(), "fixed".into(), first.output("run-id")),
        "{}",
        last.said()
    );
    assert_eq!(repository.models.requests().len(), asked, "{}", last.said());
    assert_eq!(repository.site.server.pushes(), 1, "{}", last.said());
    let _world = repository.finish();
}
