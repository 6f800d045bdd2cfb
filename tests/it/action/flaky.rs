//! Red CI of a parked fix that runs once more: nobody is paid, and the job that asked for it waits, since nobody says that the end of a
//! second attempt starts one.

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
    assert!(woken.said().contains("test failed in CI and runs once more"), "{}", woken.said());
    assert_eq!(
        (woken.output("outcome"), woken.output("run-id")),
        ("fixed".into(), first.output("run-id")),
        "{}",
        woken.said()
    );
    assert_eq!(repository.models.requests().len(), asked, "{}", woken.said());
    assert_eq!(repository.site.server.pushes(), 1, "{}", woken.said());
    let _world = repository.finish();
}
