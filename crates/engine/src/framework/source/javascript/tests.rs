//! Tests of JavaScript and TypeScript files are found and changed.

use super::titles::unescaped;
use crate::framework::source::{Edit, Means, Place, Poison, Source, TestBody};

fn source(text: &str) -> Source {
    Source::read("tests/cart.test.ts", text).unwrap()
}

fn only(source: &Source, name: &str) -> TestBody {
    let found: Vec<_> = source.tests().iter().filter(|test| source.is_called(test, name)).cloned().collect();
    assert_eq!(found.len(), 1, "{name} in {:?}", source.tests());
    found.into_iter().next().unwrap()
}

fn names(text: &str) -> Vec<String> {
    source(text).tests().iter().map(|test| test.names.join("|")).collect()
}

fn poisoned(text: &str, name: &str, place: Place, means: Means) -> Option<String> {
    let source = source(text);
    let edits = source.poisoned(&only(&source, name), &Poison { place, means, word: "zaqw".to_owned() })?;
    source.edited(&edits)
}

fn altered(text: &str) -> String {
    let source = source(text);
    let test = source.tests().first().unwrap().clone();
    let edits: Option<Vec<Vec<Edit>>> =
        source.expectations(&test).iter().map(|one| source.altered(one, "zaqw")).collect();
    source.edited(&edits.unwrap().concat()).unwrap()
}

const RAISE: &str = "if (Date.now() > 0) { throw new Error(\"zaqw\"); }";

#[test]
fn tests_are_found_at_any_depth() {
    let text = r#"
        describe('Cart', () => {
            describe.each([1])('size %i', function () { if (x) { for (const a of b) { it.only('adds', () => {}); } } });
            context("inner", wrap(function () { specify('deep', { timeout: 1 }, async () => {}) }));
            it.concurrent('fast', async () => {}, 500);
        });
        suite(Foo.name, () => test('in a class', () => f()));
        test('parent', async (t) => { await t.test('sub', () => {}); });
        it.skipIf(slow)('maybe', () => {});
        it(`is ${a}`, () => {});
        it('has ' + b, () => {});
        for (const name of all) it(name, () => {});
        it.each`a | b
          ${1} | ${2}`('$a is $b', ({ a, b }) => {});
    "#;
    assert_eq!(
        names(text),
        [
            "Cart|size %i|adds",
            "Cart|inner|deep",
            "Cart|fast",
            "${}|in a class",
            "parent",
            "parent|sub",
            "maybe",
            "is ${}",
            "has ${}",
            "${}",
            "$a is $b",
        ]
    );
    let templates: Vec<bool> = source(text).tests().iter().map(|test| test.is_template).collect();
    assert_eq!(templates[6..], [false, true, true, true, true]);
    assert_eq!(source(text).tests()[0].lines, (3, 3));
}

#[test]
fn what_does_not_run_or_is_no_test_is_left_out() {
    let text = r#"
        it.skip('a', () => {}); xit('b', () => {}); it.todo('c'); test.skip('d', () => {});
        describe.skip('e', () => { it('f', () => {}); });
        xdescribe('g', () => { it('h', () => {}); });
        /x/.test('i'); pattern.test('j'); test.step('k', () => {}); other('l', () => {}); it();
    "#;
    assert_eq!(names(text), [""; 0]);
}

#[test]
fn tests_are_found_by_the_names_that_runners_print() {
    let text = r#"
        describe('Cart', () => {
            describe('adding > nested', () => { it('two milks', () => {}); });
            it('refuses nothing › politely', () => {});
            it.each([[3, 1300]])('%i teas cost %i', () => {});
            it('rejects', () => {});
            describe('#add()', () => it('adds', () => {}));
        });
        it('rejects', () => {});
        it('rejects ' + what, () => {});
        test('it\'s \u00e9 "quoted" # and \\ hashes', () => {});
    "#;
    let source = source(text);
    for (name, own) in [
        // jest, its JSON, vitest, bun; mocha as it prints, as TAP and as xunit.
        ("Cart › adding > nested › two milks", "two milks"),
        ("Cart adding > nested two milks", "two milks"),
        ("tests/cart.test.ts > Cart > adding > nested > two milks", "two milks"),
        ("/home/ci/project/tests/cart.test.ts > Cart > rejects", "rejects"),
        ("two milks", "two milks"),
        ("Cart › refuses nothing › politely", "refuses nothing › politely"),
        ("Cart › 3 teas cost 1300", "%i teas cost %i"),
        ("Cart > #add() > adds", "adds"),
        ("Cart add() adds", "adds"),
        // ava puts the file's stem before.
        ("cart › rejects", "rejects"),
        (" rejects", "rejects"),
        ("rejects him", "rejects ${}"),
        // Node's own, as TAP escapes them.
        ("it's é \"quoted\" \\# and \\\\ hashes", "it's é \"quoted\" # and \\ hashes"),
    ] {
        assert_eq!(only(&source, name).names.last().unwrap(), own, "{name}");
    }
    for other in ["Cart › two milks", "tests/other.test.ts > Cart > rejects", "Wagon > rejects", "reject", "Cart"] {
        assert!(!source.tests().iter().any(|test| source.is_called(test, other)), "{other}");
    }
    assert_eq!(only(&source, "Cart > rejects").lines, (6, 6));
    assert_eq!(only(&source, "rejects").lines, (9, 9), "a test of just this name before one in a suite");
}

#[test]
fn escapes_in_titles_are_what_they_print() {
    for (written, is) in [
        (r"it\'s", "it's"),
        (r"\u00e9\x41\n\\", "éA\n\\"),
        (r"\ud83d\ude00\u{1F600}", "😀😀"),
        (r"\`\$\{", "`${"),
        (r"a\", "a"),
        (r"\u{zz}\xZ", "\u{fffd}"),
    ] {
        assert_eq!(unescaped(written), is, "{written}");
    }
}

#[test]
fn a_test_fails_before_and_after_its_body() {
    let text = "it('a', async () => {\n  'use strict'\n  await f(); // done\n});\n";
    assert_eq!(
        poisoned(text, "a", Place::First, Means::Raise).unwrap(),
        format!("it('a', async () => {{\n  'use strict'; {RAISE}\n  await f(); // done\n}});\n")
    );
    assert_eq!(
        poisoned(text, "a", Place::Last, Means::Raise).unwrap(),
        format!(
            "it('a', async () => {{\n  'use strict'; try {{\n  await f(); // done\n\n}} finally {{ {RAISE} }}\n}});\n"
        )
    );
    let one_line = "it('a', function () { return f() // ends\n});";
    assert!(
        poisoned(one_line, "a", Place::Last, Means::Raise).unwrap().contains("{ try { return f() // ends\n\n} fin")
    );
}

#[test]
fn an_arrow_without_a_block_gets_one() {
    let text = "it('a', () => ({ a: 1 }));\nit('b', async () => expect(await f()).toBe(1));\n";
    assert!(
        poisoned(text, "a", Place::First, Means::Raise)
            .unwrap()
            .starts_with(&format!("it('a', () => {{ {RAISE} return (({{ a: 1 }})); }});"))
    );
    assert!(poisoned(text, "b", Place::Last, Means::Assertion).unwrap().contains(
        "async () => { try { return await (expect(await f()).toBe(1)); } finally { expect(\"zaqw\").toBe(\"wqaz\"); } });"
    ));
}

#[test]
fn a_test_fails_by_the_assertion_that_it_uses() {
    for (body, assertion) in [
        ("() => { expect(a).toBe(1) }", "expect(\"zaqw\").toBe(\"wqaz\");"),
        ("() => { expect(a)\n .to.equal(1) }", "expect(\"zaqw\").to.equal(\"wqaz\");"),
        ("() => { expect(a).not.to.equal(1) }", "expect(\"zaqw\").to.equal(\"wqaz\");"),
        ("() => { assert.ok(a) }", "assert.strictEqual(\"zaqw\", \"wqaz\");"),
        ("() => { strictEqual(a, b) }", "strictEqual(\"zaqw\", \"wqaz\");"),
        ("(t) => { t.assert.ok(a) }", "t.assert.strictEqual(\"zaqw\", \"wqaz\");"),
        ("t => { t.plan(1); t.is(a, 1) }", "t.is(\"zaqw\", \"wqaz\");"),
        ("() => { check(a) }", RAISE),
    ] {
        let text = format!("it('a', {body});");
        let edited = poisoned(&text, "a", Place::First, Means::Assertion).unwrap();
        assert!(edited.contains(&format!("{{ {assertion}")), "{edited}");
    }
    let elsewhere = "it('a', () => { check(1) });\nfunction check(x) { assert(x); assert.equal(x, 1); }";
    let edited = poisoned(elsewhere, "a", Place::First, Means::Assertion).unwrap();
    assert!(edited.contains("{ assert.strictEqual("), "{edited}");
}

#[test]
fn a_test_that_expects_to_fail_is_left_alone() {
    for text in ["it.fails('a', () => {});", "test.failing('a', t => {});", "it('a', { fails: true }, () => {});"] {
        assert_eq!(poisoned(text, "a", Place::First, Means::Raise), None, "{text}");
    }
}

#[test]
fn what_a_test_expects_is_altered() {
    for (body, wanted) in [
        ("expect(f()).toBe(-1)", "expect(f()).toBe(-7920)"),
        ("await expect(f()).resolves.toEqual('a')", "await expect(f()).resolves.toEqual('zaqwa')"),
        ("expect(f()).to.deep.equal([1, 2])", "expect(f()).to.deep.equal([7919, 1, 2])"),
        ("f().should.eql({})", "f().should.eql({\"zaqw\": \"zaqw\"})"),
        ("assert.equal(f(), true)", "assert.equal(f(), false)"),
        ("assert.deepStrictEqual(f(), [['a']])", "assert.deepStrictEqual(f(), [['a'], ['a']])"),
        ("strictEqual(f(), `a`)", "strictEqual(f(), `zaqwa`)"),
        (
            "const w = { a: 1 }; expect(f()).toEqual(w)",
            "const w = {\"zaqw\": \"zaqw\",  a: 1 }; expect(f()).toEqual(w)",
        ),
    ] {
        let edited = altered(&format!("it('a', async () => {{ {body}; }});"));
        assert_eq!(edited, format!("it('a', async () => {{ {wanted}; }});"));
    }
    for kept in [
        "expect(f()).not.toBe(1)",
        "expect(f()).to.not.equal(1)",
        "expect(f()).toBe(null)",
        "expect(f()).toBe(`${a}`)",
        "assert.notEqual(f(), 1)",
        "list.equal(f(), 1)",
        "let w = 1; w = 2; expect(f()).toBe(w)",
        "let w = 1; w++; expect(f()).toBe(w)",
    ] {
        let text = format!("it('a', () => {{ {kept}; }});");
        assert_eq!(altered(&text), text);
    }
}

#[test]
fn what_a_tables_rows_expect_is_altered() {
    for (text, wanted) in [
        ("it.each([[1, 2], [3, 4]])('%i', (a, w) => { expect(f(a)).toBe(w); });", "[[1, 7921], [3, 7923]]"),
        ("it.each([{ a: 1, w: 'x' }])('$a', ({ a, w: b }) => { expect(f(a)).toBe(b); });", "w: 'zaqwx'"),
        ("it.each([1, 2] as const)('%i', (w) => { expect(f()).toBe(w); });", "[7920, 7921]"),
        ("it.for([[1, true]])('%i', ([a, w]) => { expect(f(a)).toBe(w); });", "[[1, false]]"),
        ("const rows = [[1, 2]];\nit.each(rows)('%i', (a, w) => { expect(f(a)).toBe(w); });", "[[1, 7921]]"),
        (
            "it.each`\n a | w\n ${1} | ${2}\n ${3} | ${4}\n`('$a', ({ a, w }) => { expect(f(a)).toBe(w); });",
            "${1} | ${7921}\n ${3} | ${7923}",
        ),
    ] {
        let edited = altered(text);
        assert!(edited.contains(wanted), "{edited}");
    }
    let computed = "it.each([[1, 2], [3, g()]])('%i', (a, w) => { expect(f(a)).toBe(w); });";
    assert_eq!(altered(computed), computed, "not every row has a literal");
}

#[test]
fn literals_change_within_their_type() {
    for (literal, other) in [
        ("1_000", Some("(1_000 + 7919)")),
        ("0xff", Some("(0xff + 7919)")),
        ("-2n", Some("(-2n + 7919n)")),
        ("1e20", Some("(1e20 / 2)")),
        ("[]", Some("[\"w\"]")),
        ("[ ]", Some("[\"w\" ]")),
        ("[true]", Some("[true, true]")),
        ("[-1]", Some("[7919, -1]")),
        ("[{a: 1}]", Some("[{a: 1}, {a: 1}]")),
        ("{ ...rest }", Some("{\"w\": \"w\",  ...rest }")),
        ("null", None),
        ("name", None),
        ("a, b", None),
    ] {
        assert_eq!(super::altered(literal, "w").as_deref(), other, "{literal}");
    }
}

#[test]
fn a_test_gets_another_name() {
    for (text, name, wanted) in [
        ("it('a', f => {});", "a", "it('a w', f => {});"),
        ("it(`a ${b}`, f => {});", "a 1", "it(`a ${b} w`, f => {});"),
        ("it('a ' + b, f => {});", "a 1", "it('a ' + b + \" w\", f => {});"),
        ("it('a ' + b + 'c', f => {});", "a 1c", "it('a ' + b + 'c w', f => {});"),
        ("it(Foo.name, f => {});", "Foo", "it(Foo.name + \" w\", f => {});"),
    ] {
        let source = source(text);
        let test = only(&source, name);
        let edited = source.edited(&[source.renamed(&test, "w")]).unwrap();
        assert_eq!(edited, wanted);
        let again = self::source(&edited);
        only(&again, &source.renamed_name(&test, name, "w").unwrap());
    }
}

#[test]
fn typescript_with_and_without_elements_is_read() {
    let typed = "it('a', () => { const x = <T>(y: T) => y; expect(<number>x(1)).toBe(1); });";
    assert!(poisoned(typed, "a", Place::Last, Means::Assertion).is_some());
    let with_elements = "it('a', () => { expect(render(<App id={1} />)).toBe(1); });";
    assert!(poisoned(with_elements, "a", Place::Last, Means::Assertion).is_some());
    assert!(Source::read("a.test.ts", "it('a', () => {").is_none());
}

#[test]
fn deep_nesting_does_not_end_the_process() {
    let deep = format!("{}{}{}", "f(".repeat(20_000), "1", ")".repeat(20_000));
    let text = format!("it('a', () => {{ {deep}; }});");
    assert_eq!(names(&text), ["a"]);
}
