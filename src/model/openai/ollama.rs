//! What Ollama's users are told: its server is theirs, so they can pull a model and start it.

use url::Url;

use crate::domain::model_id::ModelId;
use crate::domain::receipt::CallStatus;
use crate::model::CallFailure;

/// The provider's name.
pub(super) const NAME: &str = "ollama";
/// What stands between what happened and how to mend it.
const FIX: &str = " → Fix: ";

/// The failure with the address (which never holds a password: endpoints refuse that) and the command that mends it. A model that was not pulled is answered with 404 and `model "m" not found,
/// try pulling it first` (compatible API) or `model 'm' not found` (its own; both from public reports, read 2026-11-23).
pub(super) fn advised(failure: CallFailure, base: &Url, target: &ModelId) -> CallFailure {
    let what = failure.message.split(FIX).next().unwrap_or_default().to_owned();
    let model = &target.model;
    let message = match (failure.http_status, failure.status) {
        (Some(404), _) if what.contains("not found") => {
            format!("{NAME}: the server at {base} has no model {model}{FIX}run `ollama pull {model}` on its machine")
        }
        // Nothing was sent: nobody listens there.
        (None, CallStatus::NetworkError) if !failure.may_be_billed => {
            format!("{what} ({base}){FIX}start the server with `ollama serve`, or name its address in OLLAMA_HOST")
        }
        _ => return failure,
    };
    CallFailure { message, ..failure }
}
