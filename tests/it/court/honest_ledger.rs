//! Honest fixes over many test frameworks: each is kept as it was written, and what is remarked of it is known.
//!
//! The fixes stand in `honest/*.txt`, a file a runner, read when the tests run. A line that begins with `%% ` says what follows it: above
//! the first `%% case`, what all cases of the file share (`command`, `needs`, `place` for what must be installed); in a case its red
//! repository (`file`, `program` for an executable one, `link`) and its fix (`write`, `edit` with its `into`, `delete`).
//! Each case is first played by the plain command: red at the start, green with the fix. `honest/remarks.txt` lists what is remarked,
//! `honest/known.txt` what does not end as it should, each with its reason.
//! `cargo test --test it -- --ignored court::honest_ledger --nocapture --test-threads=1`, where `UPSHIFT_HONEST=words` plays those cases
//! alone whose name holds the words.

#![expect(clippy::print_stdout, reason = "what was seen is for whoever runs them by hand")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use super::attacker::is_green;
use crate::frameworks::Needs;
use crate::world::model_server::{ModelServer, Say};
use crate::world::program::{Program, Said};

/// What a run leaves beside the repository's files.
const LEFT_BY_RUNS: [&str; 11] = [
    ".git",
    ".gitignore",
    ".venv",
    "node_modules",
    "target",
    "build",
    "__pycache__",
    ".pytest_cache",
    ".upshift",
    ".phpunit.result.cache",
    "Cargo.lock",
];

/// A file's text and whether it is executable, or where a link leads to.
type Tree = BTreeMap<String, (String, bool)>;

/// One thing that the model does.
#[derive(Debug, Clone)]
enum Step {
    Write(String, String),
    Edit(String, String, String),
    Delete(String),
}

/// The start of a repository: files, executable ones and links.
#[derive(Debug, Clone)]
enum Laid {
    File(String, String),
    Program(String, String),
    Link(String, String),
}

#[derive(Debug, Clone, Default)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) command: String,
    laid: Vec<Laid>,
    steps: Vec<Step>,
}

#[derive(Debug)]
pub(super) struct Runner {
    pub(super) needs: Needs,
    pub(super) places: Vec<String>,
    pub(super) cases: Vec<Case>,
}

pub(super) fn ledger(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/court/honest").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A file of the ledger, read.
pub(super) fn read(text: &str) -> Runner {
    let mut runner = Runner { needs: Needs::Machine, places: Vec::new(), cases: Vec::new() };
    let mut shared = Case::default();
    for section in format!("\n{}", text.trim_end()).split("\n%% ").skip(1) {
        let (head, body) = section.split_once('\n').unwrap_or((section, ""));
        let (word, rest) = head.split_once(' ').unwrap_or((head, ""));
        let rest = rest.to_owned();
        let body = if body.is_empty() { String::new() } else { format!("{body}\n") };
        if word == "case" {
            runner.cases.push(Case { name: rest, ..shared.clone() });
            continue;
        }
        let case = runner.cases.last_mut().unwrap_or(&mut shared);
        match word {
            "needs" => {
                runner.needs = match rest.as_str() {
                    "python" => Needs::Python,
                    "javascript" => Needs::JavaScript,
                    "programs" => Needs::Programs,
                    other => panic!("no such need: {other}"),
                }
            }
            "place" => runner.places.push(rest),
            "command" => case.command = rest,
            "file" => case.laid.push(Laid::File(rest, body)),
            "program" => case.laid.push(Laid::Program(rest, body)),
            "link" => case.laid.push(Laid::Link(rest, body.trim_end().to_owned())),
            "write" => case.steps.push(Step::Write(rest, body)),
            "edit" => case.steps.push(Step::Edit(rest, part(&body), String::new())),
            "into" => match case.steps.last_mut() {
                Some(Step::Edit(_, _, new)) => *new = part(&body),
                other => panic!("{}: `into` behind {other:?}", case.name),
            },
            "delete" => case.steps.push(Step::Delete(rest)),
            other => panic!("no such word: {other}"),
        }
    }
    runner
}

/// A part of a file's lines, which need not end with one.
fn part(body: &str) -> String {
    body.strip_suffix('\n').unwrap_or(body).to_owned()
}

impl Case {
    /// Lays the red repository down; a later file of the same path is meant.
    pub(super) fn lay(&self, folder: &Path) {
        fs::write(folder.join(".gitignore"), "node_modules\n.venv\ntarget\n__pycache__\n").expect("written");
        for laid in &self.laid {
            let (Laid::File(path, text) | Laid::Program(path, text) | Laid::Link(path, text)) = laid;
            let path = folder.join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            match laid {
                Laid::Link(..) => std::os::unix::fs::symlink(text, &path).expect("a link"),
                Laid::File(..) | Laid::Program(..) => fs::write(&path, text).expect("written"),
            }
            if matches!(laid, Laid::Program(..)) {
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
            }
        }
    }

    /// Makes the fix by hand, as an editor would; says what it could not do.
    pub(super) fn mend(&self, folder: &Path) -> Result<(), String> {
        for step in &self.steps {
            let (Step::Write(name, _) | Step::Edit(name, ..) | Step::Delete(name)) = step;
            let path = folder.join(name);
            let done = match step {
                Step::Write(_, text) => {
                    fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
                    let is_new_program = !path.exists() && text.starts_with("#!");
                    fs::write(&path, text).and_then(|()| match is_new_program {
                        true => fs::set_permissions(&path, fs::Permissions::from_mode(0o755)),
                        false => Ok(()),
                    })
                }
                Step::Edit(_, old, new) => {
                    let text = fs::read_to_string(&path).unwrap_or_default();
                    if text.matches(old.as_str()).count() != 1 {
                        return Err(format!("IS NO FIX: {old:?} does not stand in {name} once"));
                    }
                    fs::write(&path, text.replacen(old.as_str(), new, 1))
                }
                Step::Delete(_) => fs::remove_file(&path),
            };
            done.map_err(|error| format!("IS NO FIX: {name}: {error}"))?;
        }
        Ok(())
    }

    /// The program over the red repository, with a model that makes the fix step by step.
    pub(super) fn run(&self, folder: &Path, needs: Needs) -> (Value, Said) {
        let calls: Vec<_> = self.steps.iter().map(Step::call).collect();
        let server = ModelServer::start(move |request| match calls.get(request.turn()) {
            Some((tool, arguments)) => Say::call(tool, arguments.clone()).usage(900, 40).into(),
            None => Say::call("final_report", json!({ "summary": "fixed", "status": "done" })).usage(900, 40).into(),
        });
        let args = [
            "run",
            "--no-audit",
            "--format",
            "json",
            "--tiers",
            "claude-haiku-4-5 x1",
            "--test-command",
            &self.command,
        ];
        let said = needs.equip(Program::with_anthropic(&server.url())).run(folder, &args);
        server.finish();
        (serde_json::from_str(&said.out).unwrap_or(Value::Null), said)
    }

    /// What became of it, in a folder that other cases use too: copies of what a framework needs take longest.
    fn play(&self, folder: &Path, needs: Needs) -> Became {
        clear(folder);
        self.lay(folder);
        if is_green(folder, &self.command) {
            return Became::refused("IS NOT RED at the start");
        }
        if let Err(why) = self.mend(folder) {
            return Became::refused(&why);
        }
        let wanted = tree(folder);
        if !is_green(folder, &self.command) {
            return Became::refused("IS NO FIX: its tests stay red");
        }
        clear(folder);
        self.lay(folder);
        let (report, said) = self.run(folder, needs);
        let list = |key: &str| report[key].as_array().cloned().unwrap_or_default();
        if said.code != 0 {
            let failed = list("proof").into_iter().find(|one| one["status"] == "failed");
            let last = list("tiers").pop().unwrap_or_default();
            let why = match &failed {
                Some(one) => format!("{}: {}", one["evidence"].as_str().unwrap_or_default(), one["why"]),
                None => last["attempts"][0]["error_messages"][0].as_str().unwrap_or("not judged").to_owned(),
            };
            println!("{}", said.all());
            return Became::refused(&format!("refused ({}): {}", said.code, why.lines().next().unwrap_or_default()));
        }
        let delivered = tree(folder);
        if delivered != wanted {
            let paths = wanted.keys().chain(delivered.keys());
            let mut differ: Vec<_> = paths.filter(|path| wanted.get(*path) != delivered.get(*path)).collect();
            differ.dedup();
            for path in &differ {
                println!("{path} is {:?}", delivered.get(*path));
            }
            return Became::refused(&format!("changed on the way: {differ:?}"));
        }
        Became { remarks: list("remarks"), proof: list("proof"), wrong: None }
    }
}

impl Step {
    fn call(&self) -> (&'static str, Value) {
        match self {
            Self::Write(path, text) => ("write_file", json!({ "path": path, "content": text })),
            Self::Edit(path, old, new) => ("edit_file", json!({ "path": path, "old_text": old, "new_text": new })),
            Self::Delete(path) => ("delete_file", json!({ "path": path })),
        }
    }
}

/// How a case ended.
struct Became {
    /// Why it did not end as it should.
    wrong: Option<String>,
    remarks: Vec<Value>,
    proof: Vec<Value>,
}

impl Became {
    fn refused(why: &str) -> Self {
        Self { wrong: Some(why.to_owned()), remarks: Vec::new(), proof: Vec::new() }
    }

    /// The kinds of its remarks, each once: how often one is made hangs on time.
    fn kinds(&self) -> String {
        let mut kinds: Vec<_> = self.remarks.iter().filter_map(|one| one["kind"].as_str()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds.join(" ")
    }

    fn tell(&self) {
        for one in &self.remarks {
            println!("    {} {}:{} {}", one["kind"], one["file"], one["first_line"], one["said"]);
        }
        for one in self.proof.iter().filter(|one| one["status"] != "held") {
            println!("    {} {}: {}", one["evidence"], one["status"], one["why"]);
        }
    }
}

/// Leaves a folder with what its framework needs alone.
fn clear(folder: &Path) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.file_name().is_some_and(|name| [".venv", "node_modules"].iter().any(|one| name == *one)) {
            continue;
        }
        let done = if path.is_dir() && !path.is_symlink() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        done.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

/// The files of a repository, without what runs leave.
fn tree(folder: &Path) -> Tree {
    let mut found = Tree::new();
    walk(folder, folder, &mut found);
    found
}

fn walk(top: &Path, folder: &Path, found: &mut Tree) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.file_name().is_some_and(|name| LEFT_BY_RUNS.iter().any(|left| name == *left)) {
            continue;
        }
        let name = path.strip_prefix(top).expect("below it").to_string_lossy().into_owned();
        if let Ok(target) = fs::read_link(&path) {
            found.insert(name, (format!("(link to) {}", target.display()), false));
        } else if path.is_dir() {
            walk(top, &path, found);
        } else {
            let mode = fs::metadata(&path).expect("there").permissions().mode();
            let text = String::from_utf8_lossy(&fs::read(&path).expect("read")).into_owned();
            found.insert(name, (text, mode & 0o100 != 0));
        }
    }
}

/// The lines of a list about one runner's cases that are to be played.
fn listed(list: &str, name: &str, only: &str) -> Vec<String> {
    let is_meant = |line: &&str| line.starts_with(&format!("{name} ")) && line.contains(only);
    ledger(list).lines().filter(is_meant).map(str::to_owned).collect()
}

/// Plays the cases of a runner: all are kept but those that are known, and remarked on as is known.
fn kept(name: &str) {
    let only = std::env::var("UPSHIFT_HONEST").unwrap_or_default();
    let runner = read(&ledger(&format!("{name}.txt")));
    let missing: Vec<_> = runner.places.iter().filter(|place| !Path::new(place).exists()).collect();
    if !missing.is_empty() {
        println!("{name}: passed over, {missing:?} is not installed");
        return;
    }
    let (mut wrong, mut remarks) = (Vec::new(), Vec::new());
    let folder = runner.needs.folder();
    for case in runner.cases.iter().filter(|case| case.name.contains(&only)) {
        let became = case.play(folder.path(), runner.needs);
        match (&became.wrong, became.kinds()) {
            (Some(why), _) => wrong.push(format!("{name} {}: {why}", case.name)),
            (None, kinds) if !kinds.is_empty() => remarks.push(format!("{name} {}: {kinds}", case.name)),
            (None, _) => {}
        }
        println!("{name} {}: {}", case.name, became.wrong.as_deref().unwrap_or("kept"));
        became.tell();
    }
    assert_eq!(wrong, listed("known.txt", name, &only));
    // Which kinds of remarks are made hangs on the time that was left; a fix that was not remarked must not become so.
    let known = listed("remarks.txt", name, &only);
    let case = |line: &str| line.rsplit_once(": ").map(|(case, _)| case.to_owned());
    let new = remarks.iter().filter(|line| !known.iter().any(|one| case(one) == case(line)));
    assert_eq!(new.collect::<Vec<_>>(), Vec::<&String>::new());
}

macro_rules! runners {
    ($($runner:ident),* $(,)?) => {
        pub(super) const RUNNERS: &[&str] = &[$(stringify!($runner)),*];
        $(
            #[test]
            #[ignore = "takes minutes, and needs what `.ci/frameworks` installs"]
            fn $runner() {
                kept(stringify!($runner));
            }
        )*
    };
}

runners!(pytest, unittest, jest, vitest, mocha, node, cargo, go, phpunit, rspec, maven, ctest, make);

#[test]
fn the_lists_name_cases_that_are_there_each_once() {
    let mut names: Vec<String> = Vec::new();
    for runner in RUNNERS {
        let cases = read(&ledger(&format!("{runner}.txt"))).cases;
        for case in &cases {
            assert!(!case.steps.is_empty() && !case.command.is_empty(), "{runner} {}", case.name);
        }
        names.extend(cases.into_iter().map(|case| format!("{runner} {}", case.name)));
    }
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count, "two cases of one name");
    for list in ["known.txt", "remarks.txt"] {
        for line in ledger(list).lines().filter(|line| !line.starts_with('#')) {
            let named = names.iter().filter(|name| line.starts_with(&format!("{name}: "))).count();
            assert_eq!(named, 1, "{list}: {line}");
        }
    }
}
