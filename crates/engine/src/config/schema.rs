//! The JSON Schema of the configuration file, made from the same declarations as its reader.

use serde_json::Value;

use super::file::ConfigFile;

/// The schema (draft 2020-12) as a JSON value. Made anew on each call: nothing but `upshift schema` asks for it.
#[must_use]
pub fn schema() -> Value {
    let generated = schemars::schema_for!(ConfigFile).to_value();
    let Value::Object(mut rest) = generated else { return generated };
    // What it is comes first: people open this file too.
    let first = ["$schema", "title", "description"];
    let mut ordered: serde_json::Map<String, Value> =
        first.iter().filter_map(|key| Some(((*key).to_owned(), rest.shift_remove(*key)?))).collect();
    ordered.append(&mut rest);
    Value::Object(ordered)
}
