//! The loopback model gateway: any program's model calls, held to one hard cap.
//!
//! A program that is pointed here speaks one of four wires ([`Spoken`]) with a placeholder key. Each call is reserved at its worst case
//! before it goes on to its vendor with the real key, and settled by the vendor's own count, as upshift's own calls are. The answer
//! passes as it comes.
//!
//! Start reading at [`Gateway`]. `call` is a call's way, `wire` the parts of a request that cost money, `ledger` the money, `answer` the
//! bytes on their way back, `refusal` the gateway's own answers to a client, [`child`] the environment that points a program here.
//!
//! Invariants: no call without a reservation, and no reservation left without a receipt, whoever hangs up when. A request that cannot be
//! bounded is refused. After the first refusal at the cap every later call is refused. The gateway retries nothing, because its clients do,
//! but for a limited vendor where [`Gateway::waits`] says so.
//!
//! Must not: start processes, read the environment or its configuration (`cli` does), know what its client is.

mod answer;
mod call;
pub mod child;
mod ledger;
mod price;
mod refusal;
mod route;
mod serve;
mod tally;
mod wait;
mod wire;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use secrecy::{ExposeSecret as _, SecretString};
use uuid::Uuid;

pub use self::ledger::{Ledger, Money, NoMoreCalls, Refusal};
pub use self::serve::{Open, open};
pub use self::tally::{Place, Tally, Trouble};
pub use self::wait::wait_before_next;
use crate::domain::catalogue::{ModelFacts, ModelInfo};
use crate::domain::model_id::ModelId;
use crate::domain::receipt::SIDE;
use crate::model::catalogue;
pub use crate::model::meter::Spoken;
use crate::model::relay::Relay;
use crate::redact::Redactor;

/// A gateway's settings, for one session.
#[derive(Debug)]
pub struct Gateway {
    /// The word that every request has to bring.
    pub token: Token,
    /// The vendors, by what is spoken with them. A wire without one is refused.
    pub lanes: BTreeMap<Spoken, Lane>,
    /// The models that calls are made with, whatever the client names.
    pub pin: Option<Pin>,
    /// The facts of models that configuration gives. The catalogue knows the others.
    pub facts: ModelFacts,
    /// Takes secrets out of what goes on, where that is wanted.
    pub clean: Option<Arc<Redactor>>,
    /// Whether a limited vendor is waited for here, so that the client sees a slow call and no limit.
    pub waits: bool,
}

/// A vendor behind a wire.
#[derive(Debug)]
pub struct Lane {
    /// The provider's name, the first half of a target.
    pub provider: String,
    /// The way to it.
    pub relay: Arc<Relay>,
}

/// Models that a session is held to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// The model of the session.
    pub main: ModelId,
    /// The model of side calls (titles, summaries), which name another model than the session's.
    pub side: Option<ModelId>,
}

/// The placeholder key of a session.
#[derive(Clone)]
pub struct Token(SecretString);

impl Token {
    /// A fresh random word: 244 bits, long enough that no redactor takes a common word for it.
    #[must_use]
    pub fn random() -> Self {
        let word = format!("upshift-{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        Self(SecretString::from(word))
    }

    /// The word, for the program that is to bring it.
    #[must_use]
    pub fn word(&self) -> &str {
        self.0.expose_secret()
    }

    /// Whether it is the word. Takes as long for a wrong one whatever its beginning.
    fn is(&self, said: &str) -> bool {
        let (word, said) = (self.word().as_bytes(), said.as_bytes());
        let differing = word.iter().zip(said).fold(0_u8, |so_far, (a, b)| so_far | (a ^ b));
        // The compiler must not see that one difference decides, or it might end the loop there.
        word.len() == said.len() && std::hint::black_box(differing) == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// The purpose of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The session's own work.
    Main,
    /// A title, a summary: on the same budget, told apart in the log.
    Side,
}

impl Pin {
    /// The model's name that a client is told for its side calls. Where the session's own model answers them it has a name of its own, so
    /// that they can be told apart.
    #[must_use]
    pub fn side_name(&self) -> String {
        // A side model that is the session's own would not be told from it.
        self.side
            .as_ref()
            .filter(|side| **side != self.main)
            .map_or_else(|| format!("{}{SIDE}", self.main.model), |side| side.model.clone())
    }
}

impl Gateway {
    /// The model that a call is made with, and what it is for, as far as its name tells.
    ///
    /// # Errors
    /// The pinned model, where it is of another provider than the one that this wire leads to.
    fn target(&self, provider: &str, named: &str) -> Result<(ModelId, Option<Purpose>), ModelId> {
        let named = ModelId { provider: provider.to_owned(), model: named.to_owned() };
        let Some(pin) = &self.pin else { return Ok((named, None)) };
        if pin.main.provider != provider {
            return Err(pin.main.clone());
        }
        // The session's own work, or a side call on the same model: its tools tell. Some programs name the provider, too.
        if named.model == pin.main.model || named.model == pin.main.to_string() {
            return Ok((pin.main.clone(), None));
        }
        let side = pin.side.as_ref().filter(|side| side.provider == provider);
        Ok((side.unwrap_or(&pin.main).clone(), Some(Purpose::Side)))
    }

    fn info(&self, target: &ModelId) -> Option<ModelInfo> {
        self.facts.0.get(target).cloned().or_else(|| catalogue::lookup(target))
    }
}

#[cfg(test)]
mod tests;
