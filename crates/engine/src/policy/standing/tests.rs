use super::*;

const NOW: i64 = 1_795_000_000_000;

fn account(name: &str) -> Account {
    let (host, key) = name.split_once('#').unwrap_or((name, "KEY"));
    Account::new(&format!("https://{host}"), Some(key))
}

fn note(why: Unavailability, until_ms: Option<i64>) -> Note {
    Note { why, until_ms, said: "so it said".to_owned(), at_ms: NOW }
}

fn roles(names: &[&str]) -> Vec<RoleAccounts> {
    names.iter().map(|role| role.split_whitespace().map(account).collect()).collect()
}

#[test]
fn a_refusal_stays_and_a_limit_passes_with_its_time_or_an_answer() {
    let mut standing = Standing::default();
    assert!(standing.note(&account("a"), note(Unavailability::KeyRefused, None)));
    assert!(!standing.note(&account("a"), note(Unavailability::RateLimited, None)), "no news, and no way back");
    assert_eq!(standing.readiness(&roles(&["a"]), i64::MAX), Readiness::Refused);
    assert!(standing.note(&account("b"), note(Unavailability::RateLimited, Some(NOW + 500_000))));
    assert!(!standing.note(&account("b"), note(Unavailability::RateLimited, Some(NOW + 500_000))));
    assert_eq!(standing.readiness(&roles(&["b"]), NOW + 1), Readiness::Limited);
    assert_eq!(standing.readiness(&roles(&["b"]), NOW + 499_999), Readiness::Pausing, "a session waits so long anyway");
    assert_eq!(standing.readiness(&roles(&["b"]), NOW + 500_000), Readiness::Ready);
    standing.note(&account("b"), note(Unavailability::RateLimited, None));
    assert_eq!(standing.readiness(&roles(&["b"]), NOW + 1), Readiness::Pausing, "without a time it rests for a while");
    standing.answered(&account("b"));
    assert_eq!(standing.readiness(&roles(&["b"]), NOW + 1), Readiness::Ready);
}

#[test]
fn keys_of_one_host_stand_for_themselves_but_an_outage_is_the_hosts() {
    let mut standing = Standing::default();
    standing.note(&account("a#ONE"), note(Unavailability::QuotaUsedUp, None));
    assert_eq!(standing.readiness(&roles(&["a#TWO"]), NOW), Readiness::Ready);
    standing.note(&account("a#THREE"), note(Unavailability::Outage, None));
    assert_eq!(standing.readiness(&roles(&["a#TWO"]), NOW), Readiness::Down);
    assert_eq!(standing.readiness(&roles(&["a#ONE"]), NOW), Readiness::Refused);
}

#[test]
fn a_tier_is_as_ready_as_its_worst_role_and_a_role_as_its_best_target() {
    let mut standing = Standing::default();
    standing.note(&account("a"), note(Unavailability::KeyRefused, None));
    standing.note(&account("b"), note(Unavailability::RateLimited, Some(NOW + 90_000)));
    assert_eq!(standing.readiness(&roles(&["a c"]), NOW), Readiness::Ready);
    assert_eq!(standing.readiness(&roles(&["a b", "c"]), NOW), Readiness::Limited);
    let critic_refused = roles(&["c", "a", "b c"]);
    assert_eq!(standing.readiness(&critic_refused, NOW), Readiness::Refused, "no review, no tier");
    let (who, why) = standing.obstacle(&critic_refused, NOW).unwrap();
    assert_eq!((who, why.why), (&account("a"), Unavailability::KeyRefused));
    assert_eq!(standing.obstacle(&roles(&["c"]), NOW), None);
}

#[test]
fn all_the_time_is_waited_where_nobody_else_could_do_the_work() {
    let standing = Standing::default();
    let minutes = |n: u64| n * 60_000;
    let same_host_above = [roles(&["a"]), roles(&["c", "a"])];
    let patient = standing.patience(&[account("a")], &same_host_above, minutes(9), NOW);
    assert_eq!(patient, Patience { limit_ms: minutes(9), outage_ms: minutes(5) });
    let other_host_above = [roles(&["a"]), roles(&["b"])];
    assert_eq!(standing.patience(&[account("a")], &other_host_above, minutes(9), NOW), Patience::default());
    let mut refused_above = standing;
    refused_above.note(&account("b"), note(Unavailability::KeyRefused, None));
    let patient = refused_above.patience(&[account("a")], &other_host_above, minutes(2), NOW);
    assert_eq!(patient, Patience { limit_ms: minutes(2), outage_ms: minutes(2) });
}
