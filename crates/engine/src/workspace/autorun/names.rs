//! The names of files and folders that tools run or obey without being asked: one table.
//!
//! Listed is what belongs to tools of which nobody expects that they run a repository's code: git, shells that enter a folder,
//! editors that open one, debuggers, coding agents. Configuration of build tools and test runners is not listed: whoever starts those wants
//! the repository's code to run. Versions that are only numbers (`.nvmrc`, `.python-version`) run nothing.
//!
//! Sources, read in 2026: the manuals of git (gitrepository-layout, githooks), Mercurial, Jujutsu, direnv, mise, asdf, rustup, Vim (`exrc`), Neovim
//! (`exrc`), Emacs (directory variables), VS Code, JetBrains, Zed, Helix and of the coding agents that are named here.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::domain::leftover::LeftoverKind;
use crate::domain::word_list::lists;

/// Files and folders that a tool runs or obeys, by name. A name with `/` includes the folder around it. In small letters.
const TABLE: [(LeftoverKind, &str); 5] = [
    (LeftoverKind::VersionControl, ".hg .jj _darcs"),
    (
        LeftoverKind::GitHooks,
        ".husky .githooks lefthook.yml .lefthook.yml lefthook.toml .lefthook.toml lefthook.json lefthook-local.yml .lefthook-local.yml \
         .pre-commit-config.yaml .overcommit.yml",
    ),
    (
        LeftoverKind::ShellHook,
        ".envrc .mise .mise.toml mise.toml .mise.local.toml mise.local.toml mise/config.toml .config/mise .config/mise.toml .rtx.toml \
         .tool-versions .autoenv .autoenv.zsh rust-toolchain rust-toolchain.toml",
    ),
    (
        LeftoverKind::EditorSettings,
        ".vscode .idea .fleet .zed .helix .vs .nova .theia .devcontainer .devcontainer.json .vim .nvim .exrc _exrc .nvimrc .nvim.lua .lazy.lua \
         .vimrc _vimrc .gvimrc _gvimrc .lvimrc .local.vimrc .vimspector.json .dir-locals.el .dir-locals-2.el .externaltoolbuilders \
         .factorypath .gdbinit .lldbinit .rprofile",
    ),
    (
        LeftoverKind::AgentSettings,
        ".claude .cursor .gemini .codex .windsurf .kiro .opencode opencode.json .roo .continue .clinerules .mcp.json .aider.conf.yml",
    ),
];
/// The folders that stand before a `/` in the table.
const AROUND: &str = "mise .config";
/// Endings of files that an editor opens as a whole project, with tasks.
const PROJECTS: [&str; 2] = [".code-workspace", ".sublime-project"];
/// Files that editors write themselves while they are open. A change there says nothing.
const EDITOR_STATE: &str = "workspace.xml tasks.xml usage.statistics.xml .suo";
/// Files of a git directory that make git run a program.
const IN_GIT: &str = "config config.worktree commondir";
/// Folders there that hold nothing of the kind, and much else.
const QUIET_IN_GIT: &str = "objects refs logs lfs";

/// The table by name: a tree may hold a hundred thousand of them.
static BY_NAME: LazyLock<HashMap<&'static str, LeftoverKind>> = LazyLock::new(|| {
    TABLE.iter().flat_map(|(kind, names)| names.split_ascii_whitespace().map(|name| (name, *kind))).collect()
});

/// Which tool runs or obeys a file or folder, by its name and that of the folder around it, both folded.
pub(in crate::workspace) fn kind_of(folder: &str, name: &str) -> Option<LeftoverKind> {
    let tail = || lists(AROUND, folder).then(|| BY_NAME.get(format!("{folder}/{name}").as_str())).flatten();
    let named = BY_NAME.get(name).or_else(tail).copied();
    named.or_else(|| PROJECTS.iter().any(|end| name.ends_with(end)).then_some(LeftoverKind::EditorSettings))
}

/// Whether an editor writes the file while it is open.
pub(super) fn is_editor_state(name: &str) -> bool {
    lists(EDITOR_STATE, name)
}

/// Whether something in a git directory makes git run a program.
pub(super) fn runs_in_git(folder: &str, name: &str) -> bool {
    lists(IN_GIT, name) || folder == "hooks" || (folder == "info" && name == "attributes") || name == "hooks"
}

/// Whether a folder in a git directory holds nothing that runs.
pub(super) fn is_quiet_in_git(name: &str) -> bool {
    lists(QUIET_IN_GIT, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_the_table_is_found_by_itself_or_in_its_folder() {
        for (kind, names) in TABLE {
            for name in names.split_ascii_whitespace() {
                assert_eq!(name, name.to_lowercase(), "names are compared in small letters");
                let (folder, name) = name.split_once('/').unwrap_or(("", name));
                assert_eq!(kind_of(folder, name), Some(kind), "{folder}/{name}");
            }
        }
        assert_eq!(
            (kind_of("", "config.toml"), kind_of("src", "mise"), kind_of(".config", "nextest.toml")),
            (None, None, None)
        );
    }
}
