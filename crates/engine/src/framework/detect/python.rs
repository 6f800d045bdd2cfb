//! Python: pytest where anything names it, Django, plain unittest, each run through the tool that owns the lock file.

use super::folder::Folder;
use super::found::{Detected, found};
use super::walk;

/// Lock files and how their tools run a program.
const RUNNERS: [(&str, &str); 4] =
    [("uv.lock", "uv run "), ("poetry.lock", "poetry run "), ("pdm.lock", "pdm run "), ("Pipfile.lock", "pipenv run ")];

/// pytest and Django.
pub(super) fn detect(folder: &Folder) -> Option<Detected> {
    if let Some(sign) = pytest_sign(folder) {
        let (command, by) = with_runner(folder, "pytest");
        return found(&command, "pytest", format!("{sign}{by}"));
    }
    if folder.read("manage.py").is_some_and(|text| text.contains("django")) {
        let (command, by) = with_runner(folder, "python3 manage.py test");
        return found(&command, "unittest", format!("manage.py is Django's{by}"));
    }
    None
}

/// The sign that names pytest.
fn pytest_sign(folder: &Folder) -> Option<String> {
    if folder.read("pyproject.toml").is_some_and(|text| text.contains("pytest")) {
        return Some("pyproject.toml names pytest".to_owned());
    }
    // `dev-requirements.txt`, `requirements_test.txt`
    let is_requirements = |name: &str| name.contains("requirements") && name.ends_with(".txt");
    let named = folder
        .files
        .iter()
        .find(|name| is_requirements(name) && folder.read(name).is_some_and(|text| text.contains("pytest")));
    if let Some(name) = named {
        return Some(format!("{name} names pytest"));
    }
    if let Some(sub) = folder.sub("requirements")
        && let Some(name) = sub.files.iter().find(|name| sub.read(name).is_some_and(|text| text.contains("pytest")))
    {
        return Some(format!("requirements/{name} names pytest"));
    }
    for name in ["pytest.ini", "pytest.toml", ".pytest.ini", "conftest.py"] {
        if folder.has(name) {
            return Some(format!("{name} is there"));
        }
    }
    for (name, mark) in [
        ("tox.ini", "pytest"),
        ("setup.cfg", "pytest"),
        ("setup.py", "pytest"),
        ("Pipfile", "pytest"),
        ("noxfile.py", "pytest"),
        ("environment.yml", "pytest"),
    ] {
        if folder.read(name).is_some_and(|text| text.contains(mark)) {
            return Some(format!("{name} names pytest"));
        }
    }
    let tests = ["tests", "test"].iter().find_map(|sub| Some((*sub, folder.sub(sub)?)));
    if let Some((sub, tests)) = tests {
        if tests.has("conftest.py") {
            return Some(format!("{sub}/conftest.py is there"));
        }
        // Plain functions are no tests to unittest, which would run none of them.
        if let Some(name) = walk::file_in_or_below(&tests, |inner, name| is_test(name) && is_pytest(inner, name)) {
            return Some(format!("{sub}/{name} has plain test functions"));
        }
    }
    let own = folder.files.iter().find(|name| is_test(name) && is_pytest(folder, name)).cloned();
    let name = own.or_else(|| inside_package(folder, |inner, name| is_test(name) && is_pytest(inner, name)))?;
    Some(format!("{name} has plain test functions"))
}

/// A test that stands in the package itself (`src/shop/tests/test_cart.py`), below the folder of one project.
fn inside_package(folder: &Folder, wanted: impl Fn(&Folder, &str) -> bool) -> Option<String> {
    folder.has_any(&["pyproject.toml", "setup.py", "setup.cfg"])?;
    walk::file_below(folder, wanted)
}

fn is_test(name: &str) -> bool {
    name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py"))
}

/// Whether a test file needs pytest: it imports it, or its tests are functions of the module.
fn is_pytest(folder: &Folder, name: &str) -> bool {
    folder.read(name).is_some_and(|text| {
        text.lines().any(|line| {
            // At the margin only: an indented `def test_` is a method, which unittest runs as well.
            line.starts_with("import pytest")
                || line.starts_with("from pytest")
                || line.starts_with("def test_")
                || line.starts_with("async def test_")
        })
    })
}

/// `test_*.py` written for unittest, and nothing that names pytest.
pub(super) fn plain_unittest(folder: &Folder) -> Option<Detected> {
    let is_unittest =
        |folder: &Folder, name: &str| is_test(name) && folder.read(name).is_some_and(|text| text.contains("unittest"));
    for sub in ["tests", "test"] {
        let Some(tests) = folder.sub(sub) else { continue };
        if let Some(name) = tests.files.iter().find(|name| is_unittest(&tests, name)) {
            // Inside a package the modules import each other by the package's name.
            let top = if tests.has("__init__.py") { " -t ." } else { "" };
            let (command, by) = with_runner(folder, &format!("python3 -m unittest discover -s {sub}{top}"));
            return found(&command, "unittest", format!("{sub}/{name} uses unittest and nothing names pytest{by}"));
        }
    }
    let own = folder.files.iter().find(|name| is_unittest(folder, name)).cloned();
    let name = own.or_else(|| inside_package(folder, is_unittest))?;
    // Modules import each other from where their packages stand.
    let start = if name.starts_with("src/") { " -s src" } else { "" };
    let (command, by) = with_runner(folder, &format!("python3 -m unittest discover{start}"));
    found(&command, "unittest", format!("{name} uses unittest and nothing names pytest{by}"))
}

/// The command through the project's own tool or environment.
fn with_runner(folder: &Folder, command: &str) -> (String, String) {
    // One that holds the program already is the one that its tool would use, and the tool may be missing here.
    let holds = |environment: &Folder| environment.sub("bin").is_some_and(|programs| programs.has(command));
    if let Some(found) = in_environment(folder, command, holds) {
        return found;
    }
    for (lock, prefix) in RUNNERS {
        if folder.has(lock) {
            return (format!("{prefix}{command}"), format!("; {lock} is there"));
        }
    }
    if folder.read("pyproject.toml").is_some_and(|text| text.lines().any(|line| line.starts_with("[tool.poetry"))) {
        return (format!("poetry run {command}"), "; pyproject.toml is poetry's".to_owned());
    }
    in_environment(folder, command, |_any| true).unwrap_or_else(|| (command.to_owned(), String::new()))
}

/// The command by the interpreter of the project's own virtual environment, since its `bin` need not be in the search path.
fn in_environment(folder: &Folder, command: &str, is_meant: impl Fn(&Folder) -> bool) -> Option<(String, String)> {
    let is_one = |name: &&str| folder.sub(name).is_some_and(|sub| sub.has("pyvenv.cfg") && is_meant(&sub));
    let environment = [".venv", "venv"].into_iter().find(is_one)?;
    let command = command.strip_prefix("python3 ").map_or_else(|| format!("-m {command}"), str::to_owned);
    Some((format!("{environment}/bin/python {command}"), format!("; {environment} is a virtual environment")))
}
