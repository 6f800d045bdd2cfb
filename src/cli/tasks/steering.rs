//! Orders to the process while it works on a backlog: by commands in rows of the log, by people in comments. Both are looked
//! for between tasks and while a run is under way, and each is answered once.

use std::time::Duration;

use serde_json::json;

use super::again::log_flag;
use super::book::Book;
use super::comments::{Answer, CommentListener, Wish};
use super::engine::Engine;
use crate::audit::{AuditError, OrderAnswer};
use crate::policy::course::{Change, Order, Status};
use crate::report::words;

/// How often a paused process looks whether it may go on (S3-1).
const PAUSED_BEAT: Duration = Duration::from_millis(100);

/// The verbs of the command line, as they stand in the log.
pub(super) fn order_of(verb: &str, amount: u32) -> Option<Order> {
    match verb {
        "pause" => Some(Order::Pause),
        "resume" => Some(Order::Resume),
        "add" => Some(Order::Add(amount)),
        "remove" => Some(Order::Remove(amount)),
        _ => None,
    }
}

impl Engine<'_> {
    /// Does what was asked since the last look. A log or a forge that cannot be asked is told, and keeps nobody from working.
    pub(super) async fn hear(&self, book: &mut Book) {
        // A signal is noted in the log as well, so that `tasks status` of another process tells of it.
        let ends = self.stop.raised().is_some() && book.course.status != Status::Stopping;
        if ends {
            book.course.status = Status::Stopping;
            if let Err(error) = book.save_course() {
                self.teller.word(&format!("⚠ {error}"));
            }
        }
        if let Err(error) = self.hear_orders(book) {
            self.teller.word(&format!("⚠ the commands for the backlog could not be read: {error}"));
        }
        // Taken out for the time of the look: it is borrowed across an await otherwise.
        let Some(mut comments) = self.comments.take() else { return };
        self.hear_comments(book, &mut comments).await;
        if let Some(trouble) = comments.trouble() {
            let trouble = self.setup.redactor.redact(&trouble);
            self.teller.word(&format!("⚠ commands in comments could not be read or answered: {trouble}"));
        }
        self.comments.replace(Some(comments));
    }

    fn hear_orders(&self, book: &mut Book) -> Result<(), AuditError> {
        // In the order in which they were given, since a pause and a resume cancel each other.
        for given in book.store().waiting_orders()? {
            let done = match order_of(&given.verb, given.amount) {
                Some(order) => self.obey(book, order),
                None => Err("this version of upshift does not know that command".to_owned()),
            };
            let obeyed = done.is_ok();
            let said = done.unwrap_or_else(|why| why);
            // The answer is written behind the deed, so that whoever asked never hears of what did not happen.
            book.store().answer_order(given.order_id, &OrderAnswer { obeyed, said }, &self.now())?;
        }
        Ok(())
    }

    async fn hear_comments(&self, book: &mut Book, comments: &mut CommentListener) {
        for asked in comments.listen().await {
            let answer = match asked.wish {
                Wish::Order(order) if self.obey(book, order).is_ok() => Answer::Done,
                Wish::Budget(more) => match book.raise_cap(more) {
                    Ok(()) => {
                        let cap = book.backlog.max_cost;
                        self.teller.word(&format!("◆ All tasks together may cost {cap}"));
                        Answer::Done
                    }
                    Err(error) => {
                        self.teller.word(&format!("⚠ {error}"));
                        Answer::Refused
                    }
                },
                Wish::Order(_) | Wish::UnderWay | Wish::Refused | Wish::Unknown => Answer::Refused,
            };
            comments.answer(&asked, answer).await;
        }
    }

    /// Carries out an order. Returns its result in words.
    fn obey(&self, book: &mut Book, order: Order) -> Result<String, String> {
        let change = book.course.obey(order)?;
        // In the log before it is told: a killed process goes on with the number that was promised.
        book.save_course().map_err(|error| error.to_string())?;
        let (most, at) = (book.course.most, book.course.iteration);
        let said = match change {
            Change::Pausing => "it pauses after the current task".to_owned(),
            Change::GoesOn => "it continues without a pause".to_owned(),
            Change::Resumed => {
                self.tell("engine:resumed", json!({ "fromIteration": at }));
                "it continues".to_owned()
            }
            Change::Added { previous } => {
                let payload = json!({ "added": most - previous, "newMax": most, "previousMax": previous, "currentIteration": at });
                self.tell("engine:iterations-added", payload);
                limit_in_words(most, at)
            }
            Change::Removed { previous } => {
                let payload = json!({ "removed": previous - most, "newMax": most, "previousMax": previous, "currentIteration": at });
                self.tell("engine:iterations-removed", payload);
                limit_in_words(most, at)
            }
            Change::Stopping => "it ends after the current task".to_owned(),
        };
        self.teller.word(&format!("◆ Backlog {}: {said}", self.source));
        Ok(said)
    }

    /// Pauses where that was asked for, until it may go on or ends. Returns whether it paused.
    pub(super) async fn pause(&self, book: &mut Book) -> anyhow::Result<bool> {
        // A pause begins between two tasks, where no files are changed and no run is paid.
        if !book.course.reach_boundary() {
            return Ok(false);
        }
        book.save_course()?;
        self.tell("engine:paused", json!({ "currentIteration": book.course.iteration }));
        let log = log_flag(self.resolved.plan.audit.as_deref());
        self.teller.word(&format!("◆ Paused; `upshift resume{log}` continues"));
        while book.course.status == Status::Paused && self.stop.raised().is_none() {
            tokio::select! {
                // A person waits, not a model: a clock that leaps over waits does not leap here.
                () = tokio::time::sleep(PAUSED_BEAT) => {}
                _ = self.stop.wait() => {}
            }
            // Only an order or the end of the process leads out of the pause.
            self.hear(book).await;
        }
        Ok(true)
    }
}

fn limit_in_words(most: u32, begun: u32) -> String {
    let is = if most == 1 { "is" } else { "are" };
    let was = if begun == 1 { "was" } else { "were" };
    format!("{} {is} worked on at most, {begun} {was} started", words::count(u64::from(most), "task"))
}
