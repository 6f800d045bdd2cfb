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
        (&[("package.json", r#"{"scripts":{"test":"mocha"},"devDependencies":{"jest":"30"}}"#)], "npm test", "mocha"),
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
const AUTOMAKE: &str = "{ test -f Makefile || { { test -x configure || autoreconf --install; } && ./configure; }; } && make check VERBOSE=1";
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
    automake_is_told_by_its_lists_of_tests:
        ["configure.ac" = "", "Makefile.am" = "SUBDIRS = tests\n", "tests/Makefile.am" = "TESTS = a.sh\n"]
        => AUTOMAKE, "automake", "tests/Makefile.am lists tests";
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
    npm_runs_a_watching_script_once:
        ["package.json" = r#"{"scripts":{"test":"jest --watch"}}"#]
        => "npm test -- --watch=false --watchAll=false", "jest", "watches for changes, which is switched off";
    yarn_runs_a_watching_script_once:
        ["package.json" = r#"{"scripts":{"test":"tsc && vitest --watch"}}"#, "yarn.lock" = ""]
        => "yarn test --run", "vitest", "switched off";
    a_script_that_watches_in_unknown_ways_is_named:
        ["package.json" = r#"{"scripts":{"test":"tap --watch"}}"#] => "npm test", "generic", "may never end";
    a_script_that_only_names_watching_elsewhere_is_left_alone:
        ["package.json" = r#"{"scripts":{"test":"jest -w 4 watch"}}"#] => "npm test", "jest", "package.json";
    a_byte_order_mark_hides_no_package: ["package.json" = "\u{feff}{\"scripts\":{\"test\":\"jest\"}}"] => "npm test", "jest", "package.json";
    yarn_workspaces_are_all_run:
        ["package.json" = WORKSPACES, "yarn.lock" = ""] => "yarn workspaces run test", "generic", "workspaces";
    newer_yarns_workspaces_are_all_run:
        ["package.json" = WORKSPACES, "yarn.lock" = "", ".yarnrc.yml" = ""]
        => "yarn workspaces foreach --all run test", "generic", "workspaces";
    nx_runs_all_tests: ["package.json" = "{}", "nx.json" = "{}"] => "npx nx run-many -t test", "generic", "nx.json";
    lerna_runs_all_tests:
        ["package.json" = r#"{"devDependencies":{"jest":"30"}}"#, "lerna.json" = "{}"] => "npx lerna run test", "jest", "lerna.json";
    turbo_runs_all_tests:
        ["package.json" = "{}", "turbo.json" = "{}", "pnpm-lock.yaml" = ""] => "pnpm exec turbo run test", "generic", "turbo.json";
    a_root_script_goes_before_nx:
        ["package.json" = VITEST, "nx.json" = "{}"] => "npm test", "vitest", "the test script";
    projects_two_levels_below_are_all_run:
        ["apps/web/package.json" = VITEST, "services/api/go.mod" = "module x\n"]
        => "code=0; (cd apps/web && npm test) || code=$?; (cd services/api && go test ./...) || code=$?; exit $code", "generic", "apps/web";
    a_cargo_workspaces_default_members_hide_none:
        ["Cargo.toml" = "[workspace]\nmembers = [\"a\", \"b\"]\ndefault-members = [\"a\"]\n"]
        => "cargo test --workspace", "cargo-test", "Cargo.toml";
    a_cargo_workspace_in_one_line_is_run_whole:
        ["Cargo.toml" = "workspace = { members = [\"a\"] }\n[package]\n"] => "cargo test --workspace", "cargo-test", "Cargo.toml";
    a_commented_cargo_workspace_is_run_whole:
        ["Cargo.toml" = "[package] # root\n[workspace] # all\n"] => "cargo test --workspace", "cargo-test", "Cargo.toml";
    a_cargo_package_that_inherits_from_none_is_run_alone:
        ["Cargo.toml" = "[package]\n# [workspace]\nworkspaces = 3\n"] => "cargo test", "cargo-test", "Cargo.toml";
    a_go_workspace_beside_a_module_names_all_its_modules:
        ["go.work" = "use .\nuse ./b\n", "go.mod" = "module a\n"] => "go test $(go list -m -f '{{.Dir}}/...')", "go-test", "go.work";
    dotnet_test_projects_without_a_solution_are_named:
        ["src/App/App.csproj" = "<Project/>", "tests/App.Tests/App.Tests.csproj" = "<Project/>"]
        => "dotnet test tests/App.Tests/App.Tests.csproj", "dotnet", "is a test project";
    the_test_project_of_two_in_one_folder_is_named:
        ["A.csproj" = "<Project/>", "B.csproj" = "<PackageReference Include=\"Microsoft.NET.Test.Sdk\"/>"]
        => "dotnet test B.csproj", "dotnet", "B.csproj is a test project";
    two_dotnet_projects_without_tests_are_said_to_be_ambiguous:
        ["A.csproj" = "<Project/>", "B.csproj" = "<Project/>"] => "dotnet test", "dotnet", "A.csproj, B.csproj are all there";
    cmake_may_put_spaces_around_ctest: ["CMakeLists.txt" = "include( CTest )\n"] => CMAKE, "ctest", "CMakeLists.txt";
    nested_specs_are_found: ["spec/models/cart_spec.rb" = ""] => "rspec", "rspec", "spec/models/cart_spec.rb";
    nested_minitests_are_found: ["test/models/cart_test.rb" = ""] => RUBY_TESTS, "minitest", "test/models/cart_test.rb";
    nested_bats_files_are_run_below: ["test/unit/shop.bats" = ""] => "bats -r test", "bats", "test/unit/shop.bats";
    bats_files_at_the_root_are_found: ["shop.bats" = ""] => "bats .", "bats", "shop.bats";
    nested_pytest_files_are_found:
        ["tests/unit/test_a.py" = "def test_a():\n", "setup.py" = ""] => "pytest", "pytest", "tests/unit/test_a.py";
    make_is_told_by_one_of_several_targets:
        ["Makefile" = ".PHONY: test check\ntest check: all\n\t./run\n"] => "make test", "generic", "target `test`";
    just_is_told_by_a_quiet_recipe: ["justfile" = "@test:\n  ./run\n"] => "just test", "generic", "recipe `test`";
    just_does_not_care_for_capitals: ["JUSTFILE" = "test:\n  ./run\n"] => "just test", "generic", "JUSTFILE has a recipe";
    go_task_has_other_names: ["taskfile.dist.yaml" = "tasks:\n  test:\n    cmd: x\n"] => "task test", "generic", "taskfile.dist.yaml";
    pytest_inside_a_package_is_found:
        ["src/shop/tests/test_cart.py" = "def test_a():\n", "pyproject.toml" = "[project]\n"]
        => "pytest", "pytest", "src/shop/tests/test_cart.py has plain test functions";
    unittest_inside_a_package_starts_where_packages_stand:
        ["src/shop/tests/test_cart.py" = "import unittest\n", "setup.py" = ""]
        => "python3 -m unittest discover -s src", "unittest", "src/shop/tests/test_cart.py uses unittest";
    playwright_is_run_without_a_script:
        ["package.json" = r#"{"devDependencies":{"@playwright/test":"1"}}"#] => "npx playwright test", "playwright", "@playwright/test in devDependencies";
    karma_is_run_once:
        ["package.json" = r#"{"devDependencies":{"karma":"6"}}"#] => "npx karma start --single-run", "karma", "karma in devDependencies";
    a_script_names_playwright:
        ["package.json" = r#"{"scripts":{"test":"playwright test"}}"#] => "npm test", "playwright", "the test script";
    the_workspaces_of_bun_are_all_run:
        ["package.json" = r#"{"workspaces":["a"]}"#, "bun.lock" = ""] => "bun run --filter '*' test", "generic", "workspaces";
    tox_is_told_by_its_table:
        ["pyproject.toml" = "[tool.tox]\nenv_list = [\"py3\"]\n"] => "tox", "generic", "pyproject.toml configures tox";
    an_environment_that_holds_the_program_needs_no_tool:
        ["pyproject.toml" = "[tool.poetry.group.dev.dependencies]\npytest = \"*\"\n", "poetry.lock" = "", ".venv/pyvenv.cfg" = "", ".venv/bin/pytest" = ""]
        => ".venv/bin/python -m pytest", "pytest", ".venv is a virtual environment";
    an_environment_without_the_program_is_left_to_its_tool:
        ["pyproject.toml" = "[tool.pytest.ini_options]\n", "uv.lock" = "", ".venv/pyvenv.cfg" = ""]
        => "uv run pytest", "pytest", "uv.lock";
    poetry_is_told_by_its_table:
        ["pyproject.toml" = "[tool.poetry.group.dev.dependencies]\npytest = \"*\"\n"]
        => "poetry run pytest", "pytest", "pyproject.toml is poetry's";
    mavens_wrapper_is_named_in_good_grammar: ["pom.xml" = "", "mvnw" = ""] => "./mvnw -B test", "maven-surefire", "pom.xml and mvnw are there";
    projects_of_one_kind_side_by_side_keep_their_framework:
        ["a/pyproject.toml" = "[tool.pytest.ini_options]\n", "b/pytest.ini" = ""]
        => "code=0; (cd a && pytest) || code=$?; (cd b && pytest) || code=$?; exit $code", "pytest", "b: pytest.ini is there";
}

#[test]
fn what_was_fetched_or_built_or_is_too_deep_names_no_tests() {
    for path in [
        "spec/node_modules/x/a_spec.rb",
        "test/vendor/a_test.rb",
        "tests/.hidden/test_a.py",
        "test/1/2/3/4/a.bats",
        "examples/shop/go.mod",
        "a/b/c/go.mod",
    ] {
        assert_eq!(detect(repository(&[(path, "def test_a():\n")]).path()), None, "{path}");
    }
    assert_eq!(detect(repository(&[("Makefile", ".PHONY: test\nlatest: a\n\ttest: b\n")]).path()), None);
}

#[test]
fn a_given_commands_framework_is_told_by_its_words_or_by_the_script_it_runs() {
    let folder = repository(&[("package.json", VITEST)]);
    assert_eq!(framework_of("npm test", folder.path()).as_deref(), Some("vitest"));
    assert_eq!(framework_of("pytest -q", folder.path()).as_deref(), Some("pytest"));
    assert_eq!(framework_of("make test", folder.path()), None);
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
        "code=0; (cd api && go test ./...) || code=$?; (cd 'web app' && npm test) || code=$?; exit $code"
    );
    assert_eq!(framework, "generic");
    assert_eq!(of(&[("api/go.mod", "")]).0, "cd api && go test ./...");
    let names: Vec<String> = (0..17).map(|number| format!("services/s{number:02}/go.mod")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    assert_eq!(of(&files[..16]).0.matches("go test").count(), 16);
    assert_eq!(detect(repository(&files).path()), None);
}
