//! The files that a test command executes as scripts, or takes its rules from: what they say decides what is run.
//!
//! [`scripts_of`] is pure over the command's words. [`reached`] follows the calls in the files themselves.

mod command;
mod reach;
mod rules;

use std::path::Path;

use self::command::{Called, read};
use self::reach::Reached;

/// The files, from the folder that the command runs in.
pub(super) fn scripts_of(command: &str) -> Vec<String> {
    let mut found = Vec::new();
    for called in read(command, Path::new("")).called {
        match called {
            Called::Script(file) => found.push(file),
            Called::Sourced(file) => found.push(file),
            Called::Rules { files, .. } => found.extend(files),
            // Neither is a path that the command itself names.
            Called::Module(_) | Called::Package { .. } => {}
        }
    }
    found
}

/// Files that a test command leads to in a checkout, from the folder that it runs in.
pub(super) fn reached(checkout: &Path, folder: Option<&str>, command: &str) -> Reached {
    reach::reach(command, folder.unwrap_or_default(), &|path| {
        let path = checkout.join(path);
        // A link is not followed, since it could lead out of the checkout.
        let is_script = path.symlink_metadata().is_ok_and(|found| found.is_file() && found.len() <= reach::LONGEST);
        is_script.then(|| std::fs::read_to_string(path).ok()).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::scripts_of;

    #[test]
    fn the_scripts_of_a_test_command_are_its_programs_and_the_first_files_of_interpreters() {
        for (command, scripts) in [
            ("./ci/check.sh --all", &["ci/check.sh"][..]),
            ("bash 'tests/run.sh' x", &["tests/run.sh"]),
            ("python3 -m doctest shop/cart.py", &[]),
            ("sh -c 'true'", &["true"]),
            ("(cd app && A=1 bash -ec 'sh lint.sh')", &["app/lint.sh"]),
            ("bash --norc -eo pipefail -c 'sh lint.sh'", &["lint.sh"]),
            ("bash -e run.sh -c true", &["run.sh"]),
            ("cargo test", &["cargo"]),
            ("MODE=ci sh ci.sh", &["ci.sh"]),
            ("sh -e ci.sh", &["ci.sh"]),
            ("cd . && sh ci.sh", &["ci.sh"]),
            ("cd app/../web && sh ./ci.sh", &["web/ci.sh"]),
            ("timeout 100 sh ci.sh", &["ci.sh"]),
            ("timeout -k 5 1.5m env A=1 ./run", &["run"]),
            ("true; ./ci.sh", &["true", "ci.sh"]),
            ("python3 -u -W error run.py", &["run.py"]),
            ("PYTHONPATH=. python3 run.py | tee log", &["run.py", "tee"]),
            (". ./env.sh && (./a || ./b)", &["env.sh", "a", "b"]),
        ] {
            assert_eq!(scripts_of(command), scripts, "{command}");
        }
    }

    #[test]
    fn files_of_rules_are_found_where_flags_and_folders_lead() {
        for (command, file) in [
            ("make test", "Makefile"),
            ("make -f ci.rules", "ci.rules"),
            ("make --file=ci.rules", "ci.rules"),
            ("make -C app", "app/Makefile"),
            ("cd app && make", "app/Makefile"),
            ("just test", "justfile"),
            ("just test", "Justfile"),
            ("just -d app --justfile app/ci.just test", "app/.justfile"),
        ] {
            assert!(scripts_of(command).contains(&file.to_owned()), "{command}: {:?}", scripts_of(command));
        }
    }
}
