//! `upshift schema`: the JSON Schema of the configuration file.

use crate::config;

/// Renders the schema as it is committed at `schema/upshift.schema.json`.
#[must_use]
pub fn render() -> String {
    format!("{:#}\n", config::schema())
}
