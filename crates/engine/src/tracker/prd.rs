//! A backlog as a `prd.json` of ralph-tui's form: `userStories` at the root, each with `passes`. Its unknown parts stay as they are, in
//! their order.

use serde_json::{Map, Value};

use super::next::validated;
use super::task::{
    LOWEST_PRIORITY, Proof, Task, TaskFault, TaskStatus, USUAL_PRIORITY, checked_id, command_in, is_read_again,
    one_line, test_in,
};

const STORIES: &str = "userStories";
/// The form, shown where it is another.
const FORM: &str = "a prd.json has `name` and `userStories` at its root, and each story an `id`, a `title` and `passes`, as in \
{\"name\": \"Shop\", \"userStories\": [{\"id\": \"US-1\", \"title\": \"Add a cart\", \"acceptanceCriteria\": [\"`make test` passes\"], \"passes\": false}]}";

/// A `prd.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct Prd {
    document: Map<String, Value>,
}

impl Prd {
    /// Reads the text of one.
    ///
    /// # Errors
    /// When it is not JSON, or not of that form.
    pub fn read(text: &str) -> Result<Self, TaskFault> {
        let document = match serde_json::from_str(text) {
            Ok(Value::Object(document)) => document,
            Ok(_) => return Err(TaskFault::new("it is not an object in braces", FORM)),
            Err(error) => {
                let (line, column) = (error.line(), error.column());
                // The place is told first, and not once more behind the words.
                let said = error.to_string();
                let said = said.split(" at line ").next().unwrap_or_default();
                return Err(TaskFault::new(format!("line {line}, column {column}: it is not JSON: {said}"), FORM));
            }
        };
        match document.get(STORIES) {
            Some(Value::Array(_)) => Ok(Self { document }),
            Some(_) | None => Err(TaskFault::new(format!("it has no list `{STORIES}`"), FORM)),
        }
    }

    /// Its stories as tasks. Priorities above 4 count as 4.
    ///
    /// # Errors
    /// When a story has no usable id, or they have no order.
    pub fn tasks(&self) -> Result<Vec<Task>, TaskFault> {
        validated(self.stories().iter().map(task).collect::<Result<_, _>>()?)
    }

    /// Notes that a story passes, or does not yet.
    pub fn mark(&mut self, id: &str, passes: bool) {
        let Some(Value::Array(stories)) = self.document.get_mut(STORIES) else { return };
        let named = stories.iter_mut().filter_map(Value::as_object_mut);
        // All of that id are marked. Reading refuses a second one.
        for story in named.filter(|story| text(story, "id").trim() == id) {
            story.insert("passes".to_owned(), Value::Bool(passes));
        }
    }

    /// Adds a story to the end.
    ///
    /// # Errors
    /// When the story would not be read again as it is meant, or has the id of another.
    pub fn add(&mut self, task: &Task) -> Result<(), TaskFault> {
        let task = &Task { id: checked_id(&task.id, "the new story")?, ..task.clone() };
        self.push(task);
        // A criterion is a sentence, so that a test or a command in it has to be read back as it was meant.
        is_read_again(&Self::read(&self.write())?.tasks()?, task, FORM)
    }

    fn push(&mut self, task: &Task) {
        let Some(Value::Array(stories)) = self.document.get_mut(STORIES) else { return };
        let tests = task.proof.tests().iter().map(|test| format!("the test {test} passes"));
        let command = task.proof.command().map(|command| format!("`{command}` passes"));
        // The form has no field for a proof, so that it is written as its criteria.
        let criteria: Vec<String> = tests.chain(command).collect();
        stories.push(serde_json::json!({
            "id": task.id,
            "title": task.title,
            "description": task.description,
            "acceptanceCriteria": criteria,
            "priority": task.priority,
            "passes": false,
            "dependsOn": task.depends_on,
        }));
    }

    /// The text, indented by two, with an end of line.
    #[must_use]
    pub fn write(&self) -> String {
        // The document as it was, so that keys of other tools stay.
        let text = serde_json::to_string_pretty(&self.document).unwrap_or_default();
        format!("{text}\n")
    }

    fn stories(&self) -> &[Value] {
        match self.document.get(STORIES) {
            Some(Value::Array(stories)) => stories,
            Some(_) | None => &[],
        }
    }
}

fn text<'s>(story: &'s Map<String, Value>, key: &str) -> &'s str {
    story.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn texts(story: &Map<String, Value>, key: &str) -> Vec<String> {
    let list = story.get(key).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The tasks that a story waits for: a list of their ids, or the id of one.
fn dependencies(story: &Map<String, Value>, id: &str) -> Result<Vec<String>, TaskFault> {
    let wrong = || TaskFault::new(format!("`dependsOn` of {id} is not a list of ids"), FORM);
    match story.get("dependsOn") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::String(one)) => Ok(vec![one.clone()]),
        Some(Value::Array(ids)) => ids.iter().map(|one| one.as_str().map(str::to_owned).ok_or_else(wrong)).collect(),
        Some(Value::Bool(_) | Value::Number(_) | Value::Object(_)) => Err(wrong()),
    }
}

fn task(story: &Value) -> Result<Task, TaskFault> {
    let Some(story) = story.as_object() else { return Err(TaskFault::new("a story is not an object", FORM)) };
    let id = checked_id(text(story, "id"), "a story")?;
    let passes = match story.get("passes") {
        None => false,
        Some(Value::Bool(passes)) => *passes,
        Some(_) => return Err(TaskFault::new(format!("`passes` of {id} is neither true nor false"), FORM)),
    };
    let priority = story.get("priority").and_then(Value::as_u64).unwrap_or(u64::from(USUAL_PRIORITY));
    let criteria = texts(story, "acceptanceCriteria");
    let mut description = text(story, "description").to_owned();
    if !criteria.is_empty() {
        description.push_str("\n\nIt is done when:\n");
        criteria.iter().for_each(|one| description.push_str(&format!("- {one}\n")));
    }
    let depends_on = dependencies(story, &id)?;
    Ok(Task {
        id,
        title: one_line(text(story, "title")),
        description,
        status: if passes { TaskStatus::Completed } else { TaskStatus::Open },
        priority: u8::try_from(priority).map_or(LOWEST_PRIORITY, |priority| priority.min(LOWEST_PRIORITY)),
        depends_on,
        proof: proof(&criteria),
    })
}

/// Programs that run a project's checks, by which a command is known that stands in no backticks.
const RUNNERS: [&str; 27] = [
    "npm", "pnpm", "yarn", "bun", "npx", "deno", "node", "tsc", "eslint", "make", "just", "cargo", "go", "uv",
    "poetry", "ruff", "mypy", "python", "python3", "bundle", "rake", "mvn", "gradle", "dotnet", "composer", "mix",
    "sbt",
];

/// The command of a criterion in the manner of ralph-tui's own documentation: "pnpm lint passes", with a program that is known and plain
/// words alone.
fn bare_command(criterion: &str) -> Option<&str> {
    // Only the whole sentence: "npm test passes on Windows" asks for more than the command.
    let command = criterion.trim().strip_suffix(" passes")?;
    // A sign of the shell makes the rest of the sentence a part of a command that nobody wrote.
    let plain = |letter: char| letter.is_ascii_alphanumeric() || " ._/:@=+-".contains(letter);
    let first = command.split(' ').next().unwrap_or_default();
    // "Login passes" has no command, though it has the form.
    (RUNNERS.contains(&first) && command.chars().all(plain)).then_some(command)
}

/// The proof that the criteria of a story name, as far as it can be run: all of its tests and all of its commands. The name of a test is no
/// command, however it is written.
fn proof(criteria: &[String]) -> Proof {
    let (tests, others): (Vec<&String>, Vec<&String>) = criteria.iter().partition(|one| test_in(one).is_some());
    let command = |criterion: &&String| command_in(criterion).or_else(|| bare_command(criterion)).map(str::to_owned);
    let commands: Vec<String> = others.iter().filter_map(command).collect();
    Proof::of(tests.into_iter().filter_map(|one| test_in(one)).map(str::to_owned).collect(), &commands)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "{\n  \"name\": \"Shop\",\n  \"zebra\": [1, 2.50],\n  \"userStories\": [\n    {\n      \"id\": \"US-001\",\n      \"title\": \"Add the tax\",\n      \"description\": \"As a buyer …\",\n      \"acceptanceCriteria\": [\n        \"Totals hold the tax\",\n        \"`make tax-test` passes\"\n      ],\n      \"priority\": 1,\n      \"passes\": false,\n      \"labels\": [\n        \"fast\"\n      ],\n      \"notes\": \"\",\n      \"dependsOn\": []\n    },\n    {\n      \"id\": \"US-002\",\n      \"title\": \"Show it\",\n      \"priority\": 12,\n      \"passes\": true,\n      \"dependsOn\": [\n        \"US-001\"\n      ]\n    }\n  ],\n  \"metadata\": {\n    \"version\": \"1.0.0\"\n  }\n}\n";

    #[test]
    fn stories_are_tasks_and_what_is_unknown_stays() {
        let mut prd = Prd::read(TEXT).unwrap();
        let tasks = prd.tasks().unwrap();
        assert_eq!(tasks[0].proof, Proof::Command("make tax-test".to_owned()));
        assert!(tasks[0].description.contains("- Totals hold the tax\n"));
        assert_eq!((tasks[1].status, tasks[1].priority, &tasks[1].proof), (TaskStatus::Completed, 4, &Proof::Nothing));
        let again = prd.write();
        assert_eq!(Prd::read(&again).unwrap(), prd);
        assert_eq!(
            again.replace("2.5\n", "2.50\n").replace("[\n    1,\n    2.50\n  ]", "[1, 2.50]"),
            TEXT,
            "keys and their order stay"
        );
        prd.mark("US-001", true);
        assert_eq!(prd.write(), again.replacen("\"passes\": false", "\"passes\": true", 1));
    }

    #[test]
    fn a_story_that_is_added_can_be_read_again() {
        let mut prd = Prd::read("{\"userStories\": []}").unwrap();
        for proof in [
            Proof::Tests(vec!["a::b".to_owned(), "c d".to_owned()]),
            Proof::Command("make x".to_owned()),
            Proof::Both { tests: vec!["a::b".to_owned()], command: "make x".to_owned() },
            Proof::Nothing,
        ] {
            let id = format!("T{}", prd.stories().len());
            let task = Task {
                id,
                title: "t".to_owned(),
                description: String::new(),
                status: TaskStatus::Open,
                priority: 3,
                depends_on: Vec::new(),
                proof,
            };
            prd.add(&task).unwrap();
            let read = prd.tasks().unwrap().pop().unwrap();
            assert_eq!((&read.id, &read.proof, read.priority), (&task.id, &task.proof, 3));
        }
    }

    #[test]
    fn a_story_that_could_not_be_read_again_is_not_added() {
        let task = |id: &str, proof| Task {
            id: id.to_owned(),
            title: "t".to_owned(),
            description: String::new(),
            status: TaskStatus::Open,
            priority: 2,
            depends_on: Vec::new(),
            proof,
        };
        let add = |task: &Task| Prd::read("{\"userStories\": [{\"id\": \"US-1\"}]}").unwrap().add(task);
        for (id, command) in [("", "make"), (" US-1 ", "make"), ("US-2", "echo `date`"), ("a\nb", "make")] {
            assert!(add(&task(id, Proof::Command(command.to_owned()))).is_err(), "{id} {command}");
        }
        assert!(add(&task("US-2", Proof::Tests(vec!["`odd`".to_owned()]))).is_err());
        assert!(add(&task(" US-2 ", Proof::Command("make \"x\"".to_owned()))).is_ok());
    }

    #[test]
    fn only_a_command_that_is_said_to_pass_proves_a_story() {
        let of = |criteria: &[&str]| proof(&criteria.iter().map(|&one| one.to_owned()).collect::<Vec<_>>());
        for none in [
            "The `token` is passed to the API",
            "Never run `terraform destroy`",
            "`a` and `b` pass",
            "`x` is not passed",
        ] {
            assert_eq!(of(&[none]), Proof::Nothing, "{none}");
        }
        assert_eq!(
            of(&["`make x # all` passes", "`make y` succeeds"]),
            Proof::Command("( make x # all\n) && ( make y\n)".to_owned())
        );
    }

    #[test]
    fn a_test_is_no_command_however_it_is_written() {
        let of = |criteria: &[&str]| proof(&criteria.iter().map(|&one| one.to_owned()).collect::<Vec<_>>());
        let tests = |names: &[&str]| Proof::Tests(names.iter().map(|&name| name.to_owned()).collect());
        assert_eq!(of(&["the test `touch here` passes"]), tests(&["touch here"]));
        assert_eq!(of(&["The test a::b passes", "Failing test: `c d`"]), tests(&["a::b", "c d"]));
    }

    #[test]
    fn a_story_is_proven_by_all_that_its_criteria_name() {
        let of = |criteria: &[&str]| proof(&criteria.iter().map(|&one| one.to_owned()).collect::<Vec<_>>());
        let tests = vec!["a::b".to_owned(), "c d".to_owned()];
        for (commands, command) in [
            (&["`make lint` passes"][..], "make lint"),
            (&["pnpm lint passes", "`make x` succeeds"], "( pnpm lint\n) && ( make x\n)"),
        ] {
            let criteria = [&["The test a::b passes"], commands, &["Failing test: `c d`"]].concat();
            assert_eq!(of(&criteria), Proof::Both { tests: tests.clone(), command: command.to_owned() });
        }
    }

    #[test]
    fn a_command_of_a_known_program_needs_no_backticks() {
        let of = |criteria: &[&str]| proof(&criteria.iter().map(|&one| one.to_owned()).collect::<Vec<_>>());
        assert_eq!(
            of(&["It is shown", "pnpm typecheck passes", "pnpm lint passes"]),
            Proof::Command("( pnpm typecheck\n) && ( pnpm lint\n)".to_owned())
        );
        for none in ["Migration passes", "make sure that; rm -rf passes", "npm test", "typecheck passes"] {
            assert_eq!(of(&[none]), Proof::Nothing, "{none}");
        }
    }

    #[test]
    fn what_is_no_prd_is_told() {
        for text in ["", "[]", "{\"prd\": {}}", "{\"userStories\": {}}"] {
            assert!(Prd::read(text).unwrap_err().to_string().contains("userStories"), "{text}");
        }
        let told = |stories: &str| {
            Prd::read(&format!("{{\"userStories\": {stories}}}")).unwrap().tasks().unwrap_err().to_string()
        };
        assert!(told("[{\"title\": \"x\"}]").contains("no usable id"));
        assert!(told("[{\"id\": \"a\", \"passes\": \"no\"}]").contains("`passes` of a"));
        for b in ["[\"b\"]", "\"b\""] {
            assert!(told(&format!("[{{\"id\": \"a\", \"dependsOn\": {b}}}]")).contains("a depends on b"), "{b}");
        }
        for odd in ["3", "{}", "[3]"] {
            assert!(told(&format!("[{{\"id\": \"a\", \"dependsOn\": {odd}}}]")).contains("`dependsOn` of a"), "{odd}");
        }
    }
}
