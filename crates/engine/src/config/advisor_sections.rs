//! The sections of agents beside the roles, as they stand in a file.

use super::numbers::{Dollars, Whole};
use super::read::object;
use super::values::{CallerWord, Targets};

object! {
    /// An advisor; it reads the tree and changes nothing, and its failure changes no verdict.
    AdvisorSection {
        /// What it is asked to do, in at most 4,000 characters.
        #[schemars(required)]
        "instructions" instructions: String = "required", "Say what it is to look at: `instructions: Which callers does this change break?`.";
        /// Its models, in order of preference; no coding agents.
        "models" models: Targets = "the librarian's of the tier, in a simple tier the artisan's";
        /// Cap on the cost of all its sessions in a run, in dollars.
        "maxCostUsd" max_cost_usd: Dollars = "a tenth of `global.maxTotalCostUsd`";
        /// Cap on turns per session.
        "maxTurns" max_turns: Whole<1, 100> = "10";
        /// Cap on the time of one session, in seconds; the artisan waits no longer for it. Never more than half of the run's remaining time.
        "timeoutSeconds" timeout_seconds: Whole<1, 3_600> = "a tenth of the run's remaining time, at most 300";
        /// Whether to ask it in each iteration; otherwise only in the first one of each tier.
        "eachIteration" each_iteration: bool = "false";
    }
}

object! {
    /// A specialist; it stands in for the role that hands over to it, with the same rights.
    SpecialistSection {
        /// When to choose it, as the calling role reads it, in at most 4,000 characters.
        #[schemars(required, example = &"The failing tests lie below web/.")]
        "when" when: String = "required", "Say when it is the right one: `when: The failing tests lie below web/.`.";
        /// Additional instructions for it, in at most 4,000 characters.
        "instructions" instructions: String = "none";
        /// The roles that may hand over to it.
        "roles" roles: Vec<CallerWord> = "librarian";
        /// Its models, in order of preference; no coding agents.
        "models" models: Targets = "those of the role";
        /// Cap on the cost of all its sessions in a run, in dollars.
        "maxCostUsd" max_cost_usd: Dollars = "no cap but the run's and the tier's";
        /// Cap on turns per session.
        "maxTurns" max_turns: Whole<1, 500> = "`agent.maxTurns`";
    }
}

object! {
    /// A text that follows a fix; its failure changes no verdict.
    HandoffSection {
        /// What to write, in at most 4,000 characters; required for a new name.
        "instructions" instructions: String = "the built-in text's";
        /// Its models, in order of preference; no coding agents.
        "models" models: Targets = "the librarian's of the tier, in a simple tier the artisan's";
        /// Cap on the cost of all its sessions in a run, in dollars.
        "maxCostUsd" max_cost_usd: Dollars = "a tenth of `global.maxTotalCostUsd`";
        /// Cap on turns per session.
        "maxTurns" max_turns: Whole<1, 100> = "5";
        /// Cap on the time of one session, in seconds; the run's end waits no longer for it. Never more than half of the run's remaining time.
        "timeoutSeconds" timeout_seconds: Whole<1, 3_600> = "a tenth of the run's remaining time, at most 300";
    }
}
