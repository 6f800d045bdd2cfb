//! Paths as programs print them, compared with the paths of a repository.
//!
//! Invariant: paths are compared by whole components. `cart.py` is not the end of `test_cart.py`.

/// The components of a path in either notation, the last one first. `.` and the empty part of a doubled slash are none.
fn from_the_end(path: &str) -> impl Iterator<Item = &str> {
    // Of `./src//a.rs` the names alone.
    path.rsplit(['/', '\\']).filter(|part| !matches!(*part, "" | "."))
}

/// Whether a path ends with all components of another one: `/w/shop/cart.py` with `shop/cart.py`.
#[must_use]
pub fn ends_with(whole: &str, end: &str) -> bool {
    let (mut whole, mut end) = (from_the_end(whole), from_the_end(end).peekable());
    // An empty end would fit everything.
    end.peek().is_some() && end.all(|part| whole.next() == Some(part))
}

/// Whether two paths may name one file: one ends with the other.
#[must_use]
pub fn may_be_same(one: &str, other: &str) -> bool {
    ends_with(one, other) || ends_with(other, one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_ends_with_whole_components_alone() {
        for (whole, end) in [
            ("shop/cart.py", "cart.py"),
            ("/w/shop/cart.py", "shop/cart.py"),
            ("cart.py", "./cart.py"),
            ("C:\\w\\shop\\cart.py", "shop/cart.py"),
        ] {
            assert!(ends_with(whole, end), "{whole} {end}");
        }
        for (whole, end) in [
            ("test_cart.py", "cart.py"),
            ("tests/test_cart.py", "cart.py"),
            ("myshop/cart.py", "shop/cart.py"),
            ("cart.py", ""),
            ("", ""),
            ("cart.py", "shop/cart.py"),
        ] {
            assert!(!ends_with(whole, end), "{whole} {end}");
        }
        assert!(may_be_same("cart.py", "shop/cart.py") && !may_be_same("cart.py", "test_cart.py"));
    }
}
