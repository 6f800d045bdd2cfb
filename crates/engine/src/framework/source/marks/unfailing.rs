//! Functions of Go and Rust whose answer may be an error, and that answer with none any more.

use std::collections::BTreeMap;

use tree_sitter::Node;

use super::super::Language;
use super::super::nodes::{children, descendants, lines_of, text_of};
use super::sides::{Mark, Shape, Side, Sides};

/// Macros of Rust by which a function ends with an error.
const FAILING: [&str; 3] = ["bail", "ensure", "anyhow"];

/// The first function that told of errors and does no more.
pub(super) fn mark(sides: &Sides<'_>) -> Option<Mark> {
    let fails = match sides.language {
        Language::Go => fails_in_go,
        Language::Rust => fails_in_rust,
        Language::Python | Language::JavaScript | Language::Java | Language::Php | Language::Cpp | Language::Ruby => {
            return None;
        }
    };
    let was = answers(sides.old, fails);
    let is = answers(sides.new, fails);
    let ended = is.into_iter().filter(|(key, (_, fails))| {
        *fails == Some(false) && was.get(key).is_some_and(|(_, fails)| *fails == Some(true))
    });
    let ((_, name), (line, _)) = ended.min_by_key(|(_, (line, _))| *line)?;
    let said = format!("`{name}` answered with an error where there was one, and never does now");
    Some(Mark { shape: Shape::SwallowsErrors, line, said })
}

/// The functions of a file by what they are of and their names: the line of each, and whether it may answer with an error. `None` where that
/// is not seen.
type Answers<'t> = BTreeMap<(&'t str, &'t str), (u32, Option<bool>)>;

fn answers<'t>((root, text): Side<'t>, fails: fn(Node<'_>, &str) -> Option<bool>) -> Answers<'t> {
    let functions = descendants(root)
        .filter(|node| matches!(node.kind(), "function_declaration" | "method_declaration" | "function_item"));
    let mut all = Answers::new();
    for node in functions {
        let Some(name) = node.child_by_field_name("name") else { continue };
        let receiver = node.child_by_field_name("receiver").or_else(|| around(node));
        let of = receiver.map_or("", |receiver| text_of(receiver, text));
        let answer = (lines_of(node).0, fails(node, text));
        // Two of one name cannot be told apart.
        all.entry((of, text_of(name, text))).and_modify(|other| other.1 = None).or_insert(answer);
    }
    all
}

/// The type that a method of Rust is of.
fn around(node: Node<'_>) -> Option<Node<'_>> {
    node.parent()?.parent()?.child_by_field_name("type")
}

/// The nodes of a function but for those of functions within.
fn own<'t>(body: Node<'t>, inner: &'static str) -> impl Iterator<Item = Node<'t>> {
    let is_inner = move |node: &Node<'t>| {
        let mut above = node.parent();
        while let Some(one) = above.filter(|one| one.id() != body.id()) {
            if one.kind() == inner {
                return true;
            }
            above = one.parent();
        }
        false
    };
    descendants(body).filter(move |node| !is_inner(node))
}

fn fails_in_go(function: Node<'_>, text: &str) -> Option<bool> {
    let result = text_of(function.child_by_field_name("result")?, text);
    if !result.trim_end_matches(')').ends_with("error") {
        return None;
    }
    let body = function.child_by_field_name("body")?;
    // What is put off may set the error by its name.
    if descendants(body).any(|node| node.kind() == "defer_statement" && text_of(node, text).contains("err")) {
        return None;
    }
    let returns: Vec<Node<'_>> = own(body, "func_literal").filter(|node| node.kind() == "return_statement").collect();
    let answered = |node: &Node<'_>| {
        let listed = children(*node).first().map(|list| children(*list)).unwrap_or_default();
        listed.last().map(|last| text_of(*last, text))
    };
    // A stub, whose every answer is an error that it makes, is there to be replaced.
    let is_made = |error: &str| {
        error.starts_with("Err") || ["errors.", "Errorf(", ".Err"].iter().any(|sign| error.contains(sign))
    };
    if returns.is_empty() || returns.iter().all(|node| answered(node).is_some_and(is_made)) {
        return None;
    }
    // A bare one answers with what its names hold.
    Some(returns.iter().any(|node| answered(node) != Some("nil")))
}

fn fails_in_rust(function: Node<'_>, text: &str) -> Option<bool> {
    let result = text_of(function.child_by_field_name("return_type")?, text);
    if !result.contains("Result") {
        return None;
    }
    let body = function.child_by_field_name("body")?;
    let is_ok = |node: Node<'_>| {
        let called = node.child_by_field_name("function").map(|called| text_of(called, text));
        node.kind() == "call_expression" && called == Some("Ok")
    };
    let is_failing = |node: Node<'_>| match node.kind() {
        "try_expression" => true,
        "identifier" => text_of(node, text) == "Err",
        // What a macro is given is not parsed.
        "macro_invocation" => {
            let called = node.child_by_field_name("macro").map_or("", |called| text_of(called, text));
            text_of(node, text).contains('?') || FAILING.contains(&called.rsplit("::").next().unwrap_or_default())
        }
        _ => false,
    };
    if own(body, "closure_expression").any(is_failing) {
        // A stub, whose only answer is an error, is there to be replaced.
        let succeeds = |node: Node<'_>| node.kind() == "try_expression" || text_of(node, text) == "Ok";
        return own(body, "closure_expression").any(succeeds).then_some(true);
    }
    // Another function's answer may be an error.
    let ends_well = children(body).into_iter().rev().find(|node| !node.kind().contains("comment")).is_some_and(is_ok);
    let mut returns = own(body, "closure_expression").filter(|node| node.kind() == "return_expression");
    let all_well = returns.all(|node| children(node).first().copied().is_some_and(is_ok));
    (ends_well && all_well).then_some(false)
}

#[cfg(test)]
mod tests {
    use super::super::marks;

    fn marked(path: &str, before: &str, after: &str) -> Vec<String> {
        marks(path, before, after).into_iter().map(|mark| mark.said).collect()
    }

    #[test]
    fn functions_that_fail_no_more_are_found() {
        let go = |body: &str| format!("package a\n\nfunc Load(p string) (s string, err error) {{\n{body}\n}}\n");
        let before = go("\td, err := read(p)\n\treturn string(d), err");
        let said = ["`Load` answered with an error where there was one, and never does now"];
        assert_eq!(marked("a.go", &before, &go("\td, _ := read(p)\n\treturn string(d), nil")), said);
        for open in [
            "\td, err := read(p)\n\tif err == gone {\n\t\treturn \"\", nil\n\t}\n\treturn string(d), err",
            "\ts = p\n\treturn",
        ] {
            assert_eq!(marked("a.go", &before, &go(open)), [""; 0], "{open}");
        }
        let stub = go("\treturn \"\", errors.New(\"not implemented\")");
        assert_eq!(marked("a.go", &stub, &go("\treturn p, nil")), [""; 0]);
        let late = "\tdefer func() { err = f.Close() }()\n\treturn p, nil";
        assert_eq!(marked("a.go", &before, &go(late)), [""; 0]);
        let rust = |body: &str| format!("impl A {{\n    fn load(&self) -> io::Result<usize> {{\n{body}\n    }}\n}}\n");
        let before = rust("        writeln!(out)?;\n        Ok(1)");
        let said = ["`load` answered with an error where there was one, and never does now"];
        assert_eq!(marked("a.rs", &before, &rust("        let _ = writeln!(out);\n        Ok(1)")), said);
        for open in [
            "        other(out)",
            "        if a { return Err(b) }\n        Ok(1)",
            "        bail!(1);\n        Ok(1)",
            "        Ok(vec![read(p)?])",
        ] {
            assert_eq!(marked("a.rs", &before, &rust(open)), [""; 0], "{open}");
        }
        let stub = rust("        Err(io::ErrorKind::Unsupported.into())");
        assert_eq!(marked("a.rs", &stub, &rust("        Ok(1)")), [""; 0]);
        assert_eq!(marked("a.rs", "fn a() -> u8 { b()?; 1 }", "fn a() -> u8 { 1 }"), [""; 0]);
    }
}
