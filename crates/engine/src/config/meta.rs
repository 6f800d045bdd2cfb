//! `agent.meta`: blocks of data that roles are asked for beside their reports (S1-12).

use super::pick::Picker;
use super::plan::Origin;
use super::values::ReporterWord;
use crate::domain::ladder::Role;
use crate::domain::meta::{MetaBlock, RESERVED, built_in};

/// The longest name of a block, which stands in reports.
const MAX_NAME_CHARS: usize = 40;

/// The blocks in the order of their names. The tiers text goes before the configuration file.
pub(super) fn blocks(picker: &Picker<'_>) -> Vec<MetaBlock> {
    let told = picker.documents().find_map(|document| {
        let sections = document.file.agent.as_ref()?.meta.as_ref()?;
        Some((sections, document))
    });
    let Some((sections, document)) = told else {
        picker.note("agent.meta", &"none", Origin::Default);
        return Vec::new();
    };
    let mut blocks = Vec::new();
    for (name, section) in sections {
        let path = format!("agent.meta.{name}");
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || name.len() > MAX_NAME_CHARS || !name.chars().all(plain) {
            let fix = format!("Use at most {MAX_NAME_CHARS} letters, digits, `_` and `-`.");
            document.faults.add(&path, "is not a valid name of a block", fix);
            continue;
        }
        // A block of that name would overwrite the report's own field.
        if RESERVED.contains(&name.as_str()) {
            let fix = "Give it another name.";
            document.faults.add(&path, "is a field of the report itself", fix);
            continue;
        }
        let Some(schema) = section.schema.as_ref().map(|schema| schema.0.clone()).or_else(|| built_in(name)) else {
            let fix = "Give it a schema, such as `schema: {type: string, minLength: 1}`.";
            document.faults.add(&format!("{path}.schema"), "is required", fix);
            continue;
        };
        let role = section.role.map_or(Role::Artisan, |ReporterWord(role)| role);
        blocks.push(MetaBlock { name: name.clone(), role, required: section.required.unwrap_or(true), schema });
    }
    let names: Vec<&str> = blocks.iter().map(|block| block.name.as_str()).collect();
    picker.note("agent.meta", &names.join(", "), document.origin());
    blocks
}
