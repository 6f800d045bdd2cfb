//! Paths of the API, with everything that comes from outside escaped.

use std::fmt::Write;

use super::client::GitHub;

/// Escapes one segment of a path or one value of a query.
pub(super) fn escaped(text: &str) -> String {
    escape(text, |_| false)
}

/// Escapes a path of several segments: slashes stay.
pub(super) fn escaped_path(text: &str) -> String {
    escape(text, |byte| byte == b'/')
}

fn escape(text: &str, stays: impl Fn(u8) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') || stays(byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            write!(out, "%{byte:02X}").unwrap_or_default();
        }
    }
    out
}

impl GitHub {
    /// A path below the repository: `/repos/OWNER/NAME` and `rest`.
    pub(super) fn at(&self, rest: impl AsRef<str>) -> String {
        let rest = rest.as_ref();
        format!("/repos/{}/{}{rest}", escaped(&self.repository.owner), escaped(&self.repository.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_outside_cannot_leave_its_segment() {
        assert_eq!(escaped("a/../b?x=1#y z"), "a%2F..%2Fb%3Fx%3D1%23y%20z");
        assert_eq!(escaped_path("heads/fix/ü"), "heads/fix/%C3%BC");
        assert_eq!(escaped("github-actions[bot]"), "github-actions%5Bbot%5D");
    }
}
