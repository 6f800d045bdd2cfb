//! All sources together: a plan, or every fault of every source.

use std::collections::BTreeMap;

use crate::domain::catalogue::ModelFacts;
use crate::domain::ladder::Tier;
use crate::domain::model_id::ModelId;
use crate::domain::units::MicroUsd;

use super::document::{Document, Kind};
use super::error::{ConfigErrors, Faults, Problem, SourceErrors};
use super::file::Tiers;
use super::ladder::{self, Draft};
use super::models::{Declared, Override, Registry};
use super::pick::Picker;
use super::plan::{AgentPlan, Format, Origin, Plan};
use super::sections;
use super::sources::{Catalogue, FileContent, Setting, Sources};
use super::tiers_source::{Chosen, TiersSource, chosen, classify_tiers};
use super::{advisors, estimate, github, hosts, sub_agents, suggest, tool_sources};

/// Variables of ours that are no settings.
const OTHER_VARIABLES: [&str; 19] = [
    "UPSHIFT_ACTION",
    "UPSHIFT_BIN",
    "UPSHIFT_COMMAND",
    "UPSHIFT_GATEWAY_KEY",
    "UPSHIFT_GATEWAY_URL",
    "UPSHIFT_GITHUB_TOKEN",
    "UPSHIFT_HEAD_SHA",
    "UPSHIFT_JOB_TOKEN",
    "UPSHIFT_LOG",
    "UPSHIFT_PUSH_TOKEN",
    "UPSHIFT_CRASH_AFTER",
    "UPSHIFT_GUARD_OFF",
    "UPSHIFT_HANDED_OVER",
    sections::SEEN_TESTS,
    "UPSHIFT_TASK",
    "UPSHIFT_TASK_LIST",
    "UPSHIFT_TASK_PARENT",
    "UPSHIFT_TASK_RUN",
    "UPSHIFT_TEST_CLOCK",
];

/// Resolves a run's configuration.
///
/// Precedence (contradiction 9): flag, `UPSHIFT_*` variable, the text given as `tiers`, the configuration file, default. A tiers text
/// outranks the configuration file because a flag or variable gave it for this run. A flag or variable that names a value itself outranks
/// both.
///
/// # Errors
/// [`ConfigErrors`] with every fault of every source.
pub fn resolve(sources: &Sources, catalogue: &Catalogue) -> Result<Plan, ConfigErrors> {
    let setting_faults = Faults::default();
    let config = config_document(sources);
    let tiers = tiers_document(sources);
    // Everything is read before anything is refused, so that a person sees all faults at once.
    let assembled = assemble(sources, catalogue, tiers.as_ref(), config.as_ref(), &setting_faults);
    let mut errors: Vec<SourceErrors> = Vec::new();
    errors.extend(SourceErrors::of("Invalid flags or variables:".to_owned(), setting_faults));
    errors.extend(tiers.and_then(Document::into_errors));
    errors.extend(config.and_then(Document::into_errors));
    match assembled {
        // An empty ladder has its fault in one of the sources.
        Ok(plan) if errors.is_empty() && !plan.tiers.is_empty() => Ok(plan),
        Ok(_) => Err(ConfigErrors { sources: errors }),
        Err(nothing_to_run) => {
            errors.push(nothing_to_run);
            Err(ConfigErrors { sources: errors })
        }
    }
}

/// The faults of the flags alone, with those of the files that they name: for settings that count on another machine.
#[must_use]
pub fn faults_of_flags(sources: &Sources, catalogue: &Catalogue) -> Vec<Problem> {
    let faults = Faults::default();
    let (config, tiers) = (config_document(sources), tiers_document(sources));
    // A run that has nothing to do is no fault of theirs.
    drop(assemble(sources, catalogue, tiers.as_ref(), config.as_ref(), &faults));
    // Of the file that lies there anyway nothing was asked.
    let named_config = config.filter(|_| sources.setting(Setting::Config).is_some());
    let mut problems = faults.into_problems();
    for (setting, document) in [(Setting::Tiers, tiers), (Setting::Config, named_config)] {
        let Some(errors) = document.and_then(Document::into_errors) else { continue };
        let of_whole = errors.fix.map(|fix| Problem { path: String::new(), message: errors.heading, fix });
        let of_document = of_whole.into_iter().chain(errors.problems);
        problems.extend(
            of_document.map(|problem| Problem { path: format!("{} {}", setting.flag(), problem.path), ..problem }),
        );
    }
    problems
}

/// The plan of a run of which nothing is said: every default of today, no ladder.
pub(super) fn defaults() -> Plan {
    let (sources, faults) = (Sources::default(), Faults::default());
    let picker = Picker::new(&sources, None, None, &faults);
    let (on_entropy, entropy_threshold) = sections::entropy(&picker);
    Plan {
        tiers: Vec::new(),
        tier_config_path: "(none)".to_owned(),
        built_in_ladder: None,
        budget: sections::budget(&picker, &[]),
        shared_caps: sections::shared_caps(&picker),
        on_entropy,
        entropy_threshold,
        objective: sections::objective(&picker),
        working_directory: None,
        test: sections::test(&picker),
        agent: sections::agent(&picker, &[]),
        agents: BTreeMap::new(),
        safety: sections::safety(&picker, &[], &mut Vec::new()),
        github: github::github(&picker),
        audit: sections::audit(&picker),
        record: None,
        format: Format::Text,
        facts: ModelFacts::default(),
        endpoints: BTreeMap::new(),
        values: Vec::new(),
        warnings: Vec::new(),
        refusals: Vec::new(),
        worst_case: MicroUsd::ZERO,
        uncapped: Vec::new(),
    }
}

/// Where a run of these sources would write its audit log, whatever else is wrong with them: for who only reads it. Where
/// it is switched off it may have been on before, so the default is named.
#[must_use]
pub fn audit_path(sources: &Sources) -> String {
    let (config, tiers) = (config_document(sources), tiers_document(sources));
    let faults = Faults::default();
    let picker = Picker::new(sources, tiers.as_ref(), config.as_ref(), &faults);
    sections::audit(&picker).unwrap_or_else(|| sections::default_audit_path(sources))
}

/// The configuration file. A missing one counts only when it was asked for.
pub(super) fn config_document(sources: &Sources) -> Option<Document> {
    let file = sources.config_file.as_ref()?;
    let asked_for = sources.setting(Setting::Config).is_some();
    // The defaults need no file.
    if file.content == FileContent::Missing && !asked_for {
        return None;
    }
    Some(Document::read(Kind::Configuration, &file.path, &file.content))
}

/// The text that `tiers` holds or names.
fn tiers_document(sources: &Sources) -> Option<Document> {
    let Chosen::Tiers { text, .. } = chosen(sources) else { return None };
    // A path and a shorthand can look alike: `ollama/llama x3` begins with a provider's name.
    match classify_tiers(text, |name| sources.is_provider(name)) {
        TiersSource::Inline(text) => Some(Document::read(Kind::Tiers, "(inline)", &FileContent::Text(text.to_owned()))),
        TiersSource::Path(path) => {
            let content = sources.tiers_file.as_ref().map_or(&FileContent::Missing, |file| &file.content);
            Some(Document::read(Kind::Tiers, path, content))
        }
        // A shorthand is a line and no document. Its faults are the setting's.
        TiersSource::Shorthand(_) => None,
    }
}

/// A ladder whose models are not resolved yet, and where it came from.
struct Drafted<'d> {
    drafts: Vec<Draft>,
    faults: &'d Faults,
    /// For `run_metadata.tier_config_path`.
    path: String,
    origin: Origin,
    /// Why a built-in ladder is used.
    built_in: Option<String>,
}

impl<'d> Drafted<'d> {
    /// No ladder at all.
    fn none(faults: &'d Faults) -> Self {
        Self { drafts: Vec::new(), faults, path: "(none)".to_owned(), origin: Origin::Default, built_in: None }
    }
}

fn assemble(
    sources: &Sources,
    catalogue: &Catalogue,
    tiers: Option<&Document>,
    config: Option<&Document>,
    setting_faults: &Faults,
) -> Result<Plan, SourceErrors> {
    let picker = Picker::new(sources, tiers, config, setting_faults);
    let mut warnings = strange_variables(sources);
    let providers = declared_providers(&picker);
    // Without a ladder the other settings are looked at all the same: all faults are told at once.
    let (drafted, nothing_to_run) = match draft(&picker, catalogue, &providers) {
        Ok(drafted) => (drafted, None),
        Err(error) => (Drafted::none(setting_faults), Some(error)),
    };
    let mut registry = Registry::new(sources, catalogue, setting_faults, providers, overrides(&picker));
    registry.check_declared();
    // A tier with a fault is left out of a plan that is refused anyway.
    let ladder: Vec<Tier> = drafted.drafts.iter().filter_map(|draft| registry.tier(draft, drafted.faults)).collect();
    picker.note("tiers", &names_of(&ladder), drafted.origin);
    note_endpoints(&picker, &registry);
    let budget = sections::budget(&picker, &ladder);
    let shared_caps = sections::shared_caps(&picker);
    let (on_entropy, entropy_threshold) = sections::entropy(&picker);
    let audit = sections::audit(&picker);
    let objective = sections::objective(&picker);
    let working_directory = picker.setting::<String>(Setting::WorkingDirectory);
    let working_directory =
        picker.take_optional("workingDirectory", working_directory, "the current one", String::clone);
    let test = sections::test(&picker);
    // Behind the ladder: it only counts where a model of its provider is in use.
    let side_model = registry.side_model(&picker);
    let advisors = advisors::advisors(&picker, &mut registry);
    let sub_agents = sub_agents::sub_agents(&picker, &mut registry);
    let router = advisors::specialists(&picker, &mut registry);
    let handoff = advisors::handoffs(&picker, &mut registry);
    let key_vars: Vec<&str> =
        registry.endpoints.values().filter_map(|(endpoint, _)| endpoint.key_var.as_deref()).collect();
    let mut agent =
        AgentPlan { side_model, advisors, sub_agents, router, handoff, ..sections::agent(&picker, &key_vars) };
    agent.tool_failures = tool_sources::failures(&picker, &agent);
    let agents = hosts::programs(&picker);
    let mut refusals = Vec::new();
    let safety = sections::safety(&picker, &key_vars, &mut refusals);
    let github = github::github(&picker);
    let record = picker.take_optional("record", picker.setting(Setting::Record), "none", String::clone);
    let format = picker.take("format", picker.setting(Setting::Format), Format::Text, Format::to_string);
    let uncapped: Vec<MicroUsd> = ladder.iter().map(|tier| estimate::uncapped(tier, &registry.facts, &agent)).collect();
    let worst_case =
        estimate::worst_case(&ladder, &uncapped, &budget, estimate::has_others(&ladder, &registry.facts, &agent));
    if let Some(error) = nothing_to_run {
        return Err(error);
    }
    warnings.append(&mut registry.warnings);
    warnings.extend(cap_warnings(&ladder, &budget, &registry.facts));
    if github.sign_commits && github.commit_author.is_some() {
        let message =
            "github.commitAuthor has no effect with signCommits: GitHub signs what the token's own account makes";
        warnings.push(message.to_owned());
    }
    Ok(Plan {
        tiers: ladder,
        tier_config_path: drafted.path,
        built_in_ladder: drafted.built_in,
        budget,
        shared_caps,
        on_entropy,
        entropy_threshold,
        objective,
        working_directory,
        test,
        agent,
        agents,
        safety,
        github,
        audit,
        record,
        format,
        endpoints: registry.endpoints.into_iter().map(|(name, (endpoint, _))| (name, endpoint)).collect(),
        facts: registry.facts,
        values: picker.into_values(),
        warnings,
        refusals,
        worst_case,
        uncapped,
    })
}

/// Notes where each provider is reached and which variable holds its key.
fn note_endpoints(picker: &Picker<'_>, registry: &Registry<'_>) {
    for (name, (endpoint, origin)) in &registry.endpoints {
        if !endpoint.base_url.is_empty() {
            picker.note(&format!("providers.{name}.baseUrl"), &endpoint.base_url, origin.clone());
        }
        if let Some(variable) = &endpoint.key_var {
            let set = Origin::Env(variable.clone());
            picker.note(&format!("providers.{name}.apiKeyEnv"), &format!("{variable} (set)"), set);
        }
    }
}

fn names_of(ladder: &[Tier]) -> String {
    ladder.iter().map(|tier| tier.name.as_str()).collect::<Vec<_>>().join(" > ")
}

/// The sections under `providers`. A name in the tiers text outranks the same name in the configuration file.
pub(super) fn declared_providers<'d>(picker: &Picker<'d>) -> BTreeMap<String, Declared<'d>> {
    let mut declared = BTreeMap::new();
    for document in picker.documents() {
        for (name, section) in document.file.providers.iter().flatten() {
            let entry = Declared { section, faults: &document.faults, origin: document.origin() };
            // The documents come in order of precedence, so the first one stays.
            declared.entry(name.clone()).or_insert(entry);
        }
    }
    declared
}

/// The sections under `models`, by the model they mean.
pub(super) fn overrides<'d>(picker: &Picker<'d>) -> BTreeMap<ModelId, Override<'d>> {
    let mut overrides = BTreeMap::new();
    for document in picker.documents() {
        for (name, section) in document.file.models.iter().flatten() {
            match ModelId::parse(name) {
                Some(id) => {
                    overrides.entry(id).or_insert((section, &document.faults));
                }
                None => document.faults.add(
                    &format!("models[\"{}\"]", name.escape_debug()),
                    "is not a model",
                    "Write `provider/model`, such as `ollama/llama3.3`.",
                ),
            }
        }
    }
    overrides
}

/// The ladder that counts: `tiers` or `model` by flag or variable, the configuration file's, the built-in one.
fn draft<'d>(
    picker: &Picker<'d>,
    catalogue: &Catalogue,
    providers: &BTreeMap<String, Declared<'_>>,
) -> Result<Drafted<'d>, SourceErrors> {
    let faults = picker.setting_faults;
    let drafted =
        |drafts, faults, path: &str, origin| Drafted { drafts, faults, path: path.to_owned(), origin, built_in: None };
    match chosen(picker.sources) {
        Chosen::Both(origin) => {
            let fix =
                "Give one of them: `tiers` is a whole ladder, `model` is simple x5, then full x10 with one model.";
            faults.add(origin.name(), "contradicts `tiers`", fix);
            Ok(drafted(Vec::new(), faults, "(none)", origin))
        }
        Chosen::Model { text, origin } => {
            let drafts = ladder::from_model(text, origin.name());
            Ok(drafted(drafts, faults, "(none)", origin))
        }
        Chosen::Tiers { text, origin } => match picker.tiers {
            Some(document) => Ok(drafted(
                of_document(picker, document, origin.name()),
                &document.faults,
                document.label(),
                document.origin(),
            )),
            None => {
                let drafts = ladder::from_shorthand(text, origin.name(), faults);
                Ok(drafted(drafts, faults, "(shorthand)", origin))
            }
        },
        Chosen::Nothing => match picker.config {
            // A file with faults may have held a ladder. The built-in one must not step in for it.
            Some(document) if document.file.tiers.is_some() || document.is_incomplete() => {
                Ok(drafted(of_document(picker, document, ""), &document.faults, document.label(), document.origin()))
            }
            Some(_) | None => built_in(picker, catalogue, providers),
        },
    }
}

/// The tiers of a document. A document that `tiers` names (`named_by`) must hold some.
fn of_document(picker: &Picker<'_>, document: &Document, named_by: &str) -> Vec<Draft> {
    let Some(tiers) = &document.file.tiers else {
        // A tiers file without tiers is a slip. A configuration without them takes the built-in ladder.
        if !named_by.is_empty() && !document.is_incomplete() {
            document.faults.add("tiers", "is required", "List at least one tier under `tiers`.");
        }
        return Vec::new();
    };
    if let Tiers::Shorthand(text) = tiers {
        let path = classify_tiers(text, |name| picker.sources.is_provider(name));
        if let TiersSource::Path(path) = path {
            let fix = "List the tiers here, write a shorthand such as `model x5 > model x3`, or name the file by the \
                       flag `--tiers` or the variable UPSHIFT_TIERS.";
            document.faults.add(
                "tiers",
                format!("'{}' is not a ladder, and a file cannot be named here", path.escape_debug()),
                fix,
            );
            return Vec::new();
        }
    }
    ladder::from_document(tiers, &document.faults)
}

fn built_in<'d>(
    picker: &Picker<'d>,
    catalogue: &Catalogue,
    providers: &BTreeMap<String, Declared<'_>>,
) -> Result<Drafted<'d>, SourceErrors> {
    let own_key = |provider: &str| Some(providers.get(provider)?.section.api_key_env.as_ref()?.0.clone());
    let Some(found) = ladder::built_in(picker.sources, catalogue, own_key) else {
        return Err(nothing_to_run(ladder::keyed_without_ladder(picker.sources, catalogue)));
    };
    Ok(Drafted {
        drafts: ladder::from_shorthand(found.text, "built-in ladder", picker.setting_faults),
        faults: picker.setting_faults,
        path: "(built-in)".to_owned(),
        origin: Origin::Default,
        built_in: Some(format!("the built-in one for `{}`, because {} is set", found.provider, found.because)),
    })
}

/// The first words of the error where no ladder is configured and no key is set.
pub const NO_MODEL: &str = "No model to use: ";

fn nothing_to_run(keyed: Option<(&str, &str)>) -> SourceErrors {
    if let Some((provider, key_var)) = keyed {
        return SourceErrors {
            heading: format!(
                "{NO_MODEL}{key_var} is set, but `{provider}` has no built-in ladder: which models it has is yours to say."
            ),
            problems: Vec::new(),
            fix: Some(format!(
                "Name models with --tiers or --model, as `{provider}/MODEL`, or under `tiers` in the configuration."
            )),
        };
    }
    SourceErrors {
        heading: format!("{NO_MODEL}no ladder and no model is configured, and no provider's key is set."),
        problems: Vec::new(),
        fix: Some(
            "Set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY (or OLLAMA_HOST for local models, \
             OPENROUTER_API_KEY, GROQ_API_KEY, MISTRAL_API_KEY, DEEPSEEK_API_KEY, XAI_API_KEY) to use a \
             built-in ladder, or name models with --tiers or --model. `upshift demo` needs no key."
                .to_owned(),
        ),
    }
}

/// Variables that look like settings and are none: most likely slips.
fn strange_variables(sources: &Sources) -> Vec<String> {
    let known = || Setting::ALL.iter().map(|setting| setting.env()).chain(OTHER_VARIABLES);
    // Nothing else begins so. A misspelt cap would otherwise go unnoticed.
    let strange = sources.env.keys().filter(|name| name.starts_with("UPSHIFT_") && !known().any(|k| k == *name));
    let told = strange.map(|name| match suggest::nearest(name, known()) {
        Some(near) => format!("the variable {name} is not known and has no effect: did you mean {near}?"),
        None => format!("the variable {name} is not known and has no effect"),
    });
    told.collect()
}

/// Caps that contradict each other: not wrong, but rarely meant.
fn cap_warnings(ladder: &[Tier], budget: &crate::domain::budget::Budget, facts: &ModelFacts) -> Vec<String> {
    let mut warnings = Vec::new();
    let iterations: u32 = ladder.iter().map(|tier| tier.max_iterations).sum();
    if budget.max_iterations < iterations {
        warnings.push(format!(
            "the tiers have {iterations} iterations together, and the run ends after {}: raise maxTotalIterations to reach them all",
            budget.max_iterations
        ));
    }
    for tier in ladder {
        if let Some(cap) = tier.max_cost.filter(|cap| *cap > budget.max_cost) {
            warnings.push(format!(
                "the cap of tier `{}`, {}, is above the run's, {}, and has no effect",
                tier.name,
                sections::exact_dollars(&cap),
                sections::exact_dollars(&budget.max_cost)
            ));
        }
    }
    warnings.extend(ladder.iter().filter_map(|tier| affords_nothing(tier, budget.max_cost, facts)));
    warnings
}

/// A cap under which not even a tier's first call would be made. A run only finds that out after it has run the tests.
fn affords_nothing(tier: &Tier, of_run: MicroUsd, facts: &ModelFacts) -> Option<String> {
    let (least, model) = estimate::smallest_call(tier, facts)?;
    let (cap, key) = match tier.max_cost {
        Some(cap) if cap < of_run => (cap, "the tier's maxCostUsd"),
        Some(_) | None => (of_run, "--max-cost-usd"),
    };
    (cap < least).then(|| {
        format!(
            "tier `{}` cannot make a call: {model} may cost {least} or more for the first one, and the cap is {}: raise {key}, or name a cheaper \
             model",
            tier.name,
            sections::exact_dollars(&cap)
        )
    })
}
