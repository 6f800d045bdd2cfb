//! The tests of Go files are found and changed.

use super::super::*;

const WORD: &str = "qzaqwsx";
const HEAD: &str =
    "package cart\n\nimport (\n\t\"fmt\"\n\t\"testing\"\n\n\tmust \"github.com/stretchr/testify/require\"\n)\n\n";

fn read(text: &str) -> Source {
    Source::read("cart/cart_test.go", text).unwrap_or_else(|| panic!("does not parse: {text}"))
}

fn first(source: &Source) -> TestBody {
    source.tests().first().cloned().unwrap()
}

fn poisoned(text: &str, place: Place, means: Means) -> Option<String> {
    let source = read(text);
    let edits = source.poisoned(&first(&source), &Poison { place, means, word: WORD.to_owned() })?;
    Some(source.edited(&edits).expect("parses"))
}

/// A test around some statements, with all altered that it expects, without what is around.
fn altered(body: &str) -> Option<String> {
    let source = read(&format!("package a\nfunc TestA(t *testing.T) {{ {body} }}\n"));
    let expectations = source.expectations(&first(&source));
    let edits: Option<Vec<Vec<Edit>>> = expectations.iter().map(|one| source.altered(one, WORD)).collect();
    let edits = edits?.concat();
    let text = (!edits.is_empty()).then(|| source.edited(&edits).expect("parses"))?;
    Some(text.strip_prefix("package a\nfunc TestA(t *testing.T) { ")?.strip_suffix(" }\n")?.to_owned())
}

#[test]
fn functions_that_go_test_calls_are_found() {
    let source = read(
        "package a\nfunc TestA(t *testing.T) {}\nfunc Testing(t *testing.T) {}\nfunc TestMain(m *testing.M) {}\n\
         func TestB(t *testing.T, n int) {}\nfunc FuzzA(f *testing.F) {}\nfunc BenchmarkA(b *testing.B) {}\n\
         func ExampleA() { f() }\nfunc ExampleB() {\n\tf()\n\t// Output: x\n}\nfunc (s *S) TestC(t *testing.T) {}\n",
    );
    let names: Vec<String> = source.tests().iter().map(|test| test.names.join("/")).collect();
    assert_eq!(names, ["TestA", "FuzzA", "ExampleB"]);
}

#[test]
fn subtests_belong_to_their_test() {
    let source = read("package a\nfunc TestA(t *testing.T) {}\nfunc TestAB(t *testing.T) {}\n");
    let test = first(&source);
    assert!(source.is_called(&test, "TestA") && source.is_called(&test, "TestA/by_two/deep"));
    assert!(!source.is_called(&test, "TestAB") && !source.is_called(&test, "TestB/TestA"));
    assert_eq!(source.without_row("TestA/by_two"), "TestA");
    assert_eq!(source.renamed_name(&test, "TestA/by_two", "w").as_deref(), Some("TestA_w/by_two"));
    assert!(source.edited(&[source.renamed(&test, "w")]).unwrap().contains("func TestA_w(t *testing.T)"));
}

#[test]
fn a_test_fails_before_and_after_its_body() {
    let text = "package a\nfunc TestA(tt *testing.T) { // why\n\trun()\n}\n";
    for (place, means, wanted) in [
        (Place::First, Means::Raise, "{ if len(\"qzaqwsx\") > 0 { tt.Fatal(\"qzaqwsx\") }; // why\n\trun()"),
        (
            Place::First,
            Means::Assertion,
            "{ if \"qzaqwsx\" != \"xswqazq\" { tt.Errorf(\"got %q, want %q\", \"qzaqwsx\", \"xswqazq\") }; // why",
        ),
        (Place::Last, Means::Raise, "{ defer func() { tt.Error(\"qzaqwsx\") }(); // why\n\trun()"),
    ] {
        let text = poisoned(text, place, means).unwrap();
        assert!(text.contains(wanted), "{text}");
    }
    assert_eq!(poisoned("package a\nfunc TestA(_ *testing.T) {}\n", Place::First, Means::Raise), None);
}

#[test]
fn the_assertion_is_the_one_that_the_file_imports() {
    let plain = poisoned(&format!("{HEAD}func TestA(t *testing.T) {{}}\n"), Place::Last, Means::Assertion).unwrap();
    assert!(plain.contains("{ defer func() { must.Equal(t, \"qzaqwsx\", \"xswqazq\") }();}"), "{plain}");
    let hidden = format!("{HEAD}func TestA(t *testing.T) {{ must := must.New(t); must.True(f()) }}\n");
    assert!(poisoned(&hidden, Place::First, Means::Assertion).unwrap().contains("t.Errorf("));
}

#[test]
fn subtests_fail_inside_their_functions() {
    let text = "package a\nfunc TestA(t *testing.T) {\n\tt.Run(\"one\", func(t *testing.T) {\n\t\tt.Run(\"deep\", func(tt *testing.T) {})\n\t})\n\tt.Run(\"two\", func(t *testing.T) {})\n\tcmd.Run(func() {})\n}\n";
    let text = poisoned(text, Place::First, Means::Raise).unwrap();
    assert!(text.contains("t.Run(\"one\", func(t *testing.T) {\n"), "{text}");
    assert!(text.contains("func(tt *testing.T) { if len(\"qzaqwsx\") > 0 { tt.Fatal(\"qzaqwsx\") };}"), "{text}");
    assert!(text.contains("t.Run(\"two\", func(t *testing.T) { if len("), "{text}");
    assert!(text.contains("func TestA(t *testing.T) {\n\tt.Run("), "{text}");
}

#[test]
fn an_example_prints_more() {
    let text = format!("{HEAD}func ExampleA() {{\n\tfmt.Println(f())\n\t// Output: x\n}}\n");
    assert!(poisoned(&text, Place::First, Means::Raise).unwrap().contains("{ fmt.Println(\"qzaqwsx\");\n"));
    assert!(poisoned(&text, Place::Last, Means::Raise).unwrap().contains("{ defer fmt.Println(\"qzaqwsx\");\n"));
}

#[test]
fn what_a_comparison_expects_is_altered() {
    for (body, other) in [
        ("if got := f(1); got != 3 { t.Errorf(\"%d\", 3) }", "if got := f(1); got != 113 { t.Errorf(\"%d\", 3) }"),
        ("if err != nil || -1 != f() { t.Fatal(err) }", "if err != nil || -113 != f() { t.Fatal(err) }"),
        (
            "want := \"x\"; if got := f(); got != want { t.Errorf(\"%q, want %q\", got, want) }",
            "want := \"qzaqwsxx\"; if got := f(); got != want { t.Errorf(\"%q, want %q\", got, want) }",
        ),
        (
            "if !reflect.DeepEqual(f(), []int{100, 2}) { t.Fail() }",
            "if !reflect.DeepEqual(f(), []int{11, 2}) { t.Fail() }",
        ),
        (
            "if diff := cmp.Diff(map[string]bool{\"a\": true}, f()); diff != \"\" { t.Error(diff) }",
            "if diff := cmp.Diff(map[string]bool{\"a\": false}, f()); diff != \"\" { t.Error(diff) }",
        ),
        ("assert.Equal(t, &Money{Cents: 5}, f(1))", "assert.Equal(t, &Money{Cents: 113}, f(1))"),
        ("s.Equal(int64(5), f(1), \"why\")", "s.Equal(int64(113), f(1), \"why\")"),
        (
            "for _, tc := range []struct{ in, want int }{{1, 2}, {3, 4}} { if got := f(tc.in); got != tc.want { t.Error(tc.want) } }",
            "for _, tc := range []struct{ in, want int }{{1, 113}, {3, 113}} { if got := f(tc.in); got != tc.want { t.Error(tc.want) } }",
        ),
        (
            "rows := map[string]row{\"a\": {in: 1, want: 'a'}, \"b\": {in: 1}}; for name, tc := range rows { t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, f(tc.in)) }) }",
            "rows := map[string]row{\"a\": {in: 1, want: 'q'}, \"b\": {in: 1}}; for name, tc := range rows { t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, f(tc.in)) }) }",
        ),
    ] {
        assert_eq!(altered(body).as_deref(), Some(other), "{body}");
    }
}

#[test]
fn what_may_be_more_than_an_expectation_is_left_alone() {
    for body in [
        "if f() != 3 { return }",
        "if f() == 3 { t.Error() }",
        "if f() < 3 { t.Error() }",
        "if err != nil && f() != 3 { t.Error() }",
        "if !cmp.Equal(f(), Money{5}, ignored) { t.Fail() }",
        "if want.Equal(f(), 3) { t.Fail() }",
        "text := \"x\"; if decode(encode(text)) != text { t.Error() }",
        "text := \"x\"; if got := decode(text); got != text { t.Error() }",
        "want := 1; want++; if f() != want { t.Error() }",
        "for _, tc := range []row{{in: 1, want: g()}} { if f(tc.in) != tc.want { t.Error() } }",
        "for _, tc := range []row{{want: 1}} { if f(tc.want) != tc.want { t.Error() } }",
    ] {
        assert_eq!(altered(body), None, "{body}");
    }
}

#[test]
fn literals_change_within_their_type() {
    for (literal, other) in [
        ("true", "false"),
        ("0", "113"),
        ("0xFF", "11"),
        ("0b1", "113"),
        ("017", "113"),
        ("1_000", "11"),
        ("1.5", "113"),
        ("1e3", "11"),
        ("'a'", "'q'"),
        ("'q'", "'z'"),
        ("\"\"", "\"w\""),
        ("`a`", "`wa`"),
    ] {
        assert_eq!(go::altered(literal, "w").as_deref(), Some(other), "{literal}");
    }
    assert_eq!(go::altered("2i", "w"), None);
}
