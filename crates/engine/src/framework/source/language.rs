//! The languages whose tests are found.

use grammars::Grammar;

/// A language whose tests are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    /// pytest, unittest.
    Python,
    /// jest, vitest, mocha, `node --test` and their like, in JavaScript and TypeScript.
    JavaScript,
    /// Tests of libtest, run by cargo or nextest.
    Rust,
    /// `go test`.
    Go,
    /// JUnit, TestNG.
    Java,
    /// PHPUnit.
    Php,
    /// GoogleTest, Catch2, doctest.
    Cpp,
    /// RSpec, minitest, test-unit.
    Ruby,
}

impl Language {
    /// The language of a file, by the ending of its name.
    #[must_use]
    pub fn of(path: &str) -> Option<Self> {
        let (_, ending) = path.rsplit('/').next().unwrap_or(path).rsplit_once('.')?;
        match ending {
            "py" => Some(Self::Python),
            "js" | "cjs" | "mjs" | "jsx" | "ts" | "cts" | "mts" | "tsx" => Some(Self::JavaScript),
            "rs" => Some(Self::Rust),
            "go" => Some(Self::Go),
            "java" => Some(Self::Java),
            "php" => Some(Self::Php),
            "cc" | "cpp" | "cxx" | "c++" | "C" | "h" | "hh" | "hpp" | "hxx" => Some(Self::Cpp),
            "rb" => Some(Self::Ruby),
            _ => None,
        }
    }

    /// Whether its tests stand in the files of the product as well.
    #[must_use]
    pub const fn has_inline_tests(self) -> bool {
        match self {
            Self::Python | Self::JavaScript | Self::Go | Self::Java | Self::Php | Self::Cpp | Self::Ruby => false,
            Self::Rust => true,
        }
    }

    /// Whether its files are parsed as a whole, by a grammar.
    #[must_use]
    pub const fn has_grammar(self) -> bool {
        match self {
            Self::Python | Self::JavaScript | Self::Rust | Self::Go => true,
            Self::Java | Self::Php | Self::Cpp | Self::Ruby => false,
        }
    }

    pub(super) fn grammar(self) -> Option<tree_sitter::Language> {
        let grammar = match self {
            Self::Python => Grammar::Python,
            // TypeScript with JSX reads JavaScript too; one grammar for all keeps the program small.
            Self::JavaScript => Grammar::Tsx,
            Self::Rust => Grammar::Rust,
            Self::Go => Grammar::Go,
            Self::Java | Self::Php | Self::Cpp | Self::Ruby => return None,
        };
        grammar.language()
    }
}
