//! Every wire of every default ladder, and every answer of the scripted vendor, against the types of the vendors' newest SDKs.
//!
//! What whole runs of the built program send, and what the scripted vendor answers, is recorded; `tests/sdk-types/check.mjs` compiles each
//! recording as a literal of the SDK's own type. Not part of the plain test run, as the SDKs have to be installed: `.ci/sdk-types` does
//! that and runs these tests.

mod answers;
mod ladders;
mod recordings;
mod wrong;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use recordings::Recordings;

/// Whether every row of the table of untyped fields must have been used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    Everything,
    Part,
}

/// Where `.ci/sdk-types` installed the SDKs.
#[expect(clippy::disallowed_methods, reason = "the folder of what a script installed outside of the test")]
fn installed() -> PathBuf {
    std::env::var("UPSHIFT_TEST_SDK_TYPES").expect("UPSHIFT_TEST_SDK_TYPES is not set: run .ci/sdk-types").into()
}

/// Compiles the recordings; returns whether all of them have their type, and what was said.
fn compiled(recordings: &Recordings, extent: Extent) -> (bool, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdk-types/check.mjs");
    let mut command = Command::new("node");
    command.arg(script).arg(installed()).arg(recordings.folder());
    command.env("UPSHIFT_TEST_SDK_TYPES_PART", if extent == Extent::Part { "1" } else { "" });
    let output = command.output().expect("node");
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).expect("text"))
}

#[test]
#[ignore = "needs the vendors' SDKs: run .ci/sdk-types"]
fn every_request_of_every_default_ladder_and_every_answer_has_the_type_of_its_sdk() {
    let recordings = Recordings::new(&installed().join("recorded"));
    ladders::record(&recordings);
    answers::record(&recordings);
    let (fits, said) = compiled(&recordings, Extent::Everything);
    assert!(fits, "{said}");
    writeln!(std::io::stderr(), "{said}{}", recordings.summary()).expect("told");
}

#[test]
#[ignore = "needs the vendors' SDKs: run .ci/sdk-types"]
fn a_request_or_an_answer_with_one_wrong_field_does_not_compile() {
    let recordings = Recordings::new(&installed().join("wrong"));
    let expected = wrong::record(&recordings);
    let (fits, said) = compiled(&recordings, Extent::Part);
    assert!(!fits, "{said}");
    let mut refused: Vec<String> = said
        .lines()
        .filter_map(|line| line.strip_prefix("✖ ")?.split_once(": "))
        .map(|(name, _)| name.to_owned())
        .collect();
    refused.sort();
    assert_eq!(refused, expected, "{said}");
}
