//! Which values of variables are taken for secrets, and the variables that the text of a `.env` file sets.
//!
//! Invariant: pure. A value whose masking would eat ordinary text is no secret here: plain words, numbers, places of files, and URLs
//! without credentials.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// Secrets below this many characters are not looked for: they would eat ordinary words.
pub const MIN_SECRET_CHARS: usize = 8;
/// From this length on even plain letters are no ordinary word.
const LONGEST_WORD: usize = 24;

/// The folders that absolute paths begin with.
const ROOTS: &[&str] =
    &["usr", "home", "opt", "etc", "var", "tmp", "srv", "mnt", "app", "root", "run", "Users", "github", "workspace"];

/// The secret parts of a variable's value: nothing, the value, or also the password in a URL.
#[must_use]
pub fn secret_parts(value: &str) -> Vec<String> {
    let value = value.trim();
    if value.chars().count() < MIN_SECRET_CHARS || is_number(value) || is_words(value) || is_place(value) {
        return Vec::new();
    }
    let Some((_scheme, rest)) = value.split_once("://") else { return vec![value.to_owned()] };
    // A query may hold a signature or a key.
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let Some((user, _host)) = authority.rsplit_once('@') else {
        return if rest.contains('?') { vec![value.to_owned()] } else { Vec::new() };
    };
    let password = user.split_once(':').map_or(user, |(_name, password)| password);
    // `postgres://app:password@db` is everybody's, and masking the word would eat the log.
    let long = password.chars().count() >= MIN_SECRET_CHARS && !is_words(password);
    std::iter::once(value).chain(long.then_some(password)).map(str::to_owned).collect()
}

/// From this length on a word that ends in `=` is base64 with its padding, and no name of a parameter.
const PADDED: usize = 16;

/// The secret parts of a header's value: those of the whole, of each word and parameter in it, and of what `Basic` encodes.
///
/// A service may echo any of them by itself.
#[must_use]
pub fn header_parts(value: &str) -> Vec<String> {
    let value = value.trim();
    let mut parts = vec![value.to_owned()];
    // The first of several words names the kind of key, and what stands left of `=` names a parameter: neither is secret.
    let words: Vec<&str> = value.split_whitespace().collect();
    let words = words.get(usize::from(words.len() > 1)..).unwrap_or_default();
    parts.extend(words.iter().map(|word| (*word).to_owned()));
    for item in words.iter().flat_map(|word| word.split(['"', '\'', ',', ';'])) {
        let given = match item.split_once('=') {
            Some((_name, given)) if !given.trim_matches('=').is_empty() => given,
            Some((padded, _)) if padded.len() >= PADDED => item,
            Some(_) => "",
            None => item,
        };
        parts.extend(std::iter::once(given).chain(given.split(':')).map(str::to_owned));
    }
    let scheme = value.split_once(char::is_whitespace).filter(|(kind, _)| kind.eq_ignore_ascii_case("basic"));
    if let Some(pair) = scheme.and_then(|(_, encoded)| decoded(encoded.trim())) {
        parts.extend(pair.split_once(':').map(|(_user, password)| password.to_owned()));
        parts.push(pair);
    }
    // Each part once, in order: the whole value comes first.
    let mut seen = BTreeSet::new();
    parts.iter().flat_map(|part| secret_parts(part)).filter(|part| seen.insert(part.clone())).collect()
}

/// The text of base64, with or without its padding.
fn decoded(encoded: &str) -> Option<String> {
    let bytes = STANDARD_NO_PAD.decode(encoded.trim_end_matches('=')).ok()?;
    String::from_utf8(bytes).ok()
}

/// Digits and what stands between them in numbers, dates and versions.
fn is_number(value: &str) -> bool {
    value.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | ':' | '-' | '+' | ' ' | '_' | '/'))
}

/// Letters in one case (or with a capital in front), parted as words are.
fn is_words(value: &str) -> bool {
    let plain = |word: &str| {
        let rest = word.get(1..).unwrap_or_default();
        word.bytes().all(|byte| byte.is_ascii_alphabetic())
            && (rest.bytes().all(|byte| byte.is_ascii_lowercase())
                || word.bytes().all(|byte| byte.is_ascii_uppercase()))
    };
    value.len() <= LONGEST_WORD && value.split([' ', '_', '-', '.', ',', ':', '/']).all(plain)
}

/// A path that says so by its beginning.
fn is_place(value: &str) -> bool {
    let relative = ["./", "../", "~/"].iter().any(|beginning| value.starts_with(beginning));
    let first = value.strip_prefix('/').and_then(|path| path.split('/').next());
    relative || first.is_some_and(|first| ROOTS.contains(&first))
}

/// The values that a `.env` file sets, as written and with the escapes of double quotes undone. At most `most`.
#[must_use]
pub fn dotenv_values(text: &str, most: usize) -> Vec<String> {
    let mut values = Vec::new();
    let mut rest = text.trim_start_matches('\u{feff}');
    while values.len() < most && !rest.is_empty() {
        let whole = rest;
        let (line, after) = whole.split_once('\n').unwrap_or((whole, ""));
        rest = after;
        let Some(written) = assigned(line) else { continue };
        let quote = written.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'));
        // Quoted text may go on beyond its line.
        let inside = whole.get(line.len() - written.len() + 1..).unwrap_or_default();
        let quoted = quote.and_then(|quote| Some((quote, closing(inside, quote)?)));
        let Some((quote, end)) = quoted else {
            values.push(without_comment(written).to_owned());
            continue;
        };
        let (raw, behind) = inside.split_at(end);
        if quote == '"' && raw.contains('\\') {
            // A program gets the value with its escapes undone, and may print either.
            values.push(unescaped(raw));
        }
        values.push(raw.to_owned());
        // Behind the closing quote only a comment may stand.
        rest = behind.split_once('\n').map_or("", |(_comment, next)| next);
    }
    values.retain(|value| !value.is_empty());
    values
}

/// The text behind the equals sign of `NAME=` or `export NAME=`.
fn assigned(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line.strip_prefix("export ").unwrap_or(line).trim_start();
    let (name, value) = line.split_once('=')?;
    let name = name.trim_end();
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
    is_name.then(|| value.trim_start())
}

fn without_comment(value: &str) -> &str {
    value.split_once(" #").map_or(value, |(value, _comment)| value).trim()
}

/// Where the quoted text ends. Single quotes know no escapes.
fn closing(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(at, c)| {
        let ends = c == quote && !escaped;
        escaped = c == '\\' && !escaped && quote == '"';
        ends.then_some(at)
    })
}

fn unescaped(raw: &str) -> String {
    let mut said = String::with_capacity(raw.len());
    let mut chars = raw.chars();
    while let Some(c) = chars.next() {
        said.push(match (c, c == '\\') {
            (_, true) => match chars.next() {
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some(other) => other,
                None => '\\',
            },
            (c, false) => c,
        });
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_headers_value_are_secrets_by_themselves() {
        let token = header_parts("Token token=\"zq81-Kx44-pw\",v=1; realm=shop");
        assert!(token.contains(&"zq81-Kx44-pw".to_owned()), "{token:?}");
        assert!(!token.iter().any(|part| part == "shop" || part == "token" || part == "1"), "{token:?}");
        for encoded in ["c2VjdXNlcjpIdW50ZXIyLVN1cGVyOTk=", "c2VjdXNlcjpIdW50ZXIyLVN1cGVyOTk"] {
            for kind in ["Basic", "basic"] {
                let basic = header_parts(&format!("{kind} {encoded}"));
                for part in [encoded, "secuser:Hunter2-Super99", "Hunter2-Super99"] {
                    assert!(basic.contains(&part.to_owned()), "{part}: {basic:?}");
                }
            }
        }
        assert_eq!(header_parts("Bearer k4-Ab12cd34"), ["Bearer k4-Ab12cd34", "k4-Ab12cd34"]);
        assert_eq!(header_parts("application/json"), Vec::<String>::new());
        let digest =
            header_parts("Digest username=\"svc\", api_key=\"zq81-Kx44-pw\", algorithm=SHA-256, other='qq17-Lm93-vv'");
        for part in ["zq81-Kx44-pw", "qq17-Lm93-vv"] {
            assert!(digest.contains(&part.to_owned()), "{part}: {digest:?}");
        }
        for name in ["username=", "username", "api_key=", "api_key", "algorithm=", "algorithm", "Digest"] {
            assert!(!digest.contains(&name.to_owned()), "{name}: {digest:?}");
        }
    }

    #[test]
    fn ordinary_values_are_no_secrets() {
        for value in [
            "short",
            "production",
            "postgres-dev",
            "Development",
            "127.0.0.1:5432",
            "20261123",
            "/usr/lib/jvm/java-21",
            "./data/dev.db",
            "http://localhost:8080/api",
            "https://example.org",
            "iteration_finished",
        ] {
            assert_eq!(secret_parts(value), Vec::<String>::new(), "{value}");
        }
    }

    #[test]
    fn what_nobody_writes_by_chance_is_a_secret() {
        for value in ["hunter2-hunter2", "XqPzRtYwNm", "correct-horse-battery-staple", "/x8Kd0+Qv1Zz==", "p4ssw0rd"] {
            assert_eq!(secret_parts(value), [value], "{value}");
        }
    }

    #[test]
    fn a_url_is_secret_with_credentials_and_so_is_its_password() {
        let url = "postgres://app:n0tforyou99@db.internal:5432/app";
        assert_eq!(secret_parts(url), [url, "n0tforyou99"]);
        let signed = "https://host/blob?sig=a8f9";
        assert_eq!(secret_parts(signed), [signed]);
    }

    #[test]
    fn a_dotenv_file_is_read_as_its_readers_do() {
        let text = "\u{feff}# comment\nexport A=plain-1 # why\nB = 'single # kept'\r\nC=\"two\\nlines\"\nD=\"first\nsecond\" # end\n\
                    E=`back tick`\nnot an assignment\nF=\nG=last";
        let expected = ["plain-1", "single # kept", "two\nlines", "two\\nlines", "first\nsecond", "back tick", "last"];
        assert_eq!(dotenv_values(text, 100), expected);
        assert_eq!(dotenv_values(text, 1), ["plain-1"]);
        assert_eq!(dotenv_values("A=\"never closed-1\nB=next-2", 100), ["\"never closed-1", "next-2"]);
    }
}
