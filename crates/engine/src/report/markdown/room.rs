//! The room of a surface: blocks that are shown whole or not at all, and where the rest is.

use super::fence::code;
use crate::report::view::RunView;
use crate::report::whereabouts::Whereabouts;
use crate::report::words;

/// The longest command or name of an artifact.
const MAX_COMMAND: usize = 400;

/// A piece of the page that is shown whole or not at all.
pub(super) struct Block {
    pub(super) text: String,
    /// The block's name in the note of what was left out. `None` for a block that always stays.
    pub(super) optional: Option<&'static str>,
}

/// Where a reader finds what a page had no room for.
pub(super) fn whole(view: &RunView) -> String {
    if view.run.as_ref().is_none_or(|run| run.audit_db.is_none()) {
        return String::new();
    }
    match &view.kept_in {
        Whereabouts::Artifact(artifact) => {
            format!(" All of it is in the artifact {}, as report.html.", code(&artifact.name, MAX_COMMAND))
        }
        Whereabouts::Here => {
            let again = words::log_commands(view).into_iter().next().unwrap_or_default();
            format!(" All of it is in the audit log: {}", code(&format!("{again} --format html"), MAX_COMMAND))
        }
        Whereabouts::Runner => " All of it is in the audit log.".to_owned(),
    }
}

/// Joins the blocks. While they are too long, leaves out the longest optional one and says so at the end, with where the `whole` is.
pub(super) fn assemble(mut blocks: Vec<Block>, max_bytes: usize, whole: &str) -> String {
    let mut left_out: Vec<&'static str> = Vec::new();
    loop {
        let mut parts: Vec<&str> = blocks.iter().map(|block| block.text.as_str()).collect();
        let note = format!("_Left out to stay within GitHub's size limit: {}._{whole}", left_out.join(", "));
        if !left_out.is_empty() {
            parts.push(&note);
        }
        let text = parts.join("\n\n") + "\n";
        let longest = blocks.iter().enumerate().filter(|(_, block)| block.optional.is_some());
        match longest.max_by_key(|(_, block)| block.text.len()).map(|(index, _)| index) {
            // The longest one, so that as few blocks as possible are lost. The note grows with each and is measured,
            // too.
            Some(index) if text.len() > max_bytes => left_out.extend(blocks.remove(index).optional),
            _ => return text,
        }
    }
}
