//! Conditions within the texts of a program: of a template, of SQL, and of code that is compiled from a text.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::choice::{Choice, Way};
use super::edit::Edit;
use super::language::Language;

/// Extensions of files that are templates as a whole.
const TEMPLATES: [&str; 10] = ["erb", "ejs", "j2", "jinja", "jinja2", "html", "htm", "tmpl", "tpl", "hbs"];
/// Functions that take a text as code, by the last part of their names.
const COMPILERS: [&str; 12] = [
    "eval",
    "exec",
    "compile",
    "Function",
    "Script",
    "runInContext",
    "runInNewContext",
    "runInThisContext",
    "compileFunction",
    "instance_eval",
    "class_eval",
    "module_eval",
];
/// Objects whose functions of those names compile a text of the same language.
const HOSTS: [&str; 5] = ["vm", "builtins", "globalThis", "window", "self"];
/// Longer conditions are none.
const MOST_BYTES: usize = 400;

#[expect(clippy::unwrap_used, reason = "constants, which a test compiles")]
fn pattern(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap()
}

/// The conditions of templates, each with the words that settle it.
static OF_TEMPLATES: LazyLock<[(Regex, Mark); 5]> = LazyLock::new(|| {
    [
        (pattern(r"\{\{[-~]?\s*#?(?:else\s+)?(?:if|unless)\s+([^{}\n]+?)\s*[-~]?\}\}"), Mark::Word),
        (pattern(r"\{%[-+~]?\s*(?:if|elif|elsif|elseif|unless)\s+([^%\n]+?)\s*[-+~]?%\}"), Mark::Sign),
        (pattern(r"\{\{[^{}\n]*?\bif\s+([^{}\n]+?)\s+else\b[^{}\n]*\}\}"), Mark::Sign),
        (
            pattern(r"<%[-_]?\s*(?:\}?\s*else\s+)?(?:if|elsif|unless)\b\s*([^%\n]+?)\s*(?:\bthen\s*)?\{?\s*-?%>"),
            Mark::Word,
        ),
        (pattern(r"<%[-=]=?\s*([^%\n?,]+?\??)\s+\?\s[^%\n]*?%>"), Mark::Word),
    ]
});
/// The beginning of a text that is SQL.
static IS_SQL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?is)^\s*(?:select\b|update\s+\S+\s+set\b|delete\s+from\b|insert\s+into\b|with\s+\S+\s+as\b|create\s+(?:or\s+replace\s+)?(?:view|trigger|function)\b)",
    )
});
/// The conditions of SQL.
static OF_SQL: LazyLock<[Regex; 4]> = LazyLock::new(|| {
    [
        pattern(
            r"(?is)\b(?:where|having)\s+(.+?)\s*(?:\b(?:order\s+by|group\s+by|having|limit|returning|union)\b|;|$)",
        ),
        pattern(r"(?is)\bwhen\s+(.+?)\s+then\b"),
        pattern(r"(?is)\biif\s*\(\s*([^,]+),"),
        pattern(r"\(((?:[^()]|\([^()]*\))*(?:=|<|>)(?:[^()]|\([^()]*\))*)\)"),
    ]
});
/// A statement of SQL that alters what is stored.
static ALTERS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\b(?:update|delete|insert|replace|merge|drop|truncate|create|trigger|call|exec)\b"));
/// What makes a part of SQL a condition.
static COMPARES: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)[=<>]|\b(?:between|like|in|is|glob|exists)\b"));

/// How a template writes what holds and what does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// `true` and `false`.
    Word,
    /// `1` and `0` where `true` may be a name that is not known.
    Sign,
}

/// The conditions of a file that is a template or SQL as a whole. None of any other.
pub(super) fn of_file(path: &str, text: &str) -> Vec<Choice> {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    match extension {
        "sql" => of_sql(text, 0..text.len()),
        // Liquid takes 0 for yes.
        "liquid" | "twig" => of_template(text, 0..text.len(), false),
        _ if TEMPLATES.contains(&extension) => of_template(text, 0..text.len(), true),
        _ => Vec::new(),
    }
}

/// The conditions of a literal text of a program. The range holds its quotes. `read` finds the choices of a text of the same language.
pub(super) fn of_literal(
    text: &str,
    literal: Range<usize>,
    language: Language,
    read: &dyn Fn(&str) -> Vec<Choice>,
) -> Vec<Choice> {
    let Some(inner) = text.get(literal.clone()).and_then(|spelled| within(spelled, literal.start)) else {
        return Vec::new();
    };
    let mut all = of_template(text, inner.clone(), language == Language::Python);
    all.extend(of_sql(text, inner.clone()));
    if is_compiled(text, literal.start) {
        all.extend(of_code(text, inner, read));
    }
    all
}

/// The part of a literal between its quotes.
fn within(spelled: &str, start: usize) -> Option<Range<usize>> {
    let first = spelled.find(['"', '\'', '`'])?;
    let quote = spelled.get(first..)?.chars().next()?;
    let same = spelled.get(first..)?.chars().take_while(|c| *c == quote).count();
    let quotes = if same >= 3 { 3 } else { 1 };
    let last = spelled.rfind(quote)?.checked_sub(quotes - 1)?;
    (first + quotes <= last).then_some(start + first + quotes..start + last)
}

fn of_template(text: &str, within: Range<usize>, signs: bool) -> Vec<Choice> {
    let Some(part) =
        text.get(within.clone()).filter(|part| part.contains("{{") || part.contains("{%") || part.contains("<%"))
    else {
        return Vec::new();
    };
    let each = |(pattern, mark): &(Regex, Mark)| {
        let words = if *mark == Mark::Sign && signs { ["1", "0"] } else { ["true", "false"] };
        let found: Vec<Range<usize>> =
            pattern.captures_iter(part).filter_map(|found| Some(found.get(1)?.range())).collect();
        found.into_iter().filter_map(move |at| {
            choice(text, shifted(&at, within.start), true, &|condition, holds| {
                let word = if holds { words[0] } else { words[1] };
                // Around a condition in brackets the brackets stay.
                if condition.starts_with('(') { format!("({word})") } else { word.to_owned() }
            })
        })
    };
    OF_TEMPLATES.iter().flat_map(each).collect()
}

fn of_sql(text: &str, within: Range<usize>) -> Vec<Choice> {
    let Some(part) = text.get(within.clone()).filter(|part| IS_SQL.is_match(part)) else { return Vec::new() };
    // What deletes some rows would delete all of them.
    let alters = ALTERS.is_match(part);
    let each = |pattern: &Regex| {
        let found: Vec<Range<usize>> =
            pattern.captures_iter(part).filter_map(|found| Some(found.get(1)?.range())).collect();
        let is_condition = |at: &Range<usize>| {
            let condition = part.get(at.clone()).unwrap_or_default();
            COMPARES.is_match(condition) && !IS_SQL.is_match(condition)
        };
        // The condition stays, since a statement has as many values as it has places for them.
        let settled = |condition: &str, holds: bool| {
            if holds { format!("(({condition}) OR 1=1)") } else { format!("(({condition}) AND 1=0)") }
        };
        found
            .into_iter()
            .filter(is_condition)
            .filter_map(move |at| choice(text, shifted(&at, within.start), !alters, &settled))
            .collect::<Vec<_>>()
    };
    OF_SQL.iter().flat_map(each).collect()
}

/// Choices within code that is compiled from a text.
fn of_code(text: &str, within: Range<usize>, read: &dyn Fn(&str) -> Vec<Choice>) -> Vec<Choice> {
    // An escape means another place than its own.
    let Some(code) = text.get(within.clone()).filter(|code| !code.contains('\\')) else { return Vec::new() };
    let first = line_of(text, within.start);
    let moved = |choice: Choice| Choice {
        lines: (choice.lines.0 + first - 1, choice.lines.1 + first - 1),
        ways: choice
            .ways
            .into_iter()
            .map(|(edit, way)| (Edit { range: shifted(&edit.range, within.start), text: edit.text }, way))
            .collect(),
        is_within_text: true,
        ..choice
    };
    // A quote of an edit's own would end the literal.
    let quote = text.get(..within.start).and_then(|before| before.chars().next_back());
    let fits = |choice: &Choice| {
        let is_quoted =
            |text: &str, own: &str| quote.is_some_and(|quote| text.matches(quote).count() > own.matches(quote).count());
        choice.ways.iter().all(|(edit, _)| !is_quoted(&edit.text, code))
    };
    read(code).into_iter().filter(fits).map(moved).collect()
}

/// Whether a literal is given to what takes it as code.
fn is_compiled(text: &str, start: usize) -> bool {
    let before = text.get(..start).unwrap_or_default().trim_end();
    let before = before.strip_suffix('(').unwrap_or(before).trim_end();
    let is_sign = |c: char| !c.is_alphanumeric() && c != '_';
    let name = before.rsplit(is_sign).next().unwrap_or_default();
    // `re.compile` and `db.exec` take another language's text.
    let of = before.strip_suffix(name).and_then(|rest| rest.strip_suffix('.'));
    let of = of.map(|rest| rest.rsplit(is_sign).next().unwrap_or_default());
    let is_plain =
        !["eval", "exec", "compile", "Script", "Function"].contains(&name) || of.is_none_or(|of| HOSTS.contains(&of));
    COMPILERS.contains(&name) && is_plain
}

fn shifted(range: &Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}

fn line_of(text: &str, at: usize) -> u32 {
    let before = text.get(..at).map_or(0, |before| before.matches('\n').count());
    u32::try_from(before + 1).unwrap_or(u32::MAX)
}

/// A condition that another language decides. One that may not hold is settled the other way alone.
fn choice(text: &str, range: Range<usize>, may_hold: bool, settled: &dyn Fn(&str, bool) -> String) -> Option<Choice> {
    let spelled = text.get(range.clone())?.to_owned();
    let is_even = |sign: char| spelled.matches(sign).count().is_multiple_of(2);
    let is_whole = spelled.matches('(').count() == spelled.matches(')').count() && is_even('\'') && is_even('"');
    // One that binds a name, or whose rest is a comment, is more than a condition.
    let is_more = [":=", "--", "#{"].iter().any(|sign| spelled.contains(sign))
        || spelled.get(..5).is_some_and(|head| head.eq_ignore_ascii_case("where"));
    if spelled.trim().is_empty() || spelled.len() > MOST_BYTES || !is_whole || is_more {
        return None;
    }
    let edit = |holds: bool| Edit { range: range.clone(), text: settled(&spelled, holds) };
    let lines = (line_of(text, range.start), line_of(text, range.end));
    let both = [(edit(true), Way::Holds), (edit(false), Way::Fails)];
    let ways = both.into_iter().filter(|(_, way)| may_hold || *way == Way::Fails).collect();
    Some(Choice { lines, spelled, ways, either_tells: false, is_within_text: true })
}

#[cfg(test)]
mod tests {
    use super::super::choices::choices;
    use super::super::edit::apply;

    /// The places of a text that lie within its literals, each with both of its programs.
    fn settled(path: &str, text: &str, spelled: &str) -> Vec<String> {
        let all = choices(path, text).expect("read");
        let one = all.iter().find(|one| one.spelled == spelled).unwrap_or_else(|| panic!("{spelled}: {all:?}"));
        one.ways.iter().map(|(edit, _)| apply(text, std::slice::from_ref(edit)).expect("fits")).collect()
    }

    #[test]
    fn conditions_of_templates_are_settled() {
        let go = "package a\n\nvar l = parse(`{{.}} item{{if gt . 1}}s{{end}}`)\n";
        let [holds, fails] = ["true", "false"].map(|word| go.replace("gt . 1", word));
        assert_eq!(settled("a.go", go, "gt . 1"), [holds, fails]);
        let ruby = "PAGE = ERB.new('Dear <% if c[:sum].between?(1, 99) %>, you<% end %>')\n";
        assert_eq!(
            settled("a.rb", ruby, "c[:sum].between?(1, 99)")[1],
            ruby.replace("c[:sum].between?(1, 99)", "false")
        );
        let python = "T = env.from_string(\"{% if a.b > 2 %}x{% endif %} {{ c if d else e }}\")\n";
        assert_eq!(settled("a.py", python, "a.b > 2")[0], python.replace("a.b > 2", "1"));
        assert_eq!(settled("a.py", python, "d")[1], python.replace("if d else", "if 0 else"));
        let ejs = "<% if (user.age > 3) { %>b<% } %><%= a.b ? 'c' : 'd' %>\n";
        assert_eq!(settled("views/a.ejs", ejs, "(user.age > 3)")[0], ejs.replace("user.age > 3", "true"));
        assert_eq!(settled("views/a.ejs", ejs, "a.b")[1], ejs.replace("a.b", "false"));
    }

    #[test]
    fn conditions_of_sql_are_settled() {
        let python =
            "Q = 'select case when ?2 between \"D\" and \"G\" then 3 else 0 end from a where b = ? order by c'\n";
        let when = "?2 between \"D\" and \"G\"";
        assert_eq!(settled("a.py", python, when)[1], python.replace(when, &format!("(({when}) AND 1=0)")));
        assert_eq!(settled("a.py", python, "b = ?")[0], python.replace("b = ?", "((b = ?) OR 1=1)"));
        let php = "<?php $q = \"SELECT ? - (julianday('now') > 2)\";\n";
        let compared = "julianday('now') > 2";
        assert_eq!(settled("a.php", php, compared)[0], php.replace(compared, &format!("(({compared}) OR 1=1)")));
        let file = "SELECT a\nFROM b\nWHERE c IN (1, 2)\nORDER BY a;\n";
        assert_eq!(settled("q/a.sql", file, "c IN (1, 2)")[1], file.replace("c IN (1, 2)", "((c IN (1, 2)) AND 1=0)"));
        let deletes = "Q = 'delete from a where b = ?'\n";
        assert_eq!(
            settled("a.py", deletes, "b = ?"),
            [deletes.replace("b = ?", "((b = ?) AND 1=0)")],
            "all would be gone"
        );
        for other in [
            "Q = 'select count(*) filter (where b = 1) from a'\n",
            "Q = \"select a from b where c = '\" + c + \"'\"\n",
            "P = re.compile('a-z')\n",
        ] {
            let all = choices("a.py", other).expect("read");
            assert!(all.iter().all(|one| !one.is_within_text), "{all:?}");
        }
        let prose = "S = 'Select rows where nothing else will do'\nT = \"with care, where a < b\"\n";
        assert_eq!(choices("a.py", prose), Some(Vec::new()));
    }

    #[test]
    fn conditions_of_compiled_texts_are_settled() {
        let script = "export const f = (e) => runInNewContext('name < \"cy\" ? pay / 10 : 0', e);\n";
        let [holds, fails] =
            ["|| true", "&& false"].map(|word| script.replace("name < \"cy\"", &format!("((name < \"cy\") {word})")));
        assert_eq!(settled("a.js", script, "name < \"cy\""), [holds, fails]);
        let python = "RULE = compile('lambda c, e: e * 2 if c.year == 2023 else e', 'rule', 'eval')\n";
        assert_eq!(
            settled("a.py", python, "c.year == 2023")[0],
            python.replace("c.year == 2023", "((c.year == 2023) or True)")
        );
        let ruby = "K.class_eval 'def f(a) = a > 3 ? 1 : 2'\n";
        assert_eq!(settled("a.rb", ruby, "a > 3").len(), 2);
        assert_eq!(choices("a.py", "say('a if b == 3 else c')\n"), Some(Vec::new()), "nobody compiles it");
    }
}
