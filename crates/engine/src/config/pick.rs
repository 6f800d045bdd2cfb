//! Precedence: for each key the value that counts, and where it came from.

use std::cell::RefCell;
use std::fmt::Display;

use super::document::Document;
use super::error::Faults;
use super::file::ConfigFile;
use super::plan::{EffectiveValue, Origin};
use super::read::{Place, Readable};
use super::sources::{Setting, Sources};

/// A value with its origin.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Picked<T> {
    /// The value.
    pub(super) value: T,
    /// Where it came from.
    pub(super) origin: Origin,
}

impl<T> Picked<T> {
    /// Changes the value, not the origin.
    pub(super) fn map<U>(self, change: impl FnOnce(T) -> U) -> Picked<U> {
        Picked { value: change(self.value), origin: self.origin }
    }
}

/// Picks values, and notes each for the table of effective values.
#[derive(Debug)]
pub(super) struct Picker<'s> {
    /// Flags and environment.
    pub(super) sources: &'s Sources,
    /// The tiers text, if it counts.
    pub(super) tiers: Option<&'s Document>,
    /// The configuration file, if there is one.
    pub(super) config: Option<&'s Document>,
    /// Faults of flags and variables.
    pub(super) setting_faults: &'s Faults,
    values: RefCell<Vec<EffectiveValue>>,
}

impl<'s> Picker<'s> {
    /// A picker over the sources, in order of precedence.
    pub(super) fn new(
        sources: &'s Sources,
        tiers: Option<&'s Document>,
        config: Option<&'s Document>,
        setting_faults: &'s Faults,
    ) -> Self {
        Self { sources, tiers, config, setting_faults, values: RefCell::default() }
    }

    /// The value of a setting, flag or variable. `None` when unset, or after a fault was noted.
    pub(super) fn setting<T: Readable>(&self, setting: Setting) -> Option<Picked<T>> {
        let (text, origin) = self.sources.setting(setting)?;
        let node = T::node_of(text);
        let value = T::read(&Place::new(&node, origin.name(), self.setting_faults))?;
        Some(Picked { value, origin })
    }

    /// The value of a key in the documents: the tiers text, then the configuration file.
    pub(super) fn in_documents<T>(&self, get: impl Fn(&ConfigFile) -> Option<T>) -> Option<Picked<T>> {
        let documents = self.tiers.into_iter().chain(self.config);
        documents
            .into_iter()
            .find_map(|document| Some(Picked { value: get(&document.file)?, origin: document.origin() }))
    }

    /// The value of a key that a setting may give too.
    pub(super) fn either<T: Readable>(
        &self,
        setting: Setting,
        get: impl Fn(&ConfigFile) -> Option<T>,
    ) -> Option<Picked<T>> {
        self.setting(setting).or_else(|| self.in_documents(get))
    }

    /// The documents in order of precedence.
    pub(super) fn documents(&self) -> impl Iterator<Item = &'s Document> {
        self.tiers.into_iter().chain(self.config)
    }

    /// Where a fault of a value goes, and how the value is named there.
    pub(super) fn fault(&self, origin: &Origin, key: &str, message: &str, fix: &str) {
        let of_document = self.documents().find(|document| document.origin() == *origin);
        match of_document {
            Some(document) => document.faults.add(key, message, fix),
            None => self.setting_faults.add(origin.name(), message, fix),
        }
    }

    /// Takes a value or its default, and notes it.
    pub(super) fn take<T, D: Display>(
        &self,
        key: &str,
        picked: Option<Picked<T>>,
        default: T,
        show: impl Fn(&T) -> D,
    ) -> T {
        let Picked { value, origin } = picked.unwrap_or(Picked { value: default, origin: Origin::Default });
        self.note(key, &show(&value), origin);
        value
    }

    /// Takes a value that may be absent, and notes it or what its absence means.
    pub(super) fn take_optional<T>(
        &self,
        key: &str,
        picked: Option<Picked<T>>,
        absent: &str,
        show: impl Fn(&T) -> String,
    ) -> Option<T> {
        let shown = picked.as_ref().map_or_else(|| absent.to_owned(), |picked| show(&picked.value));
        let (value, origin) = match picked {
            Some(Picked { value, origin }) => (Some(value), origin),
            None => (None, Origin::Default),
        };
        self.note(key, &shown, origin);
        value
    }

    /// Notes an effective value.
    pub(super) fn note(&self, key: &str, value: &impl Display, origin: Origin) {
        self.values.borrow_mut().push(EffectiveValue { key: key.to_owned(), value: value.to_string(), origin });
    }

    /// Gives up the table.
    pub(super) fn into_values(self) -> Vec<EffectiveValue> {
        self.values.into_inner()
    }
}
