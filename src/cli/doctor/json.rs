//! `upshift doctor --format json`: the findings for programs.
//!
//! Contract: the keys of [`Document`] stay, and new ones may come. A change of meaning raises `version`.

use serde::Serialize;

use super::Finding;
use crate::report::json;

/// The version of this document's shape.
const VERSION: u32 = 1;

#[derive(Debug, Serialize)]
struct Document<'a> {
    version: u32,
    /// Whether nothing would keep a run from going well.
    ok: bool,
    findings: Vec<FindingDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct FindingDocument<'a> {
    about: &'static str,
    ok: bool,
    /// Whether it could be looked at here. Where it could not, `ok` says that nothing is known to be wrong.
    looked_at: bool,
    said: &'a str,
    /// The way to fix it. Null where nothing is wrong.
    fix: Option<&'a str>,
}

/// Renders findings for programs.
pub(super) fn render(findings: &[Finding]) -> String {
    let document = Document {
        version: VERSION,
        ok: findings.iter().all(|finding| finding.fix.is_none()),
        findings: findings
            .iter()
            .map(|finding| FindingDocument {
                about: finding.about,
                ok: finding.fix.is_none(),
                looked_at: !finding.is_open,
                said: &finding.said,
                fix: finding.fix.as_deref(),
            })
            .collect(),
    };
    json::pretty(&document)
}
