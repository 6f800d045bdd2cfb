//! The pull-request breakpoint: merged, closed, or a reviewer who wants something else.

use super::super::climb::Climb;
use super::super::closed;
use super::super::context::Context;
use super::super::state::Wait;
use super::seen::{Seen, Work};
use crate::domain::clock::Timestamp;
use crate::domain::delivery::Answer;
use crate::domain::foreign::Foreign;
use crate::github::{GitHub, GithubError, PullState, RepoRole, ReviewState, User};

/// By this word a remark is addressed to us.
const ADDRESS: &str = "/upshift";
/// The most characters of one remark.
const REMARK_CHARS: usize = 2_000;
/// How many remarks are taken into one iteration.
const MOST_REMARKS: usize = 10;

/// Looks once.
pub(super) async fn look(
    context: &Context<'_>,
    github: &GitHub,
    climb: &Climb,
    wait: &Wait,
) -> Result<Seen, GithubError> {
    let Some(number) = climb.pull_request(&context.charter) else {
        return Ok(Seen::Answer(Answer::Unreadable, "there is no pull request to wait for".to_owned()));
    };
    let pull = github.pull(number).await?;
    match pull.state {
        PullState::Merged => return Ok(Seen::Answer(Answer::Merged, String::new())),
        PullState::Closed => return Ok(Seen::Answer(Answer::Closed, format!("#{number} was closed without a merge"))),
        PullState::Open => {}
    }
    if let Some(told) = closed::kept_away(context, &pull) {
        return Ok(Seen::Answer(Answer::Stopped, told));
    }
    if pull.head.sha != wait.commit {
        let detail = format!("#{number} is at {} now", pull.head.sha.short());
        return Ok(Seen::Answer(Answer::Superseded, detail));
    }
    let remarks = remarks(climb, github, number).await?;
    if remarks.is_empty() {
        return Ok(Seen::Moving(String::new()));
    }
    let text: Vec<&str> = remarks.iter().map(|remark| remark.text.as_str()).collect();
    let by: Vec<&str> = remarks.iter().map(|remark| remark.by.as_str()).collect();
    let told = format!("The tests pass, but a reviewer asks for changes:\n\n{}\n", text.join("\n\n"));
    let failures = Foreign::new(&told);
    let named = remarks.iter().filter_map(|remark| remark.place.clone()).collect();
    let failing = vec![format!("the review of #{number}")];
    let (detail, signature) = (format!("asked by {}", by.join(", ")), text.join("\n"));
    let work = Work { detail, failures, failing, named, signature, is_told: true };
    Ok(Seen::Work(Answer::ChangesRequested, work))
}

/// The remark of a reviewer.
struct Remark {
    by: String,
    /// The part of it that a reader of the page sees, behind its place.
    text: Foreign,
    place: Option<(String, Option<u32>)>,
}

/// Remarks since our push by people who may write here: a review that requests changes with its lines, and what is addressed
/// to us.
async fn remarks(climb: &Climb, github: &GitHub, number: u64) -> Result<Vec<Remark>, GithubError> {
    // RFC 3339 in UTC, as the forge writes it: the texts are compared below.
    let since = Timestamp::from_unix_ms(climb.delivered.pushed_at_ms).0;
    let reviews = github.reviews(number).await?;
    let requests: Vec<_> = reviews
        .into_iter()
        .filter(|review| review.state == ReviewState::ChangesRequested && review.submitted_at.as_str() > since.as_str())
        .collect();
    let lines = github.review_comments(number, Some(&since)).await?;
    let mut remarks = Vec::new();
    let mut allowed = Allowed::default();
    for review in &requests {
        if allowed.may(github, review.user.as_ref()).await? {
            remarks.extend(remark(review.user.as_ref(), &review.body, None));
        }
    }
    for line in lines.into_iter().filter(|line| line.created_at.as_str() > since.as_str()) {
        let of_request = requests.iter().any(|review| Some(review.id) == line.pull_request_review_id);
        let addressed = line.body.trim_start().starts_with(ADDRESS);
        // The role comes last, since it costs a request.
        if (of_request || addressed) && allowed.may(github, line.user.as_ref()).await? {
            let place = (line.path.clone(), line.line.and_then(|line| u32::try_from(line).ok()));
            remarks.extend(remark(line.user.as_ref(), &line.body, Some(place)));
        }
    }
    remarks.truncate(MOST_REMARKS);
    Ok(remarks)
}

fn remark(user: Option<&User>, body: &str, place: Option<(String, Option<u32>)>) -> Option<Remark> {
    let said = Foreign::prose(body).cut(REMARK_CHARS);
    if said.is_empty() {
        return None;
    }
    let at = place.as_ref().map(|(path, line)| match line {
        Some(line) => format!("{path}:{line}: "),
        None => format!("{path}: "),
    });
    let text = Foreign::new(&format!("{}{}", at.unwrap_or_default(), said.as_str().trim()));
    Some(Remark { by: user.map(|user| user.login.clone()).unwrap_or_default(), text, place })
}

/// The people who may tell us what to do: those with write access, each asked about once.
#[derive(Debug, Default)]
struct Allowed(std::collections::BTreeMap<String, bool>);

impl Allowed {
    async fn may(&mut self, github: &GitHub, user: Option<&User>) -> Result<bool, GithubError> {
        let Some(user) = user.filter(|user| !user.is_bot()) else { return Ok(false) };
        if let Some(known) = self.0.get(&user.login) {
            return Ok(*known);
        }
        let may = github.role_of(&user.login).await? >= RepoRole::Write;
        self.0.insert(user.login.clone(), may);
        Ok(may)
    }
}
