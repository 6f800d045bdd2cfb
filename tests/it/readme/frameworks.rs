//! The page about frameworks prints the program's own table: commands, result files, what is tried. Its signs are looked for in real folders.

use std::collections::BTreeSet;

use upshift::framework::detect::detect;
use upshift::framework::facts::{Call, Framework, Results, Tell, Written};
use upshift::framework::source::Language;
use upshift::framework::table;

use super::markdown::page;

const PAGE: &str = "docs/frameworks.md";

/// A text of the program in a cell of a table.
fn code(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|").trim())
}

/// How a command calls it.
fn called(call: Call) -> String {
    match call {
        Call::Word(name) | Call::Program(name) => code(name),
        Call::Words(words) => code(&words.join(" ")),
        Call::Module(module) => code(&format!("python -m {module}")),
        Call::Build(program, _) => code(&format!("{program} test")),
        Call::Built => "your own test program: name it in `test.framework`".to_owned(),
    }
}

/// How it is told to write its results.
fn told(results: &Results) -> String {
    let shown = |text: &str| {
        let holes = [("{file}", "FILE"), ("{folder}", "FOLDER"), ("{put}", "FILE")];
        holes.into_iter().fold(text.to_owned(), |text, (hole, word)| text.replace(hole, word))
    };
    match results.told {
        Tell::Options(name, _) | Tell::Variable(name, _) | Tell::VariableAndBehind((name, _), _) => {
            format!("variable {}", code(name))
        }
        Tell::Behind(options) => format!("options {}", code(&shown(options))),
        Tell::Instead(_, words) if words.trim() == "{put}" => "a runner of upshift's own".to_owned(),
        Tell::Instead(_, words) => format!("called as {}", code(&shown(words))),
        Tell::Always(glob) => format!("always written: {}", code(glob)),
    }
}

fn row(framework: &Framework) -> String {
    let calls: Vec<String> = framework.calls.iter().map(|call| called(*call)).collect();
    let (names, results) = match &framework.results {
        None => ("if printed", "none".to_owned()),
        Some(results) if results.written == Written::Printed => ("yes", format!("none: events, {}", told(results))),
        Some(results) => ("yes", told(results)),
    };
    let is_called = framework.direct.is_some() || ["cargo-test", "cargo-nextest"].contains(&framework.name);
    let (alone, direct) =
        (if framework.selects.is_some() { "yes" } else { "no" }, if is_called { "yes" } else { "no" });
    let (name, calls) = (framework.name, calls.join(", "));
    format!("| {name} | {calls} | {names} | {results} | {alone} | {direct} |\n")
}

#[test]
fn the_page_prints_every_framework_of_the_table() {
    let rows: String = table::all().map(row).collect();
    let head = "| framework | command | names passing tests | result file | runs single tests | called without its runner |\n|---|---|---|---|---|---|\n";
    let table = format!("{head}{rows}");
    assert!(page(PAGE).contains(&table), "{PAGE} must hold this table:\n{table}");
}

#[test]
fn the_page_names_the_frameworks_whose_output_is_read_and_nothing_more() {
    let called: BTreeSet<&str> = table::all().map(|framework| framework.name).collect();
    let names: Vec<String> = testlog::names().into_iter().filter(|name| !called.contains(name)).map(code).collect();
    let line = names.join(", ");
    let text = page(PAGE).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(&line), "{PAGE} must hold this list:\n{line}");
}

#[test]
fn the_page_says_which_languages_are_read_how_far() {
    let all = [
        (Language::Python, "Python", "a.py"),
        (Language::JavaScript, "JavaScript, TypeScript", "a.ts"),
        (Language::Rust, "Rust", "a.rs"),
        (Language::Go, "Go", "a.go"),
        (Language::Java, "Java", "A.java"),
        (Language::Php, "PHP", "a.php"),
        (Language::Cpp, "C++", "a.cpp"),
        (Language::Ruby, "Ruby", "a.rb"),
    ];
    let row = |(language, name, file): (Language, &str, &str)| {
        assert_eq!(Language::of(file), Some(language), "{file}");
        let whole = if language.has_grammar() { "yes" } else { "no" };
        format!("| {name} | yes | {whole} |\n")
    };
    let rows: String = all.into_iter().map(row).collect();
    let table = format!("| language | experiments inside tests | read as a whole |\n|---|---|---|\n{rows}");
    assert!(page(PAGE).contains(&table), "{PAGE} must hold this table:\n{table}");
}

/// A sign by which a test command is found: how the page puts it, files that hold it, and the command.
struct Sign(&'static str, &'static [(&'static str, &'static str)], &'static str);

/// In the order in which they count.
const SIGNS: [Sign; 33] = [
    Sign("`package.json` with a `test` script", &[("package.json", r#"{"scripts": {"test": "jest"}}"#)], "npm test"),
    Sign(
        "the same, and a lock file of pnpm, yarn or bun",
        &[("package.json", r#"{"scripts": {"test": "jest"}}"#), ("pnpm-lock.yaml", "")],
        "pnpm test",
    ),
    Sign(
        "Vitest, Jest, Mocha, AVA, Jasmine, tap, Playwright or Karma among its dependencies",
        &[("package.json", r#"{"devDependencies": {"vitest": "4"}}"#)],
        "npx vitest run",
    ),
    Sign(
        "pytest named in `pyproject.toml`, `requirements*.txt`, `tox.ini` and the like, or plain `test_` functions",
        &[("pyproject.toml", "[tool.pytest.ini_options]\n")],
        "pytest",
    ),
    Sign(
        "the same, and a lock file of uv, poetry, pdm or pipenv",
        &[("pyproject.toml", "[tool.pytest.ini_options]\n"), ("uv.lock", "")],
        "uv run pytest",
    ),
    Sign("Django's `manage.py`", &[("manage.py", "import django\n")], "python3 manage.py test"),
    Sign("`Cargo.toml`", &[("Cargo.toml", "[package]\n")], "cargo test"),
    Sign(
        "`Cargo.toml` and `.config/nextest.toml`",
        &[("Cargo.toml", "[package]\n"), (".config/nextest.toml", "")],
        "cargo nextest run",
    ),
    Sign("RSpec in the `Gemfile`", &[("Gemfile", "gem 'rspec'\n")], "bundle exec rspec"),
    Sign("`.rspec`, or `spec/*_spec.rb`", &[(".rspec", "")], "rspec"),
    Sign(
        "`bin/rails`, `config.ru` and `test`",
        &[("config.ru", ""), ("bin/rails", ""), ("test/a_test.rb", "")],
        "bin/rails test",
    ),
    Sign("a `TestTask` in the `Rakefile`", &[("Rakefile", "Rake::TestTask.new\n")], "rake test"),
    Sign("`pom.xml` (through `mvnw` where it is there)", &[("pom.xml", "")], "mvn -B test"),
    Sign("`build.gradle` and the like (through `gradlew` where it is there)", &[("build.gradle", "")], "gradle test"),
    Sign("`go.mod`", &[("go.mod", "")], "go test ./..."),
    Sign("a solution, or a test project of .NET", &[("shop.sln", "")], "dotnet test"),
    Sign("a `test` script in `composer.json`", &[("composer.json", r#"{"scripts": {"test": "x"}}"#)], "composer test"),
    Sign(
        "PHPUnit in `composer.json`, or `phpunit.xml`",
        &[("composer.json", r#"{"require-dev": {"phpunit/phpunit": "*"}}"#)],
        "vendor/bin/phpunit",
    ),
    Sign(
        "Pest in `composer.json`",
        &[("composer.json", r#"{"require-dev": {"pestphp/pest": "*"}}"#)],
        "vendor/bin/pest",
    ),
    Sign("`mix.exs`", &[("mix.exs", "")], "mix test"),
    Sign("`deno.json`", &[("deno.json", "{}")], "deno test"),
    Sign(
        "`CMakeLists.txt` that enables testing",
        &[("CMakeLists.txt", "enable_testing()\n")],
        "cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure",
    ),
    Sign(
        "`meson.build` with tests",
        &[("meson.build", "test('a', a)\n")],
        "{ test -d build || meson setup build; } && meson test -C build --print-errorlogs",
    ),
    Sign("`Package.swift`", &[("Package.swift", "")], "swift test"),
    Sign("`pubspec.yaml` (`flutter test` where it names Flutter)", &[("pubspec.yaml", "")], "dart test"),
    Sign("`.busted`, or `spec/*_spec.lua`", &[(".busted", "")], "busted"),
    Sign("`*.bats`", &[("a.bats", "")], "bats ."),
    Sign("`t/*.t`", &[("t/a.t", "")], "prove -lr t"),
    Sign("`*.test.js` and the like, and no framework", &[("a.test.js", "")], "node --test"),
    Sign(
        "tests that use unittest, and no pytest",
        &[("tests/test_a.py", "import unittest\n")],
        "python3 -m unittest discover -s tests",
    ),
    Sign("a target `test`, `tests` or `check` in a `Makefile`", &[("Makefile", "test:\n\ttrue\n")], "make test"),
    Sign(
        "a recipe `test` in a `justfile`, or a task `test` in a `Taskfile`",
        &[("justfile", "test:\n  true\n")],
        "just test",
    ),
    Sign("tox or nox", &[("noxfile.py", "@nox.session\n")], "nox"),
];

#[test]
fn the_page_prints_the_signs_by_which_a_command_is_found() {
    let mut rows = String::new();
    for Sign(sign, files, command) in SIGNS {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let place = folder.path().join(name);
            std::fs::create_dir_all(place.parent().expect("a folder")).expect("made");
            std::fs::write(place, text).expect("written");
        }
        let found = detect(folder.path()).map(|found| found.command);
        assert_eq!(found.as_deref(), Some(command), "{sign}");
        rows.push_str(&format!("| {sign} | {} |\n", code(command)));
    }
    let table = format!("| in the repository | test command |\n|---|---|\n{rows}");
    assert!(page(PAGE).contains(&table), "{PAGE} must hold this table:\n{table}");
}
