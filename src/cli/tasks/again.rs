//! The command that goes on with a backlog, with the flags that it was given, for a person who copies it.

use super::flags::{BacklogFlags, OnError};
use super::worker;
use crate::config::Settings;
use crate::domain::shell::{quote, quote_path};

/// The place at which every command looks for the log without being told.
const USUAL_LOG: &str = ".upshift/audit.db";

/// The command by which these flags and settings were given, without `--task`.
pub(super) fn command(settings: &Settings, flags: &BacklogFlags) -> String {
    let mut words = vec!["upshift".to_owned()];
    words.extend(worker::words("run", settings));
    words.extend(flags.tasks.iter().map(|source| format!("--tasks={source}")));
    words.extend(flags.workers.map(|workers| format!("--workers={workers}")));
    words.extend(flags.task_template.iter().map(|path| format!("--task-template={path}")));
    match flags.on_error {
        OnError::Skip => {}
        OnError::Abort => words.push("--on-error=abort".to_owned()),
        OnError::Retry => {
            words.extend(["--on-error=retry".to_owned(), format!("--task-retries={}", flags.task_retries)])
        }
    }
    words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
}

/// The flag that names a log, with a space before it. Empty for the usual one.
pub(super) fn log_flag(audit: Option<&str>) -> String {
    let other = audit.filter(|path| *path != USUAL_LOG);
    other.map(|path| format!(" --audit-db {}", quote_path(path))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Setting;

    #[test]
    fn a_command_has_every_flag_that_was_given() {
        let mut settings = Settings::default();
        settings
            .set(Setting::TestCommand, Some("make 'a b'".to_owned()))
            .set(Setting::AuditDb, Some("x.db".to_owned()));
        let flags = BacklogFlags {
            tasks: Some("my tasks.yml".to_owned()),
            task: vec!["one".to_owned()],
            workers: Some(3),
            max_tasks: 10,
            task_template: None,
            on_error: OnError::Skip,
            task_retries: 3,
            retry_delay_seconds: 5,
        };
        let told = command(&settings, &flags);
        for word in [
            "upshift run ",
            "'--tasks=my tasks.yml'",
            " --workers=3",
            " --audit-db=x.db",
            r"'--test-command=make '\''a b'\'''",
        ] {
            assert!(told.contains(word), "{told}");
        }
        assert!(!told.contains("--task="), "{told}");
        assert_eq!(
            (log_flag(None), log_flag(Some(USUAL_LOG)), log_flag(Some("x y"))),
            (String::new(), String::new(), " --audit-db 'x y'".to_owned())
        );
    }
}
