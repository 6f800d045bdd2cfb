//! Surroundings of a place of a Rust file: a test inside a module, a macro's call or a condition of compilation is run only if those let
//! it.

use super::super::mask::{behind_match, byte};
use super::lexing::{attributes, code_alone, inner_attribute, opens_attribute, skip_space, squeezed, words};

/// Follows the brackets of a masked text.
pub(super) struct Enclosing<'t> {
    text: &'t str,
    mask: &'t [u8],
    /// The open brackets: the head that each belongs to, and the item in which it stands.
    open: Vec<(String, Item)>,
    /// The item that is being read.
    item: Item,
}

/// An item that is being read.
#[derive(Debug, Default)]
struct Item {
    start: usize,
    /// Where it goes on behind its attributes, and its conditions of compilation, once they were asked for.
    attributes: Option<(usize, String)>,
}

impl Item {
    const fn at(start: usize) -> Self {
        Self { start, attributes: None }
    }
}

impl<'t> Enclosing<'t> {
    pub(super) const fn new(text: &'t str, mask: &'t [u8]) -> Self {
        Self { text, mask, open: Vec::new(), item: Item::at(0) }
    }

    /// Takes the byte at a place that is in no attribute.
    pub(super) fn take(&mut self, at: usize) {
        match byte(self.mask, at) {
            b'{' | b'(' | b'[' => {
                let head = self.head(at);
                // The item outside is kept: behind `)` it goes on with its return type and body.
                self.open.push((head, std::mem::replace(&mut self.item, Item::at(at + 1))));
            }
            // An item goes on behind its parameters, and ends with its body.
            b')' | b']' => self.item = self.open.pop().map_or(Item::at(at + 1), |(_, item)| item),
            b'}' => {
                self.open.pop();
                self.item = Item::at(at + 1);
            }
            b';' => self.item = Item::at(at + 1),
            _ => {}
        }
    }

    /// Goes on behind an item.
    pub(super) fn passed(&mut self, end: usize) {
        self.item = Item::at(end);
    }

    pub(super) const fn is_top(&self) -> bool {
        self.open.is_empty()
    }

    /// All of it, from the outside in.
    pub(super) fn said(&self) -> String {
        let said: Vec<&str> = self.open.iter().map(|(head, _)| head.as_str()).filter(|head| !head.is_empty()).collect();
        said.join(" ")
    }

    /// The head to which a bracket or semicolon at `end` belongs: the conditions of compilation and the kind of the item that is being
    /// read, with a module's and a macro's name. It looks at no more of the item than its beginning, however often it is asked.
    fn head(&mut self, end: usize) -> String {
        let (at, conditions) =
            self.item.attributes.get_or_insert_with(|| attributes_of(self.text, self.mask, self.item.start, end));
        let at = *at;
        let mut said = conditions.clone();
        let kind = words(self.mask.get(..end).unwrap_or(self.mask), at, 3);
        let last = self.mask.get(at..end).unwrap_or_default().iter().rfind(|found| !found.is_ascii_whitespace());
        match kind.as_slice() {
            [word, name, ..] if word == "mod" => said.push_str(&format!("mod {name}")),
            // `cfg_if! { … }` or `macro_rules! name` keep or drop their insides as they like.
            [.., name] if last == Some(&b'!') => said.push_str(&format!("{name}!")),
            [word, ..] if matches!(word.as_str(), "impl" | "trait" | "macro_rules") => said.push_str(word),
            _ if kind.iter().any(|word| word == "fn") => said.push_str("fn"),
            _ => {}
        }
        said
    }
}

/// Where an item goes on behind its attributes, and those of them that are conditions of compilation.
fn attributes_of(text: &str, mask: &[u8], start: usize, end: usize) -> (usize, String) {
    let mut at = skip_space(mask, start);
    let mut said = String::new();
    while at < end && byte(mask, at) == b'#' && opens_attribute(mask, at) {
        let behind = behind_match(mask, skip_space(mask, at + 1));
        if conditions(&squeezed(mask, at..behind)) {
            // From the text, as the mask has blanked the values: `feature = "a"` and `feature = "b"` are two
            // conditions.
            said.extend(text.get(at..behind).unwrap_or_default().chars().filter(|c| !c.is_whitespace()));
        }
        at = skip_space(mask, behind);
    }
    (at, said)
}

/// Whether an attribute decides what is compiled, or from where.
fn conditions(attribute: &str) -> bool {
    ["#[cfg(", "#[cfg_attr(", "#[path="].iter().any(|head| attribute.starts_with(head))
}

/// A module that a Rust file declares and another file holds.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::policy::tamper::region) struct Declared {
    pub(in crate::policy::tamper::region) name: String,
    /// Its conditions of compilation and its path, and those of what encloses it.
    pub(in crate::policy::tamper::region) around: String,
}

/// The modules that a Rust file declares (`mod name;`).
pub(in crate::policy::tamper::region) fn declared(text: &str) -> Vec<Declared> {
    let mask = code_alone(text);
    let mut enclosing = Enclosing::new(text, &mask);
    let mut found = Vec::new();
    let mut at = 0;
    while at < mask.len() {
        if let Some(range) = inner_attribute(&mask, at) {
            at = range.end;
            enclosing.passed(at);
            continue;
        }
        if byte(&mask, at) == b'#' && opens_attribute(&mask, at) {
            at = attributes(&mask, at).0;
            continue;
        }
        if byte(&mask, at) == b';' {
            let said = enclosing.head(at);
            // Other items that end at a semicolon have no `mod` in their head.
            if let Some((conditions, name)) = said.rsplit_once("mod ") {
                let around = format!("{} {conditions}", enclosing.said());
                found.push(Declared { name: name.to_owned(), around: around.trim().to_owned() });
            }
        }
        enclosing.take(at);
        at += 1;
    }
    found
}
