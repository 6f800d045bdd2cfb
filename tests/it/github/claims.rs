//! Two jobs that are woken at once: at most one goes on with the run, however their requests interleave.

use std::pin::Pin;
use std::time::Duration;

use upshift::domain::clock::{Clock, SystemClock};
use upshift::github::{CommentSlot, Identity};
use upshift::lifecycle::reentry::{Answered, HeadQuery, claim};
use upshift::report::markdown::{Stamp, Standing, marker};

use super::{BOT, client, head, world};
use crate::world::github::{Comment, FakeGitHub};

/// Time that passes ten times as fast: both jobs' requests take some of it, as on a real forge.
#[derive(Debug)]
struct Fast(SystemClock);

impl Clock for Fast {
    fn unix_ms(&self) -> i64 {
        self.0.unix_ms()
    }

    fn monotonic_ms(&self) -> u64 {
        self.0.monotonic_ms() * 10
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        self.0.sleep(duration / 10)
    }
}

fn waiting() -> Stamp {
    Stamp {
        run: "7f3a9b1c".to_owned(),
        head: "c0ffee".to_owned(),
        attempt: 1,
        spawn: 4,
        artifact: "upshift-audit-55-1-pr7-7f3a9b1c".to_owned(),
        standing: Standing::Waiting,
        pushed: Some(head()),
        ..Stamp::default()
    }
}

#[tokio::test]
async fn of_two_jobs_that_claim_a_run_one_goes_on_with_the_next_spawn_number() {
    for late in 0..4 {
        let github = FakeGitHub::start(world());
        let marker = marker("upshift/fix");
        let body = format!("{marker}\n{}\n### waiting", waiting().line());
        github.world().comments = vec![Comment { id: 9, issue: 7, author: BOT.to_owned(), body, ..Comment::default() }];
        let (client, us, head, clock) =
            (client(&github), Identity::Login(BOT.to_owned()), head(), Fast(SystemClock::new()));
        let slot = CommentSlot { number: 7, marker: &marker, identity: &us };
        let query = |job: u64| HeadQuery {
            github: &client,
            slot,
            run: "7f3a9b1c",
            head: &head,
            own_job: (job, 1),
            own_workflows: &[],
            required: &[],
            clock: &clock,
        };
        let comment = client.comments_in(slot).await.unwrap().remove(0);
        let answered = Answered { stamp: Stamp::read(&comment.body).unwrap(), comment, is_red: true };
        let second = async {
            for _ in 0..late {
                tokio::task::yield_now().await;
            }
            claim(query(62), &answered).await
        };
        let (first, second) = tokio::join!(claim(query(61), &answered), second);
        let claims: Vec<Stamp> = [first, second].into_iter().filter_map(|claim| claim.unwrap()).collect();
        let [claimed] = claims.as_slice() else { panic!("{late}: {claims:?}") };
        assert_eq!(claimed.spawn, 5, "{late}");
        let told = Stamp::read(&github.finish().comments[0].body).unwrap();
        assert_eq!((told.claimed, told.spawn), (claimed.claimed, 5), "{late}: the comment says who");
    }
}
