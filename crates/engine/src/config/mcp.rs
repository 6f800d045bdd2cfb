//! `agent.mcp`: servers of tools that roles are given.

use super::pick::Picker;
use super::plan::{McpServer, Origin};
use super::rest;
use super::secret_vars::refuse_secrets;
use super::values::{RoleWord, VarName};
use crate::domain::ladder::Role;

/// The time of one call, in seconds, unless something else is said.
const DEFAULT_TIMEOUT: u32 = 60;
/// The longest name of a server: it stands in the names of its tools.
const MAX_NAME: usize = 20;

/// The servers in the order of their names. The tiers text goes before the configuration file.
pub(super) fn servers(picker: &Picker<'_>, key_vars: &[&str], hosts: &[String]) -> Vec<McpServer> {
    let told = picker.documents().find_map(|document| Some((document.file.agent.as_ref()?.mcp.as_ref()?, document)));
    let Some((sections, document)) = told else {
        picker.note("agent.mcp", &"none", Origin::Default);
        return Vec::new();
    };
    let mut servers = Vec::new();
    for (name, section) in sections {
        let path = format!("agent.mcp.{name}");
        // No `_`: the name ends at `__` in the names of its tools.
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(plain) {
            let fix = format!("Use at most {MAX_NAME} letters, digits and `-`: it becomes part of `mcp__NAME__tool`.");
            document.faults.add(&path, "is not a valid name of a server", fix);
            continue;
        }
        let command = section.command.clone().unwrap_or_default();
        // Both or neither: each would leave open which server is meant.
        if command.is_empty() == section.url.is_none() {
            let fix = "Name the program, `command: [mcp-server-filesystem, .]`, or the address, `url: https://…`.";
            document.faults.add(&path, "must have either a command or a url", fix);
            continue;
        }
        if let Some(url) = &section.url {
            rest::check_url(document, &format!("{path}.url"), url, hosts);
            // Placeholders are filled by the arguments of a tool, and a server's address has none.
            if url.contains(['{', '}']) {
                document.faults.add(&format!("{path}.url"), "has a placeholder", "Give the whole address.");
            }
        }
        let misplaced = if section.url.is_some() {
            ("env", section.env.is_some())
        } else {
            ("headersEnv", section.headers_env.is_some())
        };
        if let (key, true) = misplaced {
            let fix = "Use `env` with a command, and `headersEnv` with a url.";
            document.faults.add(&format!("{path}.{key}"), "goes with the other kind of server", fix);
        }
        let env = section.env.clone().unwrap_or_default();
        // A model's key in the hands of a server could be spent past every cap.
        refuse_secrets(picker, &format!("{path}.env"), &env, &document.origin(), key_vars);
        let roles = section.roles.clone().unwrap_or_else(|| vec![RoleWord(Role::Librarian)]);
        servers.push(McpServer {
            name: name.clone(),
            command,
            url: section.url.clone(),
            headers: rest::headers(picker, document, &path, section.headers_env.as_ref(), key_vars),
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
