//! Allowed commands: from a line that a model wrote to the words of one program.
//!
//! Invariant: no shell ever sees the line. A sign that a shell would act on is refused outside quotes.

/// Signs with a meaning to a shell.
const SHELL_SIGNS: &str = ";&|<>$`\\(){}*?~!#\n\r\0";

/// The words of a command if it is, or begins with, an allowed one.
///
/// # Errors
/// Why not, in words for the model.
pub(super) fn allowed(command: &str, allow: &[String]) -> Result<Vec<String>, String> {
    let words = split(command).ok_or_else(|| refusal(command, allow))?;
    // Word by word: `cargo tests` does not begin with the command `cargo test`.
    let fits =
        allow.iter().filter_map(|entry| split(entry)).any(|entry| !entry.is_empty() && words.starts_with(&entry));
    if fits { Ok(words) } else { Err(refusal(command, allow)) }
}

/// The answer to a model about a command that is not allowed.
pub(super) fn refusal(command: &str, allow: &[String]) -> String {
    let known = if allow.is_empty() { "none".to_owned() } else { allow.join(", ") };
    let command: String = command.chars().take(80).collect();
    format!("`{command}` is not allowed. Allowed, with more arguments if you like and without shell signs: {known}")
}

fn split(line: &str) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    for c in line.chars() {
        match quote {
            Some(sign) if c == sign => quote = None,
            // Within quotes no sign means anything, since no shell reads the words.
            Some(_) => word.get_or_insert_default().push(c),
            None if c == '"' || c == '\'' => {
                // Opened at once: a pair of quotes with nothing between them is an empty word.
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c == ' ' || c == '\t' => words.extend(word.take()),
            None if SHELL_SIGNS.contains(c) => return None,
            None => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allow() -> Vec<String> {
        vec!["cargo fmt".to_owned(), "make".to_owned()]
    }

    #[test]
    fn an_allowed_command_may_have_more_arguments() {
        assert_eq!(allowed("cargo fmt", &allow()).unwrap(), ["cargo", "fmt"]);
        assert_eq!(allowed("make 'a b' -j2", &allow()).unwrap(), ["make", "a b", "-j2"]);
    }

    #[test]
    fn everything_else_is_refused_with_what_is_allowed() {
        for command in
            ["cargo", "cargo fmtx", "rm -rf x", "", "make; rm x", "make $(x)", "make `x`", "make > f", "make \"x"]
        {
            let why = allowed(command, &allow()).unwrap_err();
            assert!(why.contains("cargo fmt, make"), "{command}: {why}");
        }
        assert!(allowed("ls", &[]).is_err());
        assert!(allowed("ls", &[String::new()]).is_err(), "an empty entry allows nothing");
    }
}
