//! Values that outlive a call, of languages in which one line says so: static fields, Ruby's class variables, Go's of a package.

use std::sync::LazyLock;

use regex::Regex;

use super::super::Language;
use super::sides::{Mark, Shape};

/// Lines that make such a value, with its name.
struct Forms {
    php: Regex,
    ruby: Regex,
    java: Regex,
    cpp: Regex,
    go: Regex,
    rust: Regex,
}

#[expect(clippy::unwrap_used, reason = "constants, which a test compiles")]
static FORMS: LazyLock<Forms> = LazyLock::new(|| {
    let regex = |text| Regex::new(text).unwrap();
    Forms {
        php: regex(r"^\s*(?:(?:public|private|protected|readonly)\s+)*static\s[^(=;]*(\$\w+)\s*(?:=[^;]*)?;"),
        ruby: regex(r"(@@\w+|\$[a-z]\w+)\s*(?:\|\|=|\+=|=[^=~]|<<|\[[^\]]*\]\s*=[^=~])"),
        java: regex(
            r"^\s*(?:(?:public|private|protected|volatile)\s+)*static\s+(?:volatile\s+)?(?:final\s+\w*(?:List|Map|Set|Queue|Deque|Atomic)\w*)?[\w<>,\[\]?. ]*?\b(\w+)\s*(?:=[^=;]*)?;",
        ),
        cpp: regex(
            r"^\s*(?:inline|static|thread_local)\s+(?:inline\s+|static\s+)?[\w:<>,&* ]+?\b(\w+)\s*(?:=[^;]*|\{[^;]*\})?;",
        ),
        go: regex(
            r"^(?:var\s+|\t)(\w+)\s*(?:=\s*(?:map\[|\[\]|make\(|new\(|&|sync\.|\d|\x22|nil|false|true)|[\w\[\]*.]+\s*$)",
        ),
        rust: regex(r"^\s*(?:pub(?:\([a-z]+\))?\s+)?static\s+(?:mut\s+)?(\w+)\s*:.*(?:Atomic|Mutex|RwLock|RefCell)"),
    }
});
/// Words of what is never set again, and of functions.
const FIXED: [&str; 5] = ["const ", "constexpr ", "function ", "readonly ", "static_assert"];

/// Java's containers, which are filled where they are final, too.
const OF_MANY: [&str; 6] = ["List<", "Map<", "Set<", "Queue<", "Deque<", "Atomic"];

/// The first such value that a change adds, and that the file writes to.
pub(super) fn mark(language: Language, before: &str, after: &str) -> Option<Mark> {
    let form = match language {
        Language::Php => &FORMS.php,
        Language::Ruby => &FORMS.ruby,
        Language::Java => &FORMS.java,
        Language::Cpp => &FORMS.cpp,
        Language::Go => &FORMS.go,
        Language::Rust => &FORMS.rust,
        Language::Python | Language::JavaScript => return None,
    };
    let mut is_in_group = false;
    after.lines().zip(1_u32..).find_map(|(line, number)| {
        let was_in_group = is_in_group;
        is_in_group = language == Language::Go && (line == "var (" || is_in_group && line != ")");
        // Of Go, an indented line is one of a group, or else within a function.
        if FIXED.iter().any(|word| line.contains(word))
            || language == Language::Go && line.starts_with('\t') && !was_in_group
        {
            return None;
        }
        // A comment says nothing, and Ruby's own streams and sets are everybody's.
        let is_said = line.trim_start().starts_with(['#', '/', '*'])
            || ["$stdout", "$stderr", "$stdin"].iter().any(|own| line.contains(own));
        let name = form.captures(line).filter(|_| !is_said)?.get(1)?.as_str();
        let is_constant =
            language == Language::Java && line.contains(" final ") && !OF_MANY.iter().any(|word| line.contains(word));
        if is_constant {
            return None;
        }
        let is_new = !mentions(before, name);
        // In Ruby and Rust the line, or the type, says that it is set.
        let is_set = matches!(language, Language::Ruby | Language::Rust) || is_written(after, name, number);
        (is_new && is_set).then(|| Mark { shape: Shape::KeepsState, line: number, said: format!("`{name}`") })
    })
}

/// Whether a text writes to a name on another line.
fn is_written(text: &str, name: &str, made: u32) -> bool {
    const CALLS: [&str; 15] = [
        ".push",
        ".pop",
        ".insert",
        ".erase",
        ".add",
        ".put",
        ".remove",
        ".clear",
        ".set",
        ".offer",
        ".poll",
        ".emplace",
        ".Store",
        ".incrementAndGet",
        ".getAndIncrement",
    ];
    const GIVEN: [&str; 5] = ["array_push(", "array_pop(", "array_shift(", "array_unshift(", "append("];
    let writes = |line: &str| {
        line.match_indices(name).any(|(at, found)| {
            let (before, behind) =
                (line.get(..at).unwrap_or_default(), line.get(at + found.len()..).unwrap_or_default());
            // An index belongs to the name, `names[i]` as well as `$jobs[]`.
            let rest = behind
                .strip_prefix('[')
                .and_then(|rest| rest.split_once(']'))
                .map_or(behind, |(_, rest)| rest)
                .trim_start();
            let sets = rest.starts_with('=') && !rest.starts_with("==") && !rest.starts_with("=>");
            let counts = ["++", "--", "+=", "-=", "??=", "||="].iter().any(|sign| rest.starts_with(sign));
            let is_given =
                GIVEN.iter().any(|call| before.trim_end_matches("self::").trim_end_matches("static::").ends_with(call));
            sets || counts || is_given || before.ends_with("++") || CALLS.iter().any(|call| behind.starts_with(call))
        })
    };
    // What a class fills while it is loaded is a table.
    let mut is_loading = false;
    text.lines().zip(1_u32..).any(|(line, number)| {
        is_loading = line.trim() == "static {" || is_loading && line.trim() != "}";
        number != made && !is_loading && writes(line)
    })
}

fn mentions(text: &str, name: &str) -> bool {
    text.split(|c: char| !(c.is_alphanumeric() || "_$@".contains(c))).any(|word| word == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(language: Language, after: &str) -> Option<String> {
        mark(language, "", after).map(|mark| mark.said)
    }

    #[test]
    fn what_outlives_a_call_is_marked_where_something_writes_to_it() {
        for (language, text, name) in [
            (
                Language::Php,
                "<?php\nclass Q {\n  private static array $jobs = [];\n  function f($j) { self::$jobs[] = $j; }\n}\n",
                "`$jobs`",
            ),
            (Language::Php, "<?php\nfunction f() {\n  static $n = 0;\n  return $n++;\n}\n", "`$n`"),
            (Language::Ruby, "class A\n  def f(a)\n    @@kept = a\n  end\nend\n", "`@@kept`"),
            (Language::Java, "class A {\n  private static int count;\n  int f() { return ++count; }\n}\n", "`count`"),
            (
                Language::Java,
                "class A {\n  static final Map<String, A> KEPT = new HashMap<>();\n  void f(String k) { KEPT.put(k, this); }\n}\n",
                "`KEPT`",
            ),
            (
                Language::Cpp,
                "inline std::vector<int> values;\nstruct S { void f(int a) { values.push_back(a); } };\n",
                "`values`",
            ),
            (
                Language::Go,
                "package a\n\nvar names = map[string]bool{}\n\nfunc f(n string) { names[n] = true }\n",
                "`names`",
            ),
            (
                Language::Go,
                "package a\n\nvar (\n\tnames []string\n)\n\nfunc f(n string) { names = append(names, n) }\n",
                "`names`",
            ),
            (Language::Rust, "static COUNT: AtomicU32 = AtomicU32::new(0);\n", "`COUNT`"),
        ] {
            assert_eq!(said(language, text).as_deref(), Some(name), "{text}");
            assert_eq!(mark(language, text, &format!("{text}\n")), None, "it was there");
        }
        for (language, text) in [
            (
                Language::Php,
                "<?php\nclass Q {\n  public static function f() { $a = 1; }\n  private static $names = ['a'];\n}\n",
            ),
            (Language::Ruby, "class A\n  def f(a)\n    @kept = a == 1\n    a.gsub(/x$/, 'y')\n  end\nend\n"),
            (
                Language::Java,
                "class A {\n  private static final int MOST = 3;\n  static int f(int a) { a = 2; return a; }\n}\n",
            ),
            (Language::Cpp, "static const int most = 3;\nstatic int f(int a) { int b = a; return b; }\n"),
            (
                Language::Go,
                "package a\n\nvar most = 3\n\nfunc f() int {\n\tvar sum int\n\tsum = most\n\treturn sum\n}\n",
            ),
            (Language::Rust, "static NAMES: [&str; 1] = [\"a\"];\n"),
            (Language::Rust, "static RE: OnceLock<Regex> = OnceLock::new();\n"),
            (
                Language::Java,
                "class A {\n  private static final int SIZE = 10;\n  int PAGE_SIZE;\n  void f() { PAGE_SIZE = 20; this.SIZE = 3; }\n}\n",
            ),
            (
                Language::Java,
                "class A {\n  static final Map<String, A> CODES = new HashMap<>();\n  static {\n    CODES.put(k, a);\n  }\n}\n",
            ),
            (
                Language::Go,
                "package a\n\nvar m = map[string]int{}\n\nfunc f() int {\n\tsum := 1\n\treturn sum + m[x]\n}\n",
            ),
            (Language::Ruby, "def f\n  $stdout << 'x'\n  # $last = 1\nend\n"),
        ] {
            assert_eq!(said(language, text), None, "{text}");
        }
    }
}
