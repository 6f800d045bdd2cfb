//! Modules that the project declares and nobody installed: no change to the code mends that, and a model would take the import away.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use crate::domain::test_report::{Problem, RunKind, RunStatus, TestReport, TestStatus};

/// The files in which projects declare what they need.
const MANIFESTS: [&str; 10] = [
    "requirements.txt",
    "requirements-dev.txt",
    "requirements-test.txt",
    "dev-requirements.txt",
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "Pipfile",
    "environment.yml",
    "package.json",
];
/// The most of a manifest that is read, in bytes.
const MOST_BYTES: u64 = 256 * 1024;

/// How those words of Python and Node begin that [`MISSING`] reads. Most failures hold none, and the expression takes a millisecond to make.
const BEGINNINGS: [&str; 2] = ["No module named ", "Cannot find "];
/// The ways in which Python and Node name a module that is not there.
static MISSING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?:No module named |Cannot find module |Cannot find package )['\x22](?P<name>@?[A-Za-z0-9_][\w./-]*)['\x22]",
    )
    .ok()
});

/// Where all that fails lacks a declared module, says so in the place of a failing test.
pub(super) fn told_apart(report: &mut TestReport, cwd: &Path) {
    // All of them: one failure of another kind may be the code's.
    let Some(missing) = lacking(report) else { return };
    let Some((name, manifest)) = missing.iter().find_map(|name| Some((name, declared(name, cwd)?))) else { return };
    // An undeclared module may be a wrong import, which is the code's fault.
    if missing.iter().any(|name| declared(name, cwd).is_none()) {
        return;
    }
    let message = format!("`{name}` is declared in {manifest} and is not installed");
    (report.status, report.kind) = (RunStatus::Error, RunKind::MissingTool);
    report.problems.insert(0, Problem { kind: RunKind::MissingTool, message, file: None, line: None });
}

/// The modules that are missing, where every failure names one. `None` where something else fails.
fn lacking(report: &TestReport) -> Option<Vec<String>> {
    if !matches!(report.kind, RunKind::ImportError | RunKind::CollectionError | RunKind::Tests | RunKind::Crash) {
        return None;
    }
    let failing = report.tests.iter().filter(|test| matches!(test.status, TestStatus::Failed | TestStatus::Error));
    let of_tests = failing.map(|test| test.message.as_str());
    let mut messages: Vec<&str> = of_tests.collect();
    // Where no test began, the problems tell.
    if messages.is_empty() {
        messages = report.problems.iter().map(|problem| problem.message.as_str()).collect();
    }
    let names: Option<Vec<String>> = messages.iter().map(|message| missing_in(message)).collect();
    names.filter(|names| !names.is_empty())
}

/// The package of the module that a message says is missing.
fn missing_in(message: &str) -> Option<String> {
    if !BEGINNINGS.iter().any(|beginning| message.contains(beginning)) {
        return None;
    }
    let name = MISSING.as_ref()?.captures(message)?.name("name")?.as_str();
    // `@scope/name/deeper` is of the package `@scope/name`.
    let parts = if name.starts_with('@') { 2 } else { 1 };
    let package = name.split('/').take(parts).collect::<Vec<_>>().join("/");
    // A path of Node has no dots at its beginning here; Python's modules have theirs between packages.
    Some(if message.contains("No module named") { name.split('.').next()?.to_owned() } else { package })
}

/// The manifest that declares a package which is nowhere in the checkout.
fn declared(name: &str, cwd: &Path) -> Option<String> {
    let checkout = cwd.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(cwd);
    let folders = || cwd.ancestors().take_while(|folder| folder.starts_with(checkout));
    let is_own = |folder: &Path| {
        let inside = [folder.to_owned(), folder.join("src"), folder.join("lib")];
        inside.iter().any(|place| place.join(name).exists() || place.join(format!("{name}.py")).exists())
    };
    // A module of the project's own that is not found is the code's fault.
    if folders().any(is_own) {
        return None;
    }
    let mut manifests = folders().flat_map(|folder| MANIFESTS.map(|file| folder.join(file)));
    let found = manifests.find(|path| read(path).is_some_and(|text| names(&text, name)))?;
    Some(found.strip_prefix(checkout).unwrap_or(&found).display().to_string())
}

fn read(path: &PathBuf) -> Option<String> {
    let size = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?.len();
    // A lock file or data under such a name declares nothing.
    if size > MOST_BYTES { None } else { std::fs::read_to_string(path).ok() }
}

/// Whether a manifest names a package, in whichever spelling of it.
fn names(text: &str, name: &str) -> bool {
    let plain = |word: &str| word.to_lowercase().replace(['_', '.'], "-");
    let wanted = plain(name);
    // `yaml` is installed by `pyyaml`, and `dateutil` by `python-dateutil`.
    let spellings = [wanted.clone(), format!("py{wanted}"), format!("python-{wanted}")];
    let uncommented = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let mut words = uncommented.flat_map(|line| line.split(|c: char| !(c.is_alphanumeric() || "-_.@/".contains(c))));
    words.any(|word| spellings.contains(&plain(word.trim_matches('.'))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::verdict::Exit;

    fn said(files: &[(&str, &str)], output: &str) -> Option<String> {
        let checkout = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(checkout.path().join(".git")).unwrap();
        std::fs::create_dir_all(checkout.path().join("src/shop")).unwrap();
        for (file, text) in files {
            std::fs::write(checkout.path().join(file), text).unwrap();
        }
        let mut parser = testlog::Parser::new(None);
        parser.push(output.as_bytes());
        let mut report = parser.finish(Some(Exit::Code { code: 1 }));
        told_apart(&mut report, checkout.path());
        (report.kind == RunKind::MissingTool).then(|| report.problems[0].message.clone())
    }

    fn unittest(module: &str) -> String {
        format!(
            "E\n======================================================================\nERROR: test_app (unittest.loader._FailedTest.test_app)\n\
             ----------------------------------------------------------------------\nImportError: Failed to import test module: test_app\n\
             Traceback (most recent call last):\n  File \"/w/test_app.py\", line 2, in <module>\n    import app\n\
             ModuleNotFoundError: No module named '{module}'\n\n\n\
             ----------------------------------------------------------------------\nRan 1 test in 0.000s\n\nFAILED (errors=1)\n"
        )
    }

    #[test]
    fn a_declared_module_that_is_not_installed_is_told_from_a_wrong_import() {
        let declares = ("requirements.txt", "Stripe==9.1 # payments\npyyaml\n# numpy\n");
        let stripe = "`stripe` is declared in requirements.txt and is not installed";
        assert_eq!(said(&[declares], &unittest("stripe")).as_deref(), Some(stripe));
        assert_eq!(said(&[declares], &unittest("stripe.error")).as_deref(), Some(stripe));
        assert!(said(&[declares], &unittest("yaml")).is_some_and(|said| said.starts_with("`yaml`")));
        for other in ["numpy", "jsno", "shop", "shop.prices"] {
            assert_eq!(said(&[declares], &unittest(other)), None, "{other}");
        }
        assert_eq!(said(&[], &unittest("stripe")), None, "declared nowhere");
        let own = [declares, ("stripe.py", "")];
        assert_eq!(said(&own, &unittest("stripe.error")), None, "a module of the checkout");
        let line = "=".repeat(70);
        let other =
            format!("{line}\nFAIL: test_b (t.T.test_b)\n{}\nAssertionError: 1 != 2\n\n{line}\nERROR", "-".repeat(70));
        let failing = unittest("stripe").replacen(&format!("{line}\nERROR"), &other, 1);
        assert_eq!(said(&[declares], &failing), None, "something else fails too");
    }

    #[test]
    fn packages_of_node_are_known_by_their_manifest() {
        let declares = ("package.json", "{\"dependencies\": {\"@acme/money\": \"1\", \"lodash\": \"^4\"}}");
        let output = |name: &str| {
            format!(
                "node:internal/modules/cjs/loader:1148\n  throw err;\n  ^\n\nError: Cannot find module '{name}'\nRequire stack:\n- /w/a.js\n"
            )
        };
        for (name, package) in
            [("lodash/fp", "lodash"), ("@acme/money", "@acme/money"), ("@acme/money/x", "@acme/money")]
        {
            let wanted = format!("`{package}` is declared in package.json and is not installed");
            assert_eq!(said(&[declares], &output(name)), Some(wanted));
        }
        for other in ["./lodash", "/w/lodash", "lodahs", "@acme/other"] {
            assert_eq!(said(&[declares], &output(other)), None, "{other}");
        }
    }
}
