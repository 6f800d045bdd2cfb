//! Macros that a change defines and the tests' files use: without the change's definition the one beneath it is used, an assertion of the
//! framework's, say. Where the tests fail with that they pass by the change's rule alone. A remark.

use std::collections::BTreeMap;

use super::super::bench::TrialError;
use super::choices::is_green;
use super::court::Court;
use super::outcome;
use crate::domain::remark::{Remark, RemarkKind};
use crate::framework::source::Language;
use crate::policy::tamper::Change;
use crate::policy::tamper::remarks::added_lines;
use crate::test_run::TestRun;

/// Names that are tried at most.
const MOST_NAMES: usize = 8;

impl Court<'_> {
    /// Leaves out the definitions of names that tests use.
    pub(super) async fn macros(&mut self, green: &TestRun, changes: &[Change]) -> Result<(), TrialError> {
        let mut found: Vec<(&str, String, u32, String)> = Vec::new();
        for change in changes.iter().filter(|change| Language::of(&change.path) == Some(Language::Cpp)) {
            let Some(text) = change.after.as_deref() else { continue };
            for (line, added) in added_lines(change) {
                let Some(name) = defined(&added).filter(|name| self.is_used_by_tests(name)) else { continue };
                found.push((&change.path, name.to_owned(), line, without(text, name)));
            }
        }
        for (path, name, line, text) in found.into_iter().take(MOST_NAMES) {
            let Some(run) = self.of_failed(&BTreeMap::from([(path.to_owned(), text)])).await? else { return Ok(()) };
            // A name of the product's own is missing without it: no program is made then.
            if outcome::did_not_run(&run) || is_green(&run, green) {
                continue;
            }
            let said = Some(format!("`{name}` as the change defines it has them pass"));
            let (kind, file) = (RemarkKind::HooksIntoRunner, path.to_owned());
            self.remarks.push(Remark { kind, file, lines: Some((line, line)), said });
        }
        Ok(())
    }

    fn is_used_by_tests(&self, name: &str) -> bool {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        self.bodies.sources.iter().any(|source| source.text().split(|c| !is_word(c)).any(|word| word == name))
    }
}

/// The name that a line defines.
fn defined(line: &str) -> Option<&str> {
    directive(line, "define").and_then(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next())
}

/// What stands behind a directive of the preprocessor's.
fn directive<'t>(line: &'t str, word: &str) -> Option<&'t str> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix(word)?;
    rest.starts_with([' ', '\t']).then(|| rest.trim_start())
}

/// A text without the lines that define a name, or take its definition away.
fn without(text: &str, name: &str) -> String {
    let is_of_name = |line: &str| {
        let named = defined(line) == Some(name);
        named || directive(line, "undef").is_some_and(|rest| rest.trim() == name)
    };
    let mut goes_on = false;
    let kept = text.split_inclusive('\n').filter(|line| {
        let is_gone = goes_on || is_of_name(line);
        goes_on = is_gone && line.trim_end().ends_with('\\');
        !is_gone
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_goes_with_all_of_its_lines() {
        let text =
            "int a;\n#undef EXPECT_EQ\n# define EXPECT_EQ(a, b) \\\n  EXPECT_NEAR(a, b, 1)\n#define EXPECT_EQUAL 1\n";
        assert_eq!(without(text, "EXPECT_EQ"), "int a;\n#define EXPECT_EQUAL 1\n");
        assert_eq!((defined("#define A(b) c"), defined("# ifdef A"), defined("#defined A")), (Some("A"), None, None));
    }
}
