//! Parts of a program that are entered or not: functions, handlers of errors, arms, loops. Each can be made to fail when it is entered, so that
//! a part that no test runs is told from one that a test needs. And parts that are in the program or not, as it is built.

use std::sync::LazyLock;

use regex::Regex;
use tree_sitter::Node;

use super::choice::{Choice, Way};
use super::edit::Edit;
use super::language::Language;
use super::nodes::{children, lines_of, text_of};

/// Statements that make a part fail. In Python no handler of mere errors holds it.
const PYTHON: &str = "raise SystemExit('not entered')";
const SCRIPT: &str = "throw new Error('not entered');";
const RUST: &str = "if std::hint::black_box(true) { panic!(\"not entered\") }";
const GO: &str = "panic(\"not entered\");";

/// Lines that are in a program or not, as it is built. Each is compiled where a file of its language is read.
static WHEN_BUILT: [(&str, LazyLock<Regex>); 3] = [
    ("rs", LazyLock::new(|| compiled(r"#!?\[cfg(?:_attr)?\(|\bcfg!\(|\boption_env!\("))),
    ("go", LazyLock::new(|| compiled(r"^//go:build "))),
    ("c h cc cpp cxx hh hpp", LazyLock::new(|| compiled(r"^\s*#\s*(?:if|ifdef|ifndef|elif)\b"))),
];
/// Systems and machines after which Go leaves files out.
const OF_GO: &str = "linux darwin windows freebsd netbsd openbsd solaris android ios js wasip1 amd64 arm64 386 arm wasm riscv64 ppc64le s390x";

/// The part that a node is, with the edit that makes it fail.
pub(super) fn of_part(node: Node<'_>, text: &str, language: Language) -> Option<Choice> {
    let edit = match language {
        Language::Python => of_python(node, text)?,
        Language::JavaScript => of_script(node, text)?,
        Language::Rust => of_rust(node, text)?,
        Language::Go => of_go(node)?,
        Language::Java | Language::Php | Language::Cpp | Language::Ruby => return None,
    };
    let spelled = text_of(node, text).lines().next().unwrap_or_default().trim_end().to_owned();
    let (line, _) = lines_of(node);
    Some(Choice::of_one((line, line), spelled, edit, Way::Stops))
}

fn of_python(node: Node<'_>, text: &str) -> Option<Edit> {
    let block = match node.kind() {
        // An expression has no room for a statement, so `exec` runs it.
        "lambda" | "list_comprehension" | "set_comprehension" | "generator_expression" | "dictionary_comprehension" => {
            let body = node.child_by_field_name("body")?;
            let value = if body.kind() == "pair" { body.child_by_field_name("value")? } else { body };
            return Some(Edit { range: value.byte_range(), text: format!("exec(\"{PYTHON}\")") });
        }
        "function_definition" | "for_statement" | "while_statement" => node.child_by_field_name("body")?,
        "case_clause" => node.child_by_field_name("consequence")?,
        "except_clause" => children(node).into_iter().find(|child| child.kind() == "block")?,
        _ => return None,
    };
    let start = block.start_byte();
    let line = text.get(..start)?.rfind('\n').map_or(0, |at| at + 1);
    let before = text.get(line..start)?;
    // A block below its head gets a line of its own, one behind the colon a semicolon.
    let behind = if before.trim().is_empty() { format!("\n{before}") } else { "; ".to_owned() };
    Some(Edit::insert(start, format!("{PYTHON}{behind}")))
}

fn of_script(node: Node<'_>, text: &str) -> Option<Edit> {
    match node.kind() {
        "switch_case" | "switch_default" => behind_colon(node, SCRIPT),
        "function_declaration"
        | "function_expression"
        | "generator_function_declaration"
        | "method_definition"
        | "arrow_function"
        | "catch_clause"
        | "for_statement"
        | "for_in_statement"
        | "while_statement" => {
            let body = node.child_by_field_name("body")?;
            let is_loop = matches!(node.kind(), "for_statement" | "for_in_statement" | "while_statement");
            if is_loop && body.kind() != "statement_block" {
                return Some(Edit {
                    range: body.byte_range(),
                    text: format!("{{ {SCRIPT} {} }}", text_of(body, text)),
                });
            }
            if body.kind() == "statement_block" {
                return Some(Edit::insert(body.start_byte() + 1, format!(" {SCRIPT}")));
            }
            // An arrow's bare value: the value still stands there, so that its names stay used.
            let whole = text_of(body, text);
            Some(Edit { range: body.byte_range(), text: format!("(() => {{ {SCRIPT} }})() ?? ({whole})") })
        }
        _ => None,
    }
}

fn of_rust(node: Node<'_>, text: &str) -> Option<Edit> {
    match node.kind() {
        "function_item" | "for_expression" | "while_expression" => {
            let body = node.child_by_field_name("body")?;
            Some(Edit::insert(body.start_byte() + 1, format!(" {RUST} ")))
        }
        "match_arm" | "closure_expression" => {
            let value = node.child_by_field_name(if node.kind() == "match_arm" { "value" } else { "body" })?;
            Some(Edit { range: value.byte_range(), text: format!("{{ {RUST} {} }}", text_of(value, text)) })
        }
        _ => None,
    }
}

fn of_go(node: Node<'_>) -> Option<Edit> {
    match node.kind() {
        "function_declaration" | "method_declaration" | "func_literal" | "for_statement" => {
            let body = node.child_by_field_name("body")?;
            Some(Edit::insert(body.start_byte() + 1, format!(" {GO} ")))
        }
        "expression_case" | "default_case" | "type_case" | "communication_case" => behind_colon(node, GO),
        _ => None,
    }
}

fn behind_colon(node: Node<'_>, failure: &str) -> Option<Edit> {
    let colon = node.children(&mut node.walk()).find(|child| child.kind() == ":")?;
    Some(Edit::insert(colon.end_byte(), format!(" {failure}")))
}

/// The first of the new lines by which something is in the program or not as it is built. The first of all for a new file that only some
/// systems take in.
#[must_use]
pub fn decides_when_built(path: &str, is_new_file: bool, added: &[(u32, String)]) -> Option<u32> {
    let (stem, ending) = path.rsplit_once('.')?;
    // `cart_linux.go` is compiled on Linux alone. A file called `linux.go` is compiled everywhere.
    let suffix = stem.rsplit('_').next().filter(|suffix| *suffix != stem);
    if is_new_file && ending == "go" && suffix.is_some_and(|suffix| OF_GO.split(' ').any(|one| one == suffix)) {
        return Some(1);
    }
    let (_, pattern) = WHEN_BUILT.iter().find(|(endings, _)| endings.split(' ').any(|one| one == ending))?;
    // `#ifndef CART_H` with `#define CART_H` only keeps a header from being read twice.
    let is_guard = |line: &str| {
        let name = line.trim().strip_prefix("#ifndef ").map(str::trim);
        name.is_some_and(|name| added.iter().any(|(_, other)| other.trim() == format!("#define {name}")))
    };
    let asks = |line: &str| {
        pattern.is_match(line) && !line.contains("cfg(test)") && !line.contains("feature =") && !is_guard(line)
    };
    added.iter().find(|(_, line)| asks(line)).map(|(number, _)| *number)
}

#[expect(clippy::unwrap_used, reason = "constants, which a test compiles")]
fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap()
}

#[cfg(test)]
mod tests {
    use super::super::choices::choices;
    use super::super::edit::apply;
    use super::*;

    fn stopped(path: &str, text: &str) -> Vec<String> {
        let found = choices(path, text).unwrap().into_iter();
        found
            .filter_map(|choice| {
                let [(edit, Way::Stops)] = choice.ways.as_slice() else { return None };
                apply(text, std::slice::from_ref(edit))
            })
            .collect()
    }

    #[test]
    fn each_part_is_made_to_fail_when_it_is_entered() {
        let python = "def f(a):\n    try:\n        return g(a)\n    except KeyError: return 1\n";
        let found = stopped("a.py", python);
        assert_eq!(found.len(), 2, "{found:?}");
        let loops = "def f(a):\n    for b in a:\n        g(b)\n    while a: a.pop()\n    return [c + 1 for c in a], {c: 2 for c in a}, sorted(a, key=lambda c: c.d)\n";
        let inside = stopped("a.py", loops);
        assert_eq!(inside.len(), 6, "{inside:?}");
        assert!(
            inside[1].contains("    for b in a:\n        raise SystemExit('not entered')\n        g(b)\n"),
            "{inside:?}"
        );
        assert!(inside[2].contains("while a: raise SystemExit('not entered'); a.pop()\n"), "{inside:?}");
        assert!(inside[3].contains("[exec(\"raise SystemExit('not entered')\") for c in a]"), "{inside:?}");
        assert!(inside[4].contains("{c: exec("), "{inside:?}");
        assert!(inside[5].contains("key=lambda c: exec("), "{inside:?}");
        assert!(found[0].starts_with("def f(a):\n    raise SystemExit('not entered')\n    try:\n"), "{found:?}");
        assert!(found[1].ends_with("except KeyError: raise SystemExit('not entered'); return 1\n"), "{found:?}");
        for (path, text, count) in [
            (
                "a.js",
                "const f = (a) => a + 1;\nfunction g() { switch (f(1)) { case 1: return 2; default: } try { h(); } catch { i(); } }\nclass A { b() {} }\n",
                6,
            ),
            ("a.js", "for (const a of b) { c(a); }\nfor (let i = 0; i < 3; i++) c(i);\nwhile (d()) { e(); }\n", 3),
            ("a.rs", "fn f(a: u8) -> u8 { match a { 1 => 2, _ => 3 } }\n", 3),
            (
                "a.rs",
                "fn f(a: &[u8]) -> u8 { for b in a { g(b); } while h() { i(); } a.iter().map(|b| b + 1).sum() }\n",
                4,
            ),
            ("a.go", "package a\n\nfunc f(a []int) {\n\tfor range a {\n\t\tg()\n\t}\n\tfor h() {\n\t}\n}\n", 3),
            (
                "a.go",
                "package a\n\nfunc f(a int) int {\n\tswitch a {\n\tcase 1:\n\t\treturn 2\n\tdefault:\n\t\treturn 3\n\t}\n}\n",
                3,
            ),
        ] {
            let found = stopped(path, text);
            assert_eq!(found.len(), count, "{path} {found:#?}");
            assert!(found.iter().all(|text| choices(path, text).is_some()), "{path} {found:#?}");
        }
    }

    #[test]
    fn what_is_decided_when_a_program_is_built_is_seen() {
        let lines =
            |text: &str| text.lines().zip(1..).map(|(line, number)| (number, line.to_owned())).collect::<Vec<_>>();
        for (path, is_new, text, wanted) in [
            ("a.rs", false, "fn f() {}\n#[cfg(target_os = \"linux\")]\n", Some(2)),
            ("a.rs", false, "#[cfg(test)]\n#[cfg(feature = \"x\")]\n", None),
            ("a.go", false, "//go:build linux\n", Some(1)),
            ("a_linux.go", true, "package a\n", Some(1)),
            ("a_list.go", true, "package a\n", None),
            ("a.h", true, "#ifndef A_H\n#define A_H\n#endif\n", None),
            ("a.c", false, "#ifdef __OPTIMIZE__\n", Some(1)),
            ("a.py", false, "#if x\n", None),
        ] {
            assert_eq!(decides_when_built(path, is_new, &lines(text)), wanted, "{path} {text}");
        }
    }
}
