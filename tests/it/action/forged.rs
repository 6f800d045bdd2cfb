//! The log that a re-entry reads is attacker input: what another branch, a fork, another workflow or another run left under its name is not
//! read, and the run does not go on with it.

use super::reentry::Repository;

/// Something that stands where the log of the parked run should.
type Forge = fn(&mut Repository);

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_log_that_is_not_of_our_workflow_on_the_default_branch_or_not_the_quoted_one_is_not_gone_on_with() {
    let of_a_branch: Forge = |repository| {
        repository.site.github.world().artifacts[0].branch = "topic".to_owned();
    };
    let of_a_fork: Forge = |repository| repository.site.github.world().artifacts[0].fork = true;
    let of_another_workflow: Forge = |repository| {
        let mut world = repository.site.github.world();
        let parking = world.artifacts[0].run;
        let run = world.runs.iter_mut().find(|run| run.id == parking).expect("the job");
        run.path = ".github/workflows/theirs.yml".to_owned();
    };
    let of_another_run: Forge = |repository| {
        let mut innocent = Repository::new(&["success"]);
        let parked = innocent.job(&innocent.told("failure"));
        assert_eq!(parked.output("outcome"), "parked", "{}", parked.said());
        let zip = innocent.site.github.world().artifacts[0].zip.clone();
        repository.site.github.world().artifacts[0].zip = zip;
        let _world = innocent.finish();
    };
    for (forge, why) in [
        (of_a_branch, "is not from a run of the default branch's workflow"),
        (of_a_fork, "is gone"),
        (of_another_workflow, "is gone"),
        (of_another_run, "cannot be used"),
    ] {
        let mut repository = Repository::new(&["success"]);
        let first = repository.job(&repository.told("failure"));
        assert_eq!(first.output("outcome"), "parked", "{}", first.said());
        forge(&mut repository);
        let payload = repository.ci_ends();
        let last = repository.job(&payload);
        assert!(last.said().contains("no check failed, and the log of run "), "{why}: {}", last.said());
        assert!(last.said().contains(why), "{why}: {}", last.said());
        assert_eq!((repository.models.requests().len(), repository.site.server.pushes()), (2, 1), "{why}");
        assert!(!repository.comment().contains("standing="), "{why}: {}", repository.comment());
        let _world = repository.finish();
    }
}
