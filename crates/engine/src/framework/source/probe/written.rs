//! The expression that stands in a call's place: it makes all the calls and raises what became of them.
//!
//! Its word stands in it in two pieces, so that a report that quotes the test tells nothing.

/// Python. Whatever is done with the one that refuses, it raises.
const PYTHON: &str = r#"
import re, zlib
class Refused(Exception):
    pass
def no(*given, **named):
    raise Refused('refused')
names = 'abs add and bool bytes call complex contains delitem divmod enter eq exit float floordiv format ge getattribute getitem gt hash index int invert iter le len lshift lt mod mul ne neg next or pos pow radd rand rdivmod repr reversed rfloordiv rlshift rmod rmul ror round rpow rrshift rshift rsub rtruediv rxor setattr setitem str sub truediv trunc xor'
refusing = type('Refusing', (), {'__%s__' % name: no for name in names.split()})()
def code(text):
    return '%x' % zlib.crc32(text.encode('utf-8', 'replace'))
def became(call):
    try:
        answer = call(refusing)
    except Exception as error:
        kind = type(error)
        if kind is Refused:
            return 'Rrefused'
        try:
            said = re.sub(r"'[^']*'|\"[^\"]*\"|[0-9]+", '', str(error))
        except Exception:
            said = ''
        return 'R' + code(kind.__name__ + said)
    return answered(answer)
def answered(answer):
    if answer is False:
        return 'D'
    if answer is True or answer is None:
        return 'At' if answer else 'A0'
    if answer is refusing or type(answer) is object or hasattr(answer, '__next__') or hasattr(answer, '__await__'):
        return 'L'
    try:
        text = repr(answer)
    except Exception:
        return 'L'
    return 'L' if ' at 0x' in text else 'A' + code(type(answer).__name__ + text)
def probe(word, calls):
    raise AssertionError('~' + word + '=' + ''.join(became(call) + ';' for call in calls) + '|~')
"#;

/// Python that is waited for watches what its objects' functions begin, and has them fail. One that fails by itself ends well instead.
const PYTHON_AWAITED: &str = r#"
import asyncio, inspect
under, begun, refused, fails, hid = [0], [0], [0], [False], [False]
def called(part):
    def call(*given, **named):
        one = part(*given, **named)
        if not hasattr(one, '__await__'):
            return one
        begun[0] += 1
        if fails[0]:
            refused[0] += 1
            getattr(one, 'close', no)()
            return failed()
        under[0] += 1
        return waited(one)
    return call
async def failed():
    raise Refused('refused')
async def waited(one):
    answer = None
    try:
        answer = await one
    except Exception:
        hid[0] = True
    await asyncio.sleep(0.02)
    under[0] -= 1
    return answer
class Watched:
    def __init__(self, own):
        self.__dict__['own'] = own
    def __getattr__(self, name):
        part = getattr(self.__dict__['own'], name)
        return called(part) if callable(part) else part
def watched(one):
    if inspect.isroutine(one):
        return called(one)
    return Watched(one) if hasattr(one, '__dict__') and not isinstance(one, type) else one
async def under_way(call):
    try:
        await call(watched)
    except Exception:
        return ''
    if not begun[0]:
        return ''
    left = under[0]
    if left or hid[0]:
        return '%dS' % left
    fails[0] = True
    try:
        await call(watched)
    except Exception:
        return '%dE' % left
    return '%dN' % left if refused[0] else ''
async def became_later(call):
    try:
        answer = call(refusing)
        if hasattr(answer, '__await__'):
            answer = await answer
    except Exception as error:
        def again(refusing):
            raise error
        return became(again)
    return answered(answer)
async def probe(word, calls, watching):
    end = await under_way(watching)
    codes = ''
    for call in calls:
        codes += await became_later(call) + ';'
    raise AssertionError('~' + word + '=' + codes + '|' + end + '~')
"#;

/// JavaScript: helpers of both forms.
const SCRIPT: &str = r#"class Refused extends Error {}
const no = () => { throw new Refused("refused"); };
const refusing = new Proxy({}, new Proxy({}, { get: () => no }));
const code = (text) => { let sum = 2166136261; for (const c of String(text)) sum = Math.imul(sum ^ c.codePointAt(0), 16777619) >>> 0; return sum.toString(16); };
const plain = (one) => one === null || typeof one !== "object" || [Object.prototype, Array.prototype, null].includes(Object.getPrototypeOf(one));
const answered = (one) => {
  if (one === true) return "At";
  if (one === null || one === undefined) return one === null ? "A0" : "A00";
  if (one === false || (typeof one === "number" && one !== one)) return "D";
  if (one === refusing) return "L";
  if (typeof one === "function" || typeof one === "symbol" || !plain(one)) return "L";
  try { return "A" + code(typeof one + JSON.stringify(one)); } catch { return "L"; }
};
const raised = (error) => "R" + code(error && error.constructor ? error.constructor.name : typeof error);"#;

/// A script that is waited for watches what its objects' functions begin, and has them fail. Where nothing began the second time (a stand-in
/// that answers once), nothing is known.
const WATCH: &str = r#"let under = 0, begun = 0, failed = 0, fails = false;
const called = (part, of) => function (...given) {
  const one = Reflect.apply(part, of === undefined ? this : of, given);
  if (!one || typeof one.then !== "function") return one;
  begun += 1;
  if (fails) {
    failed += 1;
    one.then(() => {}, () => {});
    const refused = Promise.reject(new Refused("refused"));
    refused.catch(() => {});
    return refused;
  }
  under += 1;
  return one.then((said) => new Promise((done) => setTimeout(() => { under -= 1; done(said); }, 20)));
};
const watched = (one) => {
  if (typeof one === "function") return called(one);
  if (!one || typeof one !== "object" || Array.isArray(one)) return one;
  return new Proxy(one, { get: (of, name) => { const part = Reflect.get(of, name); return typeof part === "function" ? called(part, of) : part; } });
};
const under_way = async (call) => {
  try { await call(watched); } catch { return ""; }
  if (!begun) return "";
  const left = under;
  if (left) return left + "S";
  fails = true;
  try { await call(watched); } catch { return left + "E"; }
  return failed ? left + "N" : "";
};"#;

/// Rust: one function, over the panic or the answer's own words.
const RUST: &str = r#"fn code(text: &str) -> ::std::string::String {
    let sum = text.bytes().fold(2166136261_u32, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(16777619));
    ::std::format!("{sum:x}")
}
fn became(one: ::std::thread::Result<::std::string::String>) -> ::std::string::String {
    match one {
        Ok(said) if said == "false" || said == "None" || said.starts_with("Err(") => ::std::string::String::from("D"),
        Ok(said) => ::std::format!("A{}", code(&said)),
        Err(panic) => {
            let said = panic.downcast_ref::<::std::string::String>().cloned();
            let said = said.or_else(|| panic.downcast_ref::<&str>().map(|said| (*said).to_owned())).unwrap_or_default();
            let mut kind = ::std::string::String::new();
            let mut quote = None;
            for c in said.chars() {
                match quote {
                    Some(open) if open == c => quote = None,
                    Some(_) => {}
                    None if c == '\'' || c == '"' || c == '`' => quote = Some(c),
                    None if c.is_ascii_digit() => {}
                    None => kind.push(c),
                }
            }
            ::std::format!("R{}", code(&kind))
        }
    }
}"#;

/// PHP: one function over the calls. Objects cannot be compared by what they print.
const PHP: &str = r#"static function (array $calls) {
    $became = static function (callable $call): string {
        try {
            $one = $call();
        } catch (\Throwable $error) {
            return 'R' . hash('crc32b', get_class($error));
        }
        if ($one === true || $one === null) {
            return $one ? 'At' : 'A0';
        }
        if ($one === false || is_float($one) && is_nan($one)) {
            return 'D';
        }
        $said = print_r($one, true);
        return is_object($one) || strpos($said, ' Object') !== false ? 'L' : 'A' . hash('crc32b', gettype($one) . $said);
    };"#;

/// Ruby: one function over the calls. Objects cannot be compared by what they print.
const RUBY: &str = r#"lambda { |calls|
  code = lambda { |text| text.unpack('C*').inject(2_166_136_261) { |sum, byte| ((sum ^ byte) * 16_777_619) & 0xffff_ffff }.to_s(16) }
  became = lambda do |call|
    one = call.call
    next(one ? 'At' : 'A0') if one.equal?(true) || one.equal?(nil)
    next 'D' if one.equal?(false) || (one.is_a?(Float) && one.nan?)
    said = one.inspect
    said.include?('#<') ? 'L' : "A#{code.call(one.class.name + said)}"
  rescue StandardError, ScriptError => error
    "R#{code.call(error.class.name)}"
  end"#;

/// A word in two pieces.
fn halves(word: &str) -> (&str, &str) {
    word.split_at_checked(word.len() / 2).unwrap_or((word, ""))
}

pub(super) fn python(calls: &[String], word: &str) -> String {
    let (one, two) = halves(word);
    let calls: String = calls.iter().map(|call| format!("lambda refusing: {call}, ")).collect();
    let code = quoted(PYTHON);
    format!("(lambda space: (exec(\"{code}\", space), space['probe']('{one}' + '{two}', [{calls}])))({{}})")
}

/// The same where the call is waited for.
pub(super) fn awaited_python(calls: &[String], watched: &str, word: &str) -> String {
    let (one, two) = halves(word);
    let calls: String = calls.iter().map(|call| format!("lambda refusing: {call}, ")).collect();
    let code = quoted(&format!("{PYTHON}{PYTHON_AWAITED}"));
    format!(
        "(lambda space: (exec(\"{code}\", space), space['probe']('{one}' + '{two}', [{calls}], lambda watched: {watched}))[1])({{}})"
    )
}

fn quoted(code: &str) -> String {
    code.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

pub(super) fn javascript(calls: &[String], word: &str) -> String {
    let (one, two) = halves(word);
    let calls: String = calls.iter().map(|call| format!("(refusing) => {call}, ")).collect();
    let body = "const became = (call) => { try { return answered(call(refusing)); } catch (error) { return raised(error); } };\n\
                const said = calls.map((call) => became(call) + \";\").join(\"\");";
    format!(
        "((calls) => {{\n{SCRIPT}\n{body}\nthrow new Error(\"~{one}\" + \"{two}=\" + said + \"|~\");\n}})([{calls}])"
    )
}

/// The same where the call is waited for.
pub(super) fn awaited(calls: &[String], watched: &str, word: &str) -> String {
    let (one, two) = halves(word);
    let calls: String = calls.iter().map(|call| format!("async (refusing) => {call}, ")).collect();
    let body = "const became = async (call) => { try { return answered(await call(refusing)); } catch (error) { return raised(error); } };\n\
                const end = await under_way(watching);\nlet said = \"\";\nfor (const call of calls) said += await became(call) + \";\";";
    format!(
        "(async (calls, watching) => {{\n{SCRIPT}\n{WATCH}\n{body}\nthrow new Error(\"~{one}\" + \"{two}=\" + said + \"|\" + end + \"~\");\n}})([{calls}], async (watched) => {watched})"
    )
}

pub(super) fn rust(calls: &[String], word: &str) -> String {
    let (one, two) = halves(word);
    // The call itself stands at the end, so that the block has its type.
    let own = calls.first().map_or("", String::as_str);
    let said: String = calls
        .iter()
        .map(|call| {
            format!(
                "said.push_str(&became(::std::panic::catch_unwind(::std::panic::AssertUnwindSafe(|| ::std::format!(\"{{:?}}\", {call})))));\nsaid.push(';');\n"
            )
        })
        .collect();
    format!(
        "{{\n{RUST}\nlet mut said = ::std::string::String::new();\n{said}if ::std::hint::black_box(true) {{ ::std::panic!(\"~{{}}{{}}={{}}|~\", \"{one}\", \"{two}\", said); }}\n{own}\n}}"
    )
}

pub(super) fn php(calls: &[String], word: &str) -> String {
    let (one, two) = halves(word);
    let calls: String = calls.iter().map(|call| format!("fn () => {call}, ")).collect();
    format!(
        "({PHP}\n    $said = '';\n    foreach ($calls as $call) {{\n        $said .= $became($call) . ';';\n    }}\n    throw new \\RuntimeException('~{one}' . '{two}=' . $said . '|~');\n}})([{calls}])"
    )
}

pub(super) fn ruby(calls: &[String], word: &str) -> String {
    let (one, two) = halves(word);
    let calls: String = calls.iter().map(|call| format!("lambda {{ {call} }}, ")).collect();
    format!(
        "{RUBY}\n  said = calls.map {{ |call| became.call(call) + ';' }}.join\n  raise '~' + '{one}' + '{two}=' + said + '|~'\n}}.call([{calls}])"
    )
}
