//! Ruby, PHP, Elixir, Perl, shell, Lua, Dart, Swift.

use super::folder::Folder;
use super::found::{Detected, found};
use super::walk;

/// RSpec, Rails, minitest and test-unit.
pub(super) fn ruby(folder: &Folder) -> Option<Detected> {
    let gemfile = folder.read("Gemfile");
    let through = if gemfile.is_some() { "bundle exec " } else { "" };
    let named = gemfile.as_deref().is_some_and(|text| text.contains("rspec"));
    if named || folder.has(".rspec") {
        let why = if named { "Gemfile names rspec" } else { ".rspec is there" };
        return found(&format!("{through}rspec"), "rspec", why.to_owned());
    }
    let spec = folder.sub("spec").and_then(|sub| walk::file_in_or_below(&sub, |_, name| name.ends_with("_spec.rb")));
    if let Some(name) = spec {
        return found(&format!("{through}rspec"), "rspec", format!("spec/{name} is there"));
    }
    // Before the Rakefile, which Rails has as well: `bin/rails test` loads the application's environment.
    if folder.has("config.ru") && folder.sub("bin").is_some_and(|sub| sub.has("rails")) && folder.sub("test").is_some()
    {
        return found("bin/rails test", "minitest", "bin/rails and test are there".to_owned());
    }
    let framework =
        if gemfile.as_deref().is_some_and(|text| text.contains("test-unit")) { "test-unit" } else { "minitest" };
    for name in ["Rakefile", "rakefile", "Rakefile.rb"] {
        if folder.read(name).is_some_and(|text| text.contains("TestTask")) {
            return found(&format!("{through}rake test"), framework, format!("{name} has a test task"));
        }
    }
    let is_test = |name: &str| name.ends_with("_test.rb") || (name.starts_with("test_") && name.ends_with(".rb"));
    let name = walk::file_in_or_below(&folder.sub("test")?, |_, name| is_test(name))?;
    let command = format!(
        "{through}ruby -Ilib -Itest -e 'Dir.glob(\"./test/**/{{*_test,test_*}}.rb\").sort.each {{ |file| require file }}'"
    );
    found(&command, framework, format!("test/{name} is there"))
}

/// Composer's script, Pest, PHPUnit.
pub(super) fn php(folder: &Folder) -> Option<Detected> {
    let composer = folder.read("composer.json").and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok());
    let requires = |name: &str| {
        composer.as_ref().is_some_and(|all| {
            ["require-dev", "require"].iter().any(|kind| all.get(kind).is_some_and(|list| list.get(name).is_some()))
        })
    };
    if composer.as_ref().is_some_and(|all| all.pointer("/scripts/test").is_some()) {
        return found("composer test", "phpunit", "composer.json has the script `test`".to_owned());
    }
    if requires("pestphp/pest") {
        return found("vendor/bin/pest", "phpunit", "composer.json requires pest".to_owned());
    }
    if requires("phpunit/phpunit") {
        return found("vendor/bin/phpunit", "phpunit", "composer.json requires phpunit".to_owned());
    }
    let file = folder.has_any(&["phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"])?;
    found("vendor/bin/phpunit", "phpunit", format!("{file} is there"))
}

/// Mix.
pub(super) fn elixir(folder: &Folder) -> Option<Detected> {
    folder.has("mix.exs").then(|| found("mix test", "exunit", "mix.exs is there".to_owned()))?
}

/// Bats, Perl, Lua, Dart and Swift.
pub(super) fn small_ones(folder: &Folder) -> Option<Detected> {
    if folder.has("Package.swift") {
        return found("swift test", "generic", "Package.swift is there".to_owned());
    }
    if let Some(text) = folder.read("pubspec.yaml") {
        let command = if text.contains("flutter:") { "flutter test" } else { "dart test" };
        return found(command, "generic", "pubspec.yaml is there".to_owned());
    }
    if folder.has(".busted") {
        return found("busted", "busted", ".busted is there".to_owned());
    }
    if let Some(name) = folder.file_where(|name| name.ends_with(".bats")) {
        return found("bats .", "bats", format!("{name} is there"));
    }
    for sub in ["test", "tests", "t", "spec"] {
        let Some(tests) = folder.sub(sub) else { continue };
        if let Some(name) = tests.file_where(|name| name.ends_with(".bats")) {
            return found(&format!("bats {sub}"), "bats", format!("{sub}/{name} is there"));
        }
        if let Some(name) = tests.file_where(|name| name.ends_with(".t")) {
            return found(&format!("prove -lr {sub}"), "prove", format!("{sub}/{name} is there"));
        }
        if let Some(name) = tests.file_where(|name| name.ends_with("_spec.lua")) {
            return found("busted", "busted", format!("{sub}/{name} is there"));
        }
        // `bats` looks into subfolders only when it is told `-r`.
        if let Some(name) = walk::file_below(&tests, |_, name| name.ends_with(".bats")) {
            return found(&format!("bats -r {sub}"), "bats", format!("{sub}/{name} is there"));
        }
    }
    None
}
