//! What a caller passes in and a function of Ruby or Java now writes into: the caller finds another list than it gave.

use std::sync::LazyLock;

use regex::Regex;

use super::super::Language;
use super::sides::{Mark, Shape};

/// The head of a function, and what it is given.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static OF_RUBY: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^\s*def\s+[\w.?!]+\s*\(([^)]*)\)").unwrap());
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static OF_JAVA: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\s*(?:\w[\w<>\[\], ?]*\s)?\w+\s*\(([^()]+)\)\s*(?:throws\s[\w, .]+)?\{").unwrap());
/// Calls of Ruby that write into what they are called of.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static WRITES_RUBY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(\w+)(?:\.(?:\w+!|(?:shift|pop|push|append|unshift|prepend|concat|clear|delete|delete_at|delete_if|insert|replace|keep_if|fill|store|update)\b)|\s*<<\s|\[[^\]]+\]\s*=[^=~])").unwrap()
});
/// Calls of Java that do.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static WRITES_JAVA: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(?:Collections\.(?:sort|reverse|shuffle|swap|rotate|fill)|Arrays\.(?:sort|fill))\(\s*(\w+)|\b(\w+)(?:\.(?:sort|remove|removeIf|removeFirst|removeLast|clear|add|addAll|put|putAll|set|retainAll|removeAll|replaceAll)\(|\[[^\]]+\]\s*=[^=])").unwrap()
});

/// The first input that a change has a function write into, where the file wrote into none of that name before.
pub(super) fn mark(language: Language, before: &str, after: &str) -> Option<Mark> {
    let old = written(language, before);
    let (line, name) = written(language, after).into_iter().find(|(_, name)| old.iter().all(|(_, own)| own != name))?;
    Some(Mark { shape: Shape::AltersTheCallers, line, said: format!("`{name}` is the caller's own") })
}

/// The inputs that functions write into, with the line of each.
fn written(language: Language, text: &str) -> Vec<(u32, String)> {
    let (head, writes) = match language {
        Language::Ruby => (&*OF_RUBY, &*WRITES_RUBY),
        Language::Java => (&*OF_JAVA, &*WRITES_JAVA),
        Language::Python | Language::JavaScript | Language::Rust | Language::Go | Language::Php | Language::Cpp => {
            return Vec::new();
        }
    };
    let mut given: Vec<&str> = Vec::new();
    let mut found = Vec::new();
    for (line, number) in text.lines().zip(1_u32..) {
        if let Some(parameters) = head.captures(line).and_then(|head| head.get(1)) {
            let named =
                |one: &'_ str| one.split('=').next().and_then(|one| one.split_whitespace().last()).map(str::len);
            // A rest, a block and a keyword's options are the function's own.
            let is_passed = |one: &&str| !one.trim_start().starts_with(['*', '&']);
            let names = parameters.as_str().split(',').filter(is_passed);
            given = names
                .filter_map(|one| {
                    let head = one.split('=').next()?.trim_end();
                    head.get(head.len() - named(one)?..)
                })
                .map(|name| name.trim_end_matches(':'))
                .collect();
        }
        // From here on the name means a copy.
        given.retain(|name| !is_set(line, name));
        let writes = writes.captures_iter(line).filter_map(|set| set.get(1).or_else(|| set.get(2)));
        let writes = writes.filter(|name| given.contains(&name.as_str()));
        found.extend(writes.map(|name| (number, name.as_str().to_owned())));
    }
    found
}

/// Whether a line gives a name another value.
fn is_set(line: &str, name: &str) -> bool {
    let behind = line.trim_start().strip_prefix(name).map(str::trim_start).and_then(|behind| behind.strip_prefix('='));
    behind.is_some_and(|behind| !behind.starts_with(['=', '~']))
}

#[cfg(test)]
mod tests {
    use super::super::marks;
    use super::*;

    fn altered(path: &str, before: &str, after: &str) -> bool {
        marks(path, before, after).iter().any(|mark| mark.shape == Shape::AltersTheCallers)
    }

    #[test]
    fn an_input_that_is_written_into_is_found() {
        let ruby = |body: &str| format!("def top(scores, most = 3)\n  {body}\nend\n");
        let before = ruby("scores.first");
        for writes in ["scores.sort!.reverse!", "scores.shift", "scores << most", "scores[0] = 3"] {
            assert!(altered("a.rb", &before, &ruby(writes)), "{writes}");
        }
        for reads in
            ["scores.sort.last", "scores = scores.dup\n  scores.sort!", "own = [1]\n  own << 2", "scores[0] == 3"]
        {
            assert!(!altered("a.rb", &before, &ruby(reads)), "{reads}");
        }
        assert!(!altered("a.rb", &ruby("scores.pop"), &ruby("scores.shift")), "it did so before");
        let java = |body: &str| {
            format!("class A {{\n    static int top(List<Integer> scores, int most) {{\n        {body}\n    }}\n}}\n")
        };
        let before = java("return scores.get(0);");
        assert!(altered("A.java", &before, &java("Collections.sort(scores); return scores.get(0);")));
        assert!(altered("A.java", &before, &java("scores.remove(0); return 1;")));
        assert!(!altered(
            "A.java",
            &before,
            &java("scores = new ArrayList<>(scores);\n        Collections.sort(scores);")
        ));
        assert!(!altered(
            "A.java",
            &before,
            &java("if (scores.isEmpty()) { return 0; }\n        return scores.get(0);")
        ));
    }
}
