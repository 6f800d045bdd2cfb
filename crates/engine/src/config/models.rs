//! From names to models that can be called: providers, addresses, keys, prices, windows.
//!
//! Invariant: of a key only the name of its variable is kept.

use std::collections::{BTreeMap, BTreeSet};

use crate::backend::{self, Backend};
use crate::domain::catalogue::{ModelFacts, ModelInfo, Price, UNKNOWN_CONTEXT_WINDOW};
use crate::domain::ladder::{Mode, Tier};
use crate::domain::model_id::{BUILT_IN_PROVIDERS, ModelId};

use super::error::Faults;
use super::file::{ModelSection, ProviderSection};
use super::ladder::{Draft, DraftTargets};
use super::node::Node;
use super::plan::{EndpointPlan, Origin, Wire};
use super::prices;
use super::read::{Place, Readable};
use super::sources::{BuiltInEndpoint, Catalogue, Sources};
use super::suggest::{is_slip, nearest};
use super::values::HttpUrl;

/// Where Ollama listens when its variable names no port.
const OLLAMA_PORT: u16 = 11_434;

/// A provider's section and where it stands.
#[derive(Debug)]
pub(super) struct Declared<'d> {
    /// Its settings.
    pub(super) section: &'d ProviderSection,
    /// The document's faults.
    pub(super) faults: &'d Faults,
    /// The document.
    pub(super) origin: Origin,
}

/// A model's section, its document's faults beside it.
pub(super) type Override<'d> = (&'d ModelSection, &'d Faults);

/// Everything that decides whether a target can be called.
pub(super) struct Registry<'d> {
    /// Flags and environment.
    pub(super) sources: &'d Sources,
    /// The known models and providers.
    pub(super) catalogue: &'d Catalogue,
    /// Faults of flags and variables.
    pub(super) setting_faults: &'d Faults,
    /// The sections under `providers`, by name.
    pub(super) providers: BTreeMap<String, Declared<'d>>,
    /// The sections under `models`, by model.
    pub(super) overrides: BTreeMap<ModelId, Override<'d>>,
    /// How each provider in use is reached, and where its address came from.
    pub(super) endpoints: BTreeMap<String, (EndpointPlan, Origin)>,
    /// The facts about each target.
    pub(super) facts: ModelFacts,
    /// Warnings for a person.
    pub(super) warnings: Vec<String>,
    failed_providers: BTreeSet<String>,
}

impl<'d> Registry<'d> {
    /// A registry over what was declared.
    pub(super) fn new(
        sources: &'d Sources,
        catalogue: &'d Catalogue,
        setting_faults: &'d Faults,
        providers: BTreeMap<String, Declared<'d>>,
        overrides: BTreeMap<ModelId, Override<'d>>,
    ) -> Self {
        Self {
            sources,
            catalogue,
            setting_faults,
            providers,
            overrides,
            endpoints: BTreeMap::new(),
            facts: ModelFacts::default(),
            warnings: Vec::new(),
            failed_providers: BTreeSet::new(),
        }
    }

    /// Checks every declared provider, used or not.
    pub(super) fn check_declared(&self) {
        for (name, declared) in &self.providers {
            let path = format!("providers.{name}");
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            if name.is_empty() || !name.chars().all(plain) {
                let fix = "Use letters, digits, `-`, `_` and `.`: the name comes before the `/` of a model.";
                declared.faults.add(&path, "is not a valid name of a provider", fix);
            }
            if name == backend::PROVIDER {
                declared.faults.add(&path, "is built in and has no endpoint", "Rename it: `cli/NAME` is an agent.");
            } else if name == "cassette" {
                let fix = "Remove it: `cassette/PATH` reads a recorded file.";
                declared.faults.add(&path, "is built in and has no endpoint", fix);
            } else if (self.catalogue.endpoint)(name).is_none() {
                let required = |key: &str, fix: &str| {
                    let path = format!("{path}.{key}");
                    // A wrong value is told of already, and is not missing as well.
                    if !declared.faults.told_of(&path) {
                        declared.faults.add(&path, "is required for a provider that is not built in", fix);
                    }
                };
                if declared.section.wire.is_none() {
                    required("wire", "Use anthropic, openai, gemini or ollama: the format that the endpoint speaks.");
                }
                if declared.section.base_url.is_none() {
                    required("baseUrl", "Give its address, such as https://models.example.com/v1.");
                }
            }
        }
    }

    /// Resolves a tier. `None` after a fault was noted.
    pub(super) fn tier(&mut self, draft: &Draft, faults: &Faults) -> Option<Tier> {
        let spoken = draft.mode == Mode::Full;
        let artisan = self.targets(&draft.artisan, faults, true);
        let mut other = |given: &Option<DraftTargets>| match given {
            None => artisan.clone(),
            Some(targets) => {
                // Its models are still looked up by name, so that a slip is found before the mode changes.
                if !spoken {
                    self.warnings.push(format!("{} is not used: the tier's mode is `simple`", targets.path));
                }
                self.targets(targets, faults, spoken)
            }
        };
        let (librarian, critic) = (other(&draft.librarian), other(&draft.critic));
        Some(Tier {
            name: draft.name.clone(),
            mode: draft.mode,
            max_iterations: draft.max_iterations,
            // Only now: all roles were looked up, so that all their faults are told at once.
            artisan: artisan?,
            librarian: librarian?,
            critic: critic?,
            max_cost: draft.max_cost,
        })
    }

    /// Resolves one model by its name, as the gateway is held to. `None` after a fault was noted.
    pub(super) fn target(&mut self, path: &str, text: &str, faults: &Faults) -> Option<ModelId> {
        let id = self.model(path, text, faults)?;
        self.endpoint(path, &id.provider, faults);
        self.learn(path, &id, faults);
        Some(id)
    }

    /// Learns every model that configuration says something of, used or not.
    pub(super) fn learn_configured(&mut self) {
        for (id, (section, faults)) in &self.overrides {
            if !self.facts.0.contains_key(id) {
                let mut info = (self.catalogue.lookup)(id).unwrap_or_else(ModelInfo::unknown);
                prices::apply(section, &mut info, id, faults);
                self.facts.0.insert(id.clone(), info);
            }
        }
    }

    /// Finds out how a provider is reached, if its key is there.
    pub(super) fn endpoint_with_key(&mut self, provider: &str, faults: &Faults) {
        let own = self.providers.get(provider).and_then(|declared| declared.section.api_key_env.as_ref());
        let has_key = match (own, (self.catalogue.endpoint)(provider)) {
            // A configured variable replaces the customary ones, so a customary key that is set does not count.
            (Some(name), _) => self.sources.variable(&name.0).is_some(),
            (None, Some(built_in)) => built_in.key_vars.iter().any(|name| self.sources.variable(name).is_some()),
            (None, None) => false,
        };
        if has_key {
            self.endpoint("gateway", provider, faults);
        }
    }

    /// Resolves a role's models. A role that never speaks has them resolved only by name.
    fn targets(&mut self, targets: &DraftTargets, faults: &Faults, spoken: bool) -> Option<Vec<ModelId>> {
        let mut resolved = Vec::new();
        let mut all = true;
        for (path, text) in targets.placed() {
            let Some(id) = self.model(&path, text, faults) else {
                all = false;
                continue;
            };
            if spoken {
                match Backend::of(&id) {
                    Some(backend) => self.hosted(&path, &id, backend, faults),
                    None => {
                        self.endpoint(&path, &id.provider, faults);
                        self.learn(&path, &id, faults);
                    }
                }
            }
            // The second of two equal targets would be asked right after the first one failed.
            if resolved.contains(&id) {
                self.warnings.push(format!("{path} names `{id}` a second time: once is enough"));
            } else {
                resolved.push(id);
            }
        }
        all.then_some(resolved)
    }

    /// Reads a model's name and checks that its provider is known (S0-24).
    pub(super) fn model(&self, path: &str, text: &str, faults: &Faults) -> Option<ModelId> {
        let names_agent = text.trim().strip_prefix(backend::PROVIDER).is_some_and(|rest| rest.starts_with('/'));
        if names_agent {
            return self.agent(path, text.trim(), faults);
        }
        let known = |name: &str| BUILT_IN_PROVIDERS.contains(&name) || self.providers.contains_key(name);
        // A cassette's name is a path: it may hold spaces.
        let fits = |id: &ModelId| id.provider == "cassette" || !text.contains(char::is_whitespace);
        let parsed = ModelId::parse(text).filter(|id| known(&id.provider) && fits(id));
        if parsed.is_none() {
            // People put a key where a model belongs, and a fault is printed into the log of a job.
            let shown = if super::secret_key::looks_like_key(text) { "…" } else { text };
            let message = format!("'{}' not found in provider registry", shown.escape_debug());
            faults.add(path, message, self.unknown_model_fix(text));
        }
        parsed
    }

    fn unknown_model_fix(&self, text: &str) -> String {
        let names = || BUILT_IN_PROVIDERS.iter().copied().chain(self.providers.keys().map(String::as_str));
        let Some((provider, model)) = text.split_once('/') else {
            let vendors = ["anthropic", "openai", "gemini"];
            if let Some(meant) = vendors.into_iter().find_map(|vendor| self.meant(vendor, text)) {
                return format!("{meant} Write `provider/model`.");
            }
            return "Write `provider/model`, such as `ollama/llama3.3`; only names that begin with claude-, gpt-, o1 … \
                    or gemini- need no provider."
                .to_owned();
        };
        // A name that worked until that day deserves more than a list of providers.
        if provider == "github" && !self.providers.contains_key(provider) {
            return "GitHub Models was retired on 2026-07-30; use another provider with a key of its own, such as `openai/gpt-6-luna` or \
                    `anthropic/claude-haiku-5-5`."
                .to_owned();
        }
        match nearest(provider, names()) {
            Some(near) => format!("Did you mean `{near}/{model}`?"),
            None => format!(
                "Use one of the providers {}, or declare `{}` under `providers`.",
                names().collect::<Vec<_>>().join(", "),
                provider.escape_debug()
            ),
        }
    }

    /// Finds out how a provider is reached, once per provider.
    pub(super) fn endpoint(&mut self, path: &str, provider: &str, faults: &Faults) {
        // A provider that cannot be reached is told of once, not for each of its models.
        if self.endpoints.contains_key(provider) || self.failed_providers.contains(provider) {
            return;
        }
        match self.reach(path, provider, faults) {
            Some(found) => {
                self.warn_of_open_line(provider, &found.0);
                self.endpoints.insert(provider.to_owned(), found);
            }
            None => {
                self.failed_providers.insert(provider.to_owned());
            }
        }
    }

    fn reach(&self, path: &str, provider: &str, faults: &Faults) -> Option<(EndpointPlan, Origin)> {
        let declared = self.providers.get(provider);
        let section = declared.map(|declared| declared.section);
        let own_url = section.and_then(|section| section.base_url.clone()).map(|url| url.0);
        let own_key = section.and_then(|section| section.api_key_env.clone()).map(|name| name.0);
        let own_wire = section.and_then(|section| section.wire).map(|wire| wire.0);
        let file = declared.map_or(Origin::Default, |declared| declared.origin.clone());
        if provider == "cassette" {
            let plan = EndpointPlan { wire: Wire::Cassette, base_url: String::new(), key_var: None, local: true };
            return Some((plan, Origin::Default));
        }
        let Some(built_in) = (self.catalogue.endpoint)(provider) else {
            // A provider of one's own may need no key at all.
            let key_var = match own_key {
                Some(name) => Some(self.key(path, provider, &[&name], faults)?),
                None => None,
            };
            return Some((EndpointPlan { wire: own_wire?, base_url: own_url?, key_var, local: false }, file));
        };
        let (base_url, origin) = match self.url_of_variable(&built_in, provider) {
            Some(Ok(found)) => found,
            // A broken address must not be passed over for the usual one: keys would go to another host than was meant.
            Some(Err(())) => return None,
            None => match own_url {
                Some(url) => (url, file),
                None => (built_in.default_base_url.to_owned(), Origin::Default),
            },
        };
        // On another machine the variable may be set.
        if base_url.is_empty() && !self.sources.build.elsewhere {
            let variable = built_in.base_url_vars.first().copied().unwrap_or_default();
            let fix = format!("Set {variable}, or `baseUrl` under `providers.{provider}`, to the address of yours.");
            faults.add(path, format!("provider `{provider}` has no common address"), fix);
            return None;
        }
        let key_var = match (&own_key, built_in.key_vars) {
            (Some(name), _) => Some(self.key(path, provider, &[name], faults)?),
            (None, []) => None,
            (None, names) => Some(self.key(path, provider, names, faults)?),
        };
        let wire = own_wire.unwrap_or(built_in.wire);
        Some((EndpointPlan { wire, base_url, key_var, local: built_in.local }, origin))
    }

    /// The address that a customary variable gives. `Err` after a fault was noted.
    fn url_of_variable(&self, built_in: &BuiltInEndpoint, provider: &str) -> Option<Result<(String, Origin), ()>> {
        let present =
            |name: &&str| self.sources.variable(name).map(|text| ((*name).to_owned(), text.trim().to_owned()));
        let (name, text) = built_in.base_url_vars.iter().find_map(present)?;
        let text = if provider == "ollama" { ollama_url(&text) } else { text };
        let node = Node::Text(text);
        let read = HttpUrl::read(&Place::new(&node, &name, self.setting_faults));
        Some(read.map(|url| (url.0, Origin::Env(name))).ok_or(()))
    }

    /// The first of the variables that holds a key.
    fn key(&self, path: &str, provider: &str, names: &[&str], faults: &Faults) -> Option<String> {
        let held = names.iter().find_map(|name| Some((*name, self.sources.variable(name)?)));
        let Some((name, key)) = held else {
            let first = names.first().copied().unwrap_or_default();
            if self.sources.build.elsewhere {
                return Some(first.to_owned());
            }
            let message = format!("provider `{provider}` needs a key: {} is not set", names.join(" or "));
            let fix = format!(
                "Set {first} in the environment; in a workflow, beside `run:` or `uses:`, \
                 `env: {{ {first}: \"${{{{ secrets.{first} }}}}\" }}`."
            );
            faults.add(path, message, fix);
            return None;
        };
        // A key with a line end would become a second header, or fail with a message of the HTTP client.
        if key.trim().chars().any(|c| c.is_whitespace() || c.is_control()) {
            let fix = format!("Set {name} to the key alone, as one line.");
            // Told of the variable, not of the file: the file only names it.
            self.setting_faults.add(name, "contains white space", fix);
            return None;
        }
        if is_placeholder(key.trim()) {
            let fix = format!("Set {name} to the key itself, as the vendor shows it.");
            self.setting_faults.add(name, "contains a placeholder, not a key", fix);
            return None;
        }
        Some(name.to_owned())
    }

    fn warn_of_open_line(&mut self, provider: &str, endpoint: &EndpointPlan) {
        let Some(key) = &endpoint.key_var else { return };
        let open = url::Url::parse(&endpoint.base_url).is_ok_and(|url| {
            let near = match url.host() {
                Some(url::Host::Domain(name)) => name == "localhost",
                Some(url::Host::Ipv4(address)) => address.is_loopback(),
                Some(url::Host::Ipv6(address)) => address.is_loopback(),
                None => false,
            };
            // On this machine nobody is between the two ends.
            url.scheme() == "http" && !near
        });
        if open {
            self.warnings.push(format!(
                "{key} is sent to provider `{provider}` without encryption: {} is not an https address",
                endpoint.base_url
            ));
        }
    }

    /// Finds out the facts about a model, once per model.
    pub(super) fn learn(&mut self, path: &str, id: &ModelId, faults: &Faults) {
        if self.facts.0.contains_key(id) {
            return;
        }
        let known = (self.catalogue.lookup)(id);
        let section = self.overrides.get(id).map(|(section, _)| *section);
        let window_known = known.is_some() || section.is_some_and(|section| section.context_window.is_some());
        let mut info = known.unwrap_or_else(ModelInfo::unknown);
        let local = self.endpoints.get(&id.provider).is_some_and(|(endpoint, _)| endpoint.local);
        if let Some((section, section_faults)) = self.overrides.get(id) {
            prices::apply(section, &mut info, id, section_faults);
        }
        // A server on one's own machine bills nobody.
        if local && info.price.is_none() {
            info.price = Some(Price::default());
        }
        if !window_known {
            self.warnings.push(format!(
                "the context window of `{id}` is unknown: {UNKNOWN_CONTEXT_WINDOW} tokens are assumed; set it under \
                 `models: {{\"{id}\": {{contextWindow: …}}}}`"
            ));
        }
        // A half-priced model was told of already.
        let half_priced = section.is_some_and(|section| section.input_per_1m.or(section.output_per_1m).is_some());
        if info.price.is_none() && !half_priced && !self.is_unknown_provider(&id.provider) {
            if let Some((base, variant)) =
                id.model.rsplit_once(':').filter(|_| window_known && id.provider == "openrouter")
            {
                let why = format!(
                    "`{id}` has no known price: at OpenRouter `:{variant}` may cost more than the model itself"
                );
                faults.add(
                    path,
                    why,
                    format!("Name the model without it, `{}/{base}`, or give its prices under `models`.", id.provider),
                );
                self.facts.0.insert(id.clone(), info);
                return;
            }
            let meant = self.meant(&id.provider, &id.model).map(|meant| format!("{meant} ")).unwrap_or_default();
            let fix = format!(
                "{meant}Check the spelling, or price it in dollars per million tokens: \
                 `models: {{\"{id}\": {{inputPer1M: 3, outputPer1M: 15}}}}` (0 and 0 if it costs nothing)."
            );
            let why = format!("`{id}` is in no catalogue: it has no known price, and the run has a cost cap");
            faults.add(path, why, fix);
        }
        self.facts.0.insert(id.clone(), info);
    }

    /// Whether a provider cannot be used and is no vendor of ours: its models' prices are no matter then. A vendor whose key alone is missing
    /// gets one, and a mistyped model would be found out only after.
    fn is_unknown_provider(&self, provider: &str) -> bool {
        self.failed_providers.contains(provider) && (self.catalogue.endpoint)(provider).is_none()
    }

    /// The known model whose name was mistyped, as advice. Another number is another model, and no slip: then those of that family.
    fn meant(&self, provider: &str, name: &str) -> Option<String> {
        let digits = |name: &str| name.chars().filter(char::is_ascii_digit).collect::<String>();
        let letters = |name: &str| name.chars().filter(|letter| !letter.is_ascii_digit()).collect::<String>();
        let known = (self.catalogue.names)(provider);
        // `gpt-4` is no slip of `gpt-5`: another number is another model with another price.
        let number = digits(name);
        if let Some(meant) = nearest(name, known.iter().copied().filter(|one| digits(one) == number)) {
            return Some(format!("Did you mean `{provider}/{meant}`?"));
        }
        let family = letters(name);
        let of_family = known.into_iter().filter(|one| is_slip(&family, &letters(one)));
        let named: Vec<String> = of_family.take(MOST_NAMED).map(|one| format!("`{provider}/{one}`")).collect();
        (!named.is_empty()).then(|| format!("Known of that family: {}.", named.join(", ")))
    }
}

/// The most models of a family that are named.
const MOST_NAMED: usize = 3;

/// `OLLAMA_HOST` as Ollama reads it: the scheme and the port may be missing, and an address to listen on is meant.
fn ollama_url(text: &str) -> String {
    let text = text.trim_end_matches('/');
    let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
    // It means all addresses to a server, and nothing to a client.
    let rest = rest.replacen("0.0.0.0", "127.0.0.1", 1);
    let rest = if rest.starts_with(':') { format!("127.0.0.1{rest}") } else { rest };
    let has_port = rest.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
    // With a scheme Ollama takes the scheme's own port, without one its usual port.
    if has_port || text.contains("://") { format!("{scheme}://{rest}") } else { format!("http://{rest}:{OLLAMA_PORT}") }
}

/// Whether a text is what documents write in the place of a key: `…`, `<your key>`, `***`, `YOUR_KEY`, `sk-...`.
fn is_placeholder(key: &str) -> bool {
    let is_framed = key.starts_with('<') && key.ends_with('>');
    let letters: String = key.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    let is_named = ["yourkey", "yourapikey"].iter().any(|name| letters.contains(name));
    // Keys are plain ASCII. A sign such as `…` comes out of a document.
    is_framed || is_named || !key.is_ascii() || key.contains("...") || key.chars().all(|c| matches!(c, '.' | '*'))
}
