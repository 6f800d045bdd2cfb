//! Adds a selection of tests to a test command, where its framework can select.
//!
//! The names may come from a model: they are quoted for the shell, and none that could be read as an option is passed.

use crate::domain::shell::quote;
use crate::framework::facts::Select;
use crate::framework::source::{Language, java_test};
use crate::framework::{calls, table};

/// Commands with any of these are left alone: what is appended would not reach the runner.
const SHELL_MARKS: [&str; 8] = ["|", ";", "<", ">", "\n", "`", "$(", "\\"];
/// More names than this are a whole run.
const MOST_NAMES: usize = 200;

/// The command that runs only the named tests (one name per line), or `None` when it cannot be told to.
pub(super) fn with_filter(command: &str, framework: Option<&str>, wanted: &str) -> Option<String> {
    let names: Vec<&str> = wanted.lines().map(str::trim).filter(|name| !name.is_empty()).collect();
    // A name comes from output that anybody may print, and would be read as an option.
    let usable = |name: &&str| !name.starts_with('-') && !name.contains('\0');
    if names.is_empty() || names.len() > MOST_NAMES || !names.iter().all(usable) {
        return None;
    }
    if !is_plain(command) {
        return None;
    }
    // The commands before it prepare, and the tests are run by the last.
    let last = command.rsplit("&&").next()?.trim();
    let words: Vec<&str> = last.split_whitespace().collect();
    let (style, through) = style_of(&words, framework)?;
    append(command, last, style, through, &names)
}

/// Whether what is put behind a command reaches its last program, and each of its programs is called once.
pub(super) fn is_plain(command: &str) -> bool {
    !SHELL_MARKS.iter().any(|mark| command.contains(mark))
        // One alone sends to the background, and what is put behind would go to another program.
        && !command.replace("&&", "").contains('&')
}

/// The program between the command and the runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Through {
    Nothing,
    /// `npm test` passes on what is behind `--`.
    Dashes,
}

fn style_of(words: &[&str], framework: Option<&str>) -> Option<(Select, Through)> {
    let pair =
        |first: &str, second: &str| words.windows(2).any(|two| matches!(two, [a, b] if *a == first && *b == second));
    // npm takes options for its own unless `--` stands before them.
    let by_script = pair("npm", "test") || pair("npm", "t") || pair("npm", "run") || pair("npm", "run-script");
    let by_runner = by_script
        || pair("yarn", "test")
        || pair("pnpm", "test")
        || pair("yarn", "run")
        || pair("pnpm", "run")
        || pair("bun", "run");
    let of_script = || {
        let select = table::named(framework?)?.selects?;
        // Only where one option takes all names: the script may call the runner in any way.
        (by_runner && matches!(select, Select::Titles(_))).then_some(select)
    };
    let select = calls::selecting(words).and_then(|framework| framework.selects);
    let select = select.or_else(|| of_program(words, framework)).or_else(of_script)?;
    // An option stands behind the task that it belongs to.
    let is_one_task = words.iter().filter(|word| !word.starts_with('-')).count() == 2 && words.contains(&"test");
    if matches!(select, Select::EachMethod(_)) && !is_one_task {
        return None;
    }
    Some((select, if by_script { Through::Dashes } else { Through::Nothing }))
}

/// How a framework selects that the command does not name: by what is configured, where its program takes the option.
fn of_program(words: &[&str], framework: Option<&str>) -> Option<Select> {
    let select = table::named(framework?)?.selects?;
    let is_interpreted = words.first().is_some_and(|word| word.ends_with("ruby"));
    match select {
        // A variable reaches the program however it is called.
        Select::Variable(_) => Some(select),
        Select::Methods(_) if is_interpreted => Some(select),
        Select::Methods(_)
        | Select::Arguments
        | Select::BehindDashes
        | Select::Each(_)
        | Select::Dotted(_)
        | Select::Pattern(_)
        | Select::Titles(_)
        | Select::Outermost(_)
        | Select::Parts(..)
        | Select::ClassAndMethod(..)
        | Select::EachMethod(_) => None,
    }
}

fn append(command: &str, last: &str, style: Select, through: Through, names: &[&str]) -> Option<String> {
    let mut line = command.trim_end().to_owned();
    let has_dashes = last.split_whitespace().any(|word| word == "--");
    if through == Through::Dashes && !has_dashes {
        line.push_str(" --");
    }
    match style {
        Select::Arguments => {
            // Behind the command's own `--` names would be taken for something else.
            if has_dashes && through == Through::Nothing {
                return None;
            }
            for name in names {
                push_word(&mut line, name);
            }
        }
        Select::BehindDashes => {
            if !has_dashes {
                line.push_str(" --");
            }
            for name in names {
                push_word(&mut line, name);
            }
        }
        Select::Each(option) => {
            for name in names {
                push_option(&mut line, option, name);
            }
        }
        Select::Dotted(option) => {
            for name in names {
                push_option(&mut line, option, &dotted(name));
            }
        }
        Select::Pattern(option) | Select::Titles(option) => push_option(&mut line, option, &pattern(names)),
        Select::Outermost(option) => push_option(&mut line, option, &outermost(names)),
        Select::Parts(before, option) => {
            let patterns: Vec<String> = names
                .iter()
                // A part runs only where its parents do.
                // `cart > adds` is matched part by part.
                .flat_map(|name| name.split(" > "))
                .map(|part| format!("{option}={}", quote(&regex::escape(part))))
                .collect();
            line = line.replacen(before, &format!("{before} {}", patterns.join(" ")), 1);
        }
        Select::ClassAndMethod(before, option) => {
            let tests: Option<Vec<String>> = names.iter().map(|name| class_and_method(name)).collect();
            line.push_str(before);
            push_word(&mut line, &format!("{option}{}", tests?.join(",")));
        }
        Select::EachMethod(option) => {
            for name in names {
                let (class, method) = java_test(name)?;
                push_option(&mut line, option, &format!("{class}.{method}"));
            }
        }
        Select::Variable(variable) => {
            // GoogleTest prints the parameter behind the name: `Suite.Adds/0, where GetParam() = 1`.
            let tests: Vec<&str> = names.iter().map(|name| name.split(", where ").next().unwrap_or(name)).collect();
            // Others mean a pattern to it, and would select more or nothing.
            tests.iter().all(|name| name.contains('.') && !name.contains(['*', ':', '?'])).then_some(())?;
            // Right before the last command: in front of all it would hold for the first alone.
            let before = line.len() - last.len();
            let set = format!("{variable}={} ", quote(&tests.join(":")));
            line = format!("{}{set}{last}", command.get(..before)?);
        }
        Select::Methods(option) => {
            let methods: Option<Vec<String>> =
                names.iter().map(|name| Some(regex::escape(name.split_once('#')?.1))).collect();
            // Anchored, or `test_add` would run `test_add_all` as well.
            push_option(&mut line, option, &format!("/^({})$/", methods?.join("|")));
        }
    }
    Some(line)
}

/// `CartTest#adds`. Rows of a table are run with their method.
fn class_and_method(name: &str) -> Option<String> {
    let (class, method) = java_test(name)?;
    Some(format!("{}#{method}", class.rsplit('.').next()?))
}

/// `test_x (tests.mod.Class.test_x)` is selected by the path in the parentheses.
fn dotted(name: &str) -> String {
    // Python before 3.11 leaves the method out of the parentheses.
    let Some((method, rest)) = name.split_once(" (") else { return name.to_owned() };
    let path = rest.split(')').next().unwrap_or(rest);
    if path.ends_with(method) { path.to_owned() } else { format!("{path}.{method}") }
}

fn outermost(names: &[&str]) -> String {
    // `TestCart/empty`: the option selects functions, which run with all their parts.
    let mut tops: Vec<&str> = names.iter().map(|name| name.split('/').next().unwrap_or(name)).collect();
    tops.sort_unstable();
    tops.dedup();
    let escaped: Vec<String> = tops.into_iter().map(regex::escape).collect();
    format!("^({})$", escaped.join("|"))
}

fn pattern(names: &[&str]) -> String {
    // Reports join the parts of a name with a mark; the runners' patterns see them joined by a blank. What is joined with `›` may hold
    // the other's.
    let plain = |name: &str| {
        let name = behind_file(name);
        let joint = if name.contains(" › ") { " › " } else { " > " };
        regex::escape(&name.replace(joint, " "))
    };
    let escaped: Vec<String> = names.iter().map(|name| plain(name)).collect();
    escaped.join("|")
}

/// A name without the file that some print before it: their pattern is matched against suites and title alone.
fn behind_file(name: &str) -> &str {
    let split = name.split_once(" > ").filter(|(file, _)| Language::of(file) == Some(Language::JavaScript));
    split.map_or(name, |(_, rest)| rest)
}

fn push_option(line: &mut String, option: &str, word: &str) {
    line.push(' ');
    line.push_str(option);
    push_word(line, word);
}

fn push_word(line: &mut String, word: &str) {
    line.push(' ');
    line.push_str(&quote(word));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runners_are_told_to_run_the_named_tests() {
        let cases = [
            ("pytest -q", None, "tests/a.py::test_b[x y]", "pytest -q 'tests/a.py::test_b[x y]'"),
            ("cargo test --workspace", None, "tests::a\ntests::b", "cargo test --workspace -- tests::a tests::b"),
            ("cargo test -- --nocapture", None, "tests::a", "cargo test -- --nocapture tests::a"),
            ("cd web && npx jest", None, "Cart › adds (2)", r"cd web && npx jest -t 'Cart adds \(2\)'"),
            ("npm test", Some("vitest"), "Cart > adds", "npm test -- -t 'Cart adds'"),
            ("npx vitest run", None, "tests/cart.test.ts > Cart > adds", "npx vitest run -t 'Cart adds'"),
            ("npx jest", None, "Cart › a > b › adds", "npx jest -t 'Cart a > b adds'"),
            ("go test ./...", None, "TestA/sub\nTestB", "go test ./... -run '^(TestA|TestB)$'"),
            (
                "python -m unittest discover -s t",
                None,
                "test_x (t.m.C.test_x)",
                "python -m unittest discover -s t -k t.m.C.test_x",
            ),
            (
                "node --test src",
                None,
                "Cart > adds",
                "node --test --test-name-pattern=Cart --test-name-pattern=adds src",
            ),
            (
                "mvn -B test",
                None,
                "adds(shop.CartTest)\nshop.CartTest.rows(int)[1]",
                "mvn -B test -DfailIfNoTests=false -Dsurefire.failIfNoSpecifiedTests=false '-Dtest=CartTest#adds,CartTest#rows'",
            ),
            ("./gradlew test", None, "shop.CartTest > adds(int) > [1] 2", "./gradlew test --tests shop.CartTest.adds"),
            (
                "cmake --build b && ./b/all",
                Some("googletest"),
                "Cart.Adds\nAll/Rows.Each/0, where GetParam() = 3",
                "cmake --build b && GTEST_FILTER=Cart.Adds:All/Rows.Each/0 ./b/all",
            ),
            ("ruby -Itest test/a.rb", Some("minitest"), "CartTest#test_a", "ruby -Itest test/a.rb -n '/^(test_a)$/'"),
            ("phpunit", None, r"Tests\CartTest::testA", r"phpunit --filter 'Tests\\CartTest::testA'"),
            ("bundle exec rspec", None, "Cart#total adds", "bundle exec rspec -e 'Cart#total adds'"),
            ("ctest --test-dir b", None, "Cart.Adds", r"ctest --test-dir b -R 'Cart\.Adds'"),
        ];
        for (command, framework, wanted, expected) in cases {
            assert_eq!(with_filter(command, framework, wanted).as_deref(), Some(expected));
        }
    }

    #[test]
    fn what_cannot_be_filtered_safely_runs_whole() {
        let cases = [
            ("make test", None, "a"),
            ("pytest | tee log", None, "a"),
            ("pytest; true", None, "a"),
            ("pytest & tail -f log", None, "a"),
            ("serve & pytest", None, "a"),
            ("pytest &", None, "a"),
            ("pytest", None, "--co"),
            ("npm test", None, "a"),
            ("pytest || true", None, "a"),
            ("mvn test", None, "a b"),
            ("gradle test check", None, "shop.CartTest > adds()"),
            ("./b/all", Some("googletest"), "Cart.*"),
        ];
        for (command, framework, wanted) in cases {
            assert_eq!(with_filter(command, framework, wanted), None, "{command} {wanted}");
        }
    }

    #[test]
    fn names_cannot_leave_their_quotes() {
        assert_eq!(with_filter("pytest", None, "a'; touch x; '").as_deref(), Some(r"pytest 'a'\''; touch x; '\'''"));
    }
}
