//! The templates with what is known of the repository filled in.

use super::action_ref::ActionRef;
use super::ci::{Ci, Tool};
use crate::cli::workflow_files::shown;

/// The names that the workflow's template follows.
const FOLLOWED: &str = "workflows: [CI, upshift-review]";
/// The part of the condition that lets red CI in.
const FAILED: &str =
    "contains(fromJSON('[\"failure\", \"timed_out\", \"startup_failure\"]'), github.event.workflow_run.conclusion)";
/// The line of the checkout that the tools are put behind.
const CHECKED_OUT: &str = "          persist-credentials: false\n";
/// The end of a pinned step: a release may be moved.
const UNPINNED: &str = " # zizmor: ignore[unpinned-uses]";

/// A template with the action, the names, the tools and the installation in it.
///
/// `last` is the input that the installation is put behind. `condition` stands at every step of the template's job behind its gate.
pub(super) fn fill(text: &str, (ci, action): (&Ci, Option<&ActionRef>), last: &str, condition: Option<&str>) -> String {
    let mut text = text.to_owned();
    if !ci.names.is_empty() {
        let names: Vec<String> = ci.names.iter().map(|name| plain_or_quoted(name)).collect();
        // The workflow of reviews is followed in any case, since it wakes runs that wait for a merge.
        text = text.replacen(FOLLOWED, &format!("workflows: [{}, upshift-review]", names.join(", ")), 1);
        // Where some of the workflows run no tests, their red must not start a run that mends tests.
        if !ci.tested.is_empty() && ci.tested.len() < ci.names.len() {
            // The list stands in a text of the expression, where a quote is written twice.
            let tested = serde_json::Value::from(ci.tested.clone()).to_string().replace('\'', "''");
            let of_tests =
                format!("{FAILED} &&\n          contains(fromJSON('{tested}'), github.event.workflow_run.name)");
            text = text.replacen(FAILED, &of_tests, 1);
        }
        text = text.replacen(", and `CI` with the `name:` of your workflow that runs the tests", "", 1);
    }
    if !ci.tools.is_empty() {
        let steps = tools(&ci.tools, ci.file.as_deref().unwrap_or_default(), condition);
        // Behind the checkout, since a tool may read its version from a file of it.
        text = text.replacen(CHECKED_OUT, &format!("{CHECKED_OUT}{steps}"), 1);
    }
    let inputs = [("working-directory", &ci.folder), ("setup-command", &ci.setup)];
    let inputs = inputs.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
    let inputs: String =
        inputs.map(|(name, value)| format!("          {name}: {}\n", plain_or_quoted(value))).collect();
    text = text.replacen(last, &format!("{last}{inputs}"), 1);
    match action {
        Some(action) => named(&text, action),
        None => text,
    }
}

/// The text with the action's address in the place of the placeholder.
fn named(text: &str, action: &ActionRef) -> String {
    let (placeholder, address) = (ActionRef::placeholder(), action.to_string());
    let mut lines = String::new();
    let text = text.replace(&ActionRef::advice_with_more(), "Replace ");
    for line in text.lines() {
        let line = line.replace(&placeholder, &address);
        // A commit is pinned: nothing is left to be excused.
        let line = match line.split_once(UNPINNED) {
            Some((step, _)) if action.is_commit() => step.to_owned(),
            _ => line,
        };
        let line = line.replace(&ActionRef::advice(), "");
        // A comment whose only sentence is gone would leave a bare sign.
        if line != "#" {
            lines += &format!("{}\n", line.trim_end());
        }
    }
    lines
}

fn tools(tools: &[Tool], file: &str, condition: Option<&str>) -> String {
    let mut steps = format!(
        "\n      # As in {}, without a cache: code of a pull request could write what other jobs read from it.\n",
        shown(file)
    );
    for tool in tools {
        let uses = plain_or_quoted(&tool.uses);
        steps += &match condition {
            Some(condition) => format!("      - if: {condition}\n        uses: {uses}\n"),
            None => format!("      - uses: {uses}\n"),
        };
        if !tool.with.is_empty() {
            steps.push_str("        with:\n");
        }
        for (name, value) in &tool.with {
            steps += &format!("          {}: {}\n", plain_or_quoted(name), quoted(value));
        }
    }
    steps
}

/// A YAML scalar that is read as this text everywhere, between brackets too.
fn plain_or_quoted(text: &str) -> String {
    // `3.10` would be read as a number, and `-x` as the item of a list.
    let is_word = |text: &str| text.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric() || " ._/@+-&=".contains(c));
    // YAML 1.1 reads these as booleans, and GitHub's parser is not the only one that reads the file.
    let is_other =
        ["true", "false", "null", "yes", "no", "on", "off", "y", "n"].contains(&text.to_lowercase().as_str());
    if is_word(text) && is_plain && !is_other && !text.ends_with(' ') { text.to_owned() } else { quoted(text) }
}

/// The text in double quotes: JSON's strings are YAML's.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_read_as_it_was() {
        for text in [
            "CI",
            "no",
            "build: all",
            "a # b",
            "Tests [x]",
            "npm ci && npm run build",
            "3.10",
            "ü 'x' \"y\"",
            "a\tb",
            "- x",
            " ",
        ] {
            for written in [plain_or_quoted(text), quoted(text)] {
                let read: serde_yaml::Value = serde_yaml::from_str(&format!("a: [{written}, z]")).unwrap();
                assert_eq!(read["a"][0].as_str(), Some(text), "{written}");
            }
        }
        assert_eq!((plain_or_quoted("npm ci").as_str(), plain_or_quoted("NO").as_str()), ("npm ci", "\"NO\""));
    }
}
