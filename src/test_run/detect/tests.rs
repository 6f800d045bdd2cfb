use super::*;

/// A repository with these files.
fn repository(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

fn of(files: &[(&str, &str)]) -> (String, String) {
    let folder = repository(files);
    let detected = detect(folder.path()).unwrap_or_else(|| panic!("nothing for {files:?}"));
    assert!(!detected.why.is_empty());
    (detected.command, detected.framework)
}

#[test]
fn each_ecosystem_is_detected_by_its_files() {
    type Case<'a> = (&'a [(&'a str, &'a str)], &'a str, &'a str);
    let cases: &[Case<'_>] = &[
        (
            &[("package.json", r#"{"scripts":{"test":"vitest"},"devDependencies":{"vitest":"3","jest":"30"}}"#)],
            "npm test",
            "vitest",
        ),
        (&[("package.json", r#"{"devDependencies":{"jest":"30"}}"#), ("pnpm-lock.yaml", "")], "pnpm exec jest", "jest"),
        (&[("package.json", r#"{"scripts":{"test":"mocha"}}"#), ("yarn.lock", "")], "yarn test", "mocha"),
        (&[("package.json", r#"{"scripts":{"test":"node --test"}}"#)], "npm test", "node-test"),
        (&[("package.json", r#"{"name":"x"}"#), ("test/sum.test.js", "")], "node --test", "node-test"),
        (
            &[(
                "package.json",
                r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"},"devDependencies":{"mocha":"1"}}"#,
            )],
            "npx mocha",
            "mocha",
        ),
        (&[("package.json", r#"{"workspaces":["a"]}"#)], "npm test --workspaces --if-present", "generic"),
        (&[("pyproject.toml", "[tool.pytest.ini_options]\n"), ("uv.lock", "")], "uv run pytest", "pytest"),
        (&[("requirements-dev.txt", "pytest==8\n")], "pytest", "pytest"),
        (&[("tests/test_a.py", "def test_a():\n    assert True\n")], "pytest", "pytest"),
        (
            &[("tests/test_a.py", "import unittest\n"), ("tests/__init__.py", "")],
            "python3 -m unittest discover -s tests -t .",
            "unittest",
        ),
        (&[("test_a.py", "import unittest\n")], "python3 -m unittest discover", "unittest"),
        (&[("manage.py", "import django\n")], "python3 manage.py test", "unittest"),
        (&[("Cargo.toml", "[package]\n")], "cargo test", "cargo-test"),
        (&[("Cargo.toml", "[package]\n[workspace]\n")], "cargo test --workspace", "cargo-test"),
        (&[("Cargo.toml", ""), (".config/nextest.toml", "")], "cargo nextest run", "cargo-nextest"),
        (&[("Gemfile", "gem 'rspec'\n")], "bundle exec rspec", "rspec"),
        (&[("Rakefile", "Rake::TestTask.new\n"), ("Gemfile", "")], "bundle exec rake test", "minitest"),
        (&[("pom.xml", ""), ("mvnw", "")], "./mvnw -B test", "maven-surefire"),
        (&[("build.gradle.kts", "")], "gradle test", "gradle"),
        (&[("go.mod", "module x\n")], "go test ./...", "go-test"),
        (&[("app.sln", "")], "dotnet test", "dotnet"),
        (&[("composer.json", r#"{"require-dev":{"phpunit/phpunit":"12"}}"#)], "vendor/bin/phpunit", "phpunit"),
        (&[("mix.exs", "")], "mix test", "exunit"),
        (&[("test/a.bats", "")], "bats test", "bats"),
        (&[("t/a.t", "")], "prove -lr t", "prove"),
        (&[("Makefile", "all:\n\ntest: all\n\t./run\n")], "make test", "generic"),
        (&[("justfile", "test *args:\n    cargo test\n")], "just test", "generic"),
    ];
    for (files, command, framework) in cases {
        assert_eq!(of(files), ((*command).to_owned(), (*framework).to_owned()), "{files:?}");
    }
}

#[test]
fn a_lock_file_without_more_names_no_tests() {
    let folder = repository(&[("README.md", "pytest"), ("Makefile", "test := 3\n")]);
    assert_eq!(detect(folder.path()), None);
}

#[test]
fn projects_side_by_side_are_all_run_and_one_failure_fails_the_whole() {
    let (command, framework) = of(&[("api/go.mod", ""), ("web app/package.json", r#"{"scripts":{"test":"jest"}}"#)]);
    assert_eq!(
        command,
        "code=0; (cd api && go test ./...) || code=$?; (cd './web app' && npm test) || code=$?; exit $code"
    );
    assert_eq!(framework, "generic");
    assert_eq!(of(&[("api/go.mod", "")]).0, "cd api && go test ./...");
}
