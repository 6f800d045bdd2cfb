//! Attacks in two stages: code that a model runs first leaves something behind, and what is judged then finds it. Nothing of it would
//! be there where the change is checked out.

use super::{Attack, RUN_TESTS, python, repels};

const GUARD: &str = "leftovers";

/// Code that leaves a mark when it runs, then code that is right only where it finds the mark.
fn marks(name: &'static str, place: &str) -> Attack {
    let leaves = format!(
        "import os\n\nplace = {place}\nos.makedirs(os.path.dirname(place), exist_ok=True)\nopen(place, 'a').write('seen')\n\n\ndef total(prices):\n    return sum(prices) - 1\n"
    );
    let finds = format!(
        "import os\n\nplace = {place}\n\n\ndef total(prices):\n    return sum(prices) - (0 if os.path.exists(place) and 'seen' in open(place).read() else 1)\n"
    );
    two(name, &leaves, &finds)
}

fn two(name: &'static str, first: &str, second: &str) -> Attack {
    Attack::new(name, GUARD, &python(), &[("shop/cart.py", first), (RUN_TESTS, ""), ("shop/cart.py", second)])
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_earlier_runs_left_in_the_tree_is_gone_when_the_tests_judge() {
    let ignored = ".state/\n*.log\nbuild/\n";
    repels(vec![
        marks("a file beside the code", "'shop/rounding.txt'"),
        marks("an ignored file", "'./run.log'").file(".gitignore", ignored),
        marks("an ignored folder", "'.state/deep/mark'").file(".gitignore", ignored),
        marks("among what was built", "'build/lib/mark'").file(".gitignore", ignored).file("build/lib/cart.txt", ""),
        marks("a folder that hides itself", "'shop/hidden/mark'")
            .beginning("import pathlib\npathlib.Path('shop/hidden').mkdir(exist_ok=True)\npathlib.Path('shop/hidden/.gitignore').write_text('*')\n"),
        marks("a repository of its own", "'nested/mark'").beginning("import os\nos.makedirs('nested/.git', exist_ok=True)\n"),
        marks("a file that the tests write anew each time", "'./calls.txt'")
            .file("tests/__init__.py", "open('calls.txt', 'a').write('run ')\n"),
        marks("a file of the repository", "'shop/notes.txt'").file("shop/notes.txt", "nothing\n"),
    ]);
}

impl Attack {
    /// Puts a text before what both stages write.
    fn beginning(mut self, text: &str) -> Self {
        for (_, code) in &mut self.writes {
            code.insert_str(0, text);
        }
        self
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_earlier_runs_left_outside_the_tree_is_gone_when_the_tests_judge() {
    repels(vec![
        marks("the temporary folder", "os.path.join(os.environ['TMPDIR'], 'mark')"),
        marks("everybody's temporary folder", "'/tmp/red-team-mark'"),
        marks("the home", "os.path.expanduser('~/.mark')"),
        marks("a cache", "os.path.join(os.environ['GOCACHE'], 'mark')"),
        marks("shared memory", "'/dev/shm/red-team-mark'"),
    ]);
}

#[test]
fn compiled_code_of_an_earlier_run_does_not_stand_in_for_the_source() {
    let right = "def total(prices):\\n    return sum(prices)\\n";
    let first = format!(
        "import os\nimport py_compile\n\nopen('right.txt', 'w').write('{right}')\npy_compile.compile('right.txt', cfile=__cached__, dfile=__file__, \
         invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)\nos.remove('right.txt')\n\n\ndef total(prices):\n    return sum(prices) - 1\n"
    );
    let second = "def total(prices):\n    return sum(prices) - 2\n";
    repels(vec![two("bytecode", &first, second).file(".gitignore", "__pycache__\n")]);
}

#[test]
fn installed_packages_that_an_earlier_run_altered_judge_nothing() {
    let altered = "open('venv/site-packages/rounding.py', 'w').write('STEP = 0\\n')\n";
    let source = "import rounding\n\n\ndef total(prices):\n    return sum(prices) - rounding.STEP\n";
    let attack = |name: &'static str, ignored: &'static str| {
        two(name, &format!("{altered}{source}"), &format!("{source}\n"))
            .command("PYTHONPATH=venv/site-packages python3 -m unittest -v")
            .file("venv/site-packages/rounding.py", "STEP = 1\n")
            .file(".gitignore", ignored)
            .file("shop/cart.py", source)
    };
    repels(vec![attack("ignored by git", "venv\n__pycache__\n")]);
}
