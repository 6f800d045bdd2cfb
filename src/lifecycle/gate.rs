//! The gate: whether a run may happen at all, decided before configuration, money or model (DESIGN §5).
//!
//! Today it knows the triggers that can never be safe; permissions of actors join it with the GitHub client.

/// What made this process start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trigger {
    /// Somebody's shell.
    Person,
    /// A pull request's event.
    PullRequest {
        /// The event's name.
        event: String,
        /// The full names of the head's and the base's repository, where the payload tells.
        repositories: Option<(String, String)>,
    },
    /// Any other event.
    Other {
        /// Its name.
        event: String,
    },
}

/// Why a run may not happen; `None` opens the gate.
#[must_use]
pub fn refusal(trigger: &Trigger) -> Option<String> {
    let Trigger::PullRequest { event, repositories } = trigger else { return None };
    if event == "pull_request_target" {
        return Some(
            "`pull_request_target` runs with the base's secrets over code that anybody can send\n→ Fix: use `on: pull_request`"
                .to_owned(),
        );
    }
    match repositories {
        Some((head, base)) if head == base => None,
        Some((head, base)) => Some(format!(
            "the pull request comes from the fork {head}: its code must not meet the secrets of {base}\n→ Fix: run upshift on \
             branches of the repository itself"
        )),
        None => Some(
            "the event's payload does not tell where the pull request comes from\n→ Fix: make sure that GITHUB_EVENT_PATH \
             names the payload of the event"
                .to_owned(),
        ),
    }
}

/// Whether configuration files of the checkout may be written by whoever sends a pull request, so that they must not
/// be read (a hostile `baseUrl` would be handed the key).
#[must_use]
pub fn distrusts_checkout(trigger: &Trigger) -> bool {
    matches!(trigger, Trigger::PullRequest { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pull_request(event: &str, head: &str) -> Trigger {
        let repositories = Some((head.to_owned(), "acme/shop".to_owned()));
        Trigger::PullRequest { event: event.to_owned(), repositories }
    }

    #[test]
    fn forks_and_pull_request_target_are_refused() {
        assert_eq!(refusal(&Trigger::Person), None);
        assert_eq!(refusal(&pull_request("pull_request", "acme/shop")), None);
        assert!(refusal(&pull_request("pull_request", "mallory/shop")).is_some_and(|why| why.contains("mallory/shop")));
        assert!(refusal(&pull_request("pull_request_target", "acme/shop")).is_some());
        let unknown = Trigger::PullRequest { event: "pull_request".to_owned(), repositories: None };
        assert!(refusal(&unknown).is_some(), "what is not known is not trusted");
        assert_eq!(refusal(&Trigger::Other { event: "push".to_owned() }), None);
    }

    #[test]
    fn a_pull_requests_checkout_configures_nothing() {
        assert!(distrusts_checkout(&pull_request("pull_request", "acme/shop")));
        assert!(!distrusts_checkout(&Trigger::Other { event: "push".to_owned() }));
        assert!(!distrusts_checkout(&Trigger::Person));
    }
}
