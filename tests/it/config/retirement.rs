//! Models that end: who looks at the configuration is told in time, who runs is told from the day on.

use crate::world::model_server::{ModelServer, Say};
use crate::world::program::Program;
use crate::world::project::Project;

/// The day on which the default ladders were last looked at.
const TODAY: &str = "2026-11-23";
/// Every variable that makes a provider's ladder the default one, with a value.
const KEYS: [&str; 8] = [
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "OPENROUTER_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "DEEPSEEK_API_KEY",
    "XAI_API_KEY",
];

#[test]
fn every_default_ladder_is_checked_without_a_warning() {
    let project = Project::python();
    let program =
        KEYS.iter().fold(Program::new().with("UPSHIFT_TEST_CLOCK", TODAY), |program, key| program.with(key, "k"));
    let providers = ["anthropic", "openai", "gemini", "openrouter", "groq", "mistral", "xai", "deepseek", "ollama"];
    for provider in providers {
        let ladder = upshift::model::catalogue::default_ladder(provider).expect("a ladder");
        let said = program.run(project.path(), &["check", "--tiers", ladder, "--test-command", project.test_command]);
        assert_eq!(said.code, 0, "{provider}: {}", said.all());
        assert!(!said.out.contains("Warnings"), "{provider}: {}", said.out);
    }
}

#[test]
fn check_and_doctor_say_sixty_days_before_that_a_model_ends() {
    let project = Project::python();
    let on = |day: &str, command: &str| {
        let program = Program::new().with("ANTHROPIC_API_KEY", "k").with("UPSHIFT_TEST_CLOCK", day);
        program.run(project.path(), &[command, "--tiers", "claude-sonnet-4-5 x1", "--test-command", "true"]).all()
    };
    let soon = "`anthropic/claude-sonnet-4-5` is retired by its vendor on 2026-11-30, in 7 days (";
    let over = "`anthropic/claude-sonnet-4-5` was retired by its vendor on 2026-11-30, and calls of it are refused (";
    for command in ["check", "doctor"] {
        assert!(on(TODAY, command).contains(soon), "{command}");
        assert!(on("2026-11-30", command).contains(over), "{command}");
        assert!(!on("2026-09-30", command).contains("retired"), "{command}: 61 days before");
        assert!(on("2026-10-01", command).contains("in 60 days"), "{command}");
    }
    assert!(on(TODAY, "doctor").contains("→ Fix: use `claude-sonnet-5-5` in its place"));
}

#[test]
fn a_run_says_it_from_the_day_on() {
    for (day, told) in [("2026-11-29", false), ("2026-11-30", true)] {
        let project = Project::python();
        let server = ModelServer::start(|_| Say::text("nothing").into());
        let program = Program::with_anthropic(&server.url()).with("UPSHIFT_TEST_CLOCK", day);
        let args = ["run", "--no-audit", "--tiers", "claude-sonnet-4-5 x1", "--test-command", project.test_command];
        let said = program.run(project.path(), &args);
        assert_eq!(said.err.contains("was retired by its vendor"), told, "{day}: {}", said.err);
        server.finish();
    }
}

#[test]
fn github_models_is_gone_and_says_so() {
    let said = Program::new().run(Project::python().path(), &["check", "--tiers", "github/openai/gpt-4.1 x1"]);
    assert_eq!(said.code, 2);
    assert!(said.all().contains("GitHub Models was retired on 2026-07-30; use another provider"), "{}", said.all());
}
