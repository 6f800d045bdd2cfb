//! Files that judge although their names do not say so: by what other files of the start say of them.
//!
//! Invariant: the start alone is asked. Nothing that a model wrote makes a file one of the tests, or none.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

use super::bench::{Bench, TrialError};
use crate::domain::units::TreeId;
use crate::framework::calls;
use crate::policy::tamper::Change;
use crate::policy::tamper::region::{self, Examples};
use crate::policy::verdict::Baseline;
use crate::workspace::is_test_path;

/// How many files of one manifest are asked whether they declare a module.
const MOST_ROOTS: usize = 64;

/// Whether a whole file belongs to the tests: a module that Rust compiles for them alone, or one of Python's that only they import and
/// that does nothing but assert.
pub(super) fn is_of_tests(bench: &Bench<'_>, start: &TreeId, path: &str) -> Result<bool, TrialError> {
    Ok(is_test_module(bench, start, path)? || asserts_for_tests(bench, start, path)?)
}

/// Whether something says that a document's examples are run: the test command, or a file of the start.
pub(super) fn is_run(bench: &Bench<'_>, start: &TreeId, change: &Change) -> Result<bool, TrialError> {
    let document = change.path.as_str();
    let before = change.before.as_deref().unwrap_or_default();
    if !region::has_examples(document, before) {
        return Ok(false);
    }
    if region::runs_by_name(document) || region::says_run(document, "sh", &bench.tests.command) {
        return Ok(true);
    }
    let says = |speaker: &str, text: &str| region::says_run(document, speaker, text);
    Ok(bench.workspace.any_text_at(start, region::may_speak, says)?)
}

/// Whether the examples in a source file's documentation are tests of this run. A Rust example has a name of its own in the start's run.
/// For Python somebody has to ask for them, by the command or in a file of the start.
pub(super) fn examples_in(bench: &Bench<'_>, start: &TreeId, change: &Change) -> Result<Examples, TrialError> {
    let path = change.path.as_str();
    if !region::has_examples(path, change.before.as_deref().unwrap_or_default()) {
        return Ok(Examples::Judge);
    }
    let judge = if path.ends_with(".rs") {
        bench.baseline.is_none_or(may_have_run_examples)
    } else if path.ends_with(".py") || path.ends_with(".pyi") {
        let says = |_: &str, text: &str| region::speaks_of_doctests(text);
        // Where the start's run names all its tests, none of this file's examples among them, the tests alone could still run them.
        let named = bench.baseline.is_none_or(|baseline| may_have_run(baseline, path)) || !names_its_runner(bench);
        let speaks = |file: &str| region::may_speak(file) && (named || is_test_path(Path::new(file)));
        region::speaks_of_doctests(&bench.tests.command)
            || options_of_pytest(bench).is_some_and(region::speaks_of_doctests)
            || bench.workspace.any_text_at(start, speaks, says)?
    } else {
        true
    };
    Ok(if judge { Examples::Judge } else { Examples::Document })
}

/// Whether the command is one call of a runner, so that no other program runs examples beside it.
fn names_its_runner(bench: &Bench<'_>) -> bool {
    let command = &bench.tests.command;
    // Behind any of these signs a shell may start another program.
    !command.contains([';', '|', '&', '\n', '`', '$']) && calls::called(command).is_some()
}

/// Whether the start's run named an example of a Python file, or did not name all of its tests.
fn may_have_run(baseline: &Baseline, path: &str) -> bool {
    let baseline = baseline.filed.as_deref().unwrap_or(baseline);
    let listed = baseline.passing.values().copied().map(u64::from).sum::<u64>();
    // A runner that counts more passes than it names has left some without a name.
    let names_all = !baseline.unreadable && baseline.passed.is_some_and(|passed| passed <= listed);
    let module = path.trim_end_matches(".pyi").trim_end_matches(".py").replace('/', ".");
    let module = module.trim_end_matches(".__init__");
    // A source below a folder for sources is imported without that folder's name.
    let module = ["src.", "lib.", "python."].iter().find_map(|root| module.strip_prefix(root)).unwrap_or(module);
    let is_of_file = |name: &String| {
        name.starts_with(path)
            || name.starts_with(module)
            || name.contains(&format!("::{module}"))
            || name.contains(&format!("({module}"))
    };
    let mut names = baseline.passing.keys().chain(&baseline.failing).chain(&baseline.skipped).chain(&baseline.flaky);
    !names_all || names.any(is_of_file)
}

/// The options that pytest takes from the environment.
fn options_of_pytest<'e>(bench: &'e Bench<'_>) -> Option<&'e str> {
    bench.tests.env.get(OsStr::new("PYTEST_ADDOPTS")).and_then(|value| value.to_str())
}

/// Whether the start's run named an example of Rust documentation (`src/lib.rs - add (line 3)`), or did not name its tests at all.
fn may_have_run_examples(baseline: &Baseline) -> bool {
    let mut names = baseline.passing.keys().chain(&baseline.failing).chain(&baseline.skipped).peekable();
    // Passing ones stand without their line, which any edit may change.
    names.peek().is_none() || names.any(|name| name.contains(".rs - "))
}

/// Whether a Rust file is a module that its parent declares for tests alone, or a part of such a one.
fn is_test_module(bench: &Bench<'_>, start: &TreeId, path: &str) -> Result<bool, TrialError> {
    // Every file is asked once: a program's two roots stand beside each other.
    let mut asked = BTreeSet::new();
    let mut waiting = vec![path.to_owned()];
    while let Some(path) = waiting.pop() {
        let Some(stem) = path.strip_suffix(".rs") else { continue };
        let (folder, name) = stem.rsplit_once('/').unwrap_or(("", stem));
        let (folder, name) =
            // `cart/mod.rs` is the module `cart`.
            if name == "mod" { folder.rsplit_once('/').unwrap_or(("", folder)) } else { (folder, name) };
        let at = |file: &str| if folder.is_empty() { file.to_owned() } else { format!("{folder}/{file}") };
        let usual = [at("lib.rs"), at("main.rs"), at("mod.rs"), format!("{folder}.rs")];
        for parent in usual.into_iter().chain(roots(bench, start, folder)?) {
            let Some(text) = bench.workspace.text_at(start, &parent)? else { continue };
            if parent != path && region::declares_test_module(&text, name) {
                return Ok(true);
            }
            if asked.insert(parent.clone()) {
                waiting.push(parent);
            }
        }
    }
    Ok(false)
}

/// The files in a folder that the manifest above it names as a crate's root (`[lib] path = …`).
fn roots(bench: &Bench<'_>, start: &TreeId, folder: &str) -> Result<Vec<String>, TrialError> {
    let mut base = folder;
    loop {
        let manifest = if base.is_empty() { "Cargo.toml".to_owned() } else { format!("{base}/Cargo.toml") };
        if let Some(text) = bench.workspace.text_at(start, &manifest)? {
            let below = folder.strip_prefix(base).unwrap_or_default().trim_start_matches('/');
            return Ok(named_roots(&text, below).map(|file| join(folder, file)).collect());
        }
        if base.is_empty() {
            return Ok(Vec::new());
        }
        base = base.rsplit_once('/').map_or("", |(above, _)| above);
    }
}

/// The names of Rust files that a manifest names in a folder below its own.
fn named_roots<'t>(manifest: &'t str, folder: &'t str) -> impl Iterator<Item = &'t str> {
    let named = manifest.split(['"', '\'']).filter(|text| text.ends_with(".rs") && !text.contains('\n'));
    named.take(MOST_ROOTS).filter_map(move |path| {
        let path = path.trim_start_matches("./");
        let (own, file) = path.rsplit_once('/').unwrap_or(("", path));
        (own == folder).then_some(file)
    })
}

fn join(folder: &str, file: &str) -> String {
    if folder.is_empty() { file.to_owned() } else { format!("{folder}/{file}") }
}

/// Whether a module of Python does nothing but assert, tests import it, and nothing else names it.
fn asserts_for_tests(bench: &Bench<'_>, start: &TreeId, path: &str) -> Result<bool, TrialError> {
    let Some(stem) = path.strip_suffix(".py") else { return Ok(false) };
    let workspace = bench.workspace;
    let Some(text) = workspace.text_at(start, path)? else { return Ok(false) };
    let module = stem.rsplit('/').next().unwrap_or(stem);
    if !region::only_asserts(&text) {
        return Ok(false);
    }
    let names = |text: &str| text.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == module);
    let speaks = |file: &str| file != path && [".py", ".toml", ".cfg"].iter().any(|ending| file.ends_with(ending));
    let is_test = |file: &str| is_test_path(Path::new(file));
    Ok(workspace.any_text_at(start, |file| speaks(file) && is_test(file), |_, text| names(text))?
        && !workspace.any_text_at(start, |file| speaks(file) && !is_test(file), |_, text| names(text))?)
}

#[cfg(test)]
mod tests {
    use super::{Baseline, may_have_run, named_roots};

    #[test]
    fn an_example_is_a_test_where_the_starts_run_named_it() {
        let run = |names: &[&str], passed| Baseline {
            passing: names.iter().map(|name| ((*name).to_owned(), 1)).collect(),
            failing: vec!["tests/test_cart.py::test_total".to_owned()],
            passed: Some(passed),
            ..Baseline::default()
        };
        assert!(!may_have_run(&run(&["tests/test_cart.py::test_a"], 1), "shop/cart.py"));
        assert!(!may_have_run(&run(&[], 0), "shop/cart.py"), "the only test failed");
        assert!(may_have_run(&run(&["tests/test_cart.py::test_a"], 2), "shop/cart.py"), "one is not named");
        for example in ["shop/cart.py::shop.cart.total", "total (shop.cart)", "shop.cart::shop.cart.total"] {
            assert!(may_have_run(&run(&[example], 1), "shop/cart.py"), "{example}");
        }
        assert!(may_have_run(&run(&["src/shop/cart.py::shop.cart.total"], 1), "src/shop/cart.py"));
        assert!(may_have_run(&run(&["total (shop)"], 1), "shop/__init__.py"));
    }

    #[test]
    fn a_manifest_names_roots_in_folders() {
        let manifest =
            "[lib]\npath = \"src/calc.rs\"\n\n[[bin]]\npath = './tools/run.rs'\n\n[[bin]]\npath = \"main.rs\"\n";
        let of = |folder: &'static str| named_roots(manifest, folder).collect::<Vec<_>>();
        assert_eq!(of("src"), ["calc.rs"]);
        assert_eq!(of("tools"), ["run.rs"]);
        assert_eq!(of(""), ["main.rs"]);
        assert!(of("src/deep").is_empty());
    }
}
