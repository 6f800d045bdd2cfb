//! Redaction of JSON: string by string, so that what comes out is JSON still.

use std::borrow::Cow;

use serde_json::Value;

use crate::domain::event::Event;
use crate::redact::Redactor;

/// Redacts every string of a value, keys included.
pub(super) fn value(redactor: &Redactor, value: &mut Value) {
    match value {
        Value::String(text) => string(redactor, text),
        Value::Array(items) => items.iter_mut().for_each(|item| self::value(redactor, item)),
        Value::Object(fields) => {
            let taken = std::mem::take(fields);
            // Keys too, as a model chooses those of its arguments.
            for (mut key, mut field) in taken {
                string(redactor, &mut key);
                self::value(redactor, &mut field);
                fields.insert(key, field);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn string(redactor: &Redactor, text: &mut String) {
    if let Cow::Owned(masked) = redactor.redact(text) {
        *text = masked;
    }
}

/// Redacts a serialised document. Text that is no JSON is redacted as text.
pub(super) fn document(redactor: &Redactor, text: &str) -> String {
    // Escapes do not hide a secret from the redactor, so serialised text without a hit has none in its strings.
    if let Cow::Borrowed(clean) = redactor.redact(text) {
        return clean.to_owned();
    }
    match serde_json::from_str::<Value>(text) {
        Ok(mut parsed) => {
            value(redactor, &mut parsed);
            parsed.to_string()
        }
        Err(_not_json) => redactor.redact(text).into_owned(),
    }
}

/// An event as JSON without secrets, and the event that it reads back as.
///
/// A secret that equals one of our own words (`librarian`) is left where the event could not be read without it.
/// `None` only if an event cannot be serialised at all.
pub(super) fn event<'e>(redactor: &Redactor, event: &'e Event) -> Option<(String, Cow<'e, Event>)> {
    let serialised = serde_json::to_string(event).ok()?;
    if let Cow::Borrowed(_) = redactor.redact(&serialised) {
        return Some((serialised, Cow::Borrowed(event)));
    }
    let original = serde_json::to_value(event).ok()?;
    let mut masked = original.clone();
    value(redactor, &mut masked);
    // It must read back, or a log with a masked word of ours could never be loaded again.
    if let Some(read) = read(&masked) {
        return Some((masked.to_string(), Cow::Owned(read)));
    }
    let mut words = Vec::new();
    changed_words(&original, &masked, &mut String::new(), &mut words);
    for (pointer, word) in &words {
        set(&mut masked, pointer, word);
    }
    // One by one, so that only the words stay which the event cannot be read without.
    for (pointer, word) in &words {
        set(&mut masked, pointer, &redactor.redact(word));
        if read(&masked).is_none() {
            set(&mut masked, pointer, word);
        }
    }
    Some((masked.to_string(), Cow::Owned(read(&masked)?)))
}

fn read(value: &Value) -> Option<Event> {
    serde_json::from_value(value.clone()).ok()
}

fn set(value: &mut Value, pointer: &str, text: &str) {
    if let Some(slot) = value.pointer_mut(pointer) {
        *slot = Value::from(text);
    }
}

/// Where single lower-case words were masked: enum values, perhaps.
fn changed_words(original: &Value, masked: &Value, at: &mut String, into: &mut Vec<(String, String)>) {
    let depth = at.len();
    match (original, masked) {
        (Value::String(word), Value::String(now))
            if word != now && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') =>
        {
            into.push((at.clone(), word.clone()));
        }
        (Value::Array(before), Value::Array(after)) => {
            for (index, (before, after)) in before.iter().zip(after).enumerate() {
                at.push('/');
                at.push_str(&index.to_string());
                changed_words(before, after, at, into);
                at.truncate(depth);
            }
        }
        (Value::Object(before), Value::Object(after)) => {
            for (key, before) in before {
                let Some(after) = after.get(key) else { continue };
                at.push('/');
                // As JSON Pointer spells them (RFC 6901), `~` first.
                at.push_str(&key.replace('~', "~0").replace('/', "~1"));
                changed_words(before, after, at, into);
                at.truncate(depth);
            }
        }
        _ => {}
    }
}
