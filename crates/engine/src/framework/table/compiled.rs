//! Frameworks of languages that are compiled: Rust, Go, Java, C#, C and C++.

use super::{Call, Framework, GoesOn, Results, Select, Tell, Written};

/// See [`super::ALL`].
pub(super) const TABLE: &[Framework] = &[
    Framework {
        name: "cargo-nextest",
        calls: &[Call::Words(&["cargo", "nextest"])],
        results: Some(Results {
            // A tool's own file is read beside the repository's, so that its profiles stay as they are.
            told: Tell::Instead("nextest run", "nextest run --tool-config-file upshift:{put}"),
            put: Some(("nextest.toml", "[profile.default.junit]\npath = \"{file}\"\n")),
            written: Written::File,
        }),
        own_ways: &["--tool-config-file", "--no-run"],
        selects: Some(Select::Arguments),
        goes_on: Some(GoesOn {
            behind: &[&["cargo", "nextest", "run"]],
            option: "--no-fail-fast",
            unless: &["--fail-fast", "--ff", "--nff", "--max-fail", "--no-run"],
        }),
        ..Framework::UNKNOWN
    },
    Framework {
        name: "cargo-test",
        calls: &[Call::Words(&["cargo", "test"]), Call::Words(&["cargo", "t"])],
        selects: Some(Select::BehindDashes),
        goes_on: Some(GoesOn {
            behind: &[&["cargo", "test"], &["cargo", "t"]],
            option: "--no-fail-fast",
            unless: &["--no-run"],
        }),
        ..Framework::UNKNOWN
    },
    Framework {
        name: "go-test",
        calls: &[Call::Words(&["go", "test"])],
        results: Some(Results {
            told: Tell::Instead("go test", "go test -json"),
            put: None,
            written: Written::Printed,
        }),
        own_ways: &["-json ", "-exec ", "-list ", "-c "],
        selects: Some(Select::Outermost("-run")),
        starts_through: Some(("GOFLAGS", "-exec={program}")),
        runs_twice: Some("-count=2"),
        ..Framework::UNKNOWN
    },
    Framework {
        name: "go-test",
        calls: &[Call::Program("gotestsum")],
        results: Some(Results {
            told: Tell::Variable("GOTESTSUM_JUNITFILE", "{file}"),
            put: None,
            written: Written::File,
        }),
        own_ways: &["--junitfile", "--watch", "--help"],
        ..Framework::UNKNOWN
    },
    Framework {
        name: "ctest",
        calls: &[Call::Program("ctest")],
        results: Some(Results { told: Tell::Behind("--output-junit {file}"), put: None, written: Written::File }),
        own_ways: &[
            "--output-junit",
            "-N",
            "--show-only",
            "--print-labels",
            "--help",
            "--version",
            "-S ",
            "-D ",
            "-T ",
        ],
        selects: Some(Select::Pattern("-R")),
        ..Framework::UNKNOWN
    },
    Framework {
        name: "googletest",
        calls: &[Call::Built],
        results: Some(Results {
            // A folder, since several programs of tests may run under one command, each with its own file.
            told: Tell::Variable("GTEST_OUTPUT", "xml:{folder}/"),
            put: None,
            written: Written::Folder,
        }),
        own_ways: &["--gtest_output", "--gtest_list_tests"],
        selects: Some(Select::Variable("GTEST_FILTER")),
        ..Framework::UNKNOWN
    },
    Framework {
        name: "boost-test",
        calls: &[Call::Built],
        results: Some(Results {
            // Readable lines to the output as before, and JUnit's beside them.
            told: Tell::Variable("BOOST_TEST_LOGGER", "HRF,error,stdout:JUNIT,all,{file}"),
            put: None,
            written: Written::File,
        }),
        own_ways: &["--log", "--logger", "--report", "--list_content", "--output_format"],
        ..Framework::UNKNOWN
    },
    Framework {
        name: "catch2",
        calls: &[Call::Built],
        results: Some(Results {
            // Since version 3; an older one objects, and runs as it stands from then on.
            told: Tell::Behind("--reporter console --reporter junit::out={file}"),
            put: None,
            written: Written::File,
        }),
        own_ways: &["-r ", "--reporter", "--out", "-o ", "--list"],
        ..Framework::UNKNOWN
    },
    Framework {
        name: "qt-test",
        calls: &[Call::Built],
        // The second `-o` keeps the plain text on the output.
        results: Some(Results { told: Tell::Behind("-o {file},junitxml -o -,txt"), put: None, written: Written::File }),
        own_ways: &["-o ", "-txt", "-xml", "-csv", "-tap", "-functions", "-datatags"],
        ..Framework::UNKNOWN
    },
    Framework {
        name: "libcheck",
        calls: &[Call::Built],
        results: Some(Results {
            told: Tell::Variable("CK_TAP_LOG_FILE_NAME", "{file}"),
            put: None,
            written: Written::File,
        }),
        ..Framework::UNKNOWN
    },
    Framework {
        name: "meson-test",
        calls: &[Call::Words(&["meson", "test"])],
        results: Some(Results {
            told: Tell::Always("**/meson-logs/testlog.junit.xml"),
            put: None,
            written: Written::File,
        }),
        ..Framework::UNKNOWN
    },
    Framework {
        name: "maven-surefire",
        calls: &[
            Call::Build("mvn", &["test", "verify", "install", "package"]),
            Call::Build("mvnw", &["test", "verify", "install", "package"]),
        ],
        results: Some(Results {
            told: Tell::Always("**/target/{surefire,failsafe}-reports/TEST-*.xml"),
            put: None,
            written: Written::File,
        }),
        // A module without any of the tests is no error, under both names of the option.
        selects: Some(Select::ClassAndMethod(
            " -DfailIfNoTests=false -Dsurefire.failIfNoSpecifiedTests=false",
            "-Dtest=",
        )),
        goes_on: Some(GoesOn {
            behind: &[&["mvn"], &["mvnw"]],
            option: "--fail-at-end",
            unless: &["-fae", "-ff", "-fn", "--fail-fast", "--fail-never"],
        }),
        ..Framework::UNKNOWN
    },
    Framework {
        // Its files are not asked for: it writes none for tests that it takes for up to date.
        name: "gradle",
        calls: &[
            Call::Build("gradle", &["test", "check", "build"]),
            Call::Build("gradlew", &["test", "check", "build"]),
        ],
        selects: Some(Select::EachMethod("--tests")),
        goes_on: Some(GoesOn {
            behind: &[&["gradle"], &["gradlew"]],
            option: "--continue",
            unless: &["--no-continue"],
        }),
        ..Framework::UNKNOWN
    },
    Framework {
        name: "junit",
        calls: &[Call::Build("sbt", &["test", "testOnly", "testFull"])],
        results: Some(Results {
            told: Tell::Always("**/target/**/test-reports/TEST-*.xml"),
            put: None,
            written: Written::File,
        }),
        ..Framework::UNKNOWN
    },
    Framework { name: "dotnet", calls: &[Call::Words(&["dotnet", "test"])], ..Framework::UNKNOWN },
];
