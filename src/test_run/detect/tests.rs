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

/// One test per line: the files, the command, the framework, and what is said to have given it away.
macro_rules! detects {
    ($($name:ident: [$($path:literal = $text:expr),+] => $command:expr, $framework:literal, $why:literal;)+) => {$(
        #[test]
        fn $name() {
            let folder = repository(&[$(($path, $text)),+]);
            let found = detect(folder.path()).expect("a command");
            assert_eq!((found.command.as_str(), found.framework.as_str()), ($command, $framework));
            assert!(found.why.contains($why), "{}", found.why);
        }
    )+};
}

const RUBY_TESTS: &str =
    "ruby -Ilib -Itest -e 'Dir.glob(\"./test/**/{*_test,test_*}.rb\").sort.each { |file| require file }'";
const CMAKE: &str = "cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure";
const VITEST: &str = r#"{"scripts":{"test":"vitest run"}}"#;
const WORKSPACES: &str = r#"{"workspaces":["packages/*"]}"#;

detects! {
    go_is_told_by_its_module_file: ["go.mod" = "module x\n"] => "go test ./...", "go-test", "go.mod";
    a_go_workspace_names_its_modules:
        ["go.work" = "use ./a\n"] => "go test $(go list -m -f '{{.Dir}}/...')", "go-test", "go.work";
    dotnet_is_told_by_a_solution: ["Shop.sln" = ""] => "dotnet test", "dotnet", "Shop.sln";
    dotnet_is_told_by_a_project: ["Shop.Tests.fsproj" = ""] => "dotnet test", "dotnet", "Shop.Tests.fsproj";
    ctest_is_told_by_what_cmake_turns_on: ["CMakeLists.txt" = "enable_testing()\n"] => CMAKE, "ctest", "CMakeLists.txt";
    rspec_is_told_by_its_dotfile: [".rspec" = "--format doc\n"] => "rspec", "rspec", ".rspec";
    rspec_is_told_by_its_specs: ["spec/cart_spec.rb" = ""] => "rspec", "rspec", "spec/cart_spec.rb";
    minitest_is_told_by_its_files: ["test/cart_test.rb" = ""] => RUBY_TESTS, "minitest", "test/cart_test.rb";
    rails_runs_minitest:
        ["config.ru" = "", "bin/rails" = "", "test/a_test.rb" = ""] => "bin/rails test", "minitest", "bin/rails";
    phpunit_is_told_by_its_configuration: ["phpunit.xml.dist" = ""] => "vendor/bin/phpunit", "phpunit", "phpunit.xml.dist";
    composers_script_is_run_where_there_is_one:
        ["composer.json" = r#"{"scripts":{"test":"phpunit"}}"#] => "composer test", "phpunit", "the script `test`";
    maven_is_told_by_its_project_file: ["pom.xml" = ""] => "mvn -B test", "maven-surefire", "pom.xml";
    gradles_wrapper_is_preferred: ["build.gradle" = "", "gradlew" = ""] => "./gradlew test", "gradle", "gradlew";
    bats_is_told_by_its_files: ["tests/shop.bats" = ""] => "bats tests", "bats", "tests/shop.bats";
    make_is_told_by_a_target: ["Makefile" = "check: all\n\t./run\n"] => "make check", "generic", "target `check`";
    just_is_told_by_a_recipe: ["Justfile" = "test:\n  ./run\n"] => "just test", "generic", "recipe `test`";
    npm_runs_the_script: ["package.json" = VITEST] => "npm test", "vitest", "package.json";
    pnpm_is_told_by_its_lock: ["package.json" = VITEST, "pnpm-lock.yaml" = ""] => "pnpm test", "vitest", "pnpm-lock.yaml";
    yarn_is_told_by_its_lock: ["package.json" = VITEST, "yarn.lock" = ""] => "yarn test", "vitest", "yarn.lock";
    bun_is_told_by_its_lock: ["package.json" = VITEST, "bun.lock" = ""] => "bun run test", "vitest", "bun.lock";
    a_declared_package_manager_goes_before_a_lock:
        ["package.json" = r#"{"packageManager":"pnpm@10.1.0","scripts":{"test":"jest"}}"#, "yarn.lock" = ""]
        => "pnpm test", "jest", "packageManager is pnpm";
    poetry_is_told_by_its_lock:
        ["pyproject.toml" = "[tool.pytest.ini_options]\n", "poetry.lock" = ""] => "poetry run pytest", "pytest", "poetry.lock";
    uv_is_told_by_its_lock: ["tests/test_a.py" = "def test_a():\n", "uv.lock" = ""] => "uv run pytest", "pytest", "uv.lock";
    pytest_is_run_without_tox: ["tox.ini" = "[testenv]\ncommands = pytest\n"] => "pytest", "pytest", "tox.ini names pytest";
    tox_runs_what_it_alone_knows: ["tox.ini" = "[testenv]\ncommands = stestr run\n"] => "tox", "generic", "tox.ini";
    pytest_is_run_without_nox: ["noxfile.py" = "session.run('pytest')\n"] => "pytest", "pytest", "noxfile.py names pytest";
    nox_runs_what_it_alone_knows:
        ["noxfile.py" = "import nox\n@nox.session\ndef tests(session):\n  session.run('zope-testrunner')\n"]
        => "nox", "generic", "noxfile.py";
    npm_workspaces_are_all_run:
        ["package.json" = WORKSPACES] => "npm test --workspaces --if-present", "generic", "workspaces";
    pnpm_workspaces_are_all_run:
        ["package.json" = "{}", "pnpm-workspace.yaml" = "packages: ['*']\n"] => "pnpm -r test", "generic", "workspaces";
    a_cargo_workspace_with_a_package_is_run_whole:
        ["Cargo.toml" = "[workspace]\n[package]\n"] => "cargo test --workspace", "cargo-test", "Cargo.toml";
    projects_of_one_kind_side_by_side_keep_their_framework:
        ["a/pyproject.toml" = "[tool.pytest.ini_options]\n", "b/pytest.ini" = ""]
        => "code=0; (cd a && pytest) || code=$?; (cd b && pytest) || code=$?; exit $code", "pytest", "b: pytest.ini is there";
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
