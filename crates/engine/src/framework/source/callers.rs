//! A test that looks at what belongs to the caller: at the lists that it passes in, after the call, and at the object whose method refused.
//! The test fails with a short code of it.

use std::ops::Range;

use tree_sitter::Node;

use super::disguise::made;
use super::edit::Edit;
use super::nodes::{children, descendants, node_at, text_of};
use super::probe::{Call, calls};
use super::{Language, Source, TestBody};

/// What became of an object when its method was called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Whether the call ended with an error.
    pub refused: bool,
    /// Whether the object holds what it answered.
    pub holds_answer: bool,
    /// A code of what the object holds then. `None` where it is what it held before.
    pub altered: Option<String>,
}

/// Calls a function, and looks at the given lists afterwards.
const PYTHON_LISTS: &str = r"
import copy
def main(word, function, *given, **named):
    held = copy.deepcopy(given)
    answer = function(*given, **named)
    for was, now in zip(held, given):
        if type(now) in (list, dict) and now != was:
            raise AssertionError('~' + word[0] + word[1] + '~')
    return answer
";
const SCRIPT_LISTS: &str = "((call, one, two, ...held) => { const kept = JSON.stringify(held); const answer = call(...held); \
    if (JSON.stringify(held) !== kept) throw new Error(\"~\" + one + two + \"~\"); return answer; })";

/// A function that has a list with room behind it, and looks at it when the test has ended.
const GO_LIST: &str = "import reflectNAME \"reflect\"\n\nfunc NAME[T any](t *testing.T, given ...T) []T {\n\theld := append(make([]T, 0, len(given)+8), given...)\n\
    \town := append([]T(nil), held...)\n\tt.Cleanup(func() {\n\t\tif !reflectNAME.DeepEqual(held, own) {\n\
    \t\t\tt.Error(\"~ONE\" + \"TWO~\")\n\t\t}\n\t})\n\treturn held\n}\n";

/// Looks at the object of a method whose answer it hands on.
const GO_OBJECT: &str = "import (\n\tfmtNAME \"fmt\"\n\treflectNAME \"reflect\"\n)\n\n\
    func NAMEsaid(own any) string {\n\treturn fmtNAME.Sprintf(\"%+v\", reflectNAME.Indirect(reflectNAME.ValueOf(own)))\n}\n\n\
    func NAME[T any](t *testing.T, own any, was string, answer T) T {\n\tnow, end := NAMEsaid(own), \"RN\"\n\
    \tif held := reflectNAME.Indirect(reflectNAME.ValueOf(own)); held.Kind() == reflectNAME.Struct {\n\
    \t\tfor at := 0; at < held.NumField(); at++ {\n\
    \t\t\tif fmtNAME.Sprintf(\"%v\", held.Field(at)) == fmtNAME.Sprintf(\"%v\", answer) {\n\t\t\t\tend = \"RH\"\n\t\t\t}\n\t\t}\n\t}\n\
    \tcode := \"0\"\n\tif now != was {\n\t\tcode = fmtNAME.Sprintf(\"%x\", now)\n\t}\n\
    \tt.Fatal(\"~ONE\" + \"TWO=\" + end + code + \"~\")\n\treturn answer\n}\n";

/// Calls a method, and looks at its object afterwards.
const PYTHON_OBJECT: &str = r"
import zlib
def held(own):
    try:
        return repr(sorted(vars(own).items()))
    except TypeError:
        return ''
def main(word, own, name, *given, **named):
    was = held(own)
    def told(end):
        now = held(own)
        code = '0' if now == was or ' at 0x' in now else '%x' % zlib.crc32(now.encode('utf-8', 'replace'))
        return AssertionError('~' + word[0] + word[1] + '=' + end + code + '~')
    try:
        answer = getattr(own, name)(*given, **named)
    except Exception:
        raise told('EN') from None
    kept = getattr(own, '__dict__', {}).values()
    raise told('RH' if any(type(one) is type(answer) and one == answer for one in kept) else 'RN')
";
const SCRIPT_OBJECT: &str = "((own, call, one, two) => { const held = () => { try { return JSON.stringify(own); } catch { return \"\"; } }; \
    const code = (text) => { let sum = 2166136261; for (const c of String(text)) sum = Math.imul(sum ^ c.codePointAt(0), 16777619) >>> 0; return sum.toString(16); }; \
    const was = held(); let end = \"RN\"; try { const answer = call(own); if (answer !== undefined && Object.values(own).includes(answer)) end = \"RH\"; } catch { end = \"EN\"; } \
    const now = held(); throw new Error(\"~\" + one + two + \"=\" + end + (now === was ? \"0\" : code(now)) + \"~\"); })";

/// Tells of which type each part of an answer is.
const PYTHON_ANSWER: &str = r"
def main(word, answer):
    kinds = []
    def look(part, path, depth):
        kinds.append(path + ':' + type(part).__name__)
        if depth < 5 and len(kinds) < 60:
            items = part.items() if type(part) is dict else enumerate(part) if type(part) in (list, tuple) else ()
            for key, one in items:
                look(one, path + '.' + str(key), depth + 1)
    look(answer, '', 0)
    raise AssertionError('~' + word[0] + word[1] + '=' + ';'.join(kinds) + '~')
";
const SCRIPT_ANSWER: &str = "((answer, one, two) => { const kinds = []; const look = (part, path, depth) => { \
    const kind = part === null || part === undefined || !part.constructor ? String(part) : part.constructor.name; kinds.push(path + \":\" + kind); \
    if (depth < 5 && kinds.length < 60 && (kind === \"Object\" || kind === \"Array\")) \
    for (const key of Object.keys(part)) look(part[key], path + \".\" + key, depth + 1); }; \
    look(answer, \"\", 0); throw new Error(\"~\" + one + two + \"=\" + kinds.join(\";\") + \"~\"); })";
/// Types that a text can be read into without more.
const PLAIN: [&str; 12] =
    ["String", "Number", "Boolean", "Object", "Array", "str", "int", "float", "bool", "dict", "list", "NoneType"];

impl Source {
    /// The edits that have a test tell of which types the parts of an answer are. `None` where it calls no such function.
    #[must_use]
    pub fn looks_at_answer(&self, test: &TestBody, is_meant: &dyn Fn(&str) -> bool, word: &str) -> Option<Vec<Edit>> {
        let (one, two) = word.split_at_checked(word.len() / 2)?;
        let calls = self.outermost(calls(&self.text, &test.body, self.language, is_meant));
        let call = calls.iter().find(|call| !call.is_awaited)?;
        let text = self.text.get(call.range.clone())?;
        let text = match self.language {
            // `await` inside of an argument would stand in a function that is not async.
            _ if text.split(|c: char| !c.is_alphanumeric()).any(|word| word == "await") => return None,
            Language::Python => format!("{}(('{one}', '{two}'), {text})", made(PYTHON_ANSWER)),
            Language::JavaScript => format!("{SCRIPT_ANSWER}({text}, \"{one}\", \"{two}\")"),
            Language::Rust | Language::Go | Language::Java | Language::Php | Language::Cpp | Language::Ruby => {
                return None;
            }
        };
        let edits = vec![Edit { range: call.range.clone(), text }];
        self.edited(&edits)?;
        Some(edits)
    }

    /// The edits that have a test look, after its calls, at the lists that it passes in as they are written there: nobody else holds them. In
    /// Go they have room to grow. `None` where it passes in none.
    #[must_use]
    pub fn looks_at_lists(&self, test: &TestBody, is_meant: &dyn Fn(&str) -> bool, word: &str) -> Option<Vec<Edit>> {
        let (one, two) = word.split_at_checked(word.len() / 2)?;
        let calls = self.outermost(calls(&self.text, &test.body, self.language, is_meant));
        let with_lists = calls.iter().filter(|call| !call.is_awaited && self.lists_of(call).next().is_some());
        let edits: Vec<Edit> = match self.language {
            Language::Python => with_lists.filter_map(|call| self.looking(call, (one, two))).collect(),
            Language::JavaScript => with_lists.filter_map(|call| self.looking_script(call, (one, two))).collect(),
            Language::Go => self.with_room(test, &calls, (one, two))?,
            Language::Rust | Language::Java | Language::Php | Language::Cpp | Language::Ruby => return None,
        };
        self.edited(&edits).filter(|_| !edits.is_empty())?;
        Some(edits)
    }

    /// The edits that have a test look at the object of a method that it calls. `None` where it calls no such method of what can be looked at.
    #[must_use]
    pub fn looks_at_object(&self, test: &TestBody, is_meant: &dyn Fn(&str) -> bool, word: &str) -> Option<Vec<Edit>> {
        let (one, two) = word.split_at_checked(word.len() / 2)?;
        let inside = |node: &Node<'_>| test.body.start <= node.start_byte() && node.end_byte() <= test.body.end;
        let edit = |node: Node<'_>| {
            let called = node.child_by_field_name("function")?;
            let (own, name) = match (self.language, node.kind(), called.kind()) {
                (Language::Python, "call", "attribute") => {
                    (called.child_by_field_name("object")?, called.child_by_field_name("attribute")?)
                }
                (Language::JavaScript, "call_expression", "member_expression") => {
                    (called.child_by_field_name("object")?, called.child_by_field_name("property")?)
                }
                _ => return None,
            };
            let (own, name) = (text_of(own, &self.text), text_of(name, &self.text));
            let given = text_of(node.child_by_field_name("arguments")?, &self.text);
            let given = given.strip_prefix('(')?.strip_suffix(')')?;
            // A promise holds nothing of the answer yet, and the object may change until it is settled.
            let waits = node.parent().is_some_and(|parent| parent.kind().contains("await"));
            let text = match self.language {
                _ if waits || !is_meant(name) || given.contains("await") => return None,
                Language::Python => format!("{}(('{one}', '{two}'), {own}, '{name}', {given})", made(PYTHON_OBJECT)),
                Language::JavaScript => {
                    format!("{SCRIPT_OBJECT}({own}, (own) => own.{name}({given}), \"{one}\", \"{two}\")")
                }
                Language::Rust | Language::Go | Language::Java | Language::Php | Language::Cpp | Language::Ruby => {
                    return None;
                }
            };
            Some(Edit { range: node.byte_range(), text })
        };
        let edits = if self.language == Language::Go {
            self.looking_go(test, is_meant, (one, two))?
        } else {
            vec![descendants(self.root()?).filter(inside).find_map(edit)?]
        };
        self.edited(&edits)?;
        Some(edits)
    }

    /// A method of Go that is called of a variable, with a look at it.
    fn looking_go(
        &self,
        test: &TestBody,
        is_meant: &dyn Fn(&str) -> bool,
        (one, two): (&str, &str),
    ) -> Option<Vec<Edit>> {
        let (held, name) = (self.held_by(test)?, format!("u{one}{two}"));
        let inside = |node: &Node<'_>| test.body.start <= node.start_byte() && node.end_byte() <= test.body.end;
        let edit = |node: Node<'_>| {
            let called = node.child_by_field_name("function").filter(|_| node.kind() == "call_expression")?;
            let own = called.child_by_field_name("operand").filter(|own| own.kind() == "identifier")?;
            let method = text_of(called.child_by_field_name("field")?, &self.text);
            // A call that stands by itself answers nobody.
            let is_read = node.parent().is_some_and(|parent| parent.kind() != "expression_statement");
            let (own, call) = (text_of(own, &self.text), text_of(node, &self.text));
            let text = format!("{name}({held}, {own}, {name}said({own}), {call})");
            (is_meant(method) && is_read).then_some(Edit { range: node.byte_range(), text })
        };
        let edit = descendants(self.root()?).filter(inside).find_map(edit)?;
        Some([vec![edit], self.with_helper(GO_OBJECT, &name, (one, two))?].concat())
    }

    /// The name by which a test of Go is handed its own tools.
    fn held_by(&self, test: &TestBody) -> Option<&str> {
        let head = self.text.get(test.whole.start..test.body.start)?;
        let (before, _) = head.split_once("*testing.T")?;
        before.trim_end().rsplit(|c: char| !c.is_alphanumeric() && c != '_').next()
    }

    /// A function of its own for a file of Go.
    fn with_helper(&self, code: &str, name: &str, (one, two): (&str, &str)) -> Option<Vec<Edit>> {
        let package = children(self.root()?).into_iter().find(|node| node.kind() == "package_clause")?;
        let helper = code.replace("NAME", name).replace("ONE", one).replace("TWO", two);
        let (imports, helper) = helper.split_once("\n\n")?;
        Some(vec![
            // Go takes imports only right behind the package, and several blocks of them. The names are the helper's
            // own.
            Edit::insert(package.end_byte(), format!("\n\n{imports}\n")),
            Edit::insert(self.text.len(), format!("\n{helper}")),
        ])
    }

    /// The arguments of a call that are lists, or tables, as written.
    fn lists_of<'c>(&'c self, call: &'c Call) -> impl Iterator<Item = &'c Range<usize>> {
        call.arguments
            .iter()
            .filter(|range| self.text.get((*range).clone()).is_some_and(|text| text.starts_with(['[', '{'])))
    }

    fn looking(&self, call: &Call, (one, two): (&str, &str)) -> Option<Edit> {
        let text = self.text.get(call.range.clone())?;
        let (function, _) = text.split_once('(')?;
        // Up to the opening bracket: the arguments behind it stay where they are, and the bracket is written anew.
        let range = call.range.start..call.range.start + function.len() + 1;
        Some(Edit { range, text: format!("{}(('{one}', '{two}'), {function}, ", made(PYTHON_LISTS)) })
    }

    fn looking_script(&self, call: &Call, (one, two): (&str, &str)) -> Option<Edit> {
        let text = self.text.get(call.range.clone())?;
        let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        if words.any(|word| ["await", "yield", "this", "arguments", "super"].contains(&word)) {
            return None;
        }
        let (mut lists, mut rest) = (Vec::new(), text.to_owned());
        // From behind, so that the places of those before stay right while the text is changed.
        for (number, range) in self.lists_of(call).enumerate().collect::<Vec<_>>().into_iter().rev() {
            lists.insert(0, self.text.get(range.clone())?);
            let at = range.start - call.range.start..range.end - call.range.start;
            rest.replace_range(at, &format!("held[{number}]"));
        }
        let text = format!("{SCRIPT_LISTS}((...held) => {rest}, \"{one}\", \"{two}\", {})", lists.join(", "));
        Some(Edit { range: call.range.clone(), text })
    }

    /// Slices of Go with room behind them.
    fn with_room(&self, test: &TestBody, calls: &[Call], (one, two): (&str, &str)) -> Option<Vec<Edit>> {
        let root = self.root()?;
        let (held, name) = (self.held_by(test)?, format!("u{one}{two}"));
        let is_slice = |node: Node<'_>| {
            let of = node.child_by_field_name("type").filter(|of| of.kind() == "slice_type");
            let body = node.child_by_field_name("body");
            of.is_some() && body.is_some_and(|body| !children(body).is_empty())
        };
        let mut edits: Vec<Edit> = Vec::new();
        for range in calls.iter().flat_map(|call| &call.arguments) {
            let Some(node) = node_at(root, range, "composite_literal").filter(|node| is_slice(*node)) else { continue };
            edits.push(Edit::insert(node.start_byte(), format!("{name}({held}, ")));
            edits.push(Edit::insert(node.end_byte(), "...)".to_owned()));
        }
        (!edits.is_empty()).then_some(())?;
        edits.extend(self.with_helper(GO_LIST, &name, (one, two))?);
        Some(edits)
    }
}

/// Whether a report says that a list was altered.
#[must_use]
pub fn altered_lists(said: &str, word: &str) -> bool {
    said.contains(&format!("~{word}~"))
}

/// The first part of an answer that was of a type of its own in one report and is plain in another: its name and both types.
#[must_use]
pub fn made_plain(before: &str, after: &str, word: &str) -> Option<(String, String, String)> {
    let told = |said: &str| -> Option<Vec<(String, String)>> {
        let (_, rest) = said.split_once(&format!("~{word}="))?;
        let (kinds, _) = rest.split_once('~')?;
        let parts = kinds.split(';').filter_map(|one| one.rsplit_once(':'));
        Some(parts.map(|(path, kind)| (path.to_owned(), kind.to_owned())).collect())
    };
    let (before, after) = (told(before)?, told(after)?);
    before.into_iter().find_map(|(path, was)| {
        let (_, is) = after.iter().find(|(other, _)| *other == path && !path.is_empty())?;
        let name = path.rsplit('.').next().unwrap_or_default().to_owned();
        let is_own = was.starts_with(char::is_alphabetic)
            && !PLAIN.contains(&was.as_str())
            && was != "null"
            && was != "undefined";
        // A part that became nothing is missing rather than made plain.
        (is_own && PLAIN.contains(&is.as_str()) && is != "NoneType").then(|| (name, was, is.clone()))
    })
}

/// What a report says of an object.
#[must_use]
pub fn left(said: &str, word: &str) -> Option<Left> {
    let (_, rest) = said.split_once(&format!("~{word}="))?;
    let (code, _) = rest.split_once('~')?;
    let (end, code) = code.split_at_checked(2)?;
    let altered = (code != "0").then(|| code.to_owned());
    Some(Left { refused: end.starts_with('E'), holds_answer: end.ends_with('H'), altered })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(path: &str, text: &str, lists: bool) -> Option<String> {
        let source = Source::read(path, text).expect("a file of tests");
        let (test, is_meant) = (&source.tests()[0], |name: &str| name == "f");
        let edits = match lists {
            true => source.looks_at_lists(test, &is_meant, "qabc"),
            false => source.looks_at_object(test, &is_meant, "qabc"),
        };
        source.edited(&edits?)
    }

    #[test]
    fn a_list_that_is_passed_in_is_looked_at() {
        let script = edited("a.test.js", "test('a', () => { expect(f([1], 2, { b: 3 })).toBe(3); });\n", true);
        assert!(
            script.expect("lists").contains("((...held) => f(held[0], 2, held[1]), \"qa\", \"bc\", [1], { b: 3 })")
        );
        let python = edited("test_a.py", "def test_a():\n    assert f([1], 2) == 3\n", true).expect("a list");
        assert!(python.contains("(('qa', 'bc'), f, [1], 2) == 3"), "{python}");
        let go = "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {\n\tif f([]int{1, 2}, 3) != 4 {\n\t\tt.Fail()\n\t}\n}\n";
        let go = edited("a_test.go", go, true).expect("a slice");
        assert!(go.contains("f(uqabc(t, []int{1, 2}...), 3)") && go.contains("import reflectuqabc"), "{go}");
        assert_eq!(edited("test_a.py", "def test_a():\n    assert f(1, x) == 3\n", true), None);
        assert!(altered_lists("Error: ~qabc~", "qabc") && !altered_lists("~\" + one + two", "qabc"));
    }

    #[test]
    fn the_types_of_an_answer_are_told() {
        let plain = |before: &str, after: &str| made_plain(&format!("x ~w={before}~"), &format!("~w={after}~"), "w");
        let told = plain(":Object;.a:Array;.at:Date", ":Object;.a:Array;.at:String");
        assert_eq!(told, Some(["at", "Date", "String"].map(str::to_owned).into()));
        assert_eq!(plain(":Date", ":String"), None);
        assert_eq!(plain(":Object;.at:String", ":Object;.at:Date"), None);
        assert_eq!(plain(":dict;.at:date", ":dict"), None);
    }

    #[test]
    fn the_object_of_a_method_is_looked_at() {
        let script = "test('a', () => { expect(() => new A(1).f(2)).toThrow('no'); });\n";
        let script = edited("a.test.js", script, false).expect("a method");
        assert!(script.contains("(new A(1), (own) => own.f(2), \"qa\", \"bc\")"), "{script}");
        let python = "def test_a():\n    with pytest.raises(ValueError):\n        A(1).f(2)\n";
        let python = edited("test_a.py", python, false).expect("a method");
        assert!(python.contains("(('qa', 'bc'), A(1), 'f', 2)"), "{python}");
        assert_eq!(edited("test_a.py", "def test_a():\n    assert A().g(1) == 3\n", false), None);
        let go =
            "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {\n\tif a.f(5) != 4 {\n\t\tt.Fail()\n\t}\n}\n";
        let go = edited("a_test.go", go, false).expect("a method");
        assert!(go.contains("if uqabc(t, a, uqabcsaid(a), a.f(5)) != 4"), "{go}");
        let refused = Left { refused: true, holds_answer: false, altered: Some("1f".to_owned()) };
        assert_eq!(left("x ~qabc=EN1f~", "qabc"), Some(refused));
        assert_eq!(left("x ~qabc=RH0~", "qabc"), Some(Left { refused: false, holds_answer: true, altered: None }));
    }
}
