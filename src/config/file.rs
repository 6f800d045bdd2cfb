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
        "tiers" tiers: Tiers = "built-in ladder by key";
        /// Caps of the whole run and the audit log.
        "global" global: GlobalSection = "";
        /// What a stalled tier leads to: the next tier, its remaining iterations, or the end.
        "onEntropy" on_entropy: OnEntropyWord = "escalate";
        /// How many equal errors in a row are a stall.
        "entropyThreshold" entropy_threshold: Whole<1, 1000> = "3";
        /// What is to be done.
        "objective" objective: String = "make the failing tests pass";
        /// Own endpoints by name, or settings of a built-in provider.
        "providers" providers: BTreeMap<String, ProviderSection> = "";
        /// Prices and limits by `provider/model`; what is given wins over the catalogue.
        "models" models: BTreeMap<String, ModelSection> = "";
        /// How the tests are run.
        "test" test: TestSection = "";
        /// How the agent works.
        "agent" agent: AgentSection = "";
        /// Own command lines of coding agents, by the name behind `cli/`.
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
        /// Who speaks in this tier.
        #[schemars(required)]
        "models" models: ModelsSection = "required", "Name at least the artisan's model: `models: {artisan: …}`.";
        /// The most this tier may cost, in dollars.
        #[schemars(example = 0.5)]
        "maxCostUsd" max_cost_usd: Dollars = "the run's cap";
    }
}

object! {
    /// The models of a tier; where one stands a list may stand, tried in order.
    ModelsSection {
        /// Who edits the code.
        #[schemars(required, example = &"anthropic/claude-haiku-5-5")]
        "artisan" artisan: Targets = "required", "Name a model, such as `anthropic/claude-haiku-5-5`.";
        /// Who reads the repository and briefs the artisan; `full` only.
        "librarian" librarian: Targets = "the artisan's";
        /// Who reviews the artisan's change; `full` only.
        "critic" critic: Targets = "the artisan's";
    }
}

object! {
    /// Caps of the whole run and the audit log.
    GlobalSection {
        /// Where the audit log is written; `null` or `false` for none.
        "auditDbPath" audit_db_path: AuditPath = "`.upshift/audit.db`; in Actions under `RUNNER_TEMP`";
        /// The most all model calls together may cost, in dollars.
        #[schemars(example = 2.0)]
        "maxTotalCostUsd" max_total_cost_usd: Dollars = "2.00";
        /// The most that all runs for one pull request may cost, or for one failure of a branch without one, in dollars, as far as the audit log knows of them.
        "maxCostUsdPerPr" max_cost_usd_per_pr: Dollars = "no cap";
        /// The most that all runs on this repository may cost on one day (UTC), in dollars, as far as the audit log knows of them.
        "maxCostUsdPerDay" max_cost_usd_per_day: Dollars = "no cap";
        /// The most active time, in minutes.
        #[schemars(example = 15)]
        "maxTotalDurationMinutes" max_total_duration_minutes: Minutes = "15";
        /// The most iterations over all tiers.
        "maxTotalIterations" max_total_iterations: Whole<1, 10_000> = "30, or the sum of the tiers' if that is more";
        /// What a stalled tier leads to; the same as `onEntropy` beside `tiers`.
        "onEntropy" on_entropy: OnEntropyWord = "escalate";
        /// How many equal errors in a row are a stall; the same as `entropyThreshold` beside `tiers`.
        "entropyThreshold" entropy_threshold: Whole<1, 1000> = "3";
        /// Of old files: after how many iterations the context is reset. Every iteration starts with a fresh one, so only 1 is taken.
        "contextResetFrequency" context_reset_frequency: One = "1";
    }
}

object! {
    /// One endpoint.
    ProviderSection {
        /// The wire format it speaks; required for a new name.
        "wire" wire: EndpointWire = "of a built-in provider: its own";
        /// Its address; required for a new name.
        #[schemars(example = &"https://models.example.com/v1")]
        "baseUrl" base_url: HttpUrl = "of a built-in provider: its own";
        /// The variable that holds its key; none is sent without it.
        #[schemars(example = &"MY_API_KEY")]
        "apiKeyEnv" api_key_env: VarName = "of a built-in provider: its own";
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
        /// What judges beside the tests: linters, type checkers, other suites; all of it must hold. One that is called `tests` is the
        /// command that runs the tests.
        "commands" commands: Vec<CheckSection> = "none";
        /// A command run once before any model output, with network and without keys.
        #[schemars(example = &"npm ci")]
        "setupCommand" setup_command: String = "none";
        /// The failing tests that are to be mended, by the names that the runner prints; others that fail stay as they are.
        #[schemars(example = &["tests/test_cart.py::test_total"])]
        "only" only: Vec<TestName> = "all that fail";
        /// The framework whose output is read.
        #[schemars(example = &"pytest")]
        "framework" framework: String = "recognised";
        /// How long one test run may take, in seconds.
        "timeoutSeconds" timeout_seconds: Whole<1, 86_400> = "300";
        /// How much memory one process of the tests may take, in MiB (Linux), and where a control group is delegated, all of them so much for each processor; 0 is no limit.
        "memoryMb" memory_mb: Whole<0, 1_048_576> = "2048";
        /// How long the evidence for a green may take, in minutes; at most four times as long as the tests, or half a minute, in any case.
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
        /// The shell command, for the folder in which the tests run.
        #[schemars(required, example = &"ruff check .")]
        "run" run: String = "required", "Name the command, such as `ruff check .`.";
    }
}

object! {
    /// How the agent works.
    AgentSection {
        /// The most turns of one session.
        "maxTurns" max_turns: Whole<1, 500> = "40";
        /// The most attempts at one turn, the first included.
        "maxAttempts" max_attempts: Whole<1, 10> = "3";
        /// How hard a reasoning model should think, where its vendor has such a setting.
        "effort" effort: EffortWord = "the vendor's";
        /// Sampling temperature, where the model takes one.
        "temperature" temperature: Temperature = "the vendor's";
        /// Commands that the artisan may run.
        "allowCommands" allow_commands: Vec<String> = "none";
        /// The model of the side calls (titles, summaries) of coding agents; used where its provider is that of the agent's own model.
        #[schemars(example = &"claude-haiku-5-5")]
        "sideModel" side_model: String = "the tier's";
        /// Blocks of data that roles are asked for beside their reports, by name; built in are `root_cause` and `risk`.
        "meta" meta: BTreeMap<String, MetaSection> = "none";
        /// Servers of tools (Model Context Protocol), by name, started or asked at an address; their tools are called `mcp__NAME__TOOL`.
        "mcp" mcp: BTreeMap<String, McpSection> = "none";
        /// Whether a librarian's brief and a critic's review are used again where the same question comes up: the same material, tree, models and prompt.
        "cache" cache: bool = "false";
        /// Tools that are a request to a web service each, by name; they are called `rest__NAME`; at most 32.
        "rest" rest: BTreeMap<String, RestSection> = "none";
        /// Hosts that tools may reach; a name leads to no private address unless that address is named, too.
        #[schemars(example = &["api.example.com"])]
        "toolHosts" tool_hosts: Vec<String> = "none";
        /// Advisors, by name: models that read side by side before the artisan works, and whose words it is given; at most 8.
        "advisors" advisors: BTreeMap<String, AdvisorSection> = "none";
        /// Sub-agents, by name: models that a role calls as the tool `agent__NAME`, each in a session of its own; at most 8.
        "subAgents" sub_agents: BTreeMap<String, SubAgentSection> = "none";
        /// Words that a model is told in the place of what a failing tool said, by the tool's name or `mcp__SERVER__*`.
        "toolFailures" tool_failures: BTreeMap<String, String> = "none";
        /// Specialists, by name: a role may hand its task over to one by the tool `router__handoff_to`; at most 8.
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
        /// The most that all its sessions of a run may cost, in dollars.
        "maxCostUsd" max_cost_usd: Dollars = "a tenth of `global.maxTotalCostUsd`";
        /// The most turns of one session.
        "maxTurns" max_turns: Whole<1, 100> = "10";
        /// The time of one call, in seconds.
        "timeoutSeconds" timeout_seconds: Whole<1, 3_600> = "600";
    }
}

object! {
    /// A block of data beside a role's report.
    MetaSection {
        /// Its JSON Schema, in the keywords type, properties, required, additionalProperties, items, enum, minLength, maxLength, minimum,
        /// maximum and description; required for a new name.
        "schema" schema: BlockSchema = "of a built-in block: its own";
        /// Whether a report is incomplete without it: it is then asked for, in at most two more replies.
        "required" required: bool = "true";
        /// The role that gives it.
        "role" role: ReporterWord = "artisan";
    }
}

object! {
    /// A server of tools; one that is started runs confined, reads the tree and writes nothing of it.
    McpSection {
        /// The program and its arguments; started where the repository is, installed beforehand. Either this or an address.
        "command" command: Vec<String> = "none";
        /// Its address (streamable HTTP); the host stands under `agent.toolHosts`.
        #[schemars(example = &"https://tools.example.com/mcp")]
        "url" url: String = "none";
        /// For each header of requests to its address the variable that holds the value; no model, log or program gets it.
        "headersEnv" headers_env: BTreeMap<String, VarName> = "none";
        /// Variables that it gets of the environment of upshift; never a model's key.
        "env" env: Vec<VarName> = "none";
        /// The roles that are given its tools.
        "roles" roles: Vec<RoleWord> = "librarian";
        /// Tools that are offered although the server does not say of them that they only read.
        "allow" allow: Vec<String> = "none";
        /// The time of one call, in seconds.
        "timeoutSeconds" timeout_seconds: Whole<1, 3_600> = "60";
    }
}

object! {
    /// A request to a web service.
    RestSection {
        /// When to call it, as the calling model reads it, in at most 600 characters.
        #[schemars(required)]
        "description" description: String = "required", "Say when to call it: `description: Reads an issue.`.";
        /// The method; any but get needs `allowWrite`.
        "method" method: RestMethod = "get";
        /// The address; `{name}` in its path or query stands for a required parameter, and the host stands under `agent.toolHosts`.
        #[schemars(required, example = &"https://api.example.com/issues/{id}")]
        "url" url: String = "required", "Name the address: `url: https://api.example.com/issues/{id}`.";
        /// The schema of its parameters, of type object, in the keywords of `agent.meta.*.schema`; those that fill no placeholder go into the
        /// query, or into a JSON body.
        "params" params: BlockSchema = "none";
        /// For each header the variable that holds the value; no model, log or program gets it.
        "headersEnv" headers_env: BTreeMap<String, VarName> = "none";
        /// The roles that are given it.
        "roles" roles: Vec<RoleWord> = "librarian";
        /// Whether its method may be one that changes something.
        "allowWrite" allow_write: bool = "false";
        /// The time of one call, in seconds.
        "timeoutSeconds" timeout_seconds: Whole<1, 3_600> = "30";
    }
}

object! {
    /// The own command line of one coding agent; nothing of it is used for another.
    ProgramSection {
        /// The program, and what stands before our arguments.
        "command" command: Vec<String> = "its own name, found in PATH";
        /// What stands behind our arguments.
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
        /// Globs that models may not write, beside the built-in ones.
        "protectedPaths" protected_paths: Vec<Glob> = "none";
        /// Which test files the task may edit: all, none, or those of the globs.
        "allowTestEdits" allow_test_edits: TestEdits = "none";
        /// What happens with the parts of a fix that the tests pass without: named to reviewers, dropped, or not looked for.
        "minimise" minimise: Minimise = "remark";
        /// How much a green is asked to prove beyond its own run: what can be had, all of it, or nothing.
        "proof" proof: Proof = "auto";
        /// What happens with a fix in which something is for a reviewer to look at that could deceive a test runner.
        "onRemark" on_remark: OnRemark = "flag";
        /// Variables that the tests need.
        "passEnv" pass_env: Vec<VarName> = "none";
    }
}

object! {
    /// What happens on GitHub; used by the Action.
    GithubSection {
        /// What happens with a fix.
        "push" push: Push = "commit on a pull request, else pr; none outside of Actions";
        /// What is waited for after a push.
        "waitFor" wait_for: WaitFor = "ci";
        /// How often one run pushes at most, where CI has the last word.
        "maxPushes" max_pushes: Whole<1, 100> = "3";
        /// How long CI is waited for, in minutes.
        "ciTimeoutMinutes" ci_timeout_minutes: Whole<1, 1440> = "30";
        /// How long a merge is waited for, in minutes.
        "mergeTimeoutMinutes" merge_timeout_minutes: Whole<1, 43_200> = "60";
        /// When the pull request is commented.
        "comment" comment: Comment = "always";
        /// The outcomes that fail the step.
        "failOn" fail_on: Vec<FailOn> = "all but exit 0, 4, harmless refusals";
        /// The most runs for one pull request, or for one failure of a branch whose fix is proposed.
        "maxAttemptsPerPr" max_attempts_per_pr: Whole<1, 100> = "3";
        /// The label that keeps upshift away from a pull request.
        "skipLabel" skip_label: String = "upshift:skip";
        /// The bots that may start a run on their own pull requests, by their exact names.
        "allowedBots" allowed_bots: Vec<BotName> = "none";
        /// The message of the commit that holds a fix.
        "commitMessage" commit_message: String = "built in";
        /// Who is named as the author of that commit, as `Name <address>`.
        "commitAuthor" commit_author: CommitAuthor = "github-actions[bot]";
        /// Whether the commit is made through the API, where GitHub signs it: with the job's own token or an App's.
        "signCommits" sign_commits: bool = "false";
        /// Whether a pull request is opened as a draft.
        "draft" draft: bool = "false";
        /// Who merges a pull request that upshift opened: a person, or the forge once everything that it requires is there.
        "merge" merge: Merge = "never";
        /// How long the job may take, as its `timeout-minutes` says: a run that waits is parked five minutes before.
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
            return at.fault("must hold at least one tier", "Add a tier, or leave `tiers` out.");
        }
        if items.len() > MAX_TIERS {
            return at.fault(format!("has {} tiers, {MAX_TIERS} are the most", items.len()), "Remove some tiers.");
        }
        Some(Self::List(items.iter().map(TierSection::read).collect()))
    }

    fn describe(path: &str, out: &mut Vec<Entry>) {
        TierSection::describe(&format!("{path}[]"), out);
    }
}
