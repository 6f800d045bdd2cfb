//! The shape of the configuration file: the seeds' `tiers` and `global`, and ours beside them (DESIGN §2.2).
//!
//! A tiers file is the same shape with fewer keys in use. Absent keys are `None`: defaults belong to [`super::resolve`].

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::advisor_sections::{AdvisorSection, HandoffSection, SpecialistSection};
use super::block_schema::BlockSchema;
use super::node::Node;
use super::numbers::{Dollars, Minutes, One, PerMillion, Temperature, Whole};
use super::plan::{
    Comment, FailOn, Merge, Minimise, Network, OnRemark, Proof, Push, RestMethod, Sandbox, WaitFor, Wire,
};
use super::read::{Entry, Place, Readable, object};
use super::values::{
    AuditPath, BotName, CommitAuthor, EffortWord, Glob, HttpUrl, ModeWord, Name, OnEntropyWord, ReporterWord, RoleWord,
    Targets, TestEdits, TestName, VarName,
};

/// The most tiers a ladder may have.
const MAX_TIERS: usize = 100;

object! {
    /// Configuration of upshift: `.github/upshift.yml`, or a tiers file.
    #[schemars(title = "upshift configuration")]
    ConfigFile {
        /// The address of this schema, for editors; not read.
        "$schema" schema: String = "";
        /// The ladder, cheapest tier first; in the configuration file also a shorthand such as
        /// `claude-haiku-5-5 x5 > claude-sonnet-5-5 x3`.
        "tiers" tiers: Tiers = "built-in ladder";
        /// Caps of the whole run and the audit log.
        "global" global: GlobalSection = "";
        /// What happens when a tier stalls: the next tier, its remaining iterations, or the end of the run.
        "onEntropy" on_entropy: OnEntropyWord = "escalate";
        /// How many identical errors in a row count as a stall.
        "entropyThreshold" entropy_threshold: Whole<1, 1000> = "3";
        /// The task for the models.
        "objective" objective: String = "make the failing tests pass";
        /// Own endpoints by name, or settings of a built-in provider.
        "providers" providers: BTreeMap<String, ProviderSection> = "";
        /// Prices and limits by `provider/model`; they override the catalogue.
        "models" models: BTreeMap<String, ModelSection> = "";
        /// How the tests are run.
        "test" test: TestSection = "";
        /// How the agent works.
        "agent" agent: AgentSection = "";
        /// Command lines of coding agents, by the name after `cli/`.
        "agents" agents: BTreeMap<String, ProgramSection> = "";
        /// What child processes may do and what models may not write.
        "safety" safety: SafetySection = "";
        /// What happens on GitHub; used by the Action.
        "github" github: GithubSection = "";
    }
}

object! {
    /// One tier of the ladder.
    TierSection {
        /// The label in reports and the audit log; unique in a ladder.
        #[schemars(required, example = &"cheap")]
        "name" name: Name = "required", "Give the tier a name, such as `cheap`.";
        /// `simple`: artisan and tests; `full`: librarian, artisan, critic, then tests.
        #[schemars(required)]
        "mode" mode: ModeWord = "required", "Use `simple` or `full`.";
        /// How many iterations the tier may run before the next one takes over.
        #[schemars(required, example = 5)]
        "maxIterations" max_iterations: Whole<1, 100> = "required", "Use a whole number from 1 to 100.";
        /// The models of this tier.
        #[schemars(required)]
        "models" models: ModelsSection = "required", "Name at least the artisan's model: `models: {artisan: …}`.";
        /// Cap on the cost of this tier, in dollars.
        #[schemars(example = 0.5)]
        "maxCostUsd" max_cost_usd: Dollars = "the run's cap";
    }
}

object! {
    /// The models of a tier; each may also be a list, tried in order.
    ModelsSection {
        /// Model that edits the code.
        #[schemars(required, example = &"anthropic/claude-haiku-5-5")]
        "artisan" artisan: Targets = "required", "Name a model, such as `anthropic/claude-haiku-5-5`.";
        /// Model that reads the repository and briefs the artisan; `full` only.
        "librarian" librarian: Targets = "the artisan's";
        /// Model that reviews the artisan's change; `full` only.
        "critic" critic: Targets = "the artisan's";
    }
}

object! {
    /// Caps of the whole run and the audit log.
    GlobalSection {
        /// Where the audit log is written; `null` or `false` for none.
        "auditDbPath" audit_db_path: AuditPath = "`.upshift/audit.db`; in Actions under `RUNNER_TEMP`";
        /// Cap on the cost of all model calls together, in dollars.
        #[schemars(example = 2.0)]
        "maxTotalCostUsd" max_total_cost_usd: Dollars = "2.00";
        /// Cap on the cost of all runs for one pull request, or for one failure of a branch without one, in dollars; counts the runs in the audit log.
        "maxCostUsdPerPr" max_cost_usd_per_pr: Dollars = "no cap";
        /// Cap on the cost of all runs on this repository per day (UTC), in dollars; counts the runs in the audit log.
        "maxCostUsdPerDay" max_cost_usd_per_day: Dollars = "no cap";
        /// Cap on active time (waiting excluded), in minutes.
        #[schemars(example = 15)]
        "maxTotalDurationMinutes" max_total_duration_minutes: Minutes = "15";
        /// Cap on iterations over all tiers.
        "maxTotalIterations" max_total_iterations: Whole<1, 10_000> = "30, or the sum of the tiers' if that is more";
        /// What happens when a tier stalls; the same as `onEntropy` beside `tiers`.
        "onEntropy" on_entropy: OnEntropyWord = "escalate";
        /// How many identical errors in a row count as a stall; the same as `entropyThreshold` beside `tiers`.
        "entropyThreshold" entropy_threshold: Whole<1, 1000> = "3";
        /// For old files: iterations until the context is reset. Every iteration starts with a fresh one, so only 1 is accepted.
        "contextResetFrequency" context_reset_frequency: One = "1";
    }
}

object! {
    /// One endpoint.
    ProviderSection {
        /// The wire format it speaks; required for a new name.
        "wire" wire: EndpointWire = "the built-in provider's";
        /// Its address; required for a new name.
        #[schemars(example = &"https://models.example.com/v1")]
        "baseUrl" base_url: HttpUrl = "the built-in provider's";
        /// Environment variable with its key; without it no key is sent.
        #[schemars(example = &"MY_API_KEY")]
        "apiKeyEnv" api_key_env: VarName = "the built-in provider's";
    }
}

object! {
    /// Prices and limits of one model.
    ModelSection {
        /// Tokens that prompt and reply may take together.
        "contextWindow" context_window: Whole<1, 100_000_000> = "catalogue, else 8000";
        /// Tokens that a reply may take at most.
        "maxOutputTokens" max_output_tokens: Whole<1, 10_000_000> = "catalogue, else a quarter of the window";
        /// Price of prompt tokens.
        "inputPer1M" input_per_1m: PerMillion = "catalogue";
        /// Price of reply tokens, reasoning included.
        "outputPer1M" output_per_1m: PerMillion = "catalogue";
        /// Price of prompt tokens read from the vendor's cache.
        "cacheReadPer1M" cache_read_per_1m: PerMillion = "catalogue, else `inputPer1M`";
        /// Price of prompt tokens written to the vendor's cache.
        "cacheWritePer1M" cache_write_per_1m: PerMillion = "catalogue, else `inputPer1M`";
        /// Whether its tool calling works; without it the text protocol is used.
        "tools" tools: bool = "catalogue, else true";
    }
}

object! {
    /// How the tests are run.
    TestSection {
        /// The command that runs the tests.
        #[schemars(example = &"cargo test")]
        "command" command: String = "detected";
        /// Checks beside the tests: linters, type checkers, other suites; all must pass. One named `tests` is the command that runs the tests.
        "commands" commands: Vec<CheckSection> = "none";
        /// A command run once before any model output, with network and without keys.
        #[schemars(example = &"npm ci")]
        "setupCommand" setup_command: String = "none";
        /// The failing tests to fix, by the names that the runner prints; other failures are left alone.
        #[schemars(example = &["tests/test_cart.py::test_total"])]
        "only" only: Vec<TestName> = "all failing tests";
        /// The framework whose output is read.
        #[schemars(example = &"pytest")]
        "framework" framework: String = "recognised";
        /// Cap on the time of one test run, in seconds.
        "timeoutSeconds" timeout_seconds: Whole<1, 86_400> = "300";
        /// Memory limit of one test process, in MiB (Linux); with a delegated cgroup, also of all of them together, per processor. 0 means no limit.
        "memoryMb" memory_mb: Whole<0, 1_048_576> = "2048";
        /// Cap on the time of the proof, in minutes; in any case at most four times as long as the tests, or a minute.
        "proofMinutes" proof_minutes: Whole<1, 1_440> = "10";
        /// The JUnit files that the command writes, from the working directory: a file, a folder of them, or a glob.
        #[schemars(example = &"target/junit/*.xml")]
        "junit" junit: Glob = "none";
    }
}

object! {
    /// A command that judges.
    CheckSection {
        /// The name in reports.
        #[schemars(required, example = &"lint")]
        "name" name: Name = "required", "Give the command a name, such as `lint`.";
        /// The shell command, run in the folder of the tests.
        #[schemars(required, example = &"ruff check .")]
        "run" run: String = "required", "Name the command, such as `ruff check .`.";
    }
}

object! {
    /// How the agent works.
    AgentSection {
        /// Cap on turns per session.
        "maxTurns" max_turns: Whole<1, 500> = "40";
        /// Cap on attempts per turn, the first included.
        "maxAttempts" max_attempts: Whole<1, 10> = "3";
        /// Reasoning effort, for models whose vendor has such a setting.
        "effort" effort: EffortWord = "the vendor's";
        /// Sampling temperature, for models that have one.
        "temperature" temperature: Temperature = "the vendor's";
        /// Commands that the artisan may run.
        "allowCommands" allow_commands: Vec<String> = "none";
        /// Model for the side calls (titles, summaries) of coding agents; used if its provider is that of the agent's own model.
        #[schemars(example = &"claude-haiku-5-5")]
        "sideModel" side_model: String = "the tier's";
        /// Time without output, model call and changed file after which the session of a coding agent is ended.
        "idleSeconds" idle_seconds: Whole<1, 86_400> = "900";
        /// Structured data that roles add to their reports, by name; built in are `root_cause` and `risk`.
        "meta" meta: BTreeMap<String, MetaSection> = "none";
        /// MCP servers (Model Context Protocol), by name, each with a command or an address; their tools are called `mcp__NAME__TOOL`.
        "mcp" mcp: BTreeMap<String, McpSection> = "none";
        /// Whether a librarian's brief and a critic's review are reused for the same question: the same material, tree, models and prompt.
        "cache" cache: bool = "false";
        /// Tools that call a web service, by name; a model sees them as `rest__NAME`; at most 32.
        "rest" rest: BTreeMap<String, RestSection> = "none";
        /// Hosts that tools may reach; a name that resolves to a private address is refused unless that address is listed too.
        #[schemars(example = &["api.example.com"])]
        "toolHosts" tool_hosts: Vec<String> = "none";
        /// Advisors, by name: models that read in parallel before the artisan works, and advise it; at most 8.
        "advisors" advisors: BTreeMap<String, AdvisorSection> = "none";
        /// Sub-agents, by name: models that a role calls as the tool `agent__NAME`, each in a session of its own; at most 8.
        "subAgents" sub_agents: BTreeMap<String, SubAgentSection> = "none";
        /// Text that a model gets instead of a failing tool's own message, by the tool's name or `mcp__SERVER__*`.
        "toolFailures" tool_failures: BTreeMap<String, String> = "none";
        /// Specialists, by name: a role may hand its task over to one with the tool `router__handoff_to`; at most 8.
        "router" router: BTreeMap<String, SpecialistSection> = "none";
        /// Texts that a model writes once a change is proven, by name; built in are `pull_request` and `release_note`; at most 8.
        "handoff" handoff: BTreeMap<String, HandoffSection> = "none";
    }
}

object! {
    /// A sub-agent; it is given a task, answers it, and knows nothing else of the session that calls it.
    SubAgentSection {
        /// When to call it, as the calling model reads it, in at most 600 characters.
        #[schemars(required)]
        "description" description: String = "required", "Say when to call it: `description: Finds the callers of a function.`.";
        /// Its own instructions, in at most 4,000 characters.
        #[schemars(required)]
        "instructions" instructions: String = "required", "Say how it is to work: `instructions: Name every caller with file and line.`.";
        /// Its models, in order of preference; no coding agents.
        "models" models: Targets = "those of the role that calls it";
        /// The roles that may call it.
        "roles" roles: Vec<RoleWord> = "artisan";
        /// Sources of tools that it is given: `mcp__SERVER`, `rest__NAME` or `agent__NAME`. Its own sub-agents call no more sub-agents.
        "tools" tools: Vec<String> = "none";
        /// Whether it may change files; only an artisan can call it then.
        "allowWrite" allow_write: bool = "false";
        /// Cap on the cost of all its sessions in a run, in dollars.
        "maxCostUsd" max_cost_usd: Dollars = "a tenth of `global.maxTotalCostUsd`";
        /// Cap on turns per session.
        "maxTurns" max_turns: Whole<1, 100> = "10";
        /// Cap on the time of one call, in seconds.
        "timeoutSeconds" timeout_seconds: Whole<1, 3_600> = "600";
    }
}

object! {
    /// A block of data beside a role's report.
    MetaSection {
        /// Its JSON Schema, in the keywords type, properties, required, additionalProperties, items, enum, minLength, maxLength, minimum,
        /// maximum and description; required for a new name.
        "schema" schema: BlockSchema = "the built-in block's";
        /// Whether a report is incomplete without it: the role is then asked again, at most twice.
        "required" required: bool = "true";
        /// The role that gives it.
        "role" role: ReporterWord = "artisan";
    }
}

object! {
    /// An MCP server; one that is started runs confined, reads the tree and writes nothing in it.
    McpSection {
        /// The program and its arguments, started in the repository; it must be installed. Either this or `url`.
        "command" command: Vec<String> = "none";
        /// Its address (streamable HTTP); list the host under `agent.toolHosts`.
        #[schemars(example = &"https://tools.example.com/mcp")]
        "url" url: String = "none";
        /// HTTP headers for its address, each with the environment variable of its value; no model, log or program gets the value.
        "headersEnv" headers_env: BTreeMap<String, VarName> = "none";
        /// Environment variables that it gets from upshift; never a model's key.
        "env" env: Vec<VarName> = "none";
        /// The roles that are given its tools.
        "roles" roles: Vec<RoleWord> = "librarian";
        /// Tools to offer although the server does not mark them as read-only.
        "allow" allow: Vec<String> = "none";
        /// Cap on the time of one call, in seconds.
        "timeoutSeconds" timeout_seconds: Whole<1, 3_600> = "60";
    }
}

object! {
    /// A request to a web service.
    RestSection {
        /// When to call it, as the calling model reads it, in at most 600 characters.
        #[schemars(required)]
        "description" description: String = "required", "Say when to call it: `description: Reads an issue.`.";
        /// The HTTP method; any but get needs `allowWrite`.
        "method" method: RestMethod = "get";
        /// The address; `{name}` in its path or query is replaced by a required parameter. List the host under `agent.toolHosts`.
        #[schemars(required, example = &"https://api.example.com/issues/{id}")]
        "url" url: String = "required", "Name the address: `url: https://api.example.com/issues/{id}`.";
        /// The schema of its parameters, of type object, in the keywords of `agent.meta.*.schema`; those without a placeholder go into the query or a JSON body.
        "params" params: BlockSchema = "none";
        /// HTTP headers, each with the environment variable of its value; no model, log or program gets the value.
        "headersEnv" headers_env: BTreeMap<String, VarName> = "none";
        /// The roles that are given it.
        "roles" roles: Vec<RoleWord> = "librarian";
        /// Whether it may use a method other than get.
        "allowWrite" allow_write: bool = "false";
        /// Cap on the time of one call, in seconds.
        "timeoutSeconds" timeout_seconds: Whole<1, 3_600> = "30";
    }
}

object! {
    /// The command line of one coding agent; no other agent uses it.
    ProgramSection {
        /// The program, and arguments before upshift's own.
        "command" command: Vec<String> = "its own name, found in PATH";
        /// Arguments after upshift's own.
        "args" args: Vec<String> = "none";
    }
}

object! {
    /// What child processes may do and what models may not write.
    SafetySection {
        /// Confinement of child processes.
        "sandbox" sandbox: Sandbox = "auto";
        /// Network of child processes.
        "network" network: Network = "auto";
        /// Globs of files that models may not write, in addition to the built-in ones.
        "protectedPaths" protected_paths: Vec<Glob> = "none";
        /// Which test files the task may edit: all, none, or those that match the globs.
        "allowTestEdits" allow_test_edits: TestEdits = "none";
        /// What to do with parts of a fix that the tests pass without: report them to reviewers, drop them, or not look for them.
        "minimise" minimise: Minimise = "remark";
        /// How much proof a fix needs beyond passing tests: as much as possible, all of it, or none.
        "proof" proof: Proof = "auto";
        /// What to do with a fix that has a remark of a kind that could deceive a test runner (those with a * on the page about the verdict): flag it for the reviewer, or refuse it.
        "onRemark" on_remark: OnRemark = "flag";
        /// Environment variables to pass to the tests.
        "passEnv" pass_env: Vec<VarName> = "none";
    }
}

object! {
    /// What happens on GitHub; used by the Action.
    GithubSection {
        /// What to do with a fix.
        "push" push: Push = "commit on a pull request, else pr; none outside of Actions";
        /// What to wait for after a push.
        "waitFor" wait_for: WaitFor = "event in the Action with a token for pushes, else ci";
        /// Cap on pushes of one run, where CI decides.
        "maxPushes" max_pushes: Whole<1, 100> = "3";
        /// Cap on waiting for CI, in minutes.
        "ciTimeoutMinutes" ci_timeout_minutes: Whole<1, 1440> = "30";
        /// Cap on waiting for a merge, in minutes.
        "mergeTimeoutMinutes" merge_timeout_minutes: Whole<1, 43_200> = "60";
        /// When to comment on the pull request.
        "comment" comment: Comment = "always";
        /// The outcomes that fail the step.
        "failOn" fail_on: Vec<FailOn> = "all but exit 0, 4, harmless refusals";
        /// Cap on runs per pull request, or per failure of a branch without one.
        "maxAttemptsPerPr" max_attempts_per_pr: Whole<1, 100> = "3";
        /// The label that keeps upshift away from a pull request.
        "skipLabel" skip_label: String = "upshift:skip";
        /// The bots that may start a run on their own pull requests, by their exact names.
        "allowedBots" allowed_bots: Vec<BotName> = "none";
        /// The message of the commit with the fix.
        "commitMessage" commit_message: String = "built in";
        /// The author of that commit, as `Name <address>`.
        "commitAuthor" commit_author: CommitAuthor = "github-actions[bot]";
        /// Whether to make the commit through the API, so that GitHub signs it: with the job's own token or an App's.
        "signCommits" sign_commits: bool = "false";
        /// Whether to open a pull request as a draft.
        "draft" draft: bool = "false";
        /// Who merges a pull request that upshift opened: a person, or the Git host once its requirements are met.
        "merge" merge: Merge = "never";
        /// The `timeout-minutes` of the job: a waiting run is parked five minutes before.
        "jobTimeoutMinutes" job_timeout_minutes: Whole<10, 43_200> = "120";
    }
}

/// The wire of an endpoint. A cassette is a provider of its own and no wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EndpointWire(pub(super) Wire);

const ENDPOINT_WIRES: [&str; 4] = ["anthropic", "openai", "gemini", "ollama"];

impl JsonSchema for EndpointWire {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "wire".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        super::values::words_schema(&ENDPOINT_WIRES)
    }
}

impl Readable for EndpointWire {
    fn kind() -> String {
        ENDPOINT_WIRES.join(", ")
    }

    fn read(at: &Place<'_>) -> Option<Self> {
        let from_word = |word: &str| Wire::from_word(word).filter(|wire| *wire != Wire::Cassette).map(Self);
        super::values::word_here(at, &ENDPOINT_WIRES, from_word)
    }
}

/// The content of `tiers`.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Tiers {
    /// The tiers in order. `None` stands for one with a fault of its own.
    List(Vec<Option<TierSection>>),
    /// A shorthand ladder.
    Shorthand(String),
}

impl JsonSchema for Tiers {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "tiers".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let tier = generator.subschema_for::<TierSection>();
        json_schema!({"anyOf": [
            {"type": "array", "items": tier, "minItems": 1, "maxItems": MAX_TIERS},
            {"type": "string", "minLength": 1},
        ]})
    }
}

impl Readable for Tiers {
    fn kind() -> String {
        "list of objects, or shorthand".to_owned()
    }

    fn read(at: &Place<'_>) -> Option<Self> {
        if matches!(at.node, Node::Text(_)) {
            return String::read(at).map(Self::Shorthand);
        }
        let items = at.items()?;
        if items.is_empty() {
            return at.fault("must have at least one tier", "Add a tier, or leave `tiers` out.");
        }
        if items.len() > MAX_TIERS {
            return at.fault(format!("has {} tiers; {MAX_TIERS} is the maximum", items.len()), "Remove some tiers.");
        }
        Some(Self::List(items.iter().map(TierSection::read).collect()))
    }

    fn describe(path: &str, out: &mut Vec<Entry>) {
        TierSection::describe(&format!("{path}[]"), out);
    }
}
