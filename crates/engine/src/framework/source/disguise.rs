//! A test in other clothes: its calls are made by a plain function of a program, its mocks are plain functions, what it is given is read
//! before it reads it, what it passes in ends in another order. A right product does not tell it from the test.

use std::ops::Range;

use tree_sitter::Node;

use super::edit::Edit;
use super::nodes::{children, descendants, text_of};
use super::probe::{Call, calls};
use super::{Language, Source, TestBody};

/// How a test is dressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Guise {
    /// A plain caller and plain functions: in Python without the variables that the runner sets, in Ruby on another thread's stack.
    Plain,
    /// All that the product answers and that ends when it is read was read before. In Python: a script's object may count who reads it.
    Read,
    /// What a function of the test begins last ends first.
    Backwards,
    /// The control: all that it begins ends as much later.
    Forwards,
}

/// Calls a function as a program's own file does, without the variables that were set since the process began, or by us, and that no file
/// of tests and no configuration names.
const PLAIN_PYTHON: &str = r"
import io, os, re, sys
def said():
    files = [getattr(one, '__file__', None) or '' for one in list(sys.modules.values())]
    files = [one for one in files if not re.search('site-packages|/lib/python', one) and re.search('test', os.path.basename(one))]
    text = ''
    for path in files + ['pytest.ini', 'pyproject.toml', 'setup.cfg', 'tox.ini', '.env']:
        try:
            with io.open(path, errors='replace') as file:
                text += file.read()
        except OSError:
            pass
    return text
def late():
    try:
        with io.open('/proc/self/environ', 'rb') as file:
            begun = {os.fsdecode(one).split('=')[0] for one in file.read().split(bytes(1))}
    except OSError:
        return []
    text = said()
    return [name for name in list(os.environ) if (name not in begun or name == 'PYTEST_' + 'ADDOPTS') and name not in text]
def main(function, *given, **named):
    kept = {name: os.environ.pop(name) for name in late()}
    try:
        return function(*given, **named)
    finally:
        for name, value in kept.items():
            os.environ.setdefault(name, value)
";

/// A patch whose mock stands behind a plain function, or a class, where the name is one.
const PATCH_PYTHON: &str = r"
import types
class Patched:
    def __init__(self, own):
        self.own = own
    def __enter__(self):
        mock = self.own.__enter__()
        try:
            real = self.own.temp_original
            if isinstance(real, type):
                plain = type(real.__name__, (), {'__new__': lambda kind, *given, **named: mock(*given, **named)})
            elif isinstance(real, types.FunctionType):
                def plain(*given, **named):
                    return mock(*given, **named)
            else:
                return mock
            setattr(self.own.target, self.own.attribute, plain)
        except AttributeError:
            pass
        return mock
    def __exit__(self, *given):
        return self.own.__exit__(*given)
def main(patch, target):
    return Patched(patch(target))
";

/// An object as one of a class, whose parts are not its own.
const OF_A_CLASS: &str = "((one) => { const kind = {}; for (const name of Object.keys(one)) \
    Object.defineProperty(kind, name, { get: () => one[name], set: (other) => { one[name] = other; }, configurable: true }); \
    return Object.create(kind); })";

/// Reads what ends when it is read, of an answer and of its parts.
const READ_PYTHON: &str = r"
import itertools
def main(function, *given, **named):
    answer = function(*given, **named)
    for part in [answer, *list(getattr(answer, '__dict__', {}).values())]:
        if hasattr(type(part), '__next__'):
            for one in itertools.islice(part, 10000):
                pass
    return answer
";

/// A plain function in the place of a mock, the same one each time.
const PLAIN_SCRIPT: &str = "(globalThis.WORD ??= ((kept) => (one) => { \
    if (typeof one !== \"function\") return one; \
    if (!kept.has(one)) kept.set(one, function (value) { return new.target ? Reflect.construct(one, arguments) : Reflect.apply(one, this, arguments); }); \
    return kept.get(one); })(new WeakMap()))";

/// A function whose results come later: all that are under way together, the last one first or in their order. No clock decides.
const LATER_SCRIPT: &str = "((call, backwards) => { const waiting = []; let timer; \
    const end = () => { const all = waiting.splice(0); (backwards ? all.reverse() : all).forEach((one) => one()); }; \
    return function (...given) { const one = Reflect.apply(call, this, given); \
    return one && typeof one.then === \"function\" ? one.then((said) => new Promise((done) => { \
    waiting.push(() => done(said)); clearTimeout(timer); timer = setTimeout(end, 20); })) : one; }; })";

/// Calls whose value is a mock.
const MOCKS: [&str; 8] =
    ["jest.fn", "vi.fn", "mock.fn", "t.mock.fn", "sinon.stub", "sinon.spy", "sinon.fake", "td.func"];
/// The beginnings of calls that a test makes of its own tools.
const TOOLS: [&str; 9] = ["expect", "assert", "jest", "vi", "mock", "sinon", "should", "chai", "t"];
/// Words that a function of its own around a call would give another meaning.
const BOUND: [&str; 5] = ["await", "yield", "this", "arguments", "super"];

impl Source {
    /// The edits that dress a test. `None` where nothing in it can be dressed so. `is_meant` tells the functions of the product that count.
    #[must_use]
    pub fn disguised(
        &self,
        test: &TestBody,
        guise: Guise,
        is_meant: &dyn Fn(&str) -> bool,
        word: &str,
    ) -> Option<Vec<Edit>> {
        let calls = || self.outermost(calls(&self.text, &test.body, self.language, is_meant));
        let edits = match (self.language, guise) {
            (Language::Python, Guise::Plain) => {
                let plain = calls().into_iter().filter_map(|call| self.by(&call, PLAIN_PYTHON));
                plain.chain(self.patches(test)).collect()
            }
            (Language::Python, Guise::Read) => calls().iter().filter_map(|call| self.by(call, READ_PYTHON)).collect(),
            (Language::JavaScript, Guise::Plain) => {
                let mut edits: Vec<Edit> = calls()
                    .iter()
                    .flat_map(|call| self.around(call, ("(function main() { return ", "; })()")))
                    .collect();
                edits.extend(self.without_mocks(test, word));
                edits.extend(self.of_classes(test));
                edits
            }
            (Language::JavaScript, Guise::Backwards) => self.later(&calls(), true),
            (Language::JavaScript, Guise::Forwards) => self.later(&calls(), false),
            (Language::Ruby, Guise::Plain) => self.on_a_thread(test)?,
            _ => return None,
        };
        self.edited(&edits).filter(|_| !edits.is_empty())?;
        Some(edits)
    }

    /// The patches of names that a test of Python makes for a part of itself.
    fn patches(&self, test: &TestBody) -> Vec<Edit> {
        let Some(root) = self.root() else { return Vec::new() };
        let inside = |node: &Node<'_>| test.body.start <= node.start_byte() && node.end_byte() <= test.body.end;
        let edit = |node: Node<'_>| {
            let named = node.child_by_field_name("function").filter(|_| node.kind() == "call")?;
            let patch = text_of(named, &self.text);
            let given = children(node.child_by_field_name("arguments")?);
            let is_one = matches!(patch, "patch" | "mock.patch" | "unittest.mock.patch");
            let is_part = node.parent().is_some_and(|parent| matches!(parent.kind(), "with_item" | "as_pattern"));
            // With a second argument the patch puts in what the test wants, which is no mock to be hidden.
            (is_one && is_part && matches!(given.as_slice(), [only] if only.kind() == "string")).then_some(())?;
            let range = node.start_byte()..node.child_by_field_name("arguments")?.start_byte() + 1;
            Some(Edit { range, text: format!("{}({patch}, ", made(PATCH_PYTHON)) })
        };
        descendants(root).filter(inside).filter_map(edit).collect()
    }

    /// The objects of a test of JavaScript that hold both values and functions: those of a program have their functions from a class.
    fn of_classes(&self, test: &TestBody) -> Vec<Edit> {
        let Some(root) = self.root() else { return Vec::new() };
        let inside = |node: &Node<'_>| test.body.start <= node.start_byte() && node.end_byte() <= test.body.end;
        let is_function = |node: Node<'_>| {
            let value = node.child_by_field_name("value").unwrap_or(node);
            matches!(value.kind(), "arrow_function" | "function_expression" | "method_definition")
        };
        let is_meant = |node: &Node<'_>| {
            let parts = children(*node);
            let is_answer = node.parent().is_some_and(|parent| {
                matches!(parent.kind(), "parenthesized_expression" | "return_statement" | "arrow_function")
            });
            let is_plain = parts.iter().all(|part| matches!(part.kind(), "pair" | "method_definition"));
            let functions = parts.iter().filter(|part| is_function(**part)).count();
            // Functions alone are a module or a set of handlers, which programs write so, too.
            node.kind() == "object" && is_answer && is_plain && functions > 0 && functions < parts.len()
        };
        let dressed = |node: Node<'_>| {
            [Edit::insert(node.start_byte(), format!("{OF_A_CLASS}(")), Edit::insert(node.end_byte(), ")".to_owned())]
        };
        descendants(root).filter(inside).filter(is_meant).flat_map(dressed).collect()
    }

    /// The calls that stand in no other one, in no text and in no comment.
    pub(super) fn outermost(&self, calls: Vec<Call>) -> Vec<Call> {
        let mut kept: Vec<Call> = Vec::new();
        let is_code = |call: &Call| {
            let node =
                self.root().and_then(|root| root.descendant_for_byte_range(call.range.start, call.range.start + 1));
            node.is_some_and(|node| !["string", "comment", "regex"].iter().any(|kind| node.kind().contains(kind)))
        };
        for call in calls.into_iter().filter(is_code) {
            // Edits may not overlap, and an inner call is made by the outer one's arguments anyway.
            if kept.last().is_none_or(|last| last.range.end <= call.range.start) {
                kept.push(call);
            }
        }
        kept
    }

    /// A call in Python that another function makes.
    fn by(&self, call: &Call, code: &str) -> Option<Edit> {
        let text = self.text.get(call.range.clone())?;
        let (function, _) = text.split_once('(')?;
        let range = call.range.start..call.range.start + function.len() + 1;
        Some(Edit { range, text: format!("{}({function}, ", made(code)) })
    }

    /// A call in JavaScript with something around it. None where that would give it another meaning.
    fn around(&self, call: &Call, (before, behind): (&str, &str)) -> Vec<Edit> {
        let text = self.text.get(call.range.clone()).unwrap_or_default();
        let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        if words.any(|word| BOUND.contains(&word)) {
            return Vec::new();
        }
        vec![Edit::insert(call.range.start, before.to_owned()), Edit::insert(call.range.end, behind.to_owned())]
    }

    /// The mocks that a test passes on, each as a plain function.
    fn without_mocks(&self, test: &TestBody, word: &str) -> Vec<Edit> {
        let plain = PLAIN_SCRIPT.replace("WORD", word);
        let dressed = |range: Range<usize>| {
            [Edit::insert(range.start, format!("{plain}(")), Edit::insert(range.end, ")".to_owned())]
        };
        self.functions_passed_on(test, false).into_iter().flat_map(dressed).collect()
    }

    /// The places where a test of JavaScript passes on a mock by its name, to what is no tool of its own; functions as written, too, if asked
    /// for.
    pub(super) fn functions_passed_on(&self, test: &TestBody, with_written: bool) -> Vec<Range<usize>> {
        let Some(root) = self.root() else { return Vec::new() };
        let text = self.text.as_str();
        let is_mock = |node: Node<'_>| {
            let called = text_of(node, text).split('(').next().unwrap_or_default().trim_end();
            node.kind() == "call_expression" && MOCKS.contains(&called)
        };
        let bound = |node: Node<'_>| {
            let (name, value) = match node.kind() {
                "variable_declarator" => (node.child_by_field_name("name")?, node.child_by_field_name("value")?),
                "assignment_expression" => (node.child_by_field_name("left")?, node.child_by_field_name("right")?),
                _ => return None,
            };
            // `jest.fn().mockReturnValue(3)` is one, too.
            let is_one = value.kind() == "call_expression" && descendants(value).any(is_mock);
            (is_one && name.kind() == "identifier").then(|| text_of(name, text))
        };
        let names: Vec<&str> = descendants(root).filter_map(bound).collect();
        let is_passed_on = |node: &Node<'_>| {
            let call = node.parent().filter(|list| list.kind() == "arguments").and_then(|list| list.parent());
            let called = call.and_then(|call| {
                call.child_by_field_name("function").or_else(|| call.child_by_field_name("constructor"))
            });
            let is_tool = |called: Node<'_>| {
                let first = text_of(called, text).split(['.', '(', '[']).next().unwrap_or_default();
                TOOLS.contains(&first)
            };
            called.is_some_and(|called| !is_tool(called))
        };
        let is_meant = |node: &Node<'_>| match node.kind() {
            "identifier" => names.contains(&text_of(*node, text)),
            "arrow_function" | "function_expression" => with_written,
            _ => false,
        };
        let inside = |node: &Node<'_>| test.body.start <= node.start_byte() && node.end_byte() <= test.body.end;
        let found = descendants(root).filter(inside).filter(|node| is_meant(node) && is_passed_on(node));
        found.map(|node| node.byte_range()).collect()
    }

    /// The functions that a test passes in and that are waited for, with results that come later.
    fn later(&self, calls: &[Call], backwards: bool) -> Vec<Edit> {
        // Only a function that is written as async is known to answer with a promise.
        let is_waited_for =
            |range: &&Range<usize>| self.text.get((*range).clone()).is_some_and(|text| text.starts_with("async "));
        let arguments = calls.iter().flat_map(|call| &call.arguments).filter(is_waited_for);
        let dressed = |range: &Range<usize>| {
            [Edit::insert(range.start, format!("{LATER_SCRIPT}(")), Edit::insert(range.end, format!(", {backwards})"))]
        };
        arguments.flat_map(dressed).collect()
    }

    /// A test of Ruby whose body runs on a thread of its own, in a program of another name.
    fn on_a_thread(&self, test: &TestBody) -> Option<Vec<Edit>> {
        // The body of `test "a" { … }` may stand in one line, that of `def` and `do` ends at its `end`.
        let is_block = self.text.get(..test.body.start)?.ends_with('{');
        let before = if is_block { " " } else { "; " };
        let begun = "(Thread.new(Thread.current, $PROGRAM_NAME) do |own, name| Thread.current.report_on_exception = false; \
                     own.keys.each { |key| Thread.current[key] = own[key] }; \
                     own.thread_variables.each { |key| Thread.current.thread_variable_set(key, own.thread_variable_get(key)) }; \
                     $PROGRAM_NAME = 'web-app'; begin;";
        Some(vec![
            Edit::insert(test.body.start, format!("{before}{begun}")),
            Edit::insert(
                test.body.end,
                format!("{}ensure; $PROGRAM_NAME = name; end; end).value; ", if is_block { "; " } else { "" }),
            ),
        ])
    }
}

/// A function of Python that is made where it is called.
pub(super) fn made(code: &str) -> String {
    let code = code.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("(lambda space: (exec(\"{code}\", space), space['main'])[1])({{'__name__': '__main__'}})")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dressed(path: &str, text: &str, guise: Guise) -> Option<String> {
        let source = Source::read(path, text).expect("a file of tests");
        let edits = source.disguised(&source.tests()[0], guise, &|name| name == "total", "word")?;
        source.edited(&edits)
    }

    #[test]
    fn a_call_is_made_by_a_plain_function() {
        let python =
            dressed("test_a.py", "def test_a(big):\n    assert total(big) == total([1, total(2)])\n", Guise::Plain);
        let python = python.expect("two calls");
        assert_eq!(python.matches("(total, ").count(), 2, "{python}");
        let script = "test('a', () => { expect(total('total(1)')).toBe(3); });\n";
        let script = dressed("a.test.js", script, Guise::Plain).expect("a call");
        assert!(script.contains("expect((function main() { return total('total(1)'); })()).toBe(3)"), "{script}");
        for text in ["test('a', () => { expect(other(1)).toBe(3); });\n", "test('a', () => total(this.one));\n"] {
            assert_eq!(dressed("a.test.js", text, Guise::Plain), None, "{text}");
        }
    }

    #[test]
    fn a_mock_is_a_plain_function_where_it_is_passed_on() {
        let text = "test('a', () => { const send = jest.fn().mockReturnValue(3); const other = 4; save(send, other); expect(send).toHaveBeenCalled(); });\n";
        let text = dressed("a.test.js", text, Guise::Plain).expect("a mock");
        assert!(text.contains("(send), other); expect(send).toHaveBeenCalled();"), "{text}");
        assert!(text.contains("globalThis.word"), "{text}");
    }

    #[test]
    fn a_patch_is_a_class_and_an_answer_is_of_one() {
        let text = "def test_a():\n    with mock.patch('a.B') as b, mock.patch('a.C', 3):\n        total(1)\n";
        let text = dressed("test_a.py", text, Guise::Plain).expect("a patch");
        assert_eq!(text.matches("(mock.patch, 'a.B') as b, mock.patch('a.C', 3):").count(), 1, "{text}");
        let text =
            "test('a', async () => { const get = async () => ({ ok: true, json: () => 3 }); total({ a: 1 }); });\n";
        let text = dressed("a.test.js", text, Guise::Plain).expect("an answer");
        assert!(text.contains("Object.create(kind); })({ ok: true, json: () => 3 }))"), "{text}");
    }

    #[test]
    fn what_is_waited_for_ends_later() {
        let text = "test('a', async () => { expect(await total([1], async (one) => one, (two) => two)).toBe(3); });\n";
        let text = dressed("a.test.js", text, Guise::Backwards).expect("a function");
        assert!(text.contains("(async (one) => one, true), (two) => two)"), "{text}");
    }

    #[test]
    fn a_body_of_ruby_runs_on_a_thread() {
        let text = "describe 'a' do\n  it 'b' do\n    expect(total).to eq(3)\n  end\nend\n";
        let text = dressed("spec/a_spec.rb", text, Guise::Plain).expect("a body");
        assert!(text.contains("ensure; $PROGRAM_NAME = name; end; end).value; end"), "{text}");
    }
}
