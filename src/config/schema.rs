//! The JSON Schema of the configuration file, made from the same declarations as its reader.

use serde_json::Value;

use super::file::ConfigFile;

/// The schema (draft 2020-12) as a JSON value. Made anew on each call: nothing but `upshift schema` asks for it.
#[must_use]
pub fn schema() -> Value {
    schemars::schema_for!(ConfigFile).to_value()
}
