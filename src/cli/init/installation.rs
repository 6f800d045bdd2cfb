//! Commands of CI that install what tests need, recognised by the package manager they call.

/// The beginnings of commands that install. A command is one of them, or one with more words behind it.
const INSTALLS: &str = "\
npm ci|npm install|npm i|yarn|yarn install|pnpm install|pnpm i|bun install|corepack enable|\
pip install|pip3 install|python -m pip install|python3 -m pip install|python -m venv|python3 -m venv|.venv/bin/pip install|\
uv sync|uv venv|uv pip install|poetry install|pipenv install|pipenv sync|pdm install|pdm sync|pip-sync|\
bundle|bundle install|bundle config|gem install|composer install|composer update|\
go mod download|cargo fetch|mix deps.get|mix local.hex|mix local.rebar|dotnet restore|opam install|cabal update|stack setup|\
shards install|dart pub get|flutter pub get|luarocks install|cpanm|conan install";
/// Words of a command by which it does something else too.
const ELSE: [&str; 8] = ["$", "`", ";", "|", "&", ">", "<", "("];

/// Beginnings of lines that belong to the lines around them, or change what those behind them mean.
const BOUND: [&str; 22] = [
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "function", "{", "}",
    "cd", "pushd", "popd", "export", "source", ".", "alias",
];
/// Beginnings of lines that only print.
const PRINTS: [&str; 5] = ["echo", "printf", "set", "true", "go env"];

/// The commands of a script: continued lines are one, comments and empty lines are none.
pub(super) fn lines_of(script: &str) -> Vec<String> {
    // A backslash before a line end continues the line, also within quotes as far as we can tell.
    let joined = script.replace("\\\n", " ");
    let lines = joined.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    let lines = lines.map(|line| uncommented(&line).to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}

/// A line without the comment at its end.
fn uncommented(line: &str) -> &str {
    if line.starts_with('#') {
        return "";
    }
    match line.split_once(" #") {
        // A `#` between quotes begins no comment: `grep " #" file`.
        Some((before, _)) if !has_quote(before) => before.trim_end(),
        _ => line,
    }
}

fn has_quote(text: &str) -> bool {
    text.matches('"').count() % 2 == 1 || text.matches('\'').count() % 2 == 1
}

/// Whether a line means something only with the others of its script.
pub(super) fn is_bound(line: &str) -> bool {
    let first = line.split([' ', ';', '(']).next().unwrap_or_default();
    // The lines behind a here-document are its text and no commands.
    (BOUND.contains(&first) && !is_installation(line)) || line.contains("<<")
}

/// Whether a line only prints, or sets how the shell works: nothing is lost without it.
pub(super) fn only_prints(line: &str) -> bool {
    let begins = |start: &str| line.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    // An `echo` into a file makes a file, which the tests may need.
    (line == "env" || PRINTS.into_iter().any(begins)) && !line.contains(['>', '|', '&', ';'])
}

/// Whether a line installs and does nothing else: one command, several behind each other, or one under a condition
/// (`if [ -f requirements.txt ]; then pip install -r requirements.txt; fi`, as GitHub's starter workflow has it).
pub(super) fn is_installation(line: &str) -> bool {
    if let Some((condition, then)) = line.strip_prefix("if [ ").and_then(|rest| rest.split_once(" ]; then ")) {
        // Only a test of files: `[` with a command within would run that command.
        return !has_more(condition) && then.strip_suffix("; fi").is_some_and(is_one);
    }
    line.split(" && ").all(is_one)
}

fn is_one(command: &str) -> bool {
    let begins = |start: &str| command.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    // Alone, these two install; with a word of their own they run anything.
    let bare = ["yarn", "bundle"].into_iter().any(|program| begins(program) && runs_another(command));
    !bare && !has_more(command) && !names_built(command) && INSTALLS.split('|').any(begins)
}

/// Whether the first word behind a program is neither an option nor an installation. Behind an option it may be the option's value.
fn runs_another(command: &str) -> bool {
    let words: Vec<&str> = command.split_whitespace().skip(1).collect();
    words.iter().find(|word| !word.starts_with('-')).is_some_and(|word| !["install", "config"].contains(word))
}

/// Whether it installs what an earlier step built or brought, or what lies elsewhere on the runner.
fn names_built(command: &str) -> bool {
    command.split_whitespace().any(|word| {
        word.starts_with('/')
            || word.contains("dist/")
            || word.ends_with(".whl")
            || word.ends_with(".tar.gz")
            || word.starts_with("~")
    })
}

/// Whether a sign of the shell stands in it that starts something else. Between quotes only what is replaced there counts.
fn has_more(command: &str) -> bool {
    let (mut bare, mut quote) = (String::new(), None);
    for sign in command.chars() {
        match quote {
            Some(open) if sign == open => quote = None,
            // Between double quotes the shell still replaces `$` and backticks.
            Some('"') if matches!(sign, '$' | '`') => bare.push(sign),
            Some(_) => {}
            None if matches!(sign, '"' | '\'') => quote = Some(sign),
            None => bare.push(sign),
        }
    }
    // A quote that stays open means that the line goes on elsewhere.
    quote.is_some() || ELSE.into_iter().any(|sign| bare.contains(sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_installs_or_does_something_else_too() {
        for line in [
            "npm ci",
            "yarn",
            "yarn --frozen-lockfile",
            "bundle install --jobs 4",
            "python -m pip install -e .[dev] 'attrs<26' \"numpy>=2\"",
            "corepack enable && pnpm install --frozen-lockfile",
            "if [ -f requirements.txt ]; then pip install -r requirements.txt; fi",
        ] {
            assert!(is_installation(line), "{line}");
        }
        for line in [
            "npm cinder",
            "npm test",
            "yarn test",
            "bundle exec rspec",
            "npm ci; curl evil.example",
            "pip install \"$(cat names)\"",
            "pip install $(cat names)",
            "if [ $(id) ]; then npm ci; fi",
            "npm ci && npm test",
            "pip install x > /dev/null",
            "yarn --cwd web validate",
            "yarn --cwd web test",
            "pip install dist/*.whl",
            "pip install /root/packages/a.whl",
        ] {
            assert!(!is_installation(line), "{line}");
        }
        assert_eq!(lines_of("pip install a # note\necho '#x #y'"), ["pip install a", "echo '#x #y'"]);
        assert!(is_bound("cd a") && is_bound("if x; then") && is_bound("cat <<EOF") && !is_bound("npm ci"));
        assert!(only_prints("echo a") && !only_prints("echo a > b") && !only_prints("envoy"));
        assert_eq!(lines_of("# a\npip install \\\n  b\n\nnpm  ci"), ["pip install b", "npm ci"]);
    }
}
