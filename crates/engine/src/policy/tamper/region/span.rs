//! Where tests stand in a source file, whatever its language.

use std::ops::Range;

/// A test region of a source file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Region {
    /// Where it stands, in bytes.
    pub(super) range: Range<usize>,
    /// Its identity, so that it is found again after a change: `mod tests`, `fn adds`, `example`.
    pub(super) key: String,
    /// Its surroundings that may keep it from being run, from the outside in: modules, macros, conditions of compilation.
    pub(super) around: String,
    /// Whether it may be put at the end of the file when its place is gone.
    pub(super) is_top: bool,
    /// Whether more of its kind are no tests that count: examples in documentation.
    pub(super) may_grow: bool,
    /// Whether those behind it in the same surroundings see what it binds, so that a new one may not stand before them.
    pub(super) binds: bool,
}
