//! A person's own words for the objective of each task: a template of the base commit, with a closed set of variables.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use minijinja::{Environment as Engine, ErrorKind, UndefinedBehavior, context};

use super::super::Failure;
use super::ready::unreadable;
use crate::tracker::{Proof, Source, Task, TaskStatus};
use crate::workspace::Revisions;

/// The largest template, in bytes.
const MOST_BYTES: usize = 64 * 1024;
/// How many steps a template may take for one task.
const FUEL: u64 = 100_000;
/// The name under which errors tell of it.
const NAME: &str = "task-template";

/// The variables that a template may name.
const VARIABLES: [&str; 9] = [
    "taskId",
    "taskTitle",
    "taskDescription",
    "priority",
    "dependsOn",
    "tests",
    "command",
    "tasksCompleted",
    "totalTasks",
];

/// Those that are text of anybody's where the tasks are issues: no objective is made of it.
const OF_STRANGERS: [&str; 2] = ["taskTitle", "taskDescription"];

/// A template that was found sound.
#[derive(Debug)]
pub(super) struct Template {
    engine: Engine<'static>,
}

impl Template {
    /// Reads it from the commit that is checked out, for the tasks of a source.
    ///
    /// # Errors
    /// When it is not there, too large, not sound, or names what it may not (exit 2).
    pub(super) async fn open(path: &str, revisions: &Revisions<'_>, source: &Source) -> anyhow::Result<Self> {
        let named = Path::new(path);
        // Nothing leads out of the repository, and nothing is read that is not in its commit.
        if path.is_empty() || !named.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(Failure::usage(format!(
                "--task-template {path:?} names no file of the repository\n→ Fix: name one that is committed, from the top of the repository"
            )));
        }
        // From the commit and not from the files, which the models change.
        let head = revisions.commit("HEAD").await.map_err(unreadable)?;
        // One byte more tells a file that is cut from one that just fits.
        let text = revisions.text_in(&head, named, MOST_BYTES + 1).await.map_err(unreadable)?;
        let wrong = |why: String| {
            Failure::usage(format!("--task-template {path}: {why}\n→ Fix: its variables are {}", VARIABLES.join(", ")))
        };
        let Some(text) = text else {
            return Err(Failure::usage(format!(
                "--task-template {path}: no such file of text is in the commit that is checked out\n→ Fix: commit it, or name another one from \
                 the top of the repository"
            )));
        };
        if text.trim().is_empty() {
            return Err(wrong("it is empty, so that each task would have no objective".to_owned()));
        }
        if text.len() > MOST_BYTES {
            return Err(wrong(format!("it has more than {MOST_BYTES} bytes")));
        }
        Self::new(text, matches!(source, Source::Issues(_))).map_err(wrong)
    }

    fn new(text: String, of_strangers: bool) -> Result<Self, String> {
        let mut engine = Engine::empty();
        // A misspelt variable is an error now, instead of an empty place in every objective.
        engine.set_undefined_behavior(UndefinedBehavior::Strict);
        // A template with a loop in a loop would otherwise keep the backlog for ever.
        engine.set_fuel(Some(FUEL));
        engine.add_template_owned(NAME, text).map_err(|error| error.to_string())?;
        // Looked at once for all tasks, before any of them is paid for.
        let named = engine.get_template(NAME).map(|template| template.undeclared_variables(false));
        let named: BTreeSet<String> = named.map_err(|error| error.to_string())?.into_iter().collect();
        if let Some(unknown) = named.iter().find(|name| !VARIABLES.contains(&name.as_str())) {
            return Err(format!("there is no variable `{unknown}`"));
        }
        match OF_STRANGERS.iter().find(|name| of_strangers && named.contains(**name)) {
            Some(foreign) => Err(format!(
                "`{foreign}` of an issue may be written by anybody, so it is shown as data beside the objective"
            )),
            None => Self { engine }.with_known_words(),
        }
    }

    /// Tries it on a task that has everything: a filter or a function that is not there is one for every task.
    fn with_known_words(self) -> Result<Self, String> {
        let task = Task {
            id: "T1".to_owned(),
            title: "title".to_owned(),
            description: "description".to_owned(),
            status: TaskStatus::Open,
            priority: 1,
            depends_on: vec!["T0".to_owned()],
            proof: Proof::Both { tests: vec!["test".to_owned()], command: "command".to_owned() },
        };
        match self.rendered(&task, (0, 1)) {
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::UnknownFilter
                        | ErrorKind::UnknownTest
                        | ErrorKind::UnknownFunction
                        | ErrorKind::UnknownMethod
                ) =>
            {
                Err(format!("{error}; filters, tests and functions are not there"))
            }
            Ok(_) | Err(_) => Ok(self),
        }
    }

    /// The objective of a task.
    ///
    /// # Errors
    /// When it takes too many steps, or does with a variable what cannot be done.
    pub(super) fn render(&self, task: &Task, counts: (usize, usize)) -> Result<String, String> {
        self.rendered(task, counts).map_err(|error| error.to_string())
    }

    fn rendered(&self, task: &Task, (done, all): (usize, usize)) -> Result<String, minijinja::Error> {
        let (tests, command) = (task.proof.tests(), task.proof.command().unwrap_or_default());
        let values = context! {
            taskId => task.id,
            taskTitle => task.title,
            taskDescription => task.description,
            priority => task.priority,
            dependsOn => task.depends_on,
            tests => tests,
            command => command,
            tasksCompleted => done,
            totalTasks => all,
        };
        self.engine.get_template(NAME).and_then(|template| template.render(values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task() -> Task {
        Task {
            id: "T1".to_owned(),
            title: "Mend {{ it }}".to_owned(),
            description: String::new(),
            status: TaskStatus::Open,
            priority: 1,
            depends_on: Vec::new(),
            proof: Proof::Tests(vec!["a".to_owned(), "b".to_owned()]),
        }
    }

    #[test]
    fn a_template_says_what_is_wanted_and_its_values_are_no_templates() {
        let text = "{{ taskId }} of {{ totalTasks }}: {{ taskTitle }}{% for test in tests %} [{{ test }}]{% endfor %}";
        let template = Template::new(text.to_owned(), false).unwrap();
        assert_eq!(template.render(&task(), (0, 3)).unwrap(), "T1 of 3: Mend {{ it }} [a] [b]");
    }

    #[test]
    fn what_a_template_may_not_name_is_told_before_anything_is_paid() {
        for (text, said) in
            [("{{ secret }}", "no variable `secret`"), ("{% if %}", "syntax error"), ("{% include 'x' %}", "")]
        {
            let told = Template::new(text.to_owned(), false)
                .and_then(|template| template.render(&task(), (0, 1)).map(|_| template));
            assert!(told.is_err_and(|told| told.contains(said)), "{text}");
        }
    }

    #[test]
    fn a_filter_that_is_not_there_is_told_before_anything_is_paid() {
        for text in ["{{ taskTitle | upper }}", "{{ tests | join(',') }}", "{{ taskTitle.upper() }}"] {
            let told = Template::new(text.to_owned(), false).unwrap_err();
            assert!(told.contains("are not there"), "{text}: {told}");
        }
        assert!(Template::new("{{ tests[7] }}".to_owned(), false).is_ok(), "another task may have eight tests");
    }

    #[test]
    fn the_text_of_an_issue_is_nobodys_objective() {
        for text in ["{{ taskTitle }}", "{% if priority %}{{ taskDescription }}{% endif %}"] {
            assert!(
                Template::new(text.to_owned(), true).is_err_and(|told| told.contains("may be written by anybody")),
                "{text}"
            );
        }
        assert!(Template::new("Mend {{ taskId }}, priority {{ priority }}".to_owned(), true).is_ok());
    }

    #[test]
    fn a_template_that_does_not_end_is_ended() {
        let nested = "{% for a in taskTitle %}".repeat(0)
            + &"{% for a in tests %}".repeat(20)
            + "x"
            + &"{% endfor %}".repeat(20);
        let template = Template::new(nested, false).unwrap();
        assert!(template.render(&task(), (0, 1)).is_err());
    }
}
