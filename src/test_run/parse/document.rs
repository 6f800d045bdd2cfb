//! Collects JSON documents out of a log: one line that is a whole object, or one printed over many lines.

/// The longest document that is kept; it is parsed in one piece.
const LONGEST: usize = 8 * 1024 * 1024;

/// A collector for one reader.
#[derive(Debug, Default)]
pub(super) struct JsonDocument {
    text: String,
    open: bool,
}

impl JsonDocument {
    /// Takes a line; returns a document when this line ends one.
    ///
    /// Pretty-printed documents start with a line `{` and end with a line `}`, both without indentation.
    pub(super) fn line<'a>(&'a mut self, line: &'a str) -> Option<&'a str> {
        if self.open {
            if self.text.len() + line.len() > LONGEST {
                self.open = false;
                self.text = String::new();
                return None;
            }
            self.text.push_str(line);
            self.text.push('\n');
            if line == "}" {
                self.open = false;
                return Some(&self.text);
            }
            return None;
        }
        if line == "{" {
            self.text.clear();
            self.text.push_str("{\n");
            self.open = true;
            return None;
        }
        (line.starts_with('{') && line.trim_end().ends_with('}')).then_some(line)
    }

    /// Whether a document is being collected: its lines are nobody else's.
    pub(super) const fn is_open(&self) -> bool {
        self.open
    }
}
