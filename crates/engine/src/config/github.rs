//! The `github` section of a plan.

use super::file::{ConfigFile, GithubSection};
use super::numbers::Whole;
use super::pick::{Picked, Picker};
use super::plan::{Comment, DEFAULT_MAX_PUSHES, FailOn, GithubPlan, Merge, Push, WaitFor};
use super::read::Readable;
use super::sections::joined;
use super::sources::Setting;
use super::values::BotName;

const DEFAULT_CI_TIMEOUT_MINUTES: u32 = 30;
const DEFAULT_MERGE_TIMEOUT_MINUTES: u32 = 60;
/// The limit of a job in the workflow of `upshift init`: a run is parked too early rather than too late.
const DEFAULT_JOB_MINUTES: u32 = 120;
const DEFAULT_ATTEMPTS_PER_PR: u32 = 3;
/// The label that keeps upshift away where nothing names another.
pub const DEFAULT_SKIP_LABEL: &str = "upshift:skip";

/// The settings for GitHub.
pub(super) fn github(picker: &Picker<'_>) -> GithubPlan {
    let push = picker.either(Setting::Push, of(|github| github.push));
    let default_push = picker.sources.build.default_push.unwrap_or(Push::None);
    let default_wait = picker.sources.build.default_wait_for.unwrap_or(WaitFor::Ci);
    let rest = Rest { picker };
    GithubPlan {
        push: picker.take("github.push", push, default_push, Push::to_string),
        wait_for: rest.take("waitFor", Some(Setting::WaitFor), |g| g.wait_for, default_wait, WaitFor::to_string),
        max_pushes: rest.whole("maxPushes", Setting::MaxPushes, |g| g.max_pushes, DEFAULT_MAX_PUSHES),
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
            "all but exit 0, 4, harmless refusals",
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
        allowed_bots: rest
            .take(
                "allowedBots",
                Some(Setting::AllowedBots),
                |g| g.allowed_bots.clone(),
                Vec::new(),
                |list: &Vec<BotName>| joined(list, |bot| &bot.0),
            )
            .into_iter()
            .map(|bot| bot.0)
            .collect(),
        commit_message: rest.take_optional(
            "commitMessage",
            None,
            |g| g.commit_message.clone(),
            "built in",
            String::clone,
        ),
        commit_author: rest
            .take_optional(
                "commitAuthor",
                None,
                |g| g.commit_author.clone(),
                "github-actions[bot]",
                |author| author.0.clone(),
            )
            .map(|author| author.0),
        sign_commits: rest.take("signCommits", Some(Setting::SignCommits), |g| g.sign_commits, false, bool::to_string),
        draft: rest.take("draft", None, |g| g.draft, false, bool::to_string),
        merge: rest.take("merge", None, |g| g.merge, Merge::Never, Merge::to_string),
        job_timeout_minutes: rest.in_file("jobTimeoutMinutes", |g| g.job_timeout_minutes, DEFAULT_JOB_MINUTES),
    }
}

/// Reads a key of the section.
fn of<T>(get: impl Fn(&GithubSection) -> Option<T>) -> impl Fn(&ConfigFile) -> Option<T> {
    move |file| get(file.github.as_ref()?)
}

/// The keys beside `push`.
struct Rest<'p, 's> {
    picker: &'p Picker<'s>,
}

impl Rest<'_, '_> {
    fn pick<T: Readable>(
        &self,
        setting: Option<Setting>,
        get: impl Fn(&GithubSection) -> Option<T>,
    ) -> Option<Picked<T>> {
        match setting {
            Some(setting) => self.picker.either(setting, of(get)),
            None => self.picker.in_documents(of(get)),
        }
    }

    fn take<T: Readable>(
        &self,
        key: &str,
        setting: Option<Setting>,
        get: impl Fn(&GithubSection) -> Option<T>,
        default: T,
        show: impl Fn(&T) -> String,
    ) -> T {
        self.picker.take(&format!("github.{key}"), self.pick(setting, get), default, show)
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

    /// A whole number that only a file may give.
    fn in_file<const MIN: u32, const MAX: u32>(
        &self,
        key: &str,
        get: impl Fn(&GithubSection) -> Option<Whole<MIN, MAX>>,
        default: u32,
    ) -> u32 {
        self.take(key, None, get, Whole(default), |whole| whole.0.to_string()).0
    }

    fn take_optional<T>(
        &self,
        key: &str,
        setting: Option<Setting>,
        get: impl Fn(&GithubSection) -> Option<T>,
        absent: &str,
        show: impl Fn(&T) -> String,
    ) -> Option<T>
    where
        T: Readable,
    {
        self.picker.take_optional(&format!("github.{key}"), self.pick(setting, get), absent, show)
    }
}
