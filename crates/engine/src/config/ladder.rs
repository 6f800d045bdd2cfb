//! The ladder: the tiers that the ways of giving it come to, models not yet resolved.

use crate::domain::ladder::Mode;
use crate::domain::model_id::BUILT_IN_PROVIDERS;
use crate::domain::units::MicroUsd;

use super::error::Faults;
use super::file::{TierSection, Tiers};
use super::sources::{Catalogue, Sources};
use super::tiers_source::{is_count, mode_of};

/// Iterations of a shorthand tier that names no count, and of the first tier of `--model`.
const DEFAULT_ITERATIONS: u32 = 5;

/// Iterations of the second tier of `--model` (DESIGN §2.2).
const FULL_ITERATIONS: u32 = 10;

/// The most iterations of one tier (S0-22).
const MAX_ITERATIONS: u32 = 100;

const GRAMMAR: &str =
    "Write `model x5 > model x3 full`: a model, then optionally `xN` (1 to 100) and `simple` or `full`.";

/// A role's models as written, and where they stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DraftTargets {
    /// The path for faults.
    pub(super) path: String,
    /// The models, each with an index in its path when it is one of several.
    pub(super) models: Vec<String>,
}

impl DraftTargets {
    fn new(path: String, models: Vec<String>) -> Self {
        Self { path, models }
    }

    /// The models with the path of each.
    pub(super) fn placed(&self) -> impl Iterator<Item = (String, &str)> {
        let several = self.models.len() > 1;
        self.models.iter().enumerate().map(move |(index, model)| {
            let path = if several { format!("{}[{index}]", self.path) } else { self.path.clone() };
            (path, model.as_str())
        })
    }
}

/// A tier whose models are not resolved yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Draft {
    /// The path for faults.
    pub(super) path: String,
    /// The label.
    pub(super) name: String,
    /// Which roles run.
    pub(super) mode: Mode,
    /// How many iterations.
    pub(super) max_iterations: u32,
    /// The artisan's models.
    pub(super) artisan: DraftTargets,
    /// The librarian's, if given.
    pub(super) librarian: Option<DraftTargets>,
    /// The critic's, if given.
    pub(super) critic: Option<DraftTargets>,
    /// The tier's own cap.
    pub(super) max_cost: Option<MicroUsd>,
}

impl Draft {
    fn of_model(path: &str, name: &str, mode: Mode, max_iterations: u32, model: &str) -> Self {
        Self {
            path: path.to_owned(),
            name: name.to_owned(),
            mode,
            max_iterations,
            artisan: DraftTargets::new(path.to_owned(), vec![model.to_owned()]),
            librarian: None,
            critic: None,
            max_cost: None,
        }
    }
}

/// The tiers of a document. Faults of single tiers were noted when it was read.
pub(super) fn from_document(tiers: &Tiers, faults: &Faults) -> Vec<Draft> {
    match tiers {
        Tiers::Shorthand(text) => from_shorthand(text, "tiers", faults),
        Tiers::List(sections) => {
            let placed = sections.iter().enumerate();
            let drafts: Vec<Draft> =
                placed.filter_map(|(index, tier)| Some(from_section(index, tier.as_ref()?))).collect();
            refuse_equal_names(&drafts, faults);
            drafts
        }
    }
}

/// A tier as far as it can be read: a fault in one key must not keep those of its models from being told. A missing value gets a stand-in,
/// which no plan ever shows, since its fault was noted when the document was read.
fn from_section(index: usize, tier: &TierSection) -> Draft {
    let path = format!("tiers[{index}]");
    let of_role = |role: &str, targets: Option<&super::values::Targets>| {
        let models = targets.map(|targets| targets.0.clone())?;
        Some(DraftTargets::new(format!("{path}.models.{role}"), models))
    };
    let models = tier.models.as_ref();
    let artisan = of_role("artisan", models.and_then(|models| models.artisan.as_ref()));
    Draft {
        name: tier.name.as_ref().map(|name| name.0.clone()).unwrap_or_default(),
        mode: tier.mode.map_or(Mode::Simple, |mode| mode.0),
        max_iterations: tier.max_iterations.map_or(1, |count| count.0),
        artisan: artisan.unwrap_or_else(|| DraftTargets::new(path.clone(), Vec::new())),
        librarian: of_role("librarian", models.and_then(|models| models.librarian.as_ref())),
        critic: of_role("critic", models.and_then(|models| models.critic.as_ref())),
        max_cost: tier.max_cost_usd.map(|cap| cap.0),
        path,
    }
}

/// Reports and the audit log key by name: it must be unique (contradiction 2).
fn refuse_equal_names(drafts: &[Draft], faults: &Faults) {
    // A missing name was told of already.
    for (index, draft) in drafts.iter().enumerate().filter(|(_, draft)| !draft.name.is_empty()) {
        let earlier = drafts.iter().take(index).find(|other| other.name == draft.name);
        if let Some(other) = earlier {
            faults.add(
                &format!("{}.name", draft.path),
                format!("the name `{}` is already used by {}", draft.name, other.path),
                "Give every tier a name of its own: reports and the audit log identify tiers by it.",
            );
        }
    }
}

/// The tiers of a shorthand ladder: `model xN full > model …`. The default is x5 and simple. A repeated model gets `-2`.
pub(super) fn from_shorthand(text: &str, path: &str, faults: &Faults) -> Vec<Draft> {
    let mut drafts: Vec<Draft> = Vec::new();
    for (index, step) in text.split('>').enumerate() {
        // Counted from one, as a person counts along the line.
        let place = format!("{path} tier {}", index + 1);
        if let Some(mut draft) = shorthand_step(step, &place, faults) {
            draft.name = unique_name(&draft.name, &drafts);
            drafts.push(draft);
        }
    }
    drafts
}

fn shorthand_step(step: &str, place: &str, faults: &Faults) -> Option<Draft> {
    let refuse = |message: String| -> Option<Draft> {
        faults.add(place, message, GRAMMAR);
        None
    };
    let mut words = step.split_whitespace();
    let Some(model) = words.next() else { return refuse("is empty".to_owned()) };
    // `x5 claude` is the usual slip, and would otherwise look for a model called `x5`.
    if is_count(model) || mode_of(model).is_some() {
        return refuse(format!("begins with `{model}`, not with a model"));
    }
    let (mut mode, mut count) = (None, None);
    for word in words {
        let repeated = if let Some(given) = mode_of(word) {
            mode.replace(given).is_some()
        } else if let Some(digits) = word.strip_prefix('x').filter(|_| is_count(word)) {
            // A count of many digits does not fit a number, and gets the same message.
            let given = digits.parse().ok().filter(|n| (1..=MAX_ITERATIONS).contains(n));
            let Some(given) = given else { return refuse(format!("`{word}` is not from x1 to x{MAX_ITERATIONS}")) };
            count.replace(given).is_some()
        } else {
            return refuse(format!("`{}` is neither `xN` nor `simple` nor `full`", word.escape_debug()));
        };
        if repeated {
            return refuse(format!("`{word}` comes after another of its kind"));
        }
    }
    let (mode, count) = (mode.unwrap_or(Mode::Simple), count.unwrap_or(DEFAULT_ITERATIONS));
    // The model's own words are the tier's name, so that a report can be read without the ladder.
    Some(Draft::of_model(place, model, mode, count, model))
}

/// The name itself, or with the first free `-2`, `-3`, ….
fn unique_name(name: &str, taken: &[Draft]) -> String {
    let is_taken = |candidate: &str| taken.iter().any(|draft| draft.name == candidate);
    if !is_taken(name) {
        return name.to_owned();
    }
    let numbered = (2..).map(|n| format!("{name}-{n}")).find(|candidate| !is_taken(candidate));
    numbered.unwrap_or_else(|| name.to_owned())
}

/// The seeds' two-mode path: simple x5, then full x10, with one model.
pub(super) fn from_model(model: &str, path: &str) -> Vec<Draft> {
    let model = model.trim();
    vec![
        Draft::of_model(path, "simple", Mode::Simple, DEFAULT_ITERATIONS, model),
        Draft::of_model(path, "full", Mode::Full, FULL_ITERATIONS, model),
    ]
}

/// The built-in ladder of the first provider that can be used, and the variable that says so.
pub(super) struct BuiltInLadder {
    /// The provider.
    pub(super) provider: &'static str,
    /// The variable that is set.
    pub(super) because: String,
    /// Its ladder in shorthand.
    pub(super) text: &'static str,
}

/// A provider whose key is set and which has no built-in ladder, with the key's variable.
pub(super) fn keyed_without_ladder(sources: &Sources, catalogue: &Catalogue) -> Option<(&'static str, &'static str)> {
    BUILT_IN_PROVIDERS.iter().filter(|provider| (catalogue.default_ladder)(provider).is_none()).find_map(|&provider| {
        let key_vars = (catalogue.endpoint)(provider)?.key_vars;
        Some((provider, key_vars.iter().copied().find(|name| sources.variable(name).is_some())?))
    })
}

/// Finds it, in the order of DESIGN §2.2. `own_key_var` is the `apiKeyEnv` that configuration names for a provider.
pub(super) fn built_in(
    sources: &Sources,
    catalogue: &Catalogue,
    own_key_var: impl Fn(&str) -> Option<String>,
) -> Option<BuiltInLadder> {
    BUILT_IN_PROVIDERS.iter().find_map(|&provider| {
        let endpoint = (catalogue.endpoint)(provider)?;
        let text = (catalogue.default_ladder)(provider)?;
        // A local server may or may not run: only its variable says that it is meant.
        let signs = if endpoint.local { endpoint.base_url_vars } else { endpoint.key_vars };
        // A variable that the configuration names for a provider counts before the customary ones.
        let signs = own_key_var(provider).into_iter().chain(signs.iter().map(|&name| name.to_owned()));
        let because = signs.into_iter().find(|name| sources.variable(name).is_some())?;
        Some(BuiltInLadder { provider, because, text })
    })
}
