//! Python's frameworks.

use super::{Call, Direct, Framework, Results, Select, Tell, Written};

/// See [`super::ALL`].
pub(super) const TABLE: &[Framework] = &[
    Framework {
        name: "pytest",
        calls: &[Call::Word("pytest"), Call::Word("py.test"), Call::Words(&["hatch", "test"])],
        results: Some(Results {
            told: Tell::Options("PYTEST_ADDOPTS", "--junitxml={file}"),
            put: None,
            written: Written::File,
        }),
        own_ways: &["--junit", "--collect-only", "--co "],
        configured_in: &["pytest.ini", ".pytest.ini", "pytest.toml", "pyproject.toml", "tox.ini", "setup.cfg"],
        selects: Some(Select::Arguments),
        direct: Some(Direct::Python(" -m pytest", &["pytest", "py.test"])),
        starts_through: None,
        runs_twice: None,
        goes_on: None,
    },
    Framework {
        name: "unittest",
        calls: &[Call::Module("unittest"), Call::Words(&["manage.py", "test"])],
        results: Some(Results {
            // unittest has no result file. A program of ours runs it in its place and writes one.
            told: Tell::Instead(" -m unittest", " {put}"),
            put: Some(("unittest_results.py", include_str!("put/unittest_results.py"))),
            written: Written::File,
        }),
        own_ways: &["--help"],
        selects: Some(Select::Dotted("-k")),
        direct: Some(Direct::Python(" -m unittest", &[])),
        ..Framework::UNKNOWN
    },
    Framework {
        name: "nose2",
        calls: &[Call::Program("nose2")],
        results: Some(Results {
            told: Tell::Behind("--plugin nose2.plugins.junitxml --junit-xml --junit-xml-path {file}"),
            put: None,
            written: Written::File,
        }),
        own_ways: &["junit", "--help"],
        configured_in: &["unittest.cfg", "nose2.cfg", "setup.cfg", "pyproject.toml"],
        ..Framework::UNKNOWN
    },
    Framework {
        name: "behave",
        calls: &[Call::Program("behave")],
        results: Some(Results {
            told: Tell::Behind("--junit --junit-directory {folder}"),
            put: None,
            written: Written::Folder,
        }),
        own_ways: &["junit", "--dry-run", "--help", "--steps-catalog"],
        configured_in: &["behave.ini", ".behaverc", "setup.cfg", "tox.ini", "pyproject.toml"],
        ..Framework::UNKNOWN
    },
    Framework {
        name: "robot",
        calls: &[Call::Program("robot")],
        results: Some(Results {
            // A name without an ending it would give one.
            told: Tell::Options("ROBOT_OPTIONS", "--xunit {folder}/results.xml"),
            put: None,
            written: Written::Named("results.xml"),
        }),
        own_ways: &["--xunit", "-x ", "--dryrun", "--help"],
        configured_in: &["robot.toml", "pyproject.toml"],
        ..Framework::UNKNOWN
    },
];
