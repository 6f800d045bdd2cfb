//! Advice for Ollama's users: its server is theirs, so they can pull a model and start it.

use url::Url;

use crate::domain::receipt::CallStatus;
use crate::model::CallFailure;

/// The words between a trouble and its fix.
const FIX: &str = " → Fix: ";

/// The failure with the address (which never holds a password: endpoints refuse that) and the command that mends it.
///
/// A model that was not pulled is answered with 404 and `model 'm' not found` (public reports, read 2026-11-23). A server of another kind
/// has no such path.
pub(super) fn advised(failure: CallFailure, base: &Url, model: &str) -> CallFailure {
    let what = failure.message.split(FIX).next().unwrap_or_default().to_owned();
    let provider = what.split(':').next().unwrap_or_default().to_owned();
    let message = match (failure.http_status, failure.status) {
        // Both: a proxy's page for a wrong path says "not found", too.
        (Some(404), _) if what.contains(model) && what.contains("not found") => {
            format!(
                "{provider}: the server at {base} has no model {model}{FIX}run `ollama pull {model}` on its machine"
            )
        }
        (Some(404 | 405), _) => format!(
            "{what} ({base}){FIX}check the address; a server of another kind is named under `providers`, with `wire: openai`"
        ),
        // Nothing was sent: nobody listens there.
        (None, CallStatus::NetworkError) if !failure.may_be_billed => {
            format!("{what} ({base}){FIX}start the server with `ollama serve`, or name its address in OLLAMA_HOST")
        }
        _ => return failure,
    };
    CallFailure { message, ..failure }
}
