//! The way out of an agent's room, and what it leaves open.

/// How an agent reaches its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Door {
    /// A listener in a network namespace of the agent's own.
    Namespace,
    /// Landlock's rule for one TCP port of the machine.
    Port,
    /// The whole network, since a person said so.
    Network,
    /// Nothing is confined, since a person said so.
    Open,
}

impl Door {
    /// The reach of agents, as a sentence without its subject (they).
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Namespace => "have a network of their own, in which nothing answers but the gateway",
            Self::Port => {
                "reach the gateway's TCP port alone, by Landlock's rule, since no network namespace can be made here: any host that listens \
                 at the same number could be reached too (it is another one in each session), they resolve no names and send no UDP, and \
                 nothing that they start can listen"
            }
            Self::Network => "have the whole network, as `safety.network: on` says, though no key",
            Self::Open => "can do what your user can, as `safety.sandbox: off` says",
        }
    }

    /// The report's note on it. `None` where nothing is left open.
    #[must_use]
    pub fn note(self) -> Option<String> {
        let is_closed = self == Self::Namespace;
        (!is_closed).then(|| format!("coding agents {}", self.words()))
    }
}
