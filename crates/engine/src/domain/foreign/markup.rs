//! The hidden parts of a rendered Markdown page: HTML comments, the insides of tags, elements that are never displayed.
//!
//! Text in an issue that only a model reads is how a stranger instructs it behind the maintainer's back. Code spans and
//! fenced blocks are shown as they are, so they stay.

/// Elements whose content a page does not show as text.
const UNSEEN: [&str; 9] = ["script", "style", "template", "svg", "noscript", "title", "iframe", "picture", "head"];
/// Tags that GitHub takes for HTML. A `<T>` that is none of them stays, since people write generics without backticks.
const TAGS: [&str; 62] = [
    "a",
    "abbr",
    "b",
    "blockquote",
    "br",
    "button",
    "center",
    "code",
    "dd",
    "del",
    "details",
    "div",
    "dl",
    "dt",
    "em",
    "font",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "i",
    "img",
    "input",
    "ins",
    "kbd",
    "label",
    "li",
    "link",
    "meta",
    "object",
    "ol",
    "option",
    "p",
    "picture",
    "pre",
    "q",
    "s",
    "samp",
    "section",
    "select",
    "small",
    "source",
    "span",
    "strong",
    "sub",
    "summary",
    "sup",
    "table",
    "tbody",
    "td",
    "textarea",
    "th",
    "thead",
    "tr",
    "tt",
    "u",
    "ul",
    "video",
];

/// The text as a page would show it.
pub(super) fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    // Code first: a comment inside of it is shown on the page, and nothing in it is markup.
    while let Some(at) = rest.find(['<', '`', '~']) {
        let (before, from) = rest.split_at(at);
        shown.push_str(before);
        let starts_line = shown.is_empty() || shown.ends_with('\n');
        rest = match code(from, starts_line) {
            Some(len) => {
                let (code, after) = from.split_at(len);
                shown.push_str(code);
                after
            }
            None => match unseen(from) {
                Some(len) => from.get(len..).unwrap_or_default(),
                // A sign that opens nothing is text, as in `a < b`.
                None => {
                    let mut chars = from.chars();
                    shown.extend(chars.next());
                    chars.as_str()
                }
            },
        };
    }
    shown.push_str(rest);
    without_link_comments(&shown)
}

/// The length of the code span or fenced block that begins here.
fn code(text: &str, starts_line: bool) -> Option<usize> {
    let sign = text.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let ticks = text.chars().take_while(|c| *c == sign).count();
    let (fence, body) = text.split_at(ticks);
    if ticks >= 3 && starts_line {
        // An open block reaches to the end, as on the page.
        // As long as the opening, so that a block may hold shorter fences.
        let close = format!("\n{fence}");
        return Some(body.find(&close).map_or(text.len(), |at| ticks + at + close.len()));
    }
    // A span ends with as many ticks, within its paragraph.
    let paragraph = body.split("\n\n").next().unwrap_or_default();
    (sign == '`').then(|| paragraph.find(fence)).flatten().map(|at| ticks + at + ticks)
}

/// The length of what begins here and is not shown.
fn unseen(text: &str) -> Option<usize> {
    for (open, close) in [("<!--", "-->"), ("<?", "?>"), ("<![CDATA[", "]]>")] {
        if let Some(rest) = text.strip_prefix(open) {
            // An open comment hides all that follows, on the page as well.
            return Some(rest.find(close).map_or(text.len(), |at| open.len() + at + close.len()));
        }
    }
    let inside = text.strip_prefix('<')?;
    let name: String = inside.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
    let name = name.to_ascii_lowercase();
    let is_unseen = UNSEEN.contains(&name.as_str());
    // `Vec<u8>` is no tag: what no page would take for one stays.
    if !is_unseen && !TAGS.contains(&name.as_str()) {
        return None;
    }
    let end = text.find('>').map_or(text.len(), |at| at + 1);
    let tag = text.get(..end).unwrap_or_default().to_ascii_lowercase();
    let hides = [" hidden", "display:none", "display: none", "visibility:hidden"].iter().any(|word| tag.contains(word));
    // A tag goes alone, and what it encloses stays to be read.
    if inside.starts_with('/') || !(is_unseen || hides) {
        return Some(end);
    }
    let close = format!("</{name}");
    let after = text.get(end..).unwrap_or_default().to_ascii_lowercase();
    // Without an end only the tag goes: the rest of the text would be lost with it.
    let Some(at) = after.find(&close) else { return Some(end) };
    let closed = after.get(at..).and_then(|tail| tail.find('>')).map_or(after.len(), |len| at + len + 1);
    Some(end + closed)
}

/// Without `[//]: # (…)`, the link definitions that people use as comments.
fn without_link_comments(text: &str) -> String {
    // Such as `[//]: # (text that no page shows)`.
    let is_comment = |line: &str| {
        let line = line.trim_start();
        line.starts_with('[') && line.split_once("]:").is_some_and(|(_, target)| target.trim_start().starts_with('#'))
    };
    text.split_inclusive('\n').filter(|line| !is_comment(line)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::shown;

    #[test]
    fn what_a_page_does_not_show_is_gone() {
        for (text, seen) in [
            ("before<!-- obey me -->after", "beforeafter"),
            ("open <!-- obey me\nto the end", "open "),
            ("<img src=x alt=\"obey me\">see", "see"),
            ("<details><summary>log</summary>text</details>", "logtext"),
            ("<span hidden>obey me</span>seen", "seen"),
            ("<div style=\"display:none\">obey\nme</div>seen", "seen"),
            ("<picture><source srcset=a><img alt=obey></picture>seen", "seen"),
            ("<SCRIPT>obey</SCRIPT>seen", "seen"),
            ("one\n[//]: # (obey me)\ntwo", "one\ntwo"),
        ] {
            assert_eq!(shown(text), seen, "{text}");
        }
    }

    #[test]
    fn what_a_page_shows_stays() {
        for text in [
            "Vec<String> and a < b && c > d",
            "`<!-- code -->` stays",
            "```html\n<!-- code -->\n<b>x</b>\n```\nafter",
            "~~~\n<img alt=x>\n~~~\n",
            "it's ~strange~ and `unclosed",
            "[a]: https://example.test",
            "2 << 3",
        ] {
            assert_eq!(shown(text), text);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_taken_in_and_no_comment_outside_code_survives(before in "[^<`~\\[]*", inside in "[^<>`~]*") {
            let text = format!("{before}<!--{inside}-->");
            prop_assert!(!shown(&text).contains("<!--"));
        }

        #[test]
        fn no_text_makes_it_panic(text in "[<>!\\-/`~a-c\"\n\u{e9}\\[\\]:#]*") {
            let seen = shown(&text);
            prop_assert!(seen.len() <= text.len());
        }
    }
}
