//! The sections of agents beside the roles, as they stand in a file.

use super::numbers::{Dollars, Whole};
use super::read::object;
use super::values::{RoleWord, Targets};

object! {
    /// An advisor; it reads the tree and changes nothing, and its failure changes no verdict.
    AdvisorSection {
        /// The part that it is asked for, in at most 4,000 characters.
        #[schemars(required)]
        "instructions" instructions: String = "required", "Say what it is to look at: `instructions: Which callers does this change break?`.";
        /// Its models, in order of preference; no coding agents.
        "models" models: Targets = "the librarian's of the tier, in a simple tier the artisan's";
        /// The most that all its sessions of a run may cost, in dollars.
        "maxCostUsd" max_cost_usd: Dollars = "a tenth of `global.maxTotalCostUsd`";
        /// The most turns of one session.
        "maxTurns" max_turns: Whole<1, 100> = "10";
        /// The most time of one session, in seconds; the artisan waits no longer for it. It never takes more than half of the run's time that is left.
        "timeoutSeconds" timeout_seconds: Whole<1, 3_600> = "a tenth of the run's time that is left, 300 at most";
        /// Whether it is asked in each iteration; otherwise in the first one of each tier.
        "eachIteration" each_iteration: bool = "false";
    }
}

object! {
    /// A specialist; it stands in for the role that hands over to it, with the same rights.
    SpecialistSection {
        /// When it is the right one, as the role is told, in at most 4,000 characters.
        #[schemars(required, example = &"The failing tests lie below web/.")]
        "when" when: String = "required", "Say when it is the right one: `when: The failing tests lie below web/.`.";
        /// More that it is told itself, in at most 4,000 characters.
        "instructions" instructions: String = "none";
        /// The roles that may hand over to it.
        "roles" roles: Vec<RoleWord> = "librarian";
        /// Its models, in order of preference; no coding agents.
        "models" models: Targets = "those of the role";
        /// The most that all its sessions of a run may cost, in dollars.
        "maxCostUsd" max_cost_usd: Dollars = "no cap but the run's and the tier's";
        /// The most turns of one session.
        "maxTurns" max_turns: Whole<1, 500> = "`agent.maxTurns`";
    }
}

object! {
    /// A text that follows a fix; its failure changes no verdict.
    HandoffSection {
        /// The text that it is asked for, in at most 4,000 characters; required for a new name.
        "instructions" instructions: String = "of a built-in text: its own";
        /// Its models, in order of preference; no coding agents.
        "models" models: Targets = "the librarian's of the tier, in a simple tier the artisan's";
        /// The most that all its sessions of a run may cost, in dollars.
        "maxCostUsd" max_cost_usd: Dollars = "a tenth of `global.maxTotalCostUsd`";
        /// The most turns of one session.
        "maxTurns" max_turns: Whole<1, 100> = "5";
        /// The most time of one session, in seconds; the run's end waits no longer for it. It never takes more than half of the run's time that is left.
        "timeoutSeconds" timeout_seconds: Whole<1, 3_600> = "a tenth of the run's time that is left, 300 at most";
    }
}
