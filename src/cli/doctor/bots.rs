//! The doctor's findings about the names in `allowed-bots`.

use super::finding::Finding;
use crate::config::Plan;
use crate::github::{AppOwner, GitHub};

/// The subject of these findings.
const ABOUT: &str = "allowed bots";
/// The forge's word for the accounts of Apps.
const BOT: &str = "Bot";

/// A line for each name: whose App it is, or that no bot is called so. A name that is free today may be somebody's App tomorrow.
pub(super) async fn examine(plan: &Plan, github: &GitHub) -> Vec<Finding> {
    let mut findings = Vec::new();
    for name in &plan.github.allowed_bots {
        findings.push(look_up(name, github).await);
    }
    findings
}

async fn look_up(name: &str, github: &GitHub) -> Finding {
    let account = match github.account(name).await {
        Ok(account) => account,
        Err(error) => return Finding::told(ABOUT, &error.to_string()),
    };
    // Logins are found in any case, and the gate compares exactly.
    if !account.is_some_and(|account| account.login == name && account.kind == BOT) {
        let said = format!("no bot is called `{name}` here");
        return Finding::problem(
            ABOUT,
            said,
            "write the name as the Git host shows it beside the bot's comments, or remove it",
        );
    }
    match github.app_of(name).await {
        Ok(Some(app)) => {
            let owner = match &app.owner {
                Some(AppOwner::Account(account)) => format!(" of {}", account.login),
                Some(AppOwner::Enterprise { name }) => format!(" of {name}"),
                None => String::new(),
            };
            Finding::ok(ABOUT, format!("`{name}` is the App {}{owner}", app.name))
        }
        // Only the App's owner may look it up. Its name is taken, which is enough here.
        Ok(None) => Finding::ok(ABOUT, format!("`{name}` is a bot; its App is private")),
        Err(error) => Finding::told(ABOUT, &error.to_string()),
    }
}
