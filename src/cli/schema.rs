//! `upshift schema`: the JSON Schema of the configuration file.

/// The schema made from the declarations, in the form in which it is committed at `schema/upshift.schema.json`.
#[cfg(debug_assertions)]
#[must_use]
pub fn render() -> String {
    format!("{:#}\n", crate::config::schema())
}

/// The schema as it is committed: a test holds that file against what a debug build makes.
///
/// The generator with its traits is 120 kB of a program that every job downloads.
#[cfg(not(debug_assertions))]
#[must_use]
pub fn render() -> String {
    include_str!("../../schema/upshift.schema.json").to_owned()
}
