//! The kind of a `tiers` text, and the choice of ladder by flags and environment.

use super::plan::Origin;
use super::sources::{Setting, Sources};
use crate::domain::ladder::Mode;
use crate::domain::model_id::ModelId;

/// How a `tiers` text gives the ladder (DESIGN §2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TiersSource<'t> {
    /// The file's text itself: it has a newline or starts with `{`.
    Inline(&'t str),
    /// A shorthand ladder: it has ` > ` or ` xN`, or is a resolvable model.
    Shorthand(&'t str),
    /// A path.
    Path(&'t str),
}

/// Tells the ways apart. `is_provider` says whether a name before a `/` is a known provider's.
#[must_use]
pub fn classify_tiers(text: &str, is_provider: impl Fn(&str) -> bool) -> TiersSource<'_> {
    let text = text.trim_start_matches('\u{feff}').trim();
    // Before the shorthand, since YAML may hold ` > ` as the sign of a folded text.
    if text.contains('\n') || text.starts_with('{') {
        return TiersSource::Inline(text);
    }
    // The first word is a model or a file, even one that is called `x5`.
    if text.contains(" > ") || text.split_whitespace().skip(1).any(is_count) || is_model(text, is_provider) {
        return TiersSource::Shorthand(text);
    }
    TiersSource::Path(text)
}

/// Whether a word is an iteration count: `x5`.
pub(super) fn is_count(word: &str) -> bool {
    word.strip_prefix('x').is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether a text, its mode word aside, names a model of a known provider. A name that ends like a configuration
/// file is a path, but for a cassette's, which is a path by nature.
fn is_model(text: &str, is_provider: impl Fn(&str) -> bool) -> bool {
    let mut words = text.split_whitespace().filter(|word| mode_of(word).is_none());
    let (Some(word), None) = (words.next(), words.next()) else { return false };
    let Some(id) = ModelId::parse(word) else { return false };
    // `my/tiers.yml` may look like a model of a provider called `my`.
    let like_a_file = [".json", ".yml", ".yaml"].iter().any(|end| word.ends_with(end));
    is_provider(&id.provider) && (id.provider == "cassette" || !like_a_file)
}

pub(super) fn mode_of(word: &str) -> Option<Mode> {
    match word {
        "simple" => Some(Mode::Simple),
        "full" => Some(Mode::Full),
        _ => None,
    }
}

/// The choice of ladder by flags and environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Chosen<'s> {
    /// A `tiers` text.
    Tiers {
        /// The text.
        text: &'s str,
        /// Flag or variable.
        origin: Origin,
    },
    /// One model: the seeds' two-mode path.
    Model {
        /// The model.
        text: &'s str,
        /// Flag or variable.
        origin: Origin,
    },
    /// Both at the same level: which one is meant?
    Both(Origin),
    /// Nothing: the configuration file, else the built-in ladder.
    Nothing,
}

/// Flag before environment. Within one level `tiers` and `model` exclude each other.
pub(super) fn chosen(sources: &Sources) -> Chosen<'_> {
    match (sources.setting(Setting::Tiers), sources.setting(Setting::Model)) {
        (None, None) => Chosen::Nothing,
        (Some((text, origin)), None) => Chosen::Tiers { text, origin },
        (None, Some((text, origin))) => Chosen::Model { text, origin },
        // A flag beats the other key's variable, which a job may set for every run.
        (Some((text, origin @ Origin::Flag(_))), Some((_, Origin::Env(_)))) => Chosen::Tiers { text, origin },
        (Some((_, Origin::Env(_))), Some((text, origin @ Origin::Flag(_)))) => Chosen::Model { text, origin },
        (Some(_), Some((_, origin))) => Chosen::Both(origin),
    }
}

impl Sources {
    /// The file that `cli` should read into [`Sources::tiers_file`]. `None` when `tiers` is absent or no path.
    ///
    /// Asks [`Sources::config_file`] for the names of providers: set that first.
    #[must_use]
    pub fn tiers_path(&self) -> Option<&str> {
        let Chosen::Tiers { text, .. } = chosen(self) else { return None };
        match classify_tiers(text, |name| self.is_provider(name)) {
            TiersSource::Path(path) => Some(path),
            TiersSource::Inline(_) | TiersSource::Shorthand(_) => None,
        }
    }
}
