//! A run that no comment names: no job would find it, so it waits in its own.

use super::reentry::Repository;
use crate::world::github::{Effect, Fault};

#[test]
fn a_run_whose_comment_cannot_be_written_waits_in_its_job_and_says_why() {
    for (said, advice) in [
        ("Resource not accessible by integration", "add `pull-requests: write`"),
        ("Unable to create comment because issue is locked.", "unlock the conversation"),
    ] {
        let mut repository = Repository::new(&["success"]);
        let refused = Fault::once("POST", "/comments", Effect::status(403, said, &[]));
        repository.site.github.world().faults.push(refused);
        let ended = repository.job(&repository.told("failure"));
        let told = ended.said();
        assert!(told.contains("no comment on the pull request names this run"), "{told}");
        assert!(told.contains("it waits in this job instead") && told.contains(advice), "{told}");
        assert!(told.contains("waited for 30 minutes"), "{told}");
        assert!(!told.contains("starts the job that continues the run"), "{told}");
        let _world = repository.finish();
    }
}
