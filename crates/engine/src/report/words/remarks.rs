//! Remarks in words: how many places a reviewer should look at, and each of them.

use super::sentence::Sentence;
use super::{count, u64_of};
use crate::domain::remark::Remark;
use crate::report::view::RunView;

/// The most remarks that a report shows. More would hide the telling ones.
const MAX_REMARKS: usize = 8;

/// `2 places to look at`. `None` where there is nothing to look at.
#[must_use]
pub fn remarks_heading(view: &RunView) -> Option<String> {
    (!view.remarks.is_empty()).then(|| format!("{} to look at", count(u64_of(view.remarks.len()), "place")))
}

/// The remarks, most telling first, and how many more the audit log holds.
#[must_use]
pub fn remarks(view: &RunView) -> Vec<Sentence> {
    let mut sentences: Vec<Sentence> = view.remarks.iter().take(MAX_REMARKS).map(remark_sentence).collect();
    if let Some(more) = view.remarks.len().checked_sub(MAX_REMARKS).filter(|more| *more > 0) {
        sentences.push(Sentence::plain(format!("{} in the audit log", count(u64_of(more), "more place"))));
    }
    sentences
}

/// One remark.
#[must_use]
pub fn remark_sentence(remark: &Remark) -> Sentence {
    let place = match remark.lines {
        None => remark.file.clone(),
        Some((first, last)) if first == last => format!("{}:{first}", remark.file),
        Some((first, last)) => format!("{}:{first}-{last}", remark.file),
    };
    let sentence = Sentence::default().code(place).ours(": ");
    match &remark.said {
        // Which way it could go, or why it was not tried, is the remark; what is quoted in it holds no such quotes.
        Some(said) if remark.kind.is_in_own_words() => {
            let parts = format!("{}: {said}", remark.sentence());
            // Every second part stood between backticks.
            parts.split('`').enumerate().fold(sentence, |told, (at, part)| match (part.is_empty(), at % 2) {
                (true, _) => told,
                (false, 0) => told.ours(part.to_owned()),
                (false, _) => told.code(part.to_owned()),
            })
        }
        None => sentence.ours(remark.sentence()),
        // The rule's own words end with what was found, between backticks.
        Some(said) => match said.rsplit('`').nth(1) {
            Some(mark) => sentence.ours(format!("{}: ", remark.sentence())).code(mark),
            None => sentence.ours(remark.sentence()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::event::Event;
    use crate::domain::remark::RemarkKind;
    use crate::report::fixtures;
    use crate::report::json;
    use crate::report::markdown::{self, Surface};
    use crate::report::style::Style;
    use crate::report::text;

    fn remarked(count: u32) -> Event {
        let remark = |line| Remark {
            kind: RemarkKind::NotNeeded,
            file: "src/<b>.rs".to_owned(),
            lines: (line > 0).then_some((line, line + line % 2)),
            said: None,
        };
        Event::Remarked { remarks: (0..count).map(remark).collect(), runs: 3, duration_ms: 40 }
    }

    fn view(count: u32) -> RunView {
        let mut script = fixtures::Script::new();
        script.first_tier_fails().tier(1);
        script.push(remarked(3)).begin(1, 1).push(remarked(count));
        script.view()
    }

    #[test]
    fn every_surface_names_the_places_of_the_last_green_change_alone() {
        let text = text::render(&view(2), Style::Plain);
        assert!(text.contains("  ⚠ 2 places to look at:\n    - `src/<b>.rs`: the tests pass"), "{text}");
        assert!(text.contains("\n    - `src/<b>.rs:1-2`: the tests pass without this part of the change\n"), "{text}");
        let page = markdown::render(&view(1), Surface::Comment, "k");
        let heading = page.find("**⚠ 1 place to look at**\n\n- `src/<b>.rs`: the tests pass").expect("a heading");
        assert!(heading < page.find("| Tier |").expect("a table"), "{page}");
        let shown: serde_json::Value = serde_json::from_str(&json::render(&view(2))).expect("JSON");
        assert_eq!(shown["remarks"][0]["first_line"], serde_json::Value::Null);
        assert_eq!(
            (&shown["remarks"][1]["last_line"], &shown["remarks"][1]["kind"]),
            (&2.into(), &"not_needed".into())
        );
    }

    #[test]
    fn an_untested_choice_says_which_way_it_could_go_or_why_it_was_not_tried() {
        let told = |said: &str| {
            let (kind, file) = (RemarkKind::UntestedChoice, "a.py".to_owned());
            remark_sentence(&Remark { kind, file, lines: Some((2, 2)), said: Some(said.to_owned()) })
        };
        let begun = || Sentence::default().code("a.py:2".to_owned()).ours(": ");
        let sentence = RemarkKind::UntestedChoice.sentence();
        let wanted =
            begun().ours(format!("{sentence}: ")).code("<x>".to_owned()).ours(" could be ").code("(y)".to_owned());
        assert_eq!(told("`<x>` could be `(y)`"), wanted);
        let untried = "nobody knows whether a test depends on this";
        for why in
            ["3 of its conditions were not tried: there are too many", "the time for experiments was up before it"]
        {
            assert_eq!(told(why), begun().ours(format!("{untried}: {why}")));
        }
    }

    #[test]
    fn eight_are_shown_and_the_others_counted() {
        let told = remarks(&view(11));
        assert_eq!(told.len(), 9);
        assert_eq!(told.last(), Some(&Sentence::plain("3 more places in the audit log")));
        assert_eq!((remarks_heading(&view(0)), remarks(&view(0))), (None, Vec::new()));
    }
}
