//! The table of frameworks. A new framework is one entry here, beside its reader in `testlog`.
//!
//! | told by | frameworks |
//! |---|---|
//! | a variable | pytest, robot, `node --test`, rspec, gotestsum, GoogleTest, Boost.Test, libcheck |
//! | options behind the command | nose2, behave, jest, vitest, mocha, cucumber-js, bun, phpunit, pest, ctest, Catch2, Qt Test, bats |
//! | both | Playwright |
//! | other words in the command | unittest, nextest, deno, go (no file: its events name every test) |
//! | nothing, it always writes | Maven, Meson, sbt |

mod compiled;
mod javascript;
mod python;
mod scripting;

use super::facts::{Call, Direct, Framework, GoesOn, Results, Select, Tell, Written};

/// All frameworks, those that are called by longer words first.
const TABLES: [&[Framework]; 4] = [compiled::TABLE, python::TABLE, scripting::TABLE, javascript::TABLE];

/// All frameworks. Where two could be meant, the first counts.
pub fn all() -> impl Iterator<Item = &'static Framework> {
    TABLES.into_iter().flatten()
}

/// A framework by its name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Framework> {
    all().find(|framework| framework.name == name)
}

/// The framework of programs of any name that is known by that name.
#[must_use]
pub fn built(name: &str) -> Option<&'static Framework> {
    all().find(|framework| framework.name == name && framework.calls.contains(&Call::Built))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entry_can_be_carried_out() {
        let mut told = 0;
        for framework in all() {
            let Some(results) = &framework.results else { continue };
            told += 1;
            let words = format!("{:?}", results.told);
            let text = results.put.map(|(_, text)| text).unwrap_or_default();
            let is_named = match results.written {
                Written::File => words.contains("{file}") || words.contains("{put}") && !text.is_empty(),
                Written::Named(_) | Written::Folder => words.contains("{folder}"),
                Written::Printed => results.put.is_none(),
            };
            assert!(is_named || matches!(results.told, Tell::Always(_)), "{}", framework.name);
            assert_eq!(words.contains("{put}"), results.put.is_some(), "{}", framework.name);
            assert!(testlog::names().contains(&framework.name), "{} has no reader", framework.name);
        }
        assert!(told >= 20, "{told}");
    }

    #[test]
    fn no_two_frameworks_are_called_alike() {
        let calls: Vec<Call> = all().flat_map(|one| one.calls).copied().filter(|call| *call != Call::Built).collect();
        for (at, call) in calls.iter().enumerate() {
            assert!(!calls.iter().skip(at + 1).any(|other| other == call), "{call:?}");
        }
    }
}
