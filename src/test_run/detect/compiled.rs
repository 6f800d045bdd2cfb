//! Languages that are built first: Rust, Java and its kin, Go, .NET, C and C++.

use super::{Detected, Folder, found};

/// Cargo.
pub(super) fn rust(folder: &Folder) -> Option<Detected> {
    let text = folder.read("Cargo.toml")?;
    let nextest = folder.sub(".config").is_some_and(|sub| sub.has("nextest.toml"));
    let has = |table: &str| text.lines().any(|line| line.trim() == table);
    // A package at the root of a workspace hides the other members from a plain `cargo test`.
    let all = if has("[workspace]") && has("[package]") { " --workspace" } else { "" };
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
        let (program, by) = if folder.has("mvnw") { ("./mvnw", " and mvnw") } else { ("mvn", "") };
        return found(&format!("{program} -B test"), "maven-surefire", format!("pom.xml{by} is there"));
    }
    let file = folder.has_any(&["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"])?;
    let (program, by) =
        if folder.has("gradlew") { ("./gradlew", " and gradlew are there") } else { ("gradle", " is there") };
    found(&format!("{program} test"), "gradle", format!("{file}{by}"))
}

/// Go modules and workspaces.
pub(super) fn go(folder: &Folder) -> Option<Detected> {
    if folder.has("go.work") && !folder.has("go.mod") {
        // `./...` means nothing at the root of a workspace: its modules are named one by one.
        let command = "go test $(go list -m -f '{{.Dir}}/...')";
        return found(command, "go-test", "go.work is there".to_owned());
    }
    folder.has("go.mod").then(|| found("go test ./...", "go-test", "go.mod is there".to_owned()))?
}

/// .NET.
pub(super) fn dotnet(folder: &Folder) -> Option<Detected> {
    let ends = [".sln", ".slnx", ".csproj", ".fsproj", ".vbproj"];
    let file = ends.iter().find_map(|end| folder.file_where(|name| name.ends_with(end)))?;
    found("dotnet test", "dotnet", format!("{file} is there"))
}

/// CMake with CTest, and Meson.
pub(super) fn c_family(folder: &Folder) -> Option<Detected> {
    if let Some(text) = folder.read("CMakeLists.txt") {
        let lower = text.to_ascii_lowercase();
        if lower.contains("enable_testing") || lower.contains("include(ctest)") || lower.contains("add_test(") {
            let run = "ctest --test-dir build --output-on-failure";
            return found(
                &format!("cmake -S . -B build && cmake --build build && {run}"),
                "ctest",
                "CMakeLists.txt turns testing on".to_owned(),
            );
        }
    }
    let text = folder.read("meson.build")?;
    let command = "{ test -d build || meson setup build; } && meson test -C build --print-errorlogs";
    text.contains("test(").then(|| found(command, "meson-test", "meson.build has tests".to_owned()))?
}
