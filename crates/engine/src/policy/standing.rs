//! Standing: which accounts can be asked, and what follows for the tiers that need them (S3-7, contradiction 18).
//!
//! Owns what a run has learnt of its accounts. Pure: time is handed in, in milliseconds since the Unix epoch.
//! Invariants: a refused account stays refused. A limit or an outage passes with its time or with the next answer. A tier is
//! ready only if each of its roles has a target that can be asked, so that no change passes without its critic.

use std::collections::BTreeMap;

use crate::domain::account::{Account, Unavailability};

use super::rotation::Patience;

/// How long an account without an announced time counts as limited or down: the longest wait that is taken in one go.
const REST_MS: i64 = 60_000;
/// The longest wait for an outage without an announced time. Most outages pass within minutes. A longer one is better met by another run
/// than by a runner that is paid to wait.
const OUTAGE_PATIENCE_MS: u64 = 5 * 60_000;

/// A note on an account that cannot be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Why.
    pub why: Unavailability,
    /// When it is over by the vendor's own words.
    pub until_ms: Option<i64>,
    /// The vendor's words. They are foreign text.
    pub said: String,
    /// When it was noted.
    pub at_ms: i64,
}

impl Note {
    fn stands(&self, now_ms: i64) -> bool {
        !self.why.passes() || self.until_ms.unwrap_or(self.at_ms.saturating_add(REST_MS)) > now_ms
    }
}

/// Whether a tier can be entered. The order is that of preference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Readiness {
    /// Every role has a target that can be asked.
    Ready,
    /// A role has targets alone that are limited for no longer than a session waits for them anyway.
    Pausing,
    /// A role has limited targets alone: they can be asked later.
    Limited,
    /// A role has targets of hosts alone that are down.
    Down,
    /// A role has refused targets alone.
    Refused,
}

/// The accounts of one role's targets.
pub type RoleAccounts = Vec<Account>;

/// A run's knowledge of its accounts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing(BTreeMap<Account, Note>);

impl Standing {
    /// Notes that an account cannot be asked. True when that is news: it could be asked before, or for another reason not.
    pub fn note(&mut self, account: &Account, note: Note) -> bool {
        let known = self.0.get(account).filter(|known| known.stands(note.at_ms));
        // A later outage would replace the refusal, and when it passes the refused key would be asked again.
        if known.is_some_and(|known| !known.why.passes()) {
            return false;
        }
        let news = known.is_none_or(|known| known.why != note.why || known.until_ms != note.until_ms);
        self.0.insert(account.clone(), note);
        news
    }

    /// Notes that an account answered.
    pub fn answered(&mut self, account: &Account) {
        self.0.remove(account);
    }

    /// The obstacle that keeps an account from being asked now. An outage is the host's, whatever the key.
    #[must_use]
    pub fn of(&self, account: &Account, now_ms: i64) -> Option<&Note> {
        // The own note first: a refusal says more than a neighbour's outage.
        let own = self.0.get(account).filter(|note| note.stands(now_ms));
        own.or_else(|| {
            let neighbours = self.0.iter().filter(|(other, _)| other.endpoint == account.endpoint);
            neighbours.map(|(_, note)| note).find(|note| note.why == Unavailability::Outage && note.stands(now_ms))
        })
    }

    /// Whether a tier with these roles can be entered.
    #[must_use]
    pub fn readiness(&self, roles: &[RoleAccounts], now_ms: i64) -> Readiness {
        let role = |accounts: &RoleAccounts| {
            accounts.iter().map(|account| self.readiness_of(account, now_ms)).min().unwrap_or(Readiness::Ready)
        };
        roles.iter().map(role).max().unwrap_or(Readiness::Ready)
    }

    fn readiness_of(&self, account: &Account, now_ms: i64) -> Readiness {
        let Some(note) = self.of(account, now_ms) else { return Readiness::Ready };
        // Without an announced time the note itself stands no longer than that.
        let is_brief = note.until_ms.is_none_or(|until| until.saturating_sub(now_ms) <= REST_MS);
        match note.why {
            Unavailability::RateLimited if is_brief => Readiness::Pausing,
            Unavailability::RateLimited => Readiness::Limited,
            Unavailability::Outage => Readiness::Down,
            Unavailability::KeyRefused | Unavailability::QuotaUsedUp => Readiness::Refused,
        }
    }

    /// The obstacle before a tier: of the worst role, the target that can be asked soonest.
    #[must_use]
    pub fn obstacle<'n>(&'n self, roles: &'n [RoleAccounts], now_ms: i64) -> Option<(&'n Account, &'n Note)> {
        let worst = roles.iter().max_by_key(|role| self.readiness(std::slice::from_ref(role), now_ms))?;
        let noted = worst.iter().filter_map(|account| Some((account, self.of(account, now_ms)?)));
        noted.min_by_key(|(account, note)| (self.readiness_of(account, now_ms), note.until_ms.unwrap_or(i64::MAX)))
    }

    /// How long a session may wait for limits and outages. Where a tier above would do without these accounts, waits stay as short as
    /// between two attempts. Else all the time that is left may be waited, since nobody else could do the work.
    #[must_use]
    pub fn patience(
        &self,
        accounts: &[Account],
        above: &[Vec<RoleAccounts>],
        time_left_ms: u64,
        now_ms: i64,
    ) -> Patience {
        let mut without = self.clone();
        for account in accounts {
            let until_ms = Some(i64::MAX);
            // An outage, because it takes the whole host: a tier above with another key of the same host is no way
            // out.
            without.note(account, Note { why: Unavailability::Outage, until_ms, said: String::new(), at_ms: now_ms });
        }
        if above.iter().any(|roles| without.readiness(roles, now_ms) == Readiness::Ready) {
            return Patience::default();
        }
        Patience { limit_ms: time_left_ms, outage_ms: time_left_ms.min(OUTAGE_PATIENCE_MS) }
    }
}

#[cfg(test)]
mod tests;
