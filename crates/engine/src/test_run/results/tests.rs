use std::time::Duration;

use tempfile::TempDir;

use super::*;
use crate::process::Confinement;

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn command(folder: &TempDir, line: &str, env: &[(&str, &str)]) -> TestCommand {
    TestCommand {
        command: line.to_owned(),
        checks: Vec::new(),
        cwd: folder.path().to_owned(),
        env: env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect(),
        timeout: Duration::from_secs(5),
        memory_mb: None,
        framework: None,
        junit: None,
        confinement: Confinement::None,
        results: ResultFiles::Wanted,
        streams: None,
    }
}

/// The line as it is run and what was added to the environment, with `BOX` for the secret_dir.
fn told(command: &TestCommand) -> (String, String) {
    let told = tell(command, command.command.clone());
    let place = match &told.how {
        How::File(secret_dir, ..) => secret_dir.path().display().to_string(),
        How::Nothing | How::NoRoom | How::Framed => "nowhere".to_owned(),
    };
    let added: Vec<String> = told
        .env
        .iter()
        .filter(|(name, _)| !["HOME", "PATH"].contains(&name.to_str().unwrap()))
        .map(|(name, value)| format!("{}={}", name.display(), value.display()))
        .collect();
    (told.line.replace(&place, "BOX"), added.join(" ").replace(&place, "BOX"))
}

const PACKAGE: &str = r#"{ "scripts": { "test": "jest --ci", "unit": "vitest run", "m": "mocha -R dot", "n": "node --test test/",
    "two": "jest a && jest b", "own": "jest --json", "more": "jest -- --ci", "chain": "npm run unit" } }"#;

#[test]
fn each_runner_is_told_in_its_own_way() {
    let folder = folder(&[("package.json", PACKAGE)]);
    let node = "NODE_OPTIONS=--test-reporter=spec --test-reporter-destination=stdout --test-reporter=junit --test-reporter-destination=BOX/results";
    let vitest = "--reporter=default --reporter=json --outputFile.json=BOX/results";
    let pytest = "PYTEST_ADDOPTS=--junitxml=BOX/results";
    let cases = [
        ("pytest -q tests", "pytest -q tests", pytest),
        (".venv/bin/python -m pytest", ".venv/bin/python -m pytest", pytest),
        ("cd api && poetry run pytest -x", "cd api && poetry run pytest -x", pytest),
        ("python3 -m unittest -v", "python3 BOX/unittest_results.py -v", ""),
        (
            "cd api && .venv/bin/python3.12 -m unittest discover",
            "cd api && .venv/bin/python3.12 BOX/unittest_results.py discover",
            "",
        ),
        ("coverage run -m unittest", "coverage run -m unittest", ""),
        ("node --test test/", "node --test test/", node),
        ("npm run n", "npm run n", node),
        ("npx jest src", "npx jest src --json --outputFile=BOX/results", ""),
        ("npm test", "npm test -- --json --outputFile=BOX/results", ""),
        ("yarn test", "yarn test --json --outputFile=BOX/results", ""),
        ("node_modules/.bin/vitest run", &format!("node_modules/.bin/vitest run {vitest}"), ""),
        ("npm run unit", &format!("npm run unit -- {vitest}"), ""),
        ("npx mocha", "npx mocha --require BOX/results.cjs", ""),
        ("npm run m", "npm run m -- --require BOX/results.cjs", ""),
        (
            "cargo nextest run --workspace",
            "cargo nextest run --tool-config-file upshift:BOX/nextest.toml --workspace",
            "",
        ),
        ("go vet ./... && go test ./...", "go vet ./... && go test -json ./...", ""),
    ];
    for (line, expected, variables) in cases {
        assert_eq!(told(&command(&folder, line, &[])), (expected.to_owned(), variables.to_owned()), "{line}");
    }
}

#[test]
fn what_the_table_says_of_other_runners_is_done() {
    let empty = folder(&[]);
    let bats = "--report-formatter junit --output BOX";
    let behave = "--junit --junit-directory BOX";
    let nose2 = "--plugin nose2.plugins.junitxml --junit-xml --junit-xml-path BOX/results";
    let cases = [
        ("vendor/bin/phpunit tests", "vendor/bin/phpunit tests --log-junit BOX/results", ""),
        ("php artisan test", "php artisan test --log-junit BOX/results", ""),
        ("bundle exec rspec", "bundle exec rspec", "SPEC_OPTS=--require BOX/results.rb"),
        ("ctest --test-dir b", "ctest --test-dir b --output-junit BOX/results", ""),
        ("bats test", &format!("bats test {bats}"), ""),
        ("behave", &format!("behave {behave}"), ""),
        ("python3 -m robot tests", "python3 -m robot tests", "ROBOT_OPTIONS=--xunit BOX/results.xml"),
        ("nose2 -v", &format!("nose2 -v {nose2}"), ""),
        ("bun test", "bun test --reporter=junit --reporter-outfile=BOX/results", ""),
        ("deno test -A src", "deno test --junit-path=BOX/results -A src", ""),
        ("npx cucumber-js", "npx cucumber-js --format junit:BOX/results", ""),
        ("npx playwright test", "npx playwright test --reporter=dot,junit", "PLAYWRIGHT_JUNIT_OUTPUT_FILE=BOX/results"),
        ("gotestsum ./...", "gotestsum ./...", "GOTESTSUM_JUNITFILE=BOX/results"),
    ];
    for (line, expected, variables) in cases {
        assert_eq!(told(&command(&empty, line, &[])), (expected.to_owned(), variables.to_owned()), "{line}");
    }
    for line in ["vendor/bin/phpunit && echo", "docker compose run web phpunit", "phpunit --log-junit x", "./bats"] {
        let is_told = told(&command(&empty, line, &[])).0 != line;
        assert_eq!(is_told, line == "./bats", "{line}");
    }
}

#[test]
fn programs_of_any_name_are_told_where_it_is_configured_whose_they_are() {
    let empty = folder(&[]);
    let cases = [
        ("googletest", "./b/t", "./b/t", "GTEST_OUTPUT=xml:BOX/"),
        ("boost-test", "./b/t", "./b/t", "BOOST_TEST_LOGGER=HRF,error,stdout:JUNIT,all,BOX/results"),
        ("libcheck", "./b/t", "./b/t", "CK_TAP_LOG_FILE_NAME=BOX/results"),
        ("catch2", "./b/t", "./b/t --reporter console --reporter junit::out=BOX/results", ""),
        ("qt-test", "b/t", "b/t -o BOX/results,junitxml -o -,txt", ""),
        ("catch2", "make test", "make test", ""),
        ("googletest", "make && ./b/t", "make && ./b/t", ""),
        ("googletest", "./t --gtest_output=xml", "./t --gtest_output=xml", ""),
    ];
    for (framework, line, expected, variables) in cases {
        let command = TestCommand { framework: Some(framework.to_owned()), ..command(&empty, line, &[]) };
        assert_eq!(told(&command), (expected.to_owned(), variables.to_owned()), "{framework} {line}");
    }
    let set = command(&empty, "./t", &[("GTEST_OUTPUT", "json")]);
    let set = TestCommand { framework: Some("googletest".to_owned()), ..set };
    assert_eq!(told(&set).1, "GTEST_OUTPUT=json");
}

#[test]
fn every_file_of_a_folder_is_read() {
    let folder = folder(&[]);
    let command = TestCommand { framework: Some("googletest".to_owned()), ..command(&folder, "./t", &[]) };
    let told = tell(&command, "./t".to_owned());
    let exit = Exit::Code { code: 0 };
    assert_eq!(told.read(exit), Filed::Missing);
    let How::File(secret_dir, ..) = &told.how else { panic!("{told:?}") };
    for name in ["a.xml", "b.xml", "c.txt"] {
        let xml = format!(
            "<testsuites><testsuite name=\"S\"><testcase classname=\"S\" name=\"{name}\"/></testsuite></testsuites>"
        );
        std::fs::write(secret_dir.path().join(name), xml).unwrap();
    }
    let filed = told.read(exit);
    let names: Vec<&str> = filed.report().unwrap().passing_names().collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn what_is_always_written_is_known_without_telling() {
    let empty = folder(&[]);
    for (line, is_known) in
        [("./mvnw -B verify", true), ("meson test -C b", true), ("sbt test", true), ("pytest", false)]
    {
        let command = command(&empty, line, &[]);
        assert_eq!(always_written(&command).is_some(), is_known, "{line}");
        let unwanted = TestCommand { results: ResultFiles::Unwanted, ..command };
        assert_eq!(always_written(&unwanted), None);
    }
}

#[test]
fn what_a_variable_holds_stays_before_what_is_added() {
    let folder = folder(&[]);
    let own = [("NODE_OPTIONS", "--max-old-space-size=99")];
    assert!(
        told(&command(&folder, "node --test", &own))
            .1
            .starts_with("NODE_OPTIONS=--max-old-space-size=99 --test-reporter=spec")
    );
}

#[test]
fn what_reports_in_its_own_way_or_calls_more_than_one_runner_runs_as_it_stands() {
    let empty = folder(&[("package.json", PACKAGE)]);
    let lines = [
        "make test",
        "tox",
        "pytest a && pytest b",
        "pytest | tee log",
        "pytest; true",
        "for d in a b; do pytest $d; done",
        "pytest --junitxml=out.xml",
        "pip install pytest && python -m unittest",
        "node --test --test-reporter=tap",
        "node test.js",
        "npm run two",
        "npm run own",
        "npm run more",
        "npm run chain",
        "npm run nothing",
        "npm test --workspaces",
        "npx jest --json",
        "npx jest && echo done",
        "npx vitest run --reporter=dot",
        "npx mocha --parallel",
        "cargo test",
        "go test -json ./...",
        "go test -c ./...",
        "cd x && npm test",
    ];
    for line in lines {
        assert_eq!(told(&command(&empty, line, &[])).0, line);
        assert!(matches!(tell(&command(&empty, line, &[]), line.to_owned()).how, How::Nothing), "{line}");
    }
    let configured = [
        ("setup.cfg", "[tool:pytest]\naddopts = --junitxml=out.xml\n", "pytest"),
        ("vitest.config.ts", "export default { test: { reporters: ['dot'] } }", "npx vitest run"),
        (".mocharc.yml", "parallel: true\n", "npx mocha"),
        ("pyproject.toml", "[tool.pytest.ini_options]\naddopts = [\"-q\", \"--co\"]\n", "pytest"),
    ];
    for (name, text, line) in configured {
        let folder = folder(&[(name, text)]);
        assert!(matches!(tell(&command(&folder, line, &[]), line.to_owned()).how, How::Nothing), "{name}");
    }
    let own = command(&empty, "node --test", &[("NODE_OPTIONS", "--test-reporter=tap")]);
    assert!(matches!(tell(&own, own.command.clone()).how, How::Nothing));
    let unwanted = TestCommand { results: ResultFiles::Unwanted, ..command(&empty, "pytest", &[]) };
    assert!(matches!(tell(&unwanted, "pytest".to_owned()).how, How::Nothing));
}

#[test]
fn options_that_only_begin_like_those_of_a_report_keep_nobody_from_telling() {
    let asked = [
        ("setup.cfg", "[tool:pytest]\naddopts = --cov=shop --color=yes\njunit_family = xunit2\n", "pytest --cov"),
        ("tox.ini", "[testenv]\ncommands = pip install --constraint c.txt\n", "pytest"),
        (
            "vitest.config.ts",
            "export default { test: { coverage: { reporter: ['text'] } } }",
            "npx vitest --watch=false",
        ),
        ("playwright.config.ts", "export default { reporter: 'html' }", "npx playwright test"),
        ("README", "", "npx jest --watchAll=false"),
        ("README", "", "bundle exec rspec spec/json_spec.rb"),
        ("README", "", "go test ./todo-list/..."),
    ];
    for (name, text, line) in asked {
        let folder = folder(&[(name, text)]);
        assert!(!matches!(tell(&command(&folder, line, &[]), line.to_owned()).how, How::Nothing), "{name}: {line}");
    }
}

#[test]
fn what_is_there_is_read_and_what_is_not_is_missing() {
    let folder = folder(&[]);
    let told = tell(&command(&folder, "pytest", &[]), "pytest".to_owned());
    let exit = Exit::Code { code: 0 };
    assert_eq!(told.read(exit), Filed::Missing);
    let How::File(secret_dir, ..) = &told.how else { panic!("{told:?}") };
    let xml = "<testsuites><testsuite name=\"pytest\" errors=\"0\" failures=\"0\" skipped=\"0\" tests=\"1\"><testcase classname=\"t\" name=\"a\"/></testsuite></testsuites>";
    std::fs::write(secret_dir.path().join(FILE), xml).unwrap();
    let filed = told.read(exit);
    assert_eq!(filed.report().and_then(|report| report.passed), Some(1), "{filed:?}");
    let place = secret_dir.path().file_name().unwrap().to_str().unwrap();
    assert_eq!(told.without_mention(format!("a\n- xml file: /tmp/{place}/results -\nb\n")), "a\nb\n");
}

/// A command, the flags that are given, and the flags that it gets.
type GoCase = (&'static str, Option<&'static str>, &'static str);

#[test]
fn go_behind_another_command_is_asked_for_names() {
    let module = folder(&[("go.mod", "module a\n")]);
    let cases: [GoCase; 5] = [
        ("make test", None, "GOFLAGS=-v"),
        ("make test", Some("-mod=vendor"), "GOFLAGS=-mod=vendor -v"),
        ("./test.sh && go vet ./...", Some("-v=true"), "GOFLAGS=-v=true"),
        ("go test -json ./...", None, ""),
        ("go test -list . ./...", None, "GOFLAGS=-v"),
    ];
    for (line, flags, expected) in cases {
        let env: Vec<(&str, &str)> = flags.map(|flags| ("GOFLAGS", flags)).into_iter().collect();
        assert_eq!(told(&command(&module, line, &env)), (line.to_owned(), expected.to_owned()));
    }
    let none = folder(&[("Makefile", "test:\n")]);
    assert_eq!(told(&command(&none, "make test", &[])).1, "");
    std::fs::create_dir(none.path().join("api")).unwrap();
    std::fs::write(none.path().join("api/go.mod"), "module api\n").unwrap();
    assert_eq!(told(&command(&none, "make test", &[])).1, "GOFLAGS=-v");
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(home.path().join(".config/go")).unwrap();
    std::fs::write(home.path().join(".config/go/env"), "GOFLAGS=-mod=mod\n").unwrap();
    let at_home = [("HOME", home.path().to_str().unwrap())];
    assert_eq!(told(&command(&module, "make test", &at_home)).1, "", "what `go env -w` wrote is kept");
}
