//! `agent.mcp`: servers of tools that roles are given.

use super::pick::Picker;
use super::plan::{McpServer, Origin};
use super::secret_vars::refuse_secrets;
use super::values::{RoleWord, VarName};
use crate::domain::ladder::Role;

/// The time of one call, in seconds, unless something else is said.
const DEFAULT_TIMEOUT: u32 = 60;
/// The longest name of a server: it stands in the names of its tools.
const MAX_NAME: usize = 20;

/// The servers in the order of their names. The tiers text goes before the configuration file.
pub(super) fn servers(picker: &Picker<'_>, key_vars: &[&str]) -> Vec<McpServer> {
    let told = picker.documents().find_map(|document| Some((document.file.agent.as_ref()?.mcp.as_ref()?, document)));
    let Some((sections, document)) = told else {
        picker.note("agent.mcp", &"none", Origin::Default);
        return Vec::new();
    };
    let mut servers = Vec::new();
    for (name, section) in sections {
        let path = format!("agent.mcp.{name}");
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(plain) {
            let fix = format!("Use at most {MAX_NAME} letters, digits and `-`: it stands in `mcp__NAME__tool`.");
            document.faults.add(&path, "is no name of a server", fix);
            continue;
        }
        let Some(command) = section.command.clone() else { continue };
        if command.is_empty() {
            let fix = "Name the program: `command: [mcp-server-filesystem, .]`.";
            document.faults.add(&format!("{path}.command"), "names no program", fix);
            continue;
        }
        let env = section.env.clone().unwrap_or_default();
        refuse_secrets(picker, &format!("{path}.env"), &env, &document.origin(), key_vars);
        let roles = section.roles.clone().unwrap_or_else(|| vec![RoleWord(Role::Librarian)]);
        servers.push(McpServer {
            name: name.clone(),
            command,
            env: env.into_iter().map(|VarName(name)| name).collect(),
            roles: roles.into_iter().map(|RoleWord(role)| role).collect(),
            allow: section.allow.clone().unwrap_or_default(),
            timeout_seconds: section.timeout_seconds.map_or(DEFAULT_TIMEOUT, |seconds| seconds.0),
        });
    }
    let names: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
    picker.note("agent.mcp", &names.join(", "), document.origin());
    servers
}
