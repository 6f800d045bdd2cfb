//! Configuration: what is given decides the plan, and everything wrong with it is told at once.

mod catalogue;
mod commands;
mod errors;
mod first_look;
mod init;
mod ladders;
mod precedence;
mod providers;
mod retirement;
mod schema;
mod shipped;

use upshift::config::{ConfigErrors, FileContent, NamedFile, Plan, Setting, Sources, resolve};

use catalogue::CATALOGUE;
pub(crate) use shipped::loads;

/// Sources with the keys of two vendors and nothing else.
fn keys() -> Sources {
    let mut sources = Sources::default();
    for name in ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"] {
        sources.env.insert(name.to_owned(), "test-key".to_owned());
    }
    sources
}

fn file(path: &str, text: &str) -> NamedFile {
    NamedFile { path: path.to_owned(), content: FileContent::Text(text.to_owned()) }
}

/// Those sources with a configuration file.
fn configured(text: &str) -> Sources {
    Sources { config_file: Some(file(".github/upshift.yml", text)), ..keys() }
}

/// Those sources with a flag.
fn flagged(setting: Setting, value: &str) -> Sources {
    let sources = keys();
    Sources { flags: sources.flags.clone().with(setting, value), ..sources }
}

/// Those sources with a tiers file named by flag.
fn tiered(path: &str, text: &str) -> Sources {
    Sources { tiers_file: Some(file(path, text)), ..flagged(Setting::Tiers, path) }
}

fn plan(sources: &Sources) -> Plan {
    resolve(sources, &CATALOGUE).unwrap_or_else(|errors| panic!("{errors}"))
}

fn errors(sources: &Sources) -> ConfigErrors {
    match resolve(sources, &CATALOGUE) {
        Ok(_) => panic!("should have been refused"),
        Err(errors) => errors,
    }
}

/// The message without its first line's source, for short assertions.
fn told(sources: &Sources) -> String {
    errors(sources).to_string()
}

const ONE_TIER: &str = "tiers:\n  - {name: a, mode: simple, maxIterations: 3, models: {artisan: claude-haiku-4-5}}\n";
