//! JavaScript's and TypeScript's frameworks.

use super::{Call, Direct, Framework, Results, Select, Tell, Written};

/// See [`super::ALL`].
pub(super) const TABLE: &[Framework] = &[
    Framework {
        name: "node-test",
        calls: &[Call::Words(&["node", "--test"])],
        results: Some(Results {
            told: Tell::Options(
                "NODE_OPTIONS",
                // A named reporter replaces the usual one, so that one is named as well.
                "--test-reporter=spec --test-reporter-destination=stdout --test-reporter=junit --test-reporter-destination={file}",
            ),
            put: None,
            written: Written::File,
        }),
        own_ways: &["--test-reporter"],
        selects: Some(Select::Parts("--test", "--test-name-pattern")),
        direct: Some(Direct::NodeBefore(" --test")),
        ..Framework::UNKNOWN
    },
    Framework {
        name: "jest",
        calls: &[Call::Word("jest"), Call::Word("jest.js")],
        results: Some(Results { told: Tell::Behind("--json --outputFile={file}"), put: None, written: Written::File }),
        own_ways: &["--json", "--outputFile", "--listTests", "--showConfig", "--watch ", "--watchAll "],
        selects: Some(Select::Titles("-t")),
        direct: Some(Direct::Node),
        ..Framework::UNKNOWN
    },
    Framework {
        name: "vitest",
        calls: &[Call::Word("vitest"), Call::Word("vitest.mjs")],
        results: Some(Results {
            told: Tell::Behind("--reporter=default --reporter=json --outputFile.json={file}"),
            put: None,
            written: Written::File,
        }),
        own_ways: &["reporters", "--reporter", "outputFile", "--watch "],
        configured_in: &["vitest.", "vite.config."],
        selects: Some(Select::Titles("-t")),
        direct: Some(Direct::Node),
        starts_through: None,
        runs_twice: None,
        goes_on: None,
    },
    Framework {
        name: "mocha",
        calls: &[Call::Word("mocha"), Call::Word("_mocha"), Call::Word("mocha.js")],
        results: Some(Results {
            told: Tell::Behind("--require {put}"),
            put: Some(("results.cjs", include_str!("put/mocha.cjs"))),
            written: Written::File,
        }),
        // In parallel each of mocha's workers would write the file anew, with its own tests alone.
        own_ways: &["parallel", "--watch", "--dry-run"],
        configured_in: &[".mocharc"],
        selects: Some(Select::Titles("--grep")),
        direct: Some(Direct::Node),
        starts_through: None,
        runs_twice: None,
        goes_on: None,
    },
    Framework {
        name: "playwright",
        calls: &[Call::Words(&["playwright", "test"])],
        results: Some(Results {
            // On CI it prints with `dot` by itself.
            told: Tell::VariableAndBehind(("PLAYWRIGHT_JUNIT_OUTPUT_FILE", "{file}"), "--reporter=dot,junit"),
            put: None,
            written: Written::File,
        }),
        // What its configuration names is overruled.
        own_ways: &["--reporter", "--list ", "--ui ", "--help"],
        ..Framework::UNKNOWN
    },
    Framework {
        name: "cucumber",
        calls: &[Call::Program("cucumber-js")],
        results: Some(Results { told: Tell::Behind("--format junit:{file}"), put: None, written: Written::File }),
        own_ways: &["format", "--dry-run", "-f ", "--help"],
        configured_in: &["cucumber.", ".cucumber"],
        ..Framework::UNKNOWN
    },
    Framework {
        name: "bun-test",
        calls: &[Call::Words(&["bun", "test"])],
        results: Some(Results {
            told: Tell::Behind("--reporter=junit --reporter-outfile={file}"),
            put: None,
            written: Written::File,
        }),
        own_ways: &["reporter", "--watch", "--help"],
        configured_in: &["bunfig.toml"],
        ..Framework::UNKNOWN
    },
    Framework {
        name: "deno-test",
        calls: &[Call::Words(&["deno", "test"])],
        results: Some(Results {
            told: Tell::Instead("deno test", "deno test --junit-path={file}"),
            put: None,
            written: Written::File,
        }),
        own_ways: &["--junit-path", "--reporter", "--no-run", "--watch", "--help"],
        ..Framework::UNKNOWN
    },
    Framework { name: "ava", calls: &[Call::Program("ava")], ..Framework::UNKNOWN },
    Framework { name: "jasmine", calls: &[Call::Program("jasmine")], ..Framework::UNKNOWN },
    Framework { name: "karma", calls: &[Call::Words(&["karma", "start"])], ..Framework::UNKNOWN },
];
