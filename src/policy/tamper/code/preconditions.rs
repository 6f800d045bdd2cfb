//! Node's `assert` in code that only states its preconditions with it.
//!
//! Such a file calls functions of the module and does nothing else with it: it can alter no assertion of a test.

use regex::Regex;

use super::super::squeeze::spaced;
use super::computed::JAVASCRIPT;
use crate::domain::word_list::lists;

/// How the module is named, once, before it is used.
const IMPORT: &str = concat!(
    r#"\bimport assert from ?(?:'(?:node:)?assert(?:/strict)?'|"(?:node:)?assert(?:/strict)?")"#,
    r#"|\bconst assert = require ?\( ?(?:'(?:node:)?assert(?:/strict)?'|"(?:node:)?assert(?:/strict)?") ?\)(?: ?\. ?strict)?"#,
);
/// A call of it, or of one of its functions.
const CALL: &str = r"(?:^|[^\w$.])assert ?(?:\. ?(?:ok|equal|notEqual|strictEqual|notStrictEqual|deepEqual|notDeepEqual|deepStrictEqual|notDeepStrictEqual|throws|rejects|match|doesNotMatch|fail) ?)?\(";

/// The same text without that import, where the file does nothing with the module but call it.
pub(super) fn without_import(path: &str, text: &str) -> Option<String> {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    if !text.contains("assert") || !lists(JAVASCRIPT, extension) {
        return None;
    }
    let code = spaced(path, text);
    let import = Regex::new(IMPORT).ok()?;
    if import.find_iter(&code).count() != 1 || code.contains("\\u") {
        return None;
    }
    let rest = import.replace(&code, "").into_owned();
    let calls = Regex::new(CALL).ok()?.find_iter(&rest).count();
    (rest.matches("assert").count() == calls).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_only_calls_it_is_told_from_one_that_holds_it() {
        let import = "import assert from 'node:assert';\n";
        for code in ["f(x); assert(x > 0, 'no');", "assert.ok(x);\nassert . equal(a, b);", "if (x) assert.fail('no')"] {
            assert!(without_import("a.js", &format!("{import}{code}")).is_some(), "{code}");
        }
        for code in [
            "const a = assert;",
            "assert[k] = f;",
            "assert.ok = f;",
            "Object.assign(assert, f);",
            "assert.__defineGetter__(k, f);",
            "assert.ok(assert);",
            "assert(1); const m = x['assert'];",
            "assert.ok.call(1);",
            "a\\u0073sert.ok = f;",
            "import b from 'assert';",
            "x.assert(1);",
        ] {
            assert_eq!(without_import("a.js", &format!("{import}{code}")), None, "{code}");
        }
        assert_eq!(without_import("a.js", "import a from 'assert';"), None);
        assert!(without_import("a.js", "const assert = require(\"assert\").strict;\nassert(1);").is_some());
    }
}
