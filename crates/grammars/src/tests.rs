use tree_sitter::Parser;

use super::*;

const ALL: [Grammar; 4] = [Grammar::Go, Grammar::Python, Grammar::Rust, Grammar::Tsx];

fn read(grammar: Grammar, text: &str) -> String {
    let mut parser = Parser::new();
    parser.set_language(&grammar.language().unwrap()).unwrap();
    parser.parse(text, None).unwrap().root_node().to_sexp()
}

#[test]
fn every_grammar_reads_its_language() {
    for (grammar, text, tree) in [
        (
            Grammar::Go,
            "package a\n\nfunc f() int { return 1 }\n",
            "(source_file (package_clause (package_identifier)) (function_declaration name: (identifier) parameters: (parameter_list) \
             result: (type_identifier) body: (block (statement_list (return_statement (expression_list (int_literal)))))))",
        ),
        (
            Grammar::Python,
            "def f():\n    return f'{x}'\n",
            "(module (function_definition name: (identifier) parameters: (parameters) body: (block (return_statement (string \
             (string_start) (interpolation expression: (identifier)) (string_end))))))",
        ),
        (
            Grammar::Rust,
            "fn f() -> &'static str { r#\"a\"# }\n",
            "(source_file (function_item name: (identifier) parameters: (parameters) return_type: (reference_type (lifetime \
             (identifier)) type: (primitive_type)) body: (block (raw_string_literal (string_content)))))",
        ),
        (
            Grammar::Tsx,
            "const f = (n: number) => <b>{`${n}`}</b>\n",
            "(program (lexical_declaration (variable_declarator name: (identifier) value: (arrow_function parameters: \
             (formal_parameters (required_parameter pattern: (identifier) type: (type_annotation (predefined_type)))) body: \
             (jsx_element open_tag: (jsx_opening_element name: (identifier)) (jsx_expression (template_string \
             (template_substitution (identifier)))) close_tag: (jsx_closing_element name: (identifier)))))))",
        ),
    ] {
        assert_eq!(read(grammar, text), tree, "{grammar:?}");
    }
}

#[test]
fn what_is_no_program_is_told_as_such() {
    for grammar in ALL {
        assert!(read(grammar, "]] def func 1(").contains("ERROR"), "{grammar:?}");
    }
}

#[test]
fn many_threads_ask_at_once_and_see_whole_tables() {
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| ALL.map(|grammar| assert!(!read(grammar, "f(1)").is_empty())));
        }
    });
}

#[test]
fn tables_of_another_length_are_none() {
    let packed = &GO;
    let size = inflated_size(packed.tables);
    assert!(inflated(packed.tables, size).is_some());
    assert!(inflated(packed.tables, size - 1).is_none());
    assert!(inflated(packed.tables, size + 1).is_none());
    assert!(inflated(&packed.tables[..packed.tables.len() / 2], size).is_none());
    assert!(inflated(b"no tables", size).is_none());
}

fn inflated_size(deflated: &[u8]) -> usize {
    let mut whole = Vec::with_capacity(16 << 20);
    Decompress::new(false).decompress_vec(deflated, &mut whole, FlushDecompress::Finish).unwrap();
    whole.len()
}
