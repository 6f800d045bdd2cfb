//! Reading answers: JSON to our own types, conditional requests, and lists through all their pages.
//!
//! Invariant: an answer that the server calls unchanged is taken from the cache and costs nothing (GITHUB 26). The next page is followed
//! only below the API's own address.

use std::sync::{Arc, PoisonError};

use serde::de::DeserializeOwned;

use super::cache::Kept;
use super::client::{Call, GitHub};
use super::error::GithubError;
use super::wire::Answer;

/// The most that GitHub puts on a page.
pub(super) const PER_PAGE: usize = 100;
/// The most pages of one list: fifty thousand entries are no list that anybody reads.
const MAX_PAGES: usize = 500;

/// Whether a list is read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Go {
    On,
    Enough,
}

/// Where the neighbours of a page are.
#[derive(Debug, Clone, Default)]
struct Links {
    next: Option<String>,
    last: Option<String>,
}

/// One page of a list.
struct Page<T> {
    entries: Arc<Vec<T>>,
    links: Links,
}

impl GitHub {
    /// Reads one answer, or what it said last time.
    pub(super) async fn read<T>(&self, call: Call) -> Result<Arc<T>, GithubError>
    where
        T: DeserializeOwned + Send + Sync + 'static,
    {
        Ok(self.fetch(call, |value: T| value).await?.0)
    }

    /// Reads a list through all its pages. `open` takes the entries out of what a page is wrapped in.
    pub(super) async fn list<W, T>(&self, call: Call, open: fn(W) -> Vec<T>) -> Result<Vec<T>, GithubError>
    where
        W: DeserializeOwned,
        T: Clone + Send + Sync + 'static,
    {
        let mut all = Vec::new();
        self.each_page(call, open, |entries| {
            all.extend_from_slice(entries);
            Go::On
        })
        .await?;
        Ok(all)
    }

    /// Hands the pages of a list to `see` until it has enough.
    pub(super) async fn each_page<W, T>(
        &self,
        call: Call,
        open: fn(W) -> Vec<T>,
        mut see: impl FnMut(&[T]) -> Go,
    ) -> Result<(), GithubError>
    where
        W: DeserializeOwned,
        T: Send + Sync + 'static,
    {
        let mut call = call;
        for _ in 0..MAX_PAGES {
            let page = self.page(call.clone(), open).await?;
            // The next page is asked for only then, as each costs a request.
            if see(&page.entries) == Go::Enough {
                return Ok(());
            }
            let Some(next) = page.links.next else { return Ok(()) };
            call.ask.path = next;
        }
        Err(GithubError::TooLarge { doing: call.doing, limit: format!("{MAX_PAGES} pages") })
    }

    /// As [`GitHub::each_page`], but after the first page from the last one backwards: what is new stands there.
    pub(super) async fn each_page_newest_first<W, T>(
        &self,
        call: Call,
        open: fn(W) -> Vec<T>,
        mut see: impl FnMut(&[T]) -> Go,
    ) -> Result<(), GithubError>
    where
        W: DeserializeOwned,
        T: Send + Sync + 'static,
    {
        let first = self.page(call.clone(), open).await?;
        if see(&first.entries) == Go::Enough {
            return Ok(());
        }
        let Some(next) = first.links.next else { return Ok(()) };
        // A server may name any number, and each would be asked for.
        let last = first.links.last.as_deref().and_then(page_number).filter(|last| *last <= MAX_PAGES);
        let paths = last.and_then(|last| (2..=last).rev().map(|number| with_page_number(&next, number)).collect());
        let Some(paths): Option<Vec<String>> = paths else {
            // The server does not tell where the end is, or does not number its pages.
            let mut call = call;
            call.ask.path = next;
            return self.each_page(call, open, see).await;
        };
        for path in paths {
            let mut call = call.clone();
            call.ask.path = path;
            let page = self.page(call, open).await?;
            if see(&page.entries) == Go::Enough {
                break;
            }
        }
        Ok(())
    }

    async fn page<W, T>(&self, call: Call, open: fn(W) -> Vec<T>) -> Result<Page<T>, GithubError>
    where
        W: DeserializeOwned,
        T: Send + Sync + 'static,
    {
        let (entries, links) = self.fetch(call, open).await?;
        Ok(Page { entries, links })
    }

    async fn fetch<W, T>(&self, mut call: Call, open: impl Fn(W) -> T) -> Result<(Arc<T>, Links), GithubError>
    where
        W: DeserializeOwned,
        T: Send + Sync + 'static,
    {
        let path = call.ask.path.clone();
        let known = self.shared.cache.lock().unwrap_or_else(PoisonError::into_inner).get(&path);
        let known = known.and_then(|kept| {
            // The same path read as another type is as if it were not known.
            let value = Arc::clone(&kept.value).downcast::<T>().ok()?;
            Some((value, kept))
        });
        // Only with the value in hand: a 304 without it would leave us with nothing.
        call.ask.etag = known.as_ref().map(|(_, kept)| kept.etag.clone());
        let answer = self.send(&call).await?;
        if answer.status == 304
            && let Some((value, kept)) = known
        {
            return Ok((value, Links { next: kept.next, last: kept.last }));
        }
        // Kept as it was read: an answer that cannot be read is asked for anew.
        let value = Arc::new(open(decode(&call, &answer)?));
        let links = self.links(&answer);
        let mut cache = self.shared.cache.lock().unwrap_or_else(PoisonError::into_inner);
        match answer.header("etag") {
            Some(etag) => {
                let mut kept = Kept::new(etag.to_owned(), Arc::clone(&value) as _, answer.body.len());
                (kept.next, kept.last) = (links.next.clone(), links.last.clone());
                cache.put(path, kept);
            }
            // Without an ETag nobody could tell us that it is still true.
            None => cache.forget(&path),
        }
        Ok((value, links))
    }

    /// Sends a write and reads what it made.
    pub(super) async fn wrote<T: DeserializeOwned>(&self, call: Call) -> Result<T, GithubError> {
        let answer = self.send(&call).await?;
        decode(&call, &answer)
    }

    fn links(&self, answer: &Answer) -> Links {
        let mut links = Links::default();
        for (rel, address) in parse_links(answer.header("link").unwrap_or_default()) {
            match rel {
                // Only below our own address, or the token would follow the link elsewhere.
                "next" => links.next = self.shared.wire.path_of(address),
                "last" => links.last = self.shared.wire.path_of(address),
                _ => {}
            }
        }
        links
    }
}

/// Reads an answer's body.
pub(super) fn decode<T: DeserializeOwned>(call: &Call, answer: &Answer) -> Result<T, GithubError> {
    if !(200..300).contains(&answer.status) {
        let reason = format!("status {} was not expected", answer.status);
        return Err(GithubError::Malformed { doing: call.doing.clone(), reason });
    }
    serde_json::from_slice(&answer.body).map_err(|error| {
        let reason = format!("{error} in an answer of {} bytes", answer.body.len());
        GithubError::Malformed { doing: call.doing.clone(), reason }
    })
}

/// The `(rel, address)` pairs of a `Link` header (RFC 8288, as GitHub writes it).
fn parse_links(header: &str) -> impl Iterator<Item = (&str, &str)> {
    // Such as `<https://api.github.com/x?page=2>; rel="next", <…?page=9>; rel="last"`.
    header.split(',').filter_map(|part| {
        let (address, rest) = part.trim().strip_prefix('<')?.split_once('>')?;
        let rel = rest.split(';').find_map(|parameter| parameter.trim().strip_prefix("rel="))?;
        Some((rel.trim_matches('"'), address))
    })
}

fn page_number(path: &str) -> Option<usize> {
    let query = path.split_once('?')?.1;
    query.split('&').find_map(|pair| pair.strip_prefix("page="))?.parse().ok()
}

/// The same path with another page number. `None` where it has none.
fn with_page_number(path: &str, number: usize) -> Option<String> {
    let (path, query) = path.split_once('?')?;
    // A list with a cursor in place of numbers can be read forwards alone.
    page_number(&format!("?{query}"))?;
    let pairs = query.split('&').map(|pair| match pair.strip_prefix("page=") {
        Some(_) => format!("page={number}"),
        None => pair.to_owned(),
    });
    Some(format!("{path}?{}", pairs.collect::<Vec<_>>().join("&")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_read_as_github_and_gitea_write_them() {
        let header = r#"<https://x/a?page=2&per_page=100>; rel="next", <https://x/a?page=9>; rel=last"#;
        let links: Vec<_> = parse_links(header).collect();
        assert_eq!(links, [("next", "https://x/a?page=2&per_page=100"), ("last", "https://x/a?page=9")]);
        assert_eq!(parse_links("nonsense, <x").count(), 0);
    }

    #[test]
    fn page_numbers_are_replaced_and_nothing_else() {
        assert_eq!(with_page_number("/a?per_page=100&page=2", 7).as_deref(), Some("/a?per_page=100&page=7"));
        assert_eq!(with_page_number("/a?per_page=100", 7), None);
        assert_eq!(page_number("/a?per_page=100&page=12"), Some(12));
    }
}
