//! Paths of the API, with everything that comes from outside escaped.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::client::GitHub;

/// Characters that RFC 3986 leaves as they are, beside the alphanumeric ones.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// The same in a path.
const PATH: &AsciiSet = &SEGMENT.remove(b'/');

/// Escapes one segment of a path or one value of a query.
pub(super) fn escaped(text: &str) -> String {
    utf8_percent_encode(text, SEGMENT).to_string()
}

/// Escapes a path of several segments: slashes stay.
pub(super) fn escaped_path(text: &str) -> String {
    utf8_percent_encode(text, PATH).to_string()
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
