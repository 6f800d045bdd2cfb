//! A runner written in Python that lacks a module of its own: the tests did not begin, and nothing in the checkout can mend that.

use std::path::Path;

use crate::domain::test_report::{RunKind, TestReport};

/// Tells a runner that could not start from code whose import fails.
pub(super) fn told_apart(report: &mut TestReport, output: &str, cwd: &Path) {
    // With a single result the runner had begun.
    if report.kind != RunKind::ImportError || !report.tests.is_empty() || !is_of_the_runner(output, cwd) {
        return;
    }
    report.kind = RunKind::MissingTool;
    for problem in report.problems.iter_mut().filter(|problem| problem.kind == RunKind::ImportError) {
        problem.kind = RunKind::MissingTool;
    }
}

/// Whether the output holds a stack, all of whose files are those of installed programs.
fn is_of_the_runner(output: &str, cwd: &Path) -> bool {
    let checkout = cwd.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(cwd);
    let mut files = output.lines().filter_map(file_of_frame).peekable();
    // One frame of the checkout, and its code may be what asks for the module.
    files.peek().is_some() && files.all(|file| is_installed(Path::new(file), checkout))
}

/// The file of a line like `  File "/usr/bin/pytest", line 5, in <module>`.
fn file_of_frame(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("File \"")?.split_once("\", line ").map(|(file, _)| file)
}

/// Whether a file is Python's or of an installed program: outside of the checkout, or in a virtual environment inside of it.
fn is_installed(file: &Path, checkout: &Path) -> bool {
    // Such as `<frozen importlib._bootstrap>`.
    let is_of_python = file.to_string_lossy().starts_with('<');
    let is_outside = file.is_absolute() && !file.starts_with(checkout);
    is_of_python || is_outside || file.ancestors().any(|folder| folder.join("pyvenv.cfg").is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PYTEST: &str = "Traceback (most recent call last):\n  File \"/opt/tools/bin/pytest\", line 5, in <module>\n    from pytest import \
                          console_main\n  File \"<frozen importlib._bootstrap>\", line 1, in _find\nModuleNotFoundError: No module named 'pluggy'\n";

    fn read(output: &str, cwd: &Path) -> RunKind {
        let mut parser = testlog::Parser::new(None);
        parser.push(output.as_bytes());
        let mut report = parser.finish(Some(crate::domain::verdict::Exit::Code { code: 1 }));
        told_apart(&mut report, output, cwd);
        report.kind
    }

    #[test]
    fn a_runner_that_lacks_a_module_is_told_from_code_that_lacks_one() {
        let checkout = tempfile::tempdir().unwrap();
        let (root, below) = (checkout.path(), checkout.path().join("services/shop"));
        std::fs::create_dir_all(root.join(".git")).unwrap();
        std::fs::create_dir_all(root.join(".venv/bin")).unwrap();
        std::fs::create_dir_all(&below).unwrap();
        std::fs::write(root.join(".venv/pyvenv.cfg"), "").unwrap();
        assert_eq!(read(PYTEST, &below), RunKind::MissingTool);
        let own = |file: &str| PYTEST.replace("/opt/tools/bin/pytest", file);
        let in_root = |file: &str| own(&root.join(file).display().to_string());
        assert_eq!(read(&in_root(".venv/bin/pytest"), &below), RunKind::MissingTool);
        for code in [own("run.py"), in_root("bin/run"), in_root("common/money.py")] {
            assert_eq!(read(&code, &below), RunKind::ImportError, "{code}");
        }
        assert_eq!(read("ModuleNotFoundError: No module named 'pluggy'\n", &below), RunKind::ImportError, "no stack");
    }
}
