//! Languages that are built first: Rust, Java and its kin, Go, .NET, C and C++.

use super::folder::Folder;
use super::found::{Detected, found};
use super::walk;
use crate::domain::shell::quote_path;

/// Cargo.
pub(super) fn rust(folder: &Folder) -> Option<Detected> {
    let text = folder.read("Cargo.toml")?;
    let nextest = folder.sub(".config").is_some_and(|sub| sub.has("nextest.toml"));
    // No parser of TOML: a manifest that does not parse still names its tables.
    let lines = || text.lines().map(|line| line.split('#').next().unwrap_or(line).trim());
    let has = |table: &str| lines().any(|line| line == format!("[{table}]"));
    let sets =
        |key: &str| lines().any(|line| line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('=')));
    let workspace = has("workspace") || lines().any(|line| line.starts_with("[workspace.")) || sets("workspace");
    // A package at the root of a workspace hides the other members from a plain `cargo test`, and so do default members.
    let hides = (workspace && has("package")) || sets("default-members") || text.contains("default-members");
    let all = if hides { " --workspace" } else { "" };
    if nextest {
        return found(
            &format!("cargo nextest run{all}"),
            "cargo-nextest",
            "Cargo.toml and .config/nextest.toml are there".to_owned(),
        );
    }
    found(&format!("cargo test{all}"), "cargo-test", "Cargo.toml is there".to_owned())
}

/// Maven and Gradle, through their wrappers where there are some.
pub(super) fn java(folder: &Folder) -> Option<Detected> {
    if folder.has("pom.xml") {
        // The wrapper fetches the version that the project wants. A Maven of the machine may be too old.
        let (program, by) = if folder.has("mvnw") { ("./mvnw", " and mvnw are there") } else { ("mvn", " is there") };
        return found(&format!("{program} -B test"), "maven-surefire", format!("pom.xml{by}"));
    }
    let file = folder.has_any(&["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"])?;
    let (program, by) =
        if folder.has("gradlew") { ("./gradlew", " and gradlew are there") } else { ("gradle", " is there") };
    found(&format!("{program} test"), "gradle", format!("{file}{by}"))
}

/// Go modules and workspaces.
pub(super) fn go(folder: &Folder) -> Option<Detected> {
    if folder.has("go.work") {
        // A module beside it is one of several.
        // `./...` means nothing at the root of a workspace: its modules are named one by one.
        let command = "go test $(go list -m -f '{{.Dir}}/...')";
        return found(command, "go-test", "go.work is there".to_owned());
    }
    folder.has("go.mod").then(|| found("go test ./...", "go-test", "go.mod is there".to_owned()))?
}

/// .NET.
pub(super) fn dotnet(folder: &Folder) -> Option<Detected> {
    if let Some(file) = folder.file_where(|name| name.ends_with(".sln") || name.ends_with(".slnx")) {
        return found("dotnet test", "dotnet", format!("{file} is there"));
    }
    let own: Vec<&str> = folder.files.iter().map(String::as_str).filter(|name| is_dotnet_project(name)).collect();
    let tests: Vec<String> =
        own.iter().filter(|name| is_dotnet_test(folder, name)).map(|name| (*name).to_owned()).collect();
    match (own.as_slice(), tests.as_slice()) {
        ([], _) => {
            let below = walk::files_below(folder, is_dotnet_test, MOST_TEST_PROJECTS);
            // Several folders of one project each are several projects, unless one solution would hold them.
            let split = below.iter().any(|path| path.matches('/').count() > 1);
            dotnet_projects(&below).filter(|_| split)
        }
        ([only], _) => found("dotnet test", "dotnet", format!("{only} is there")),
        (several, []) => found(
            "dotnet test",
            "dotnet",
            format!(
                "{} are all there; none is named as a test project, so dotnet may ask for one: give the command",
                several.join(", ")
            ),
        ),
        (_, tests) => dotnet_projects(tests),
    }
}

/// More test projects than this are a matter for a solution or a given command.
const MOST_TEST_PROJECTS: usize = 8;

fn is_dotnet_project(name: &str) -> bool {
    [".csproj", ".fsproj", ".vbproj"].iter().any(|end| name.ends_with(end))
}

/// A project that is named after tests or takes their SDK.
fn is_dotnet_test(folder: &Folder, name: &str) -> bool {
    is_dotnet_project(name)
        && (name.contains("Test") || folder.read(name).is_some_and(|text| text.contains("Microsoft.NET.Test.Sdk")))
}

/// Each test project by its path. One that fails makes the whole fail.
fn dotnet_projects(paths: &[String]) -> Option<Detected> {
    let one = |path: &String| format!("dotnet test {}", quote_path(path));
    let command = match paths {
        [] => return None,
        [only] => one(only),
        several => {
            let parts: Vec<String> = several.iter().map(|path| format!("{} || code=$?", one(path))).collect();
            format!("code=0; {}; exit $code", parts.join("; "))
        }
    };
    let verb = if paths.len() == 1 { "is a test project" } else { "are test projects" };
    found(&command, "dotnet", format!("{} {verb}", paths.join(", ")))
}

/// CMake with CTest, Meson, and Automake.
pub(super) fn c_family(folder: &Folder) -> Option<Detected> {
    if let Some(text) = folder.read("CMakeLists.txt") {
        // CMake's commands know neither capitals nor blanks: `Enable_Testing ( )` is one.
        let lower: String = text.to_ascii_lowercase().split_whitespace().collect();
        if lower.contains("enable_testing") || lower.contains("include(ctest)") || lower.contains("add_test(") {
            let run = "ctest --test-dir build --output-on-failure";
            return found(
                &format!("cmake -S . -B build && cmake --build build && {run}"),
                "ctest",
                "CMakeLists.txt turns testing on".to_owned(),
            );
        }
    }
    if folder.read("meson.build").is_some_and(|text| text.contains("test(")) {
        let command = "{ test -d build || meson setup build; } && meson test -C build --print-errorlogs";
        return found(command, "meson-test", "meson.build has tests".to_owned());
    }
    automake(folder)
}

fn automake(folder: &Folder) -> Option<Detected> {
    if !folder.has("Makefile.am") || !(folder.has("configure.ac") || folder.has("configure.in")) {
        return None;
    }
    let lists_tests = |folder: &Folder, name: &str| {
        name == "Makefile.am" && folder.read(name).is_some_and(|text| text.contains("TESTS"))
    };
    let tests = walk::file_in_or_below(folder, lists_tests)?;
    // Configured once: a release brings `configure`, a checkout has to make it.
    let configured = "test -f Makefile || { { test -x configure || autoreconf --install; } && ./configure; }";
    found(&format!("{{ {configured}; }} && make check VERBOSE=1"), "automake", format!("{tests} lists tests"))
}
