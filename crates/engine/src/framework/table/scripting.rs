//! Frameworks of Ruby, PHP, Elixir, Lua, Perl and the shell.

use super::{Call, Framework, Results, Select, Tell, Written};

/// See [`super::ALL`].
pub(super) const TABLE: &[Framework] = &[
    Framework {
        name: "rspec",
        calls: &[Call::Program("rspec")],
        results: Some(Results {
            // A second formatter, added where those of the command and of `.rspec` are in place: named as an option it would replace them.
            told: Tell::Options("SPEC_OPTS", "--require {put}"),
            put: Some(("results.rb", include_str!("put/rspec.rb"))),
            written: Written::File,
        }),
        own_ways: &["json ", "--dry-run", "--bisect", "--help", "--init"],
        configured_in: &[".rspec"],
        selects: Some(Select::Each("-e")),
        ..Framework::UNKNOWN
    },
    Framework {
        name: "minitest",
        calls: &[Call::Words(&["rails", "test"])],
        selects: Some(Select::Methods("-n")),
        ..Framework::UNKNOWN
    },
    Framework {
        name: "phpunit",
        calls: &[
            Call::Program("phpunit"),
            Call::Program("paratest"),
            Call::Program("pest"),
            Call::Words(&["artisan", "test"]),
        ],
        results: Some(Results { told: Tell::Behind("--log-junit {file}"), put: None, written: Written::File }),
        own_ways: &["junit", "--list-", "--help", "--version", "--generate-configuration", "--watch"],
        configured_in: &["phpunit.", "pest."],
        selects: Some(Select::Pattern("--filter")),
        ..Framework::UNKNOWN
    },
    Framework {
        name: "bats",
        calls: &[Call::Program("bats")],
        results: Some(Results {
            told: Tell::Behind("--report-formatter junit --output {folder}"),
            put: None,
            written: Written::Named("report.xml"),
        }),
        own_ways: &["--report-formatter", "--output", "-o ", "--count", "-c ", "--help"],
        ..Framework::UNKNOWN
    },
    Framework { name: "prove", calls: &[Call::Program("prove")], ..Framework::UNKNOWN },
    Framework { name: "busted", calls: &[Call::Program("busted")], ..Framework::UNKNOWN },
    Framework { name: "exunit", calls: &[Call::Words(&["mix", "test"])], ..Framework::UNKNOWN },
];
