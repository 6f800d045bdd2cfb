//! Actions that put tools on the runner and run nothing of the repository, and what of theirs would: caches and installations.

use serde_yaml::Value;

use super::workflow_files::action;

/// An action that puts a tool there.
#[derive(Debug)]
struct ToolAction {
    name: &'static str,
    /// An input by which it keeps a cache unless it is told otherwise, with what it is told then.
    caches_unless: Option<(&'static str, &'static str)>,
}

const fn plain(name: &'static str) -> ToolAction {
    ToolAction { name, caches_unless: None }
}

const fn caching(name: &'static str, input: &'static str, value: &'static str) -> ToolAction {
    ToolAction { name, caches_unless: Some((input, value)) }
}

const TOOLS: [ToolAction; 14] = [
    plain("actions/setup-python"),
    caching("actions/setup-node", "package-manager-cache", "false"),
    caching("actions/setup-go", "cache", "false"),
    plain("actions/setup-java"),
    plain("actions/setup-dotnet"),
    plain("pnpm/action-setup"),
    caching("astral-sh/setup-uv", "enable-cache", "false"),
    caching("oven-sh/setup-bun", "no-cache", "true"),
    plain("denoland/setup-deno"),
    plain("dtolnay/rust-toolchain"),
    plain("ruby/setup-ruby"),
    plain("shivammathur/setup-php"),
    plain("erlef/setup-beam"),
    caching("mlugg/setup-zig", "use-cache", "false"),
];
/// Inputs by which one of them keeps a cache.
const CACHES: [&str; 4] = ["cache", "bundler-cache", "enable-cache", "package-manager-cache"];
/// Inputs by which one of them runs code of the repository, with the command that does the same.
const INSTALLS: [(&str, &str); 3] =
    [("bundler-cache", "bundle install"), ("run_install", "pnpm install"), ("pip-install", "pip install")];
/// Inputs that only choose a tool, beside those that are called after a version.
const CHOICES: [&str; 15] = [
    "architecture",
    "channel",
    "check-latest",
    "components",
    "coverage",
    "distribution",
    "extensions",
    "ini-values",
    "java-package",
    "profile",
    "rubygems",
    "target",
    "targets",
    "toolchain",
    "tools",
];

fn of(action: &str) -> Option<&'static ToolAction> {
    TOOLS.iter().find(|tool| tool.name == action)
}

/// Whether an action only puts tools there, if nothing else is asked of it.
pub(super) fn is_one(action: &str) -> bool {
    // GitHub's own actions of that name install a tool and nothing else, also those that are not listed.
    of(action).is_some() || action.starts_with("actions/setup-")
}

/// Whether it is one whose inputs are known here.
pub(super) fn is_known(action: &str) -> bool {
    of(action).is_some()
}

/// Whether an input only chooses a tool.
pub(super) fn chooses(input: &str) -> bool {
    CHOICES.contains(&input)
        // `python-version`, `node-version-file` and the like. `cache-version` is none.
        || (input.contains("version") && !input.contains("cache"))
        || ["package_json_file", "bundler"].contains(&input)
}

/// The command that does what a step of one of them installs. `None` where it installs nothing.
pub(super) fn installation_of(step: &Value) -> Option<String> {
    let (input, command) = INSTALLS.into_iter().find(|(input, _)| is_on(step, input))?;
    match text(step, input) {
        // Its value is what pip is given.
        Some(what) if input == "pip-install" => Some(format!("{command} {what}")),
        _ => Some(command.to_owned()),
    }
}

/// The input that an action must be given so that it keeps no cache, with its value.
pub(super) fn without_cache(action: &str) -> Option<(&'static str, &'static str)> {
    of(action)?.caches_unless
}

/// Whether a step of one of them runs code of the repository, too.
pub(super) fn installs(step: &Value) -> bool {
    installation_of(step).is_some()
}

/// What a step must be told so that it keeps no cache. `None` where it keeps none.
pub(super) fn remedy_of_cache(step: &Value) -> Option<String> {
    let action = action(step)?;
    // They do nothing but keep a cache, so there is no input to switch it off.
    if ["actions/cache", "actions/cache/restore", "actions/cache/save", "Swatinem/rust-cache"].contains(&action) {
        return Some("take the step out".to_owned());
    }
    let told = |(input, value): &(&str, &str)| text(step, input).is_some_and(|text| text == *value);
    let by_itself = without_cache(action).filter(|_| caches_by_itself(step));
    if let Some((input, value)) = by_itself.filter(|unless| !told(unless)) {
        return Some(format!("give it `{input}: {value}`"));
    }
    // `cache` of an unknown action may mean anything.
    let on = is_one(action).then(|| CACHES.into_iter().find(|input| is_on(step, input))).flatten()?;
    Some(format!("take `{on}` out of its `with`"))
}

/// Whether this version of an action caches unless it is told otherwise: `actions/setup-node` does since its fifth.
fn caches_by_itself(step: &Value) -> bool {
    let version = step.get("uses").and_then(Value::as_str).and_then(|uses| uses.split_once("@v"));
    let major = version.and_then(|(_, version)| version.split('.').next()?.parse::<u32>().ok());
    // A version by commit has no such number, and is taken for a new one: the careful reading.
    !(action(step) == Some("actions/setup-node") && major.is_some_and(|major| major < 5))
}

fn is_on(step: &Value, input: &str) -> bool {
    text(step, input).is_some_and(|text| !text.is_empty() && text != "false")
}

fn text(step: &Value, input: &str) -> Option<String> {
    match step.get("with")?.get(input)? {
        Value::String(text) => Some(text.clone()),
        Value::Bool(is) => Some(is.to_string()),
        Value::Number(number) => Some(number.to_string()),
        // No text of ours, but something is given there.
        Value::Sequence(_) | Value::Mapping(_) => Some("…".to_owned()),
        Value::Null | Value::Tagged(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_is_seen_however_a_step_keeps_it() {
        let remedy = |step: &str| remedy_of_cache(&serde_yaml::from_str(step).unwrap());
        for (step, wanted) in [
            ("{uses: actions/setup-node@v4, with: {node-version: 22}}", None),
            ("{uses: actions/setup-node@v5}", Some("give it `package-manager-cache: false`")),
            ("{uses: actions/setup-node@v4, with: {cache: npm}}", Some("take `cache` out of its `with`")),
            ("{uses: actions/setup-go@v6, with: {go-version: '1.25'}}", Some("give it `cache: false`")),
            ("{uses: actions/setup-go@v6, with: {cache: false}}", None),
            ("{uses: astral-sh/setup-uv@v7}", Some("give it `enable-cache: false`")),
            ("{uses: ruby/setup-ruby@v1, with: {bundler-cache: true}}", Some("take `bundler-cache` out of its `with`")),
            ("{uses: actions/cache@v4, with: {path: a, key: b}}", Some("take the step out")),
            ("{uses: acme/build@v1, with: {cache: a}}", None),
            ("{run: make}", None),
        ] {
            assert_eq!(remedy(step).as_deref(), wanted, "{step}");
        }
    }
}
