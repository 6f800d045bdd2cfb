//! What is wrong is told: all of it, where it stands, and how to mend it.

use proptest::prelude::*;
use upshift::config::{FileContent, NamedFile, Setting, Sources, resolve};

use super::catalogue::CATALOGUE;
use super::{ONE_TIER, configured, flagged, keys, plan, tiered, told};

#[test]
fn every_error_of_every_source_is_told_at_once() {
    let tiers = r#"{
        "tiers": [
            {"name": "a", "mode": "simpel", "maxIterations": 0, "models": {"artisan": "claude-haiku-4-5"}},
            {"name": "", "mode": "full", "maxIteration": 5, "models": {"librarian": "gpt-5"}},
            {"name": "c", "mode": "full", "maxIterations": 2.5, "models": {"artisan": "x", "critic": ["antropic/y", 7]}},
            {"name": "d", "mode": "full", "maxIterations": 2, "models": {"artisan": "x"}, "maxCostUsd": -1},
            {"name": "e", "mode": "simple", "maxIterations": 2, "models": {"artisan": []}},
            "f"
        ],
        "global": {"maxTotalCostUsd": 0, "auditDbPath": 7}
    }"#;
    let config =
        "maxTotalCostUsd: 3\nsafety:\n  sandbox: on\n  passEnv: [1, 'A B']\nproviders:\n  own: {baseUrl: 'ftp://x'}\n";
    let mut sources = tiered("tiers.json", tiers);
    sources.config_file = Some(NamedFile { path: "u.yml".to_owned(), content: FileContent::Text(config.to_owned()) });
    sources.flags = sources.flags.with(Setting::MaxCostUsd, "much").with(Setting::Push, "pr");
    insta::assert_snapshot!(told(&sources));
}

#[test]
fn a_file_that_is_not_there_is_named() {
    insta::assert_snapshot!(told(&flagged(Setting::Tiers, "nowhere.json")));
    let mut sources = flagged(Setting::Config, "nowhere.yml");
    sources.config_file = Some(NamedFile { path: "nowhere.yml".to_owned(), content: FileContent::Missing });
    assert!(told(&sources).contains("Configuration not found: nowhere.yml"));
    let unasked = NamedFile { path: ".github/upshift.yml".to_owned(), content: FileContent::Missing };
    plan(&Sources { config_file: Some(unasked), ..keys() });
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let content = FileContent::Unreadable("permission denied".to_owned());
    let sources = Sources { config_file: Some(NamedFile { path: "u.yml".to_owned(), content }), ..keys() };
    assert!(told(&sources).contains("Configuration cannot be read: u.yml: permission denied\n→ Fix:"));
}

#[test]
fn a_file_that_is_neither_yaml_nor_json_says_where() {
    insta::assert_snapshot!(told(&tiered("tiers.json", "{\n  \"tiers\": [,]\n}")));
    let tabs = told(&configured("global:\n\tmaxTotalCostUsd: 2\n"));
    assert!(tabs.contains("Configuration parse error in .github/upshift.yml"), "{tabs}");
    assert!(tabs.contains("YAML allows no tabs"), "{tabs}");
}

#[test]
fn unknown_keys_are_refused_with_what_was_meant() {
    for (text, fix) in [
        ("tier: []\n", "Did you mean `tiers`?"),
        ("maxTotalCostUsd: 2\n", "It belongs at `global.maxTotalCostUsd`."),
        ("global: {maxTotalCostUSD: 2}\n", "Did you mean `maxTotalCostUsd`?"),
        (
            "maxCostUsd: 2\n",
            "Did you mean `global.maxTotalCostUsd`, the cap of a run, or `tiers[].maxCostUsd`, that of a tier?",
        ),
        ("tiers: [{name: a, model: x}]\n", "Did you mean `models: {artisan: …}`?"),
        ("model: x\n", "Did you mean `models: {artisan: …}` of a tier below `tiers`, or the flag --model?"),
        (
            "test: {colour: red}\n",
            "use one of: command, commands, setupCommand, only, framework, timeoutSeconds, memoryMb, proofMinutes, junit",
        ),
        ("providers: {own: {wire: openai, baseUrl: 'http://x', apiKey: y}}\n", "name that variable as `apiKeyEnv`"),
    ] {
        let told = told(&configured(text));
        assert!(told.contains("unknown key") && told.contains(fix), "{text}: {told}");
    }
}

#[test]
fn a_key_that_stands_twice_is_refused() {
    for text in [
        "{\"global\": {\"maxTotalCostUsd\": 1, \"maxTotalCostUsd\": 9}}",
        "global: {maxTotalCostUsd: 1, maxTotalCostUsd: 9}\n",
    ] {
        assert!(told(&configured(text)).contains("global.maxTotalCostUsd — this key appears twice"));
    }
}

#[test]
fn equal_names_of_tiers_are_refused() {
    let twice = format!("{ONE_TIER}  - {{name: a, mode: full, maxIterations: 1, models: {{artisan: gpt-5}}}}\n");
    assert!(told(&configured(&twice)).contains("tiers[1].name — the name `a` is already used by tiers[0]"));
}

#[test]
fn numbers_out_of_range_are_refused_wherever_they_stand() {
    for (setting, value) in [
        (Setting::MaxCostUsd, "0"),
        (Setting::MaxCostUsd, "-1"),
        (Setting::MaxCostUsd, "nan"),
        (Setting::MaxCostUsd, "inf"),
        (Setting::MaxCostUsd, "1e300"),
        (Setting::MaxCostUsd, "two"),
        (Setting::MaxDurationMinutes, "0"),
        (Setting::MaxDurationMinutes, "1e9"),
        (Setting::MaxIterations, "0"),
        (Setting::MaxIterations, "1.5"),
        (Setting::MaxIterations, "99999999999999999999999999"),
        (Setting::NoAudit, "perhaps"),
        (Setting::Format, "yaml"),
        (Setting::Sandbox, "maybe"),
        (Setting::PassEnv, "A-B"),
        (Setting::ProtectedPaths, "a/[b"),
        (Setting::FailOn, "everything"),
    ] {
        let told = told(&flagged(setting, value));
        assert!(told.contains(&format!("Error 1: {}", setting.flag())), "{value}: {told}");
    }
    for text in [
        "global: {maxTotalCostUsd: .nan}",
        "global: {maxTotalCostUsd: .inf}",
        "global: {maxTotalCostUsd: '2'}",
        "global: {maxTotalDurationMinutes: -3}",
        "global: {maxTotalIterations: 0}",
        "agent: {maxTurns: 0}",
        "agent: {temperature: 3}",
        "test: {timeoutSeconds: 0}",
        "test: {command: ''}",
        "test: {command: [a]}",
        "entropyThreshold: true",
        "- a",
        "just text",
        "5",
    ] {
        assert!(told(&configured(text)).contains("→ Fix:"), "{text}");
    }
}

#[test]
fn a_whole_number_may_be_written_as_javascript_writes_it() {
    let text = ONE_TIER.replace("maxIterations: 3", "maxIterations: 3.0");
    assert_eq!(plan(&configured(&text)).tiers[0].max_iterations, 3);
}

#[test]
fn a_literal_key_is_refused_and_never_shown() {
    let key = format!("sk-{}", "abcdefghij".repeat(3));
    for text in [
        format!("providers: {{own: {{wire: openai, baseUrl: 'https://x', apiKeyEnv: {key}}}}}\n"),
        format!("providers: {{own: {{wire: openai, baseUrl: 'https://user:{key}@x/v1'}}}}\n"),
        format!("objective: {key}\n"),
        format!("tiers: [{{name: a, mode: simple, maxIterations: 1, models: {{artisan: {key}}}}}]\n"),
        format!("tiers: {key} x5\n"),
        format!("agent: {{maxTurns: {key}}}\n"),
        format!("safety: {{sandbox: {key}}}\n"),
        format!("test: {{command: [{key}]}}\n{key}: 1\n"),
    ] {
        let told = told(&configured(&text));
        assert!(!told.contains("abcdefghij"), "{told}");
    }
}

#[test]
fn what_this_version_cannot_do_is_refused_or_said() {
    let plan =
        plan(&configured("github: {push: none, waitFor: merge}\nsafety: {sandbox: required, network: loopback}\n"));
    assert_eq!(plan.refusals.len(), 2, "{:?}", plan.refusals);
    let mut able = configured("github: {push: pr, waitFor: merge}\nsafety: {sandbox: required, network: off}\n");
    able.build.confinement = true;
    let plan = super::plan(&able);
    assert!(plan.refusals.is_empty());
    assert!(!plan.warnings.iter().any(|warning| warning.contains("Action")));
}

#[test]
fn the_frameworks_of_the_build_are_the_ones_that_can_be_named() {
    let mut sources = configured("test: {framework: pytst}\n");
    plan(&sources);
    sources.build.frameworks = &["pytest", "cargo-test"];
    assert!(
        told(&sources).contains("test.framework — no framework is called 'pytst'\n    → Fix: Did you mean `pytest`?")
    );
}

#[test]
fn secrets_of_the_run_are_never_handed_to_the_tests() {
    for name in ["ANTHROPIC_API_KEY", "GITHUB_TOKEN"] {
        let told = told(&configured(&format!("{ONE_TIER}safety: {{passEnv: [HOME, {name}]}}\n")));
        assert!(told.contains(&format!("safety.passEnv — {name} is a secret of this run")), "{told}");
    }
    assert_eq!(plan(&flagged(Setting::PassEnv, "A, B\nC D")).safety.pass_env, ["A", "B", "C", "D"]);
}

#[test]
fn edits_of_tests_may_be_allowed_for_none_all_or_some() {
    let allowed =
        |value: &str| plan(&configured(&format!("safety: {{allowTestEdits: {value}}}\n"))).safety.allow_test_edits;
    assert_eq!(allowed("false"), [""; 0]);
    assert_eq!(allowed("true"), ["**"]);
    assert_eq!(allowed("['tests/new_*.py']"), ["tests/new_*.py"]);
    assert!(told(&configured("safety: {allowTestEdits: tests}\n")).contains("safety.allowTestEdits — expected a list"));
}

#[test]
fn a_mistyped_variable_is_warned_about() {
    let mut sources = keys();
    sources.env.insert("UPSHIFT_MAX_COST_US".to_owned(), "1".to_owned());
    let warnings = plan(&sources).warnings;
    assert!(warnings.iter().any(|w| w.contains("did you mean UPSHIFT_MAX_COST_USD?")), "{warnings:?}");
}

#[test]
fn a7_a_context_that_is_kept_over_iterations_is_refused_since_none_is() {
    let errors = told(&configured("global: {contextResetFrequency: 3}\n"));
    assert!(errors.contains("global.contextResetFrequency") && errors.contains("must be 1"), "{errors}");
    plan(&configured("global: {contextResetFrequency: 1}\n"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_resolving_panic(text in "\\PC{0,80}", flag in "\\PC{0,40}", index in 0..Setting::ALL.len()) {
        let mut sources = configured(&text);
        sources.flags = sources.flags.with(Setting::ALL[index], flag);
        let _plan = resolve(&sources, &CATALOGUE);
    }

    #[test]
    fn no_yaml_of_known_words_makes_resolving_panic(words in prop::collection::vec(word(), 0..40)) {
        let text = words.concat();
        if let Err(errors) = resolve(&configured(&text), &CATALOGUE) {
            prop_assert!(!errors.sources.is_empty());
            prop_assert!(errors.to_string().contains("→ Fix:"));
        }
        let _plan = resolve(&flagged(Setting::Tiers, &text), &CATALOGUE);
    }
}

/// A scrap of a configuration: mostly well-formed pieces, so that the reader is reached.
fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "tiers",
        "global",
        "models",
        "providers",
        "test",
        "agent",
        "safety",
        "github",
        "name",
        "mode",
        "artisan",
        "maxIterations",
        "maxTotalCostUsd",
        ": ",
        ":\n",
        "\n",
        "\n  ",
        "\n    ",
        "- ",
        "- {",
        "}",
        "[",
        "]",
        ", ",
        "simple",
        "full",
        "claude-haiku-4-5",
        "own/x",
        "5",
        "-1",
        "1e400",
        "null",
        "true",
        "\"",
        "'",
        "&a ",
        "*a",
        "<<: ",
        "!t ",
        "|\n",
        "# ",
        "\t",
        "{",
        "\u{feff}",
        " > ",
        " x5",
        "auto",
        "é",
        "---\n",
    ])
}

#[test]
fn an_advisor_that_could_not_be_asked_is_refused() {
    for (advisors, place, message) in [
        ("'a b': {instructions: x}", "agent.advisors.a b", "is not a valid name of an advisor"),
        ("a: {}", "agent.advisors.a.instructions", "is required"),
        ("a: {instructions: ' '}", "agent.advisors.a.instructions", "must not be empty"),
        ("a: {instructions: x, models: cli/claude}", "agent.advisors.a.models", "names a coding agent"),
        (
            "a: {instructions: x, models: [gpt-x, nobody/y]}",
            "agent.advisors.a.models[1]",
            "not found in provider registry",
        ),
        ("a: {instructions: x, maxTurns: 0}", "agent.advisors.a.maxTurns", "1"),
        ("a: {instructions: x, when: always}", "agent.advisors.a.when", "unknown key"),
    ] {
        let told = told(&configured(&format!("agent: {{advisors: {{{advisors}}}}}\n")));
        assert!(told.contains(place) && told.contains(message), "{advisors}: {told}");
    }
    let many: Vec<String> = (0..9).map(|n| format!("a{n}: {{instructions: x}}")).collect();
    let told = told(&configured(&format!("agent: {{advisors: {{{}}}}}\n", many.join(", "))));
    assert!(told.contains("names 9 advisors"), "{told}");
    let plan = plan(&configured("agent: {advisors: {b: {instructions: x, maxCostUsd: 0.05}, a: {instructions: y}}}\n"));
    let names: Vec<&str> = plan.agent.advisors.iter().map(|advisor| advisor.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn a_sub_agent_that_could_not_be_called_is_refused() {
    let long = "x".repeat(601);
    for (agents, place, message) in [
        ("'a b': {description: x, instructions: x}", "agent.subAgents.a b", "is not a valid name of a sub-agent"),
        ("a: {instructions: x}", "agent.subAgents.a.description", "is required"),
        ("a: {description: x}", "agent.subAgents.a.instructions", "is required"),
        (
            &format!("a: {{description: {long}, instructions: x}}"),
            "agent.subAgents.a.description",
            "has 601 characters",
        ),
        (
            "a: {description: x, instructions: x, models: cli/claude}",
            "agent.subAgents.a.models",
            "names a coding agent",
        ),
        (
            "a: {description: x, instructions: x, roles: [artisan, critic], allowWrite: true}",
            "agent.subAgents.a.roles",
            "names a role that may not change files",
        ),
        (
            "a: {description: x, instructions: x, tools: [agent__a, mcp__files]}",
            "agent.subAgents.a.tools[1]",
            "'mcp__files' is not a source of tools",
        ),
    ] {
        let told = told(&configured(&format!("agent: {{subAgents: {{{agents}}}}}\n")));
        assert!(told.contains(place) && told.contains(message), "{agents}: {told}");
    }
    let many: Vec<String> = (0..9).map(|n| format!("a{n}: {{description: x, instructions: x}}")).collect();
    let told = told(&configured(&format!("agent: {{subAgents: {{{}}}}}\n", many.join(", "))));
    assert!(told.contains("names 9 sub-agents"), "{told}");
}

#[test]
fn a_tool_behind_an_address_that_may_not_be_asked_is_refused() {
    let params = "params: {type: object, properties: {id: {type: string}}, required: [id]}";
    for (tool, place, message) in [
        ("a: {url: 'https://api.example/'}", "agent.rest.a.description", "is required"),
        ("a: {description: x}", "agent.rest.a.url", "is required"),
        ("a__b: {description: x, url: 'https://api.example/'}", "agent.rest.a__b", "is not a valid name of a tool"),
        (
            "a: {description: x, url: 'https://other.example/'}",
            "agent.rest.a.url",
            "the host other.example is not named",
        ),
        ("a: {description: x, url: 'http://api.example/'}", "agent.rest.a.url", "http is not https"),
        ("a: {description: x, url: 'http://10.0.0.5/'}", "agent.rest.a.url", "http is not https"),
        ("a: {description: x, url: 'http://localhost/'}", "agent.rest.a.url", "the host localhost is not named"),
        ("a: {description: x, url: 'https://me:pw@api.example/'}", "agent.rest.a.url", "is not a web address"),
        (
            &format!("a: {{description: x, url: 'https://{{id}}.example/', {params}}}"),
            "agent.rest.a.url",
            "is not a web address",
        ),
        (
            &format!("a: {{description: x, url: 'https://api.example:{{id}}/', {params}}}"),
            "agent.rest.a.url",
            "is not a web address",
        ),
        ("a: {description: x, url: 'https://api.example/{id}'}", "agent.rest.a.url", "placeholder `id`"),
        (
            "a: {description: x, url: 'https://api.example/', params: {type: array}}",
            "agent.rest.a.params",
            "of type object",
        ),
        (
            "a: {description: x, url: 'https://api.example/', method: post}",
            "agent.rest.a.method",
            "may change something",
        ),
        ("a: {description: x, url: 'https://api.example/', method: trace}", "agent.rest.a.method", "get"),
        (
            "a: {description: x, url: 'https://api.example/', headersEnv: {Host: X}}",
            "agent.rest.a.headersEnv.host",
            "is not a header that can be set",
        ),
        (
            "a: {description: x, url: 'https://api.example/', headersEnv: {Authorization: GITHUB_TOKEN}}",
            "agent.rest.a.headersEnv",
            "GITHUB_TOKEN is a secret of this run",
        ),
    ] {
        let told = told(&configured(&format!("agent: {{toolHosts: [api.example, 10.0.0.5], rest: {{{tool}}}}}\n")));
        assert!(told.contains(place) && told.contains(message), "{tool}: {told}");
    }
    for (server, place, message) in [
        ("a: {}", "agent.mcp.a", "must have either a command or a url"),
        ("a: {command: [x], url: 'https://api.example/'}", "agent.mcp.a", "must have either a command or a url"),
        ("a: {url: 'https://other.example/'}", "agent.mcp.a.url", "the host other.example is not named"),
        ("a: {url: 'https://api.example/', env: [X]}", "agent.mcp.a.env", "goes with the other kind of server"),
        ("a: {command: [x], headersEnv: {X-Key: X}}", "agent.mcp.a.headersEnv", "goes with the other kind of server"),
        (
            "a: {url: 'https://api.example/', headersEnv: {X-Key: ACTIONS_RUNTIME_TOKEN}}",
            "agent.mcp.a.headersEnv",
            "ACTIONS_RUNTIME_TOKEN is a secret of this run",
        ),
    ] {
        let told = told(&configured(&format!("agent: {{toolHosts: [api.example], mcp: {{{server}}}}}\n")));
        assert!(told.contains(place) && told.contains(message), "{server}: {told}");
    }
    for host in ["https://api.example", "'*.example'", "api.example/x", "api.example:80"] {
        let told = told(&configured(&format!("agent: {{toolHosts: [{host}]}}\n")));
        assert!(told.contains("agent.toolHosts[0]") && told.contains("is not a host"), "{host}: {told}");
    }
}

#[test]
fn words_for_the_failure_of_a_tool_that_there_cannot_be_are_refused() {
    let configure = |name: &str, words: &str| {
        configured(&format!(
            "agent:\n  mcp: {{files: {{command: [x]}}}}\n  subAgents: {{a: {{description: x, instructions: x}}}}\n  \
             toolFailures: {{'{name}': {words}}}\n"
        ))
    };
    for name in ["read_file", "mcp__file__look", "mcp__files", "mcp__files__", "agent__b", "agent__a__b", "*"] {
        let told = told(&configure(name, "no"));
        assert!(told.contains("is not a configured external tool"), "{name}: {told}");
        assert!(told.contains("these are: mcp__files, agent__a"), "{name}: {told}");
    }
    let told = told(&configure("agent__a", &"x".repeat(1_001)));
    assert!(told.contains("has 1001 characters"), "{told}");
    let plan = plan(&configured(
        "agent:\n  mcp: {files: {command: [x]}}\n  toolFailures: {'mcp__files__*': all, 'mcp__files__l*': some, mcp__files__look: one}\n",
    ));
    let told = |tool| plan.agent.failure_of(tool);
    assert_eq!(
        (told("mcp__files__look"), told("mcp__files__list"), told("mcp__files__x"), told("mcp__other__x")),
        (Some("one"), Some("some"), Some("all"), None)
    );
}

#[test]
fn a_specialist_and_a_text_say_what_is_wrong_with_them() {
    for (agents, place, message) in [
        ("router: {a: {}}", "agent.router.a.when", "is required"),
        ("router: {a: {when: x, roles: [critic]}}", "agent.router.a.roles", "librarian, artisan"),
        ("router: {a: {when: x, roles: []}}", "agent.router.a.roles", "names no role that hands over"),
        ("router: {a: {when: x, models: cli/codex}}", "agent.router.a.models", "names a coding agent"),
        ("router: {'a/b': {when: x}}", "agent.router.a/b", "is not a valid name of a specialist"),
        ("handoff: {note: {}}", "agent.handoff.note.instructions", "is required"),
        ("handoff: {pull_request: {maxTurns: 0}}", "agent.handoff.pull_request.maxTurns", "1"),
    ] {
        let told = told(&configured(&format!("agent: {{{agents}}}\n")));
        assert!(told.contains(place) && told.contains(message), "{agents}: {told}");
    }
    let plan = plan(&configured(
        "agent: {router: {web: {when: x, models: claude-haiku-5-5}}, handoff: {pull_request: {}, mine: {instructions: y}}}\n",
    ));
    let names: Vec<&str> = plan.agent.handoff.iter().map(|text| text.name.as_str()).collect();
    assert_eq!(names, ["mine", "pull_request"]);
    assert_eq!(plan.agent.router[0].roles, [upshift::domain::ladder::Role::Librarian]);
    assert!(plan.facts.of(&plan.agent.router[0].models[0]).price.is_some(), "its model is known and priced");
}

#[test]
fn a_block_of_data_whose_schema_would_go_unchecked_is_refused() {
    for (meta, place, message) in [
        ("risk: {schema: {oneOf: []}}", "agent.meta.risk.schema", "`oneOf` is not a supported keyword"),
        (
            "own: {schema: {properties: {a: {type: text}}}}",
            "agent.meta.own.schema",
            "`properties.a.type` must be one of",
        ),
        ("own: {}", "agent.meta.own.schema", "is required"),
        ("own: {schema: 3}", "agent.meta.own.schema", "a schema is a mapping, not number"),
        ("'a b': {schema: {}}", "agent.meta.a b", "is not a valid name of a block"),
        ("summary: {schema: {}}", "agent.meta.summary", "is a field of the report itself"),
        ("status: {schema: {}}", "agent.meta.status", "is a field of the report itself"),
        ("risk: {role: writer}", "agent.meta.risk.role", "expected one of librarian, artisan, critic"),
        ("risk: {schema: {}, needed: true}", "agent.meta.risk.needed", "unknown key"),
    ] {
        let told = told(&configured(&format!("agent: {{meta: {{{meta}}}}}\n")));
        assert!(told.contains(place) && told.contains(message), "{meta}: {told}");
    }
    let plan =
        plan(&configured("agent: {meta: {risk: {role: critic}, own: {required: false, schema: {type: string}}}}\n"));
    let names: Vec<(&str, bool)> = plan.agent.meta.iter().map(|block| (block.name.as_str(), block.required)).collect();
    assert_eq!(names, [("own", false), ("risk", true)]);
}
