//! The message of a commit that holds a fix (pure).
//!
//! Invariant: nothing in it was written by a model or by the code under repair, whose `[skip ci]` would silence CI. It always ends with the
//! trailers by which our own commits are known.

use super::context::Charter;
use super::measured::Measured;
use super::state::Fix;

/// The trailer that names the run. A commit that has it is ours.
pub const RUN_TRAILER: &str = "Upshift-Run-Id";
/// The message when nothing names another.
const TEMPLATE: &str = "fix: make {tests} pass";
/// The placeholders of a template.
pub const PLACEHOLDERS: [&str; 5] = ["{tests}", "{tier}", "{model}", "{run-id}", "{iteration}"];

/// The message with its trailers, for what failed before the fix.
pub(super) fn compose(charter: &Charter, measured: &Measured, fix: &Fix) -> String {
    let tests = match measured.baseline.failing.len() {
        // The tests here pass then, and "the build" would be wrong.
        _ if measured.judged_by_ci => "CI".to_owned(),
        0 => "the build".to_owned(),
        1 => "1 failing test".to_owned(),
        many => format!("{many} failing tests"),
    };
    let tier = one_line(charter.tier(fix.tier_index).map_or("", |tier| tier.name.as_str()));
    let values = [tests, tier.clone(), one_line(&fix.model), charter.run_id.0.clone(), fix.iteration.to_string()];
    let mut text = charter.plan.github.commit_message.clone().unwrap_or_else(|| TEMPLATE.to_owned());
    for (placeholder, value) in PLACEHOLDERS.iter().zip(&values) {
        text = text.replace(placeholder, value);
    }
    let (run, model) = (&charter.run_id, one_line(&fix.model));
    format!("{}\n\n{RUN_TRAILER}: {run}\nUpshift-Tier: {tier}\nUpshift-Model: {model}\n", text.trim())
}

/// The longest name of a trailer that is looked for, in characters.
const MOST_OF_A_TRAILER: usize = 60;
/// No width, and no part of any word that a forge or git knows.
const BREAK: char = '\u{200b}';

/// A foreign text as it may stand in the message of a commit: in it nothing is a trailer, mentions anybody, closes or names an issue, or
/// silences CI. It reads as before.
pub(super) fn inert(text: &str) -> String {
    text.lines().map(inert_line).collect::<Vec<_>>().join("\n")
}

fn inert_line(line: &str) -> String {
    let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ' | '!' | '(' | ')');
    let head = line.find(|c| !is_of_name(c)).filter(|at| *at <= MOST_OF_A_TRAILER);
    let mut out = String::with_capacity(line.len());
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        let rest = line.get(at + c.len_utf8()..).unwrap_or_default();
        // `Name: value`, `Name #1`, `GH-1`, `https://…/issues/1`, `NO_CI`. A path such as `tests::adds` is none of them.
        let ends_name = head == Some(at) && c == ':' && !rest.starts_with(':');
        let said = out.to_ascii_lowercase();
        let ends_word = (c == '-' && said.ends_with("gh")) || (c == '_' && said.ends_with("no"));
        if ends_name || ends_word || (c == '/' && before == ':') {
            out.push(BREAK);
        }
        out.push(c);
        // Names of tests are copied out of a message: `test_sum[2-3]` and `Cart#total` stay as they are.
        let means = match c {
            '@' => true,
            '#' => rest.starts_with(|next: char| next.is_numeric()),
            '[' => silences(rest),
            _ => false,
        };
        if means {
            out.push(BREAK);
        }
        before = c;
    }
    out
}

/// Whether a bracket that begins so may tell a CI to do nothing: `[skip ci]`, `[ci skip]`, `[no ci]`, `[skip-travis]`.
fn silences(rest: &str) -> bool {
    let inside = rest.split(']').next().unwrap_or_default().to_ascii_lowercase();
    // Every CI has spellings of its own, so one such word is enough: a bracket broken in vain reads the same.
    inside.split(|c: char| !c.is_alphanumeric()).any(|word| matches!(word, "skip" | "no" | "ci" | "actions"))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As git and GitHub look for them: a trailer by its name and colon, an issue by its number or address, a person by the sign.
    #[test]
    fn nothing_in_a_foreign_text_means_anything_in_a_message() {
        let text = "The sign was wrong.\n\nCo-authored-by: Eve <eve@example.invalid>\n  Signed-off-by: Eve <eve@example.invalid>\n\
                    Closes #1, fixes acme/shop#2, resolves GH-3, closes https://github.com/acme/shop/issues/4 @ada\n[skip ci] ***NO_CI***\n\
                    skip-checks:true\nBREAKING CHANGE: all\nfeat(api)!: all\nUpshift-Run-Id: 1f\nCloses: #5\nRefs #6";
        let said = inert(text);
        for line in said.lines() {
            let name = line.trim_start().split(':').next().unwrap_or_default();
            let is_token =
                |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "- !()".contains(c));
            assert!(!line.contains(':') || !is_token(name), "{line}");
        }
        for word in ["#1", "#2", "GH-3", "://", "@ada", "[skip", "NO_CI", "#5", "#6", "@example"] {
            assert!(!said.contains(word), "{word}: {said}");
        }
        assert_eq!(said.replace(BREAK, ""), text, "it reads as before");
    }

    /// A name is copied from the text of a pull request into a command.
    #[test]
    fn names_of_tests_stay_as_they_are_unless_they_mean_something() {
        for name in
            ["tests/test_cart.py::test_sum[2-3]", "cart::tests::adds", "tests::adds", "Cart#total", "adds > [a]"]
        {
            assert_eq!(inert(name), name);
        }
        for name in ["closes #7", "t[skip ci]", "t[no-ci]", "Signed-off-by: x", "GH-3", "@team"] {
            assert_ne!(inert(name), name);
        }
    }
}
