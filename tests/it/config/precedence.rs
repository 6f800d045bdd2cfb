//! Precedence and origins: every flag and every variable changes the plan (B1, B7, contradiction 9).

use upshift::config::{Origin, Plan, Push, Setting, Settings, Sources};
use upshift::domain::ladder::OnEntropy;
use upshift::domain::units::MicroUsd;

use super::{ONE_TIER, configured, file, flagged, keys, plan};

/// A value for each setting that differs from its default. Exhaustive: a new setting must be added here.
fn other_value(setting: Setting) -> &'static str {
    match setting {
        Setting::Config => "other.yml",
        Setting::Tiers => "gpt-5 x2",
        Setting::Model => "gpt-5",
        Setting::TestCommand => "make test",
        Setting::AlsoRun => "ruff check .",
        Setting::SetupCommand => "make deps",
        Setting::WorkingDirectory => "packages/api",
        Setting::Objective => "Fix the parser.",
        Setting::OnlyTests => "tests/test_cart.py::test_total[a, b]",
        Setting::MaxCostUsd => "0.75",
        Setting::MaxDurationMinutes => "7.5",
        Setting::MaxIterations => "4",
        Setting::AuditDb => "log.db",
        Setting::NoAudit => "true",
        Setting::Push => "pr",
        Setting::Record => "out.json",
        Setting::Format => "json",
        Setting::PassEnv => "DATABASE_URL",
        Setting::ProtectedPaths => "vendor/**",
        Setting::Sandbox => "off",
        Setting::Network => "on",
        Setting::WaitFor => "merge",
        Setting::MaxPushes => "5",
        Setting::CiTimeoutMinutes => "5",
        Setting::MergeTimeoutMinutes => "90",
        Setting::Comment => "off",
        Setting::FailOn => "budget, no_model",
        Setting::MaxAttemptsPerPr => "9",
        Setting::SkipLabel => "no-bots",
        Setting::AllowedBots => "renovate[bot], dependabot[bot]",
        Setting::SignCommits => "true",
    }
}

/// What a plan says, its origins and words about it aside.
fn substance(plan: &Plan) -> Plan {
    Plan { values: Vec::new(), warnings: Vec::new(), ..plan.clone() }
}

#[test]
fn every_flag_and_every_variable_changes_the_plan() {
    let base = substance(&plan(&keys()));
    for &setting in Setting::ALL.iter().filter(|setting| **setting != Setting::Config) {
        let value = other_value(setting);
        let by_flag = Sources { flags: Settings::default().with(setting, value), ..keys() };
        let mut by_variable = keys();
        by_variable.env.insert(setting.env().to_owned(), value.to_owned());
        let (by_flag, by_variable) = (plan(&by_flag), plan(&by_variable));
        assert_ne!(substance(&by_flag), base, "{} changes nothing", setting.flag());
        assert_eq!(substance(&by_flag), substance(&by_variable), "{} and {}", setting.flag(), setting.env());
    }
}

#[test]
fn the_configuration_file_is_looked_for_where_the_flag_says() {
    assert_eq!(keys().config_path(), ".github/upshift.yml");
    let mut sources = keys();
    sources.env.insert("UPSHIFT_CONFIG".to_owned(), "b.yml".to_owned());
    assert_eq!(sources.config_path(), "b.yml");
    assert_eq!(flagged(Setting::Config, "a.yml").config_path(), "a.yml");
}

#[test]
fn names_of_flags_and_variables_follow_one_rule() {
    for setting in Setting::ALL {
        let kebab = setting.flag().strip_prefix("--").unwrap();
        assert_eq!(setting.env(), format!("UPSHIFT_{}", kebab.to_uppercase().replace('-', "_")));
    }
}

#[test]
fn a_flag_outranks_a_variable_a_variable_the_tiers_text_and_that_the_file() {
    let cost = |sources: &Sources| {
        let plan = plan(sources);
        let origin = plan.values.iter().find(|value| value.key == "global.maxTotalCostUsd").unwrap().origin.clone();
        (plan.budget.max_cost, origin)
    };
    let mut sources = keys();
    assert_eq!(cost(&sources), (MicroUsd(2_000_000), Origin::Default));
    sources.config_file = Some(file("u.yml", "global: {maxTotalCostUsd: 3}\n"));
    assert_eq!(cost(&sources), (MicroUsd(3_000_000), Origin::File("u.yml".to_owned())));
    let tiers = format!("{ONE_TIER}global: {{maxTotalCostUsd: 4}}\n");
    sources.tiers_file = Some(file("t.yml", &tiers));
    sources.flags = sources.flags.with(Setting::Tiers, "t.yml");
    assert_eq!(cost(&sources), (MicroUsd(4_000_000), Origin::Tiers("t.yml".to_owned())));
    sources.env.insert("UPSHIFT_MAX_COST_USD".to_owned(), "5".to_owned());
    assert_eq!(cost(&sources), (MicroUsd(5_000_000), Origin::Env("UPSHIFT_MAX_COST_USD".to_owned())));
    sources.flags = sources.flags.with(Setting::MaxCostUsd, "6");
    assert_eq!(cost(&sources), (MicroUsd(6_000_000), Origin::Flag("--max-cost-usd".to_owned())));
}

#[test]
fn an_empty_input_counts_as_unset() {
    let mut sources = keys();
    for setting in Setting::ALL {
        sources.env.insert(setting.env().to_owned(), " ".to_owned());
    }
    assert_eq!(substance(&plan(&sources)), substance(&plan(&keys())));
}

#[test]
fn the_defaults_are_the_documented_ones() {
    let plan = plan(&keys());
    assert_eq!((plan.budget.max_cost, plan.budget.max_active_ms), (MicroUsd(2_000_000), 15 * 60_000));
    assert_eq!((plan.budget.max_iterations, plan.entropy_threshold), (30, 3));
    assert_eq!(plan.on_entropy, OnEntropy::Escalate);
    assert_eq!((plan.agent.max_turns, plan.agent.max_attempts, plan.test.timeout_seconds), (40, 3, 300));
    assert_eq!((plan.github.push, plan.github.max_attempts_per_pr), (Push::None, 3));
    assert_eq!(plan.audit.as_deref(), Some(".upshift/audit.db"));
}

#[test]
fn the_audit_log_is_on_unless_switched_off() {
    let audit = |text: &str| plan(&configured(text)).audit;
    assert_eq!(audit("global: {auditDbPath: null}"), None);
    assert_eq!(audit("global: {auditDbPath: false}"), None);
    assert_eq!(audit("global: {auditDbPath: a/b.db}").as_deref(), Some("a/b.db"));
    assert_eq!(plan(&flagged(Setting::NoAudit, "true")).audit, None);
    assert_eq!(plan(&flagged(Setting::NoAudit, "false")).audit.as_deref(), Some(".upshift/audit.db"));
    let mut runner = keys();
    runner.env.insert("GITHUB_ACTIONS".to_owned(), "true".to_owned());
    runner.env.insert("RUNNER_TEMP".to_owned(), "/home/runner/temp/".to_owned());
    assert_eq!(plan(&runner).audit.as_deref(), Some("/home/runner/temp/upshift/audit.db"));
    let mut both = flagged(Setting::AuditDb, "a.db");
    both.env.insert("UPSHIFT_NO_AUDIT".to_owned(), "true".to_owned());
    assert_eq!(plan(&both).audit.as_deref(), Some("a.db"), "a flag outranks a variable");
    both.flags = both.flags.with(Setting::NoAudit, "true");
    assert!(super::told(&both).contains("--no-audit — contradicts --audit-db"));
}

#[test]
fn what_a_stall_leads_to_may_stand_in_two_places_but_not_differ() {
    assert_eq!(plan(&configured("onEntropy: continue\n")).on_entropy, OnEntropy::Continue);
    assert_eq!(plan(&configured("global: {onEntropy: halt, entropyThreshold: 5}\n")).entropy_threshold, 5);
    let told = super::told(&configured("onEntropy: continue\nglobal: {onEntropy: halt}\n"));
    assert!(told.contains("global.onEntropy — differs from"), "{told}");
}

#[test]
fn the_worst_case_is_the_cap_or_less() {
    let ladder = |extra: &str| format!("{ONE_TIER}{extra}");
    assert_eq!(plan(&configured(ONE_TIER)).worst_case, MicroUsd(2_000_000));
    let capped = ONE_TIER.replace("maxIterations", "maxCostUsd: 0.4, maxIterations");
    assert_eq!(plan(&configured(&capped)).worst_case, MicroUsd(400_000), "the tier's cap is all that can be spent");
    let free = configured("tiers: ollama/qwen3-coder x5\n");
    assert_eq!(plan(&free).worst_case, MicroUsd::ZERO);
    let turns = plan(&configured(&ladder("agent: {maxTurns: 1, maxAttempts: 1}\nglobal: {maxTotalCostUsd: 900}\n")));
    // Three calls: 191,808 prompt tokens at the cache-write price of 1.25 and 8,192 reply tokens at 5 dollars per million.
    assert_eq!(turns.worst_case, MicroUsd(3 * (239_760 + 40_960)));
    assert_eq!(turns.uncapped, [turns.worst_case]);
    // Beside a ladder that is free, or that costs less than the cap, others may be called.
    let advisor = "agent: {maxTurns: 1, maxAttempts: 1, advisors: {types: {instructions: Look at the types., models: [MODEL]}}}\n";
    let advised = |ladder: &str, model: &str| {
        plan(&configured(&format!("{ladder}{}global: {{maxTotalCostUsd: 900}}\n", advisor.replace("MODEL", model))))
            .worst_case
    };
    let free = "tiers: ollama/qwen3-coder x5\n";
    assert_eq!(advised(free, "ollama/qwen3-coder"), MicroUsd::ZERO);
    assert_eq!(advised(free, "claude-haiku-4-5"), MicroUsd(900_000_000));
    assert_eq!(advised(ONE_TIER, "claude-haiku-4-5"), MicroUsd(900_000_000));
}

#[test]
fn caps_that_contradict_each_other_are_warned_about() {
    let text = ONE_TIER.replace("maxIterations", "maxCostUsd: 9, maxIterations");
    let text = format!("{text}global: {{maxTotalIterations: 2}}\n");
    let warnings = plan(&configured(&text)).warnings.join("\n");
    assert!(warnings.contains("the cap of tier `a`, $9.00, is above the run's, $2.00"), "{warnings}");
    assert!(warnings.contains("3 iterations together, and the run ends after 2"), "{warnings}");
}

#[test]
fn a_cap_that_affords_no_call_is_warned_of_before_a_run_finds_out() {
    let capped = |cap: &str, ladder: &str| {
        plan(&configured(&format!("{ladder}global: {{maxTotalCostUsd: {cap}}}\n"))).warnings.join("\n")
    };
    let told = capped("0.001", ONE_TIER);
    assert!(
        told.contains("tier `a` cannot make a call: anthropic/claude-haiku-4-5 may cost $0.0114 or more"),
        "{told}"
    );
    assert!(told.contains("the cap is $0.001: raise --max-cost-usd"), "{told}");
    let of_tier = ONE_TIER.replace("maxIterations", "maxCostUsd: 0.002, maxIterations");
    assert!(capped("2", &of_tier).contains("the cap is $0.002: raise the tier's maxCostUsd"));
    assert!(!capped("0.02", ONE_TIER).contains("cannot make a call"));
    // A model of one's own costs nothing.
    assert!(!capped("0.001", "tiers: ollama/qwen3-coder x5\n").contains("cannot make a call"));
}
