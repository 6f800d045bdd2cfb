//! Modules and code of which the name or the text is only built at run time: no list of names can know them.

use regex::Regex;

use super::super::Change;
use super::super::squeeze::spaced;
use crate::domain::word_list::lists;

/// A rule: its name in messages, the endings of the files that it is for, a text without which it cannot match, what it looks
/// for, and the part of that which is harmless.
type Rule = (&'static str, &'static str, &'static str, &'static str, &'static str);

/// The endings of sources of JavaScript.
pub(super) const JAVASCRIPT: &str = "js cjs mjs jsx ts cts mts tsx";

/// A call whose first argument is a text without escapes or places for others, perhaps behind comments.
macro_rules! names_in_javascript {
    ($call:literal) => {
        concat!(r"\b", $call, r#" ?\((?: ?/\*[^*]*\*/)* ?(?:'[^'\\]*'|"[^"\\]*"|`[^`\\$]*`) ?[,)]"#)
    };
}
macro_rules! names_in_python {
    ($call:literal) => {
        concat!(r"\b", $call, r#" ?\( ?(?:'[^'\\]*'|"[^"\\]*") ?[,)]"#)
    };
}
/// Matches nothing.
const NOTHING: &str = r"[^\s\S]";

const RULES: [Rule; 7] = [
    ("import(…) of a computed name", JAVASCRIPT, "import", r"\bimport ?\(", names_in_javascript!("import")),
    ("require(…) of a computed name", JAVASCRIPT, "require", r"\brequire ?\(", names_in_javascript!("require")),
    ("createRequire(…)", JAVASCRIPT, "createRequire", r"\bcreateRequire ?\(", r"\brequire ?= ?createRequire ?\("),
    ("eval(…)", JAVASCRIPT, "eval", r"(?:^|[^\w.$])eval ?\(", NOTHING),
    ("Function(…)", JAVASCRIPT, "Function", r"(?:\bnew |\breturn |= ?)Function ?\(", NOTHING),
    (
        "import_module",
        "py",
        "import",
        r"\b(?:__import__|import_module) ?\(",
        names_in_python!("(?:__import__|import_module)"),
    ),
    ("eval(…) or exec(…)", "py", "e", r"(?:^|[^\w.])(?:exec|eval) ?\(", NOTHING),
];

/// The first rule that objects to more after than before.
pub(super) fn added(change: &Change) -> Option<&'static str> {
    let extension = change.name().rsplit_once('.').map_or("", |(_, extension)| extension);
    let mut rules = RULES
        .iter()
        .filter(|(_, endings, needle, ..)| lists(endings, extension) && change.after().contains(needle))
        .peekable();
    rules.peek()?;
    let (before, after) = (spaced(&change.path, change.before()), spaced(&change.path, change.after()));
    rules.find_map(|(name, _, _, every, harmless)| {
        let (every, harmless) = (Regex::new(every).ok()?, Regex::new(harmless).ok()?);
        let count = |text: &str| every.find_iter(text).count().saturating_sub(harmless.find_iter(text).count());
        (count(&after) > count(&before)).then_some(*name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(path: &str, before: &str, after: &str) -> bool {
        let change = Change {
            path: path.to_owned(),
            before: Some(before.to_owned()),
            after: Some(after.to_owned()),
            may_edit_tests: false,
        };
        added(&change).is_some()
    }

    #[test]
    fn every_pattern_can_be_read() {
        for (name, _, _, every, harmless) in RULES {
            assert!(Regex::new(every).is_ok() && Regex::new(harmless).is_ok(), "{name}");
        }
    }

    #[test]
    fn names_and_code_that_are_built_are_found() {
        for (path, text) in [
            ("a.mjs", "const m = await import(['ass', 'ert'].join(''));"),
            ("a.mjs", "const m = await import(/* './a' */ name);"),
            ("a.mjs", "const m = await import('ass' + x);"),
            ("a.ts", "const m = await import(`ass${x}`);"),
            ("a.ts", r"const m = await import('\x61ssert');"),
            ("a.js", "const m = require(names[0])"),
            ("a.mjs", "const load = createRequire(import.meta.url);"),
            ("a.js", "eval(text); model.eval();"),
            ("a.js", "const f = new Function('return 1');"),
            ("a.py", "import importlib\nm = importlib.import_module(''.join(['unit', 'test']))\n"),
            ("a.py", "m = __import__('unit' + x)\n"),
            ("a.py", "exec(text)\n"),
        ] {
            assert!(objects(path, "", text), "{text}");
            assert!(!objects(path, text, text), "{text} was there");
        }
    }

    #[test]
    fn names_that_stand_there_are_harmless() {
        for (path, text) in [
            ("a.mjs", "const page = () => import('./page.js');"),
            ("a.mjs", "const page = () => import(/* webpackChunkName: \"a\" */ './page.js');"),
            ("a.js", "const fs = require('fs'), path = require(\"path\"), a = require(`./a`);"),
            ("a.mjs", "const require = createRequire(import.meta.url);\nconst v = require('./package.json').version;"),
            ("a.js", "const found = /a/.exec(text); model.eval(); isFunction(f); retrieval(x);"),
            ("a.ts", "/** @type {import('vite').UserConfig} */\nlet f: Function; import.meta.env;"),
            (
                "a.py",
                "m = importlib.import_module('shop.cart')\nn = importlib.import_module('.cart', package=__name__)\n",
            ),
            ("a.py", "cursor.exec(sql)\nframe.eval('a + b')\nevaluate(x)\nos.execve\n"),
        ] {
            assert!(!objects(path, "", text), "{text}");
        }
    }
}
