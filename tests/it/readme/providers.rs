//! The table of built-in providers is the catalogue's: names, variables, ladders, and the order in which keys count.

use upshift::domain::model_id::BUILT_IN_PROVIDERS;
use upshift::model::catalogue::{built_in_endpoint, default_ladder};

use super::markdown::page;

/// A row as the page prints it.
fn row(provider: &str) -> String {
    let list = |names: &[&str]| {
        let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    let (keys, addresses) =
        built_in_endpoint(provider).map_or((&[][..], &[][..]), |known| (known.key_vars, known.base_url_vars));
    let ladder = default_ladder(provider);
    format!("| `{provider}` | {} | {} | {} |\n", list(keys), list(addresses), list(ladder.as_slice()))
}

#[test]
fn the_page_prints_every_built_in_provider_in_order() {
    let table: String = BUILT_IN_PROVIDERS.into_iter().map(row).collect();
    let table = format!("| provider | key | another address | built-in ladder |\n|---|---|---|---|\n{table}");
    assert!(page("docs/providers.md").contains(&table), "docs/providers.md must hold this table:\n{table}");
}
