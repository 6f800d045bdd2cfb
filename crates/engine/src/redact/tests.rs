use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use proptest::prelude::*;

use super::*;

const SECRET: &str = "s3cr3t/with+signs=\"and\\more\"";

fn redactor(secrets: &[&str]) -> Redactor {
    Redactor::new(&secrets.iter().map(|secret| SecretString::from(*secret)).collect::<Vec<_>>())
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn percent(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[test]
fn text_without_secrets_is_borrowed() {
    let redactor = redactor(&[SECRET]);
    assert!(matches!(redactor.redact("nothing here\nat all"), Cow::Borrowed(_)));
    assert!(matches!(Redactor::default().redact("plain"), Cow::Borrowed(_)));
}

#[test]
fn only_the_secret_goes() {
    let redactor = redactor(&["hunter2-hunter2"]);
    assert_eq!(redactor.redact("user=me pass=hunter2-hunter2, ok"), "user=me pass=***, ok");
}

#[test]
fn a_secret_is_found_around_what_nobody_sees() {
    let redactor = redactor(&["hunter2-hunter2"]);
    let token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let between = [
        "\u{200b}",
        "\u{ad}",
        "\u{202e}",
        "\u{e0041}",
        "\u{200d}",
        "\u{feff}",
        "\u{2060}",
        "\u{115f}",
        "\u{0}",
        "\u{8}",
        "\u{9b}",
        "\u{1b}[1m",
        "\u{1b}]0;title\u{7}",
        "\u{1b}]8;;x\u{1b}\\",
        "\u{1b}(B",
        "\u{1b}c",
        "\\u200b",
        "\\u001b]0;x\\u0007",
        "\\u001b\\u200b",
        "&#8203;",
        "&#x200B;",
    ];
    for hidden in between {
        assert_eq!(redactor.redact(&format!("a hunter2{hidden}-hun{hidden}ter2 b")), "a *** b", "{hidden:?}");
    }
    for hidden in between.iter().filter(|hidden| !hidden.starts_with(['\\', '&'])) {
        let (head, tail) = token.split_at(9);
        assert_eq!(redactor.redact(&format!("a {head}{hidden}{tail} b")), "a *** b", "{hidden:?}");
    }
    for seen in ["hunter2é-hunter2", "hunter2…-hunter2", "ｈunter2-hunter2", "hunter2\u{fffd}-hunter2"] {
        assert!(matches!(redactor.redact(seen), Cow::Borrowed(_)), "{seen}");
    }
}

#[test]
fn bytes_in_other_spellings_are_found() {
    let redactor = redactor(&["hunter2-hunter2"]);
    let each = |shape: fn(u8) -> String| "hunter2-hunter2".bytes().map(shape).collect::<String>();
    for spelled in [
        each(|byte| format!("\\x{byte:02x}")),
        each(|byte| format!("&#{byte};")),
        each(|byte| format!("&#x{byte:X};")),
        each(|byte| format!("{byte:02x}:")).trim_end_matches(':').to_owned(),
        each(|byte| format!("{byte:02X} ")).trim_end().to_owned(),
    ] {
        assert_eq!(redactor.redact(&format!("<{spelled}>")), "<***>", "{spelled}");
    }
}

#[test]
fn overlapping_secrets_go_as_one() {
    let redactor = redactor(&["abcdefgh12", "gh12ijklmn", "abcdefgh12ijklmnopqrst"]);
    assert_eq!(redactor.redact("<abcdefgh12ijklmn>"), "<***>");
    assert_eq!(redactor.redact("<abcdefgh12abcdefgh12>"), "<***>");
}

#[test]
fn short_secrets_are_left() {
    assert_eq!(redactor(&["test", "seven77"]).redact("a test of seven77"), "a test of seven77");
}

#[test]
fn a_secret_split_over_lines_is_found_when_it_is_long() {
    let long = "correct-horse-battery-staple";
    let redactor = redactor(&[long, "a phrase"]);
    for (split, masked) in [
        ("correct-horse-\n  battery-staple", "[***\n***]"),
        ("correct-\\\nhorse-battery-staple", "[***\n***]"),
        ("correct-horse\\n-battery-staple", "[***]"),
    ] {
        assert_eq!(redactor.redact(&format!("[{split}]")), masked, "lines keep their numbers: {split}");
    }
    assert_eq!(redactor.redact("\u{1b}[31mcorrect-\u{1b}[0mhorse-battery-staple"), "\u{1b}[31m***");
    let wrapped = STANDARD.encode(format!("password: {long} and more of it"));
    let (head, tail) = wrapped.split_at(24);
    let redacted = redactor.redact(&format!("{head}\n{tail}")).into_owned();
    assert!(redacted.contains("***\n***"), "{redacted}");
    assert_eq!(redactor.redact("aphr ase, a phr ase, a phrase"), "aphr ase, a phr ase, ***");
}

#[test]
fn each_line_of_a_secret_is_one() {
    let redactor = redactor(&["-----BEGIN THING-----\nfirst-line-0001\nsecond-line-02\n-----END THING-----\n"]);
    assert_eq!(redactor.redact("x second-line-02 y"), "x *** y");
    assert_eq!(redactor.redact("-----END THING-----"), "-----END THING-----");
}

#[test]
fn half_escaped_secrets_are_found() {
    let redactor = redactor(&["p@ss/w0rd+x=y"]);
    for spelled in ["p%40ss/w0rd+x=y", "p@ss%2fw0rd%2Bx=y", "p\\u0040ss\\/w0rd+x\\u003Dy", "%70%40ss/w0rd+x=y"] {
        assert_eq!(redactor.redact(&format!("q={spelled}&r")), "q=***&r", "{spelled}");
    }
}

#[test]
fn tokens_of_known_shapes_go_without_being_told() {
    let redactor = Redactor::default();
    let body = "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";
    for token in [
        format!("ghp_{body}"),
        format!("gho_{body}"),
        format!("ghs_{body}"),
        format!("github_pat_11ABC_{body}"),
        format!("sk-ant-api03-{body}"),
        format!("sk-proj-{body}"),
        format!("AIza{body}"),
        "AKIAIOSFODNN7EXAMPLE".to_owned(),
        "xoxb-123456789012-abcdef".to_owned(),
        format!("glpat-{body}"),
        format!("npm_{body}"),
        format!("sk_live_{body}"),
        format!("SG.{body}.{body}"),
        format!("hvs.{body}"),
        format!("dop_v1_{body}"),
        format!("shpat_{body}"),
        format!("eyJhbGciOiJIUzI1NiJ9.{body}.{body}"),
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEow/+=\nabc\n-----END RSA PRIVATE KEY-----".to_owned(),
        "-----BEGIN OPENSSH PRIVATE KEY-----\\nb3BlbnNzaC1r\\n".to_owned(),
    ] {
        let masked = token.lines().map(|_| MASK).collect::<Vec<_>>().join("\n");
        let text = format!("before \"{token}\" after");
        assert_eq!(redactor.redact(&text), format!("before \"{masked}\" after"), "{token}");
    }
    assert_eq!(redactor.redact(&format!("Authorization: Bearer {body}")), "Authorization: Bearer ***");
    assert_eq!(redactor.redact("AUTHORIZATION: basic eC1hY2Nlc3MtdG9rZW46"), "AUTHORIZATION: basic ***");
}

#[test]
fn ordinary_words_are_no_tokens() {
    let redactor = Redactor::default();
    for text in [
        "task-12345678901234567890123456",
        "sk-circle-fade-dot-animation-class",
        "npm_config_registry and npm_package_dependencies_something",
        "basic understanding-of-things; Bearer of bad news",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "AKIA is a prefix, highs_and_lows_of_something_long too",
    ] {
        assert_eq!(redactor.redact(text), text);
    }
}

#[test]
fn debug_shows_no_secret() {
    let redactor = redactor(&[SECRET]);
    assert_eq!(redactor.redact(SECRET), MASK);
    assert!(!format!("{redactor:?}").contains("s3cr3t"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Whatever stands around it and however it is spelled, the secret is gone.
    #[test]
    fn no_encoding_of_any_secret_survives(
        secret in "[ -~]{8,60}|\\PC{8,40}",
        before in "\\PC{0,20}",
        after in "\\PC{0,20}",
    ) {
        prop_assume!(secret.trim().chars().count() >= MIN_SECRET_CHARS && !secret.trim().chars().all(|c| c == '*'));
        let redactor = redactor(&[&secret]);
        let core = secret.trim();
        let json = serde_json::Value::from(core).to_string();
        let json = json.strip_prefix('"').unwrap().strip_suffix('"').unwrap();
        let spelled = [
            core.to_owned(),
            json.to_owned(),
            core.chars().rev().collect(),
            hex(core),
            hex(core).to_uppercase(),
            percent(core),
            percent(core).to_lowercase(),
            url::form_urlencoded::byte_serialize(core.as_bytes()).collect(),
        ];
        for spelling in &spelled {
            let text = format!("{before}{spelling}{after}");
            let redacted = redactor.redact(&text);
            prop_assert!(!redacted.contains(spelling.as_str()), "{spelling:?} survives in {redacted:?}");
        }
        let around = format!("{before}{core}{after}");
        for engine in [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD] {
            let encoded = engine.encode(&around);
            let redacted = redactor.redact(&encoded);
            prop_assert!(redacted.contains(MASK), "{encoded:?}");
            // What is left of the encoded text on either side is what stood around the secret, and a few bits.
            let (left, right) = redacted.split_once(MASK).unwrap();
            let kept = |text: &str| text.trim_end_matches('=').len() * 6 / 8;
            prop_assert!(kept(left) <= before.len() + 1 && kept(right) <= after.len() + 1, "{redacted:?}");
        }
    }

    /// A long secret is found wherever line breaks are put into it.
    #[test]
    fn no_line_break_hides_a_long_secret(secret in "[!-~]{16,60}", breaks in proptest::collection::vec((1_usize..16, "\n|\r\n|\n  |\n\t"), 1..4)) {
        prop_assume!(!secret.chars().all(|c| c == '*'));
        let mut split = secret.clone();
        for (at, gap) in breaks {
            split.insert_str(at, &gap);
        }
        let redacted = redactor(&[&secret]).redact(&split).into_owned();
        let stripped: String = redacted.split_whitespace().collect();
        prop_assert!(!stripped.contains(&secret), "{redacted:?}");
    }

    /// Any text at all goes through, and a second time changes nothing.
    #[test]
    fn redacting_twice_is_redacting_once(text in "(\\PC|[\\\\%\n\u{1b}]){0,200}", secret in "[!-~]{8,20}") {
        let redactor = redactor(&[&secret]);
        let once = redactor.redact(&format!("{text}{secret}{text}")).into_owned();
        prop_assert_eq!(redactor.redact(&once).into_owned(), once);
    }
}

/// 100 kB of source text without a secret: under a millisecond once the automaton is built (release only).
#[test]
#[cfg_attr(debug_assertions, ignore = "measures the optimised build")]
fn a_hundred_kilobytes_take_less_than_a_millisecond() {
    let secrets: Vec<String> =
        (0..6).map(|n| format!("sk-{}", STANDARD.encode(format!("key number {n} of the run")))).collect();
    let redactor = redactor(&secrets.iter().map(String::as_str).collect::<Vec<_>>());
    let line = "    fn risk_free(task: &Task) -> Result<(), Error> { assert_eq!(task.left, 12, \"50% \\n done\"); }\n";
    let text = line.repeat(100_000 / line.len());
    assert!(matches!(redactor.redact(&text), Cow::Borrowed(_)));
    let begun = std::time::Instant::now();
    for _ in 0..10 {
        assert!(matches!(redactor.redact(&text), Cow::Borrowed(_)));
    }
    let each = begun.elapsed() / 10;
    assert!(each.as_micros() < 1_000, "{each:?}");
}

#[test]
fn a_diff_is_looked_at_without_its_marks() {
    let redactor = redactor(&["correct-horse-battery-staple"]);
    let whole = |hunk: &str| format!("--- a/x\n+++ b/x\n@@ -1,3 +1,4 @@\n{hunk}\n@@ -9 +10 @@\n-a\n+b\n");
    for (hunk, masked) in [
        (" x = '\n+correct-horse-\n+battery-staple\n '", " x = '\n+***\n+***\n '"),
        ("-correct-horse-\n+nothing\n-battery-staple", "-***\n+nothing\n-***"),
        (" correct-horse-\n-wrong\n+battery-staple", " ***\n-wrong\n+***"),
        ("+'correct-horse-battery-staple'\n x", "+'***'\n x"),
        (" correct-horse-\n+++ wrong\n+battery-staple", " correct-horse-\n+++ wrong\n+battery-staple"),
    ] {
        assert_eq!(redactor.redact_diff(&whole(hunk)), whole(masked), "{hunk}");
    }
    assert!(matches!(redactor.redact_diff(&whole("-a\n+b")), Cow::Borrowed(_)));
    assert_eq!(redactor.redact_diff("+++ b/correct-horse-battery-staple"), "+++ b/***");
}

#[test]
fn what_a_change_may_not_carry_is_known_in_every_spelling() {
    let short = "hunter2-x9";
    let redactor = redactor(&["password", short, "an-ordinary-name", SECRET]);
    let spellings = [
        short.to_owned(),
        short.chars().rev().collect(),
        hex(short),
        percent(short),
        STANDARD.encode(format!("x{short}!")),
        "hunter2\u{200b}-x9".to_owned(),
    ];
    for spelled in spellings {
        assert_eq!(redactor.known(&format!("key = '{spelled}'")), BTreeSet::from([1]), "{spelled}");
    }
    assert_eq!(redactor.known("a password is no secret, whatever its variable is called"), BTreeSet::new());
    assert_eq!(redactor.known("an-ordinary-name"), BTreeSet::from([2]), "of sixteen characters");
    assert_eq!(redactor.known(&format!("{short} {SECRET}")), BTreeSet::from([1, 3]));
}

#[test]
fn a_text_under_way_is_cut_before_a_secret_that_may_have_begun() {
    let redactor = Redactor::new(&[SecretString::from("canary-0123456789-secret")]);
    for (text, ended) in [
        ("all is well\n", "all is well\n"),
        ("all is we", "all is "),
        ("key: canary-0123", "key: "),
        ("key: canary-\n0123\n", "key: "),
        ("key: canary-\u{1b}[1m0123 ", "key: "),
        ("key: canary-0123456789-secret\n", "key: canary-0123456789-secret\n"),
        ("key: can\n", "key: can\n"),
        ("", ""),
        ("caf\u{e9}", ""),
    ] {
        assert_eq!(text.get(..redactor.ended(text)), Some(ended), "{text:?}");
    }
    // Whatever is cut off, the beginning holds no part of it that tells.
    let whole = "the key is canary-0123456789-secret, as ever\n";
    for end in 0..whole.len() {
        let begun = whole.get(..end).unwrap();
        let kept = redactor.redact(begun.get(..redactor.ended(begun)).unwrap()).into_owned();
        assert!(!kept.contains("cana"), "{begun:?}: {kept:?}");
    }
}
