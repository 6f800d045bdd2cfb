//! The subject of a run, by the plan and the folder: its beneficiary, and its tests.

use std::path::Path;

use super::{Failure, place};
use crate::config::Plan;
use crate::domain::budget::Beneficiary;
use crate::domain::ci::CiContext;
use crate::domain::shell::quote_path;
use crate::files::real_place;
use crate::test_run;
use crate::workspace::publish::repository_at;

/// How many clones of clones are followed to the repository that they come from.
const MOST_CLONES: usize = 8;

/// The beneficiary of the run. On somebody's own machine the remote `origin` or a folder names the repository.
pub(super) fn beneficiary(context: Option<&CiContext>, folder: &Path) -> Beneficiary {
    let repository = context
        // GitHub's names ignore case, and two spellings must not have two caps.
        .map_or_else(|| repository(folder), |context| context.repository.to_string().to_ascii_lowercase());
    Beneficiary { repository, pull_request: context.and_then(CiContext::pull_request_number) }
}

/// The name by which the runs of one repository know each other on this machine: the one of its remote `origin`, else the folder of the
/// first checkout. All worktrees and clones of a repository have the same.
pub(super) fn repository(folder: &Path) -> String {
    let mut place = real_place(folder).unwrap_or_else(|_gone| folder.to_owned());
    for _clone in 0..MOST_CLONES {
        let Some((git, origin)) = repository_at(&place) else { break };
        place = match git.parent() {
            Some(top) if git.ends_with(".git") => top.to_owned(),
            Some(_) | None => git,
        };
        let Some(origin) = origin else { break };
        // Git takes a folder of that name for the remote, too.
        let near = place.join(origin.trim().trim_start_matches("file://"));
        match real_place(&near) {
            Ok(next) if repository_at(&next).is_some() => place = next,
            Ok(_) | Err(_) => return remote_name(&origin).unwrap_or_else(|| place.display().to_string()),
        }
    }
    place.display().to_string()
}

/// The name of a remote's repository, without a user, a token or the kind of the connection: `owner/name` at GitHub, as in its jobs, else
/// `host/path`.
fn remote_name(origin: &str) -> Option<String> {
    let origin = origin.trim().trim_end_matches('/').trim_end_matches(".git");
    let (host, path) = match origin.split_once("://") {
        Some((_, rest)) => rest.split_once('/')?,
        None => origin.split_once(':')?,
    };
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let host = host.split(':').next().unwrap_or(host).to_ascii_lowercase();
    let path = path.trim_matches('/').to_ascii_lowercase();
    let at_github = matches!(host.as_str(), "github.com" | "ssh.github.com" | "www.github.com");
    (!path.is_empty()).then(|| if at_github { path } else { format!("{host}/{path}") })
}

/// The configured test command and framework, or the detected ones.
pub(super) fn test_command(plan: &Plan, folder: &Path) -> anyhow::Result<(String, Option<String>)> {
    if let Some(command) = &plan.test.command {
        return Ok((command.clone(), plan.test.framework.clone()));
    }
    let detected = test_run::detect(folder).ok_or_else(|| {
        let name = "name it with --test-command, or as `test.command` in .github/upshift.yml";
        // Asked only on the way to the error, for advice that fits this folder.
        let above = place::top(folder).filter(|top| *top != folder);
        let at_top = above.and_then(|top| Some((top, test_run::detect(top)?)));
        let fix = match &at_top {
            Some((top, found)) => format!(
                "start at the top of the repository, where `{}` is recognised: cd {}. Or {name}",
                found.command,
                quote_path(&top.display().to_string())
            ),
            None => name.to_owned(),
        };
        Failure::usage(format!(
            "no test command was given, and none was recognised in {}\n→ Fix: {fix}",
            folder.display()
        ))
    })?;
    // A framework that is named beats the one that was found with the command.
    let framework = plan.test.framework.clone().or(Some(detected.framework));
    Ok((detected.command, framework))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin_of(folder: &Path, origin: &str) {
        std::fs::create_dir_all(folder.join(".git/objects")).unwrap();
        std::fs::write(folder.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let remote = if origin.is_empty() { String::new() } else { format!("[remote \"origin\"]\n\turl = {origin}\n") };
        std::fs::write(folder.join(".git/config"), remote).unwrap();
    }

    #[test]
    fn clones_and_worktrees_of_one_repository_share_its_name() {
        let home = tempfile::tempdir().unwrap();
        let home = real_place(home.path()).unwrap();
        let (first, clone, tree) = (home.join("shop"), home.join("clone"), home.join("tree"));
        origin_of(&first, "");
        origin_of(&clone, &first.display().to_string());
        std::fs::create_dir_all(first.join(".git/worktrees/tree")).unwrap();
        std::fs::create_dir_all(tree.join("sub")).unwrap();
        std::fs::write(first.join(".git/worktrees/tree/commondir"), "../..\n").unwrap();
        let pointer = format!("gitdir: {}\n", first.join(".git/worktrees/tree").display());
        std::fs::write(tree.join(".git"), pointer).unwrap();
        let all = || [&first, &clone, &tree, &tree.join("sub")].map(|folder| repository(folder));
        assert_eq!(all(), [(); 4].map(|()| first.display().to_string()));
        // With a remote the clone's clone is of it as well.
        origin_of(&first, "https://x-access-token:t0k3n@github.com/Acme/Shop.git");
        assert_eq!(all(), [(); 4].map(|()| "acme/shop".to_owned()));
        let nowhere = home.join("plain");
        std::fs::create_dir_all(&nowhere).unwrap();
        assert_eq!(
            repository(&nowhere),
            nowhere.display().to_string(),
            "in no repository the folder stands for itself"
        );
    }

    #[test]
    fn the_kind_of_a_connection_is_no_part_of_a_remotes_name() {
        for (origin, name) in [
            ("git@github.com:acme/shop.git", Some("acme/shop")),
            ("ssh://git@github.com:22/acme/shop", Some("acme/shop")),
            ("https://git.corp.example:8443/a/b/c.git/", Some("git.corp.example/a/b/c")),
            ("git@git.corp.example:a/b/c.git", Some("git.corp.example/a/b/c")),
            ("../elsewhere", None),
        ] {
            assert_eq!(remote_name(origin).as_deref(), name, "{origin}");
        }
    }
}
