//! The `github` section of a plan.
//!
//! Invariant: where this build has no GitHub half, a push is refused and every other key that was given is warned about.

use std::cell::RefCell;

use super::file::{ConfigFile, GithubSection};
use super::numbers::Whole;
use super::pick::{Picked, Picker};
use super::plan::{Comment, FailOn, GithubPlan, Push, WaitFor};
use super::read::Readable;
use super::sections::joined;
use super::sources::Setting;

const DEFAULT_CI_TIMEOUT_MINUTES: u32 = 30;
const DEFAULT_MERGE_TIMEOUT_MINUTES: u32 = 60;
const DEFAULT_ATTEMPTS_PER_PR: u32 = 3;
const DEFAULT_SKIP_LABEL: &str = "upshift:skip";

/// What happens on GitHub.
pub(super) fn github(picker: &Picker<'_>, warnings: &mut Vec<String>) -> GithubPlan {
    let push = push(picker);
    let rest = Rest { picker, given: RefCell::default() };
    let plan = GithubPlan {
        push,
        wait_for: rest.take("waitFor", Some(Setting::WaitFor), |g| g.wait_for, WaitFor::Ci, WaitFor::to_string),
        ci_timeout_minutes: rest.whole(
            "ciTimeoutMinutes",
            Setting::CiTimeoutMinutes,
            |g| g.ci_timeout_minutes,
            DEFAULT_CI_TIMEOUT_MINUTES,
        ),
        merge_timeout_minutes: rest.whole(
            "mergeTimeoutMinutes",
            Setting::MergeTimeoutMinutes,
            |g| g.merge_timeout_minutes,
            DEFAULT_MERGE_TIMEOUT_MINUTES,
        ),
        comment: rest.take("comment", Some(Setting::Comment), |g| g.comment, Comment::Always, Comment::to_string),
        fail_on: rest.take_optional(
            "failOn",
            Some(Setting::FailOn),
            |g| g.fail_on.clone(),
            "every outcome but exit 0 and 4",
            |list: &Vec<FailOn>| joined(list, |word| word.as_str()),
        ),
        max_attempts_per_pr: rest.whole(
            "maxAttemptsPerPr",
            Setting::MaxAttemptsPerPr,
            |g| g.max_attempts_per_pr,
            DEFAULT_ATTEMPTS_PER_PR,
        ),
        skip_label: rest.take(
            "skipLabel",
            Some(Setting::SkipLabel),
            |g| g.skip_label.clone(),
            DEFAULT_SKIP_LABEL.to_owned(),
            String::clone,
        ),
        commit_message: rest.take_optional(
            "commitMessage",
            None,
            |g| g.commit_message.clone(),
            "built in",
            String::clone,
        ),
    };
    warnings.extend(rest.warning());
    plan
}

/// Reads a key of the section.
fn of<T>(get: impl Fn(&GithubSection) -> Option<T>) -> impl Fn(&ConfigFile) -> Option<T> {
    move |file| get(file.github.as_ref()?)
}

fn push(picker: &Picker<'_>) -> Push {
    let push = picker.either(Setting::Push, of(|github| github.push));
    if let Some(Picked { value: Push::Commit | Push::Pr, origin }) = &push
        && !picker.sources.build.github
    {
        let message = "is not in this version yet: a fix stays in the working tree";
        picker.fault(origin, "github.push", message, "Use `none`, and commit or push in a step of your own.");
    }
    picker.take("github.push", push, Push::None, Push::to_string)
}

/// The keys beside `push`: which were given is kept, so that the warning can name them.
struct Rest<'p, 's> {
    picker: &'p Picker<'s>,
    given: RefCell<Vec<String>>,
}

impl Rest<'_, '_> {
    /// The warning that what was given has no effect, where it has none.
    fn warning(self) -> Option<String> {
        let given = self.given.into_inner();
        let be = if given.len() == 1 { "is" } else { "are" };
        (!given.is_empty() && !self.picker.sources.build.github).then(|| {
            let keys = given.join(", ");
            format!("{keys} {be} for the Action and without effect in this version: only the working tree is changed")
        })
    }

    /// A value with a word that it has no effect yet, where it has none.
    fn marked(&self, value: &str) -> String {
        let note = if self.picker.sources.build.github { "" } else { " (not in this version)" };
        format!("{value}{note}")
    }

    fn pick<T: Readable>(
        &self,
        key: &str,
        setting: Option<Setting>,
        get: impl Fn(&GithubSection) -> Option<T>,
    ) -> Option<Picked<T>> {
        let picked = match setting {
            Some(setting) => self.picker.either(setting, of(get)),
            None => self.picker.in_documents(of(get)),
        };
        if picked.is_some() {
            self.given.borrow_mut().push(key.to_owned());
        }
        picked
    }

    fn take<T: Readable>(
        &self,
        key: &str,
        setting: Option<Setting>,
        get: impl Fn(&GithubSection) -> Option<T>,
        default: T,
        show: impl Fn(&T) -> String,
    ) -> T {
        let key = format!("github.{key}");
        let picked = self.pick(&key, setting, get);
        self.picker.take(&key, picked, default, |value| self.marked(&show(value)))
    }

    fn whole<const MIN: u32, const MAX: u32>(
        &self,
        key: &str,
        setting: Setting,
        get: impl Fn(&GithubSection) -> Option<Whole<MIN, MAX>>,
        default: u32,
    ) -> u32 {
        self.take(key, Some(setting), get, Whole(default), |whole| whole.0.to_string()).0
    }

    fn take_optional<T: Readable>(
        &self,
        key: &str,
        setting: Option<Setting>,
        get: impl Fn(&GithubSection) -> Option<T>,
        absent: &str,
        show: impl Fn(&T) -> String,
    ) -> Option<T> {
        let key = format!("github.{key}");
        let picked = self.pick(&key, setting, get);
        self.picker.take_optional(&key, picked, &self.marked(absent), |value| self.marked(&show(value)))
    }
}
