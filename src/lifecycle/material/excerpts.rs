//! Excerpts of files that go with a first message: short files whole, of longer ones an outline and the lines that matter.
//!
//! Room is given out by need: what the failing tests use, the tests themselves, what failures name, then whatever else is near. The
//! order in which it is shown is that of the ranking, whoever was given room first.

use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;

use crate::agent::Excerpt;
use crate::agent::sources::Sources;
use crate::agent::trace::{self, Part, Trace};
use crate::domain::foreign::Foreign;
use crate::framework::source::Definition;

/// Characters of source that go with the first message. More is a tool call away.
const EXCERPTS_CHARS: usize = 6_000;
/// The share of it that what the tests use may take before the tests themselves are shown.
const USED_CHARS: usize = 4_000;
/// A file up to this size is shown whole.
const WHOLE_FILE_CHARS: usize = 3_000;
/// Characters of one file's outline.
const OUTLINE_CHARS: usize = 1_000;
/// Characters of the beginning of a long file of which nothing else is known.
const HEAD_CHARS: usize = 1_000;
/// Of how many long files that nothing leads into an outline or a beginning is shown.
const MAX_GLANCES: usize = 3;
/// Lines shown before and after a named line of a longer file.
const LINES_AROUND: u32 = 25;
/// A definition around a named line is shown whole up to so many lines.
const MAX_AROUND: u32 = 80;
/// A cut part of fewer lines tells nothing.
const MIN_LINES: usize = 5;
/// So many lines between two parts are shown as well, rather than a gap.
const MAX_GAP: u32 = 2;

/// The lines that the failures name in a file.
pub(super) type NamedLines<'f> = dyn Fn(&str) -> Vec<u32> + 'f;

/// The excerpts, and the files that they are from.
pub(super) fn choose(
    near: &[String],
    trace: &Trace,
    named: &NamedLines<'_>,
    sources: &mut Sources<'_>,
) -> (Vec<Excerpt>, Vec<String>) {
    let mut page = Page { left: EXCERPTS_CHARS, files: Vec::new() };
    let tests: BTreeSet<&String> = trace.tests.iter().map(|test| &test.path).collect();
    // A part of the room stays free here, so that the tests themselves are shown in any case.
    for path in near.iter().filter(|path| !tests.contains(path)) {
        page.add_named(path, &named(path), sources, EXCERPTS_CHARS - USED_CHARS);
    }
    for part in &trace.used {
        page.add(part, None, sources, EXCERPTS_CHARS - USED_CHARS);
    }
    for part in &trace.tests {
        let line = named(&part.path).into_iter().find(|line| (part.lines.0..=part.lines.1).contains(line));
        page.add(part, line, sources, 0);
    }
    for path in near {
        // Whole where that is short enough: it says more than the lines around the named ones.
        page.add_whole(path, sources, 0);
        page.add_named(path, &named(path), sources, 0);
    }
    for part in &trace.used {
        page.add(part, None, sources, 0);
    }
    let mut glances = 0;
    for path in near {
        if glances < MAX_GLANCES && page.glance(path, sources) {
            glances += 1;
        }
    }
    page.show(near)
}

/// The files shown so far, and how much room is left.
struct Page {
    left: usize,
    files: Vec<File>,
}

/// The shown parts of one file.
struct File {
    path: String,
    text: Rc<str>,
    /// Where each line begins and ends.
    places: Vec<Range<usize>>,
    whole: bool,
    outline: Option<String>,
    lines: BTreeSet<u32>,
}

impl File {
    fn new(path: &str, text: Rc<str>) -> Self {
        let mut places = Vec::new();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            places.push(at..at + line.trim_end_matches(['\n', '\r']).len());
            at += line.len();
        }
        Self { path: path.to_owned(), text, places, whole: false, outline: None, lines: BTreeSet::new() }
    }

    fn line(&self, number: u32) -> &str {
        // Lines count from 1. Line 0 wraps to a place that no file has.
        let at = usize::try_from(number).unwrap_or(usize::MAX).wrapping_sub(1);
        self.places.get(at).and_then(|place| self.text.get(place.clone())).unwrap_or_default()
    }

    /// The characters that a line takes.
    fn cost(&self, number: u32) -> usize {
        self.line(number).chars().count() + 1
    }

    fn count(&self) -> u32 {
        u32::try_from(self.places.len()).unwrap_or(u32::MAX)
    }

    /// The characters that are shown of it.
    fn size(&self) -> usize {
        if self.whole {
            return self.text.chars().count();
        }
        let lines: usize = self.lines.iter().map(|number| self.cost(*number)).sum();
        lines + self.outline.as_ref().map_or(0, |outline| outline.chars().count())
    }

    fn is_shown(&self) -> bool {
        self.whole || self.outline.is_some() || !self.lines.is_empty()
    }
}

impl Page {
    /// The entry of a file, which is made where the file can be read.
    fn file(&mut self, path: &str, sources: &mut Sources<'_>) -> Option<&mut File> {
        let at = match self.files.iter().position(|file| file.path == path) {
            Some(at) => at,
            None => {
                let text = sources.text(path).filter(|text| !text.trim().is_empty())?;
                self.files.push(File::new(path, text));
                self.files.len() - 1
            }
        };
        self.files.get_mut(at)
    }

    /// Shows a short file whole, if there is room beside what is kept free for others.
    fn add_whole(&mut self, path: &str, sources: &mut Sources<'_>, kept: usize) -> bool {
        let room = self.left.saturating_sub(kept);
        let Some(file) = self.file(path, sources) else { return false };
        let (size, shown) = (file.text.chars().count(), file.size());
        // The room of the parts that are shown already comes free, since the whole takes their place.
        if !file.whole && (size > WHOLE_FILE_CHARS || size > room + shown) {
            return false;
        }
        file.whole = true;
        self.left = (self.left + shown).saturating_sub(size);
        true
    }

    /// Shows a part of a file, or the file where it is short, as much of it as there is room for.
    fn add(&mut self, part: &Part, line: Option<u32>, sources: &mut Sources<'_>, kept: usize) {
        if self.add_whole(&part.path, sources, kept) {
            return;
        }
        self.outline(&part.path, sources, kept);
        let room = self.left.saturating_sub(kept);
        let Some(file) = self.file(&part.path, sources) else { return };
        let (first, last) = (part.lines.0.max(1), part.lines.1.min(file.count()));
        let new: Vec<u32> = (first..=last).filter(|number| !file.lines.contains(number)).collect();
        let fits = |from: u32| {
            let mut left = room;
            let mut take = |number: &&u32| {
                let cost = file.cost(**number);
                let fits = cost <= left;
                left = left.saturating_sub(cost);
                fits
            };
            new.iter().filter(|number| **number >= from).take_while(&mut take).copied().collect::<Vec<u32>>()
        };
        let mut taken = fits(first);
        if taken.len() < new.len() {
            // Its beginning says what it is called with; around a named line that line matters more.
            taken = line.map_or(taken, |line| fits(line.saturating_sub(LINES_AROUND / 2).max(first)));
            taken.truncate(if taken.len() < MIN_LINES { 0 } else { taken.len() });
        }
        let spent: usize = taken.iter().map(|number| file.cost(*number)).sum();
        file.lines.extend(taken);
        self.left = self.left.saturating_sub(spent);
    }

    /// Shows the surroundings of named lines of a longer file.
    fn add_named(&mut self, path: &str, lines: &[u32], sources: &mut Sources<'_>, kept: usize) {
        for line in lines {
            let mut range = (line.saturating_sub(LINES_AROUND).max(1), line.saturating_add(LINES_AROUND));
            let around = trace::around(sources, path, *line).map(|part| part.lines);
            // A definition is shown to its end rather than cut in its middle, unless it is long.
            if let Some(around) = around.filter(|(first, last)| last - first <= MAX_AROUND) {
                range = (range.0.min(around.0), range.1.max(around.1));
            }
            self.add(&Part { path: path.to_owned(), lines: range }, Some(*line), sources, kept);
        }
    }

    /// Adds the outline of a longer file.
    fn outline(&mut self, path: &str, sources: &mut Sources<'_>, kept: usize) {
        let room = self.left.saturating_sub(kept);
        let Some(outline) = sources.outline(path) else { return };
        let Some(file) = self.file(path, sources) else { return };
        let drawn = outlined(outline.definitions());
        let size = drawn.chars().count();
        if file.outline.is_none() && file.text.chars().count() > WHOLE_FILE_CHARS && size > 0 && size <= room {
            file.outline = Some(drawn);
            self.left -= size;
        }
    }

    /// Shows what a longer file holds, of which nothing is shown yet: its outline, else its beginning.
    fn glance(&mut self, path: &str, sources: &mut Sources<'_>) -> bool {
        if self.file(path, sources).is_none_or(|file| file.is_shown()) {
            return false;
        }
        self.outline(path, sources, 0);
        let room = self.left.min(HEAD_CHARS);
        let Some(file) = self.file(path, sources) else { return false };
        if file.outline.is_none() {
            let mut left = room;
            let mut number = 0;
            while number < file.count() && file.cost(number + 1) <= left {
                number += 1;
                left -= file.cost(number);
                file.lines.insert(number);
            }
            let spent = file.size();
            self.left -= spent;
        }
        self.file(path, sources).is_some_and(|file| file.is_shown())
    }

    /// Shows what is between two parts too, where it is little.
    fn close_gaps(&mut self) {
        for file in &mut self.files {
            let ends: Vec<u32> = file.lines.iter().copied().collect();
            for pair in ends.windows(2) {
                let &[before, after] = pair else { continue };
                let gap = before + 1..after;
                let cost: usize = gap.clone().map(|number| file.cost(number)).sum();
                if after - before <= MAX_GAP + 1 && cost <= self.left {
                    self.left -= cost;
                    file.lines.extend(gap);
                }
            }
        }
    }

    /// The excerpts in the order of the ranking.
    fn show(mut self, near: &[String]) -> (Vec<Excerpt>, Vec<String>) {
        self.close_gaps();
        self.files.retain(File::is_shown);
        self.files.sort_by_key(|file| near.iter().position(|path| *path == file.path).unwrap_or(usize::MAX));
        let excerpts = self.files.iter().flat_map(excerpts_of).collect();
        (excerpts, self.files.into_iter().map(|file| file.path).collect())
    }
}

fn excerpts_of(file: &File) -> Vec<Excerpt> {
    let excerpt = |label: &str, text: &str| Excerpt { label: Foreign::new(label), text: Foreign::revealed(text) };
    if file.whole {
        return vec![excerpt(&file.path, &file.text)];
    }
    let ranges = ranges(&file.lines);
    let count = file.count();
    let names: Vec<String> = ranges.iter().map(named).collect();
    let mut shown = Vec::new();
    if let Some(outline) = &file.outline {
        let follow = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let label =
            format!("{}, outline of its {count} lines; shown below: {follow}; read_file shows the rest", file.path);
        shown.push(excerpt(&label, outline));
    }
    for ((first, last), name) in ranges.iter().zip(&names) {
        let lines: Vec<&str> = (*first..=*last).map(|number| file.line(number)).collect();
        let rest =
            if file.outline.is_none() { format!(" of {count}; read_file shows the rest") } else { String::new() };
        shown.push(excerpt(&format!("{}:{name}{rest}", file.path), &lines.join("\n")));
    }
    shown
}

/// Lines that follow each other as ranges.
fn ranges(lines: &BTreeSet<u32>) -> Vec<(u32, u32)> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for line in lines {
        match ranges.last_mut() {
            Some((_, last)) if line - *last == 1 => *last = *line,
            _ => ranges.push((*line, *line)),
        }
    }
    ranges
}

/// A line for each definition with its head. Of many their names alone, of very many the outer ones as far as there is room.
fn outlined(definitions: &[Definition]) -> String {
    let lines = |one: &Definition| named(&(one.line, one.lines.1));
    let with_head = |one: &Definition| format!("{} {}\n", lines(one), one.head);
    let by_name = |one: &Definition| {
        let within = one.within.as_ref().map(|within| format!("{within}.")).unwrap_or_default();
        format!("{} {within}{}\n", lines(one), one.name)
    };
    let outer = definitions.iter().filter(|one| one.within.is_none());
    let drawings: [Vec<String>; 3] = [
        definitions.iter().map(with_head).collect(),
        definitions.iter().map(by_name).collect(),
        outer.map(by_name).collect(),
    ];
    let size = |lines: &[String]| lines.iter().map(|line| line.chars().count()).sum::<usize>();
    // The first two are taken whole or not at all. Only the last one is cut.
    if let Some(whole) = drawings.iter().take(2).find(|lines| size(lines) <= OUTLINE_CHARS) {
        return whole.concat();
    }
    let [_, _, outer] = drawings;
    let mut left = OUTLINE_CHARS;
    let mut fits = |line: &&String| {
        let size = line.chars().count();
        let fits = size <= left;
        left = left.saturating_sub(size);
        fits
    };
    let told: Vec<&String> = outer.iter().take_while(|line| fits(line)).collect();
    let more = definitions.len() - told.len();
    told.into_iter().map(String::as_str).chain([format!("and {more} more\n").as_str()]).collect()
}

/// Lines as they are named: `7`, `7-9`.
fn named((first, last): &(u32, u32)) -> String {
    if first == last { first.to_string() } else { format!("{first}-{last}") }
}
