//! `agent.rest` and `agent.toolHosts`: tools that are a request to a web service each, and the hosts that tools may reach.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use url::Url;

use super::document::Document;
use super::pick::Picker;
use super::plan::{Origin, RestMethod, RestTool};
use super::secret_vars::refuse_secrets;
use super::values::{RoleWord, VarName};
use crate::domain::ladder::Role;
use crate::domain::web_host::{named_host, refusal};

/// The time of one call, in seconds, unless something else is said.
const DEFAULT_TIMEOUT: u32 = 30;
/// The most tools: each is paid for in every uncached request.
const MOST: usize = 32;
/// The longest name: it stands in the name of its tool.
const MAX_NAME: usize = 40;
/// The longest description, in characters.
const MAX_DESCRIPTION: usize = 600;
/// Headers that are ours to say, or that change what a request is.
const OURS: [&str; 8] =
    ["host", "content-length", "content-type", "transfer-encoding", "connection", "upgrade", "accept", "te"];

/// The hosts that tools may reach, in one form.
pub(super) fn hosts(picker: &Picker<'_>) -> Vec<String> {
    let told =
        picker.documents().find_map(|document| Some((document.file.agent.as_ref()?.tool_hosts.as_ref()?, document)));
    let Some((hosts, document)) = told else {
        picker.note("agent.toolHosts", &"none", Origin::Default);
        return Vec::new();
    };
    let mut named = Vec::new();
    for (index, text) in hosts.iter().enumerate() {
        match named_host(text) {
            Some(host) => named.push(host),
            None => document.faults.add(
                &format!("agent.toolHosts[{index}]"),
                "is not a host",
                "Name only a host or an address, such as `api.example.com`, without scheme, port, path or `*`.",
            ),
        }
    }
    picker.note("agent.toolHosts", &named.join(", "), document.origin());
    named
}

/// The tools in the order of their names. The tiers text goes before the configuration file.
pub(super) fn tools(picker: &Picker<'_>, key_vars: &[&str], hosts: &[String]) -> Vec<RestTool> {
    let told = picker.documents().find_map(|document| Some((document.file.agent.as_ref()?.rest.as_ref()?, document)));
    let Some((sections, document)) = told else {
        picker.note("agent.rest", &"none", Origin::Default);
        return Vec::new();
    };
    let faults = &document.faults;
    if sections.len() > MOST {
        faults.add("agent.rest", format!("names {} tools", sections.len()), format!("Name at most {MOST}."));
    }
    let mut tools = Vec::new();
    for (name, section) in sections {
        let path = format!("agent.rest.{name}");
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        // Two of them part the names of tools.
        if name.is_empty() || name.len() > MAX_NAME || name.contains("__") || !name.chars().all(plain) {
            let fix =
                format!("Use at most {MAX_NAME} letters, digits, `-` and single `_`: it becomes part of `rest__NAME`.");
            faults.add(&path, "is not a valid name of a tool", fix);
            continue;
        }
        let (Some(description), Some(url)) = (section.description.clone(), section.url.clone()) else { continue };
        let long = description.chars().count();
        if long > MAX_DESCRIPTION {
            let fix = format!("Use at most {MAX_DESCRIPTION} characters.");
            faults.add(&format!("{path}.description"), format!("has {long} characters"), fix);
        }
        let method = section.method.unwrap_or(RestMethod::Get);
        if method != RestMethod::Get && !section.allow_write.unwrap_or_default() {
            // Asked for by a word of its own, since a model decides when the tool is called.
            let fix = "Use `get`, or say `allowWrite: true`.";
            faults.add(&format!("{path}.method"), "may change something", fix);
        }
        let params = section.params.as_ref().map_or_else(
            || json!({"type": "object", "properties": {}, "additionalProperties": false}),
            |params| params.0.clone(),
        );
        check_params(document, &path, &params, &url);
        check_url(document, &format!("{path}.url"), &url, hosts);
        let roles = section.roles.clone().unwrap_or_else(|| vec![RoleWord(Role::Librarian)]);
        tools.push(RestTool {
            name: name.clone(),
            description,
            method,
            url,
            params,
            headers: headers(picker, document, &path, section.headers_env.as_ref(), key_vars),
            roles: roles.into_iter().map(|RoleWord(role)| role).collect(),
            timeout_seconds: section.timeout_seconds.map_or(DEFAULT_TIMEOUT, |seconds| seconds.0),
        });
    }
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    picker.note("agent.rest", &names.join(", "), document.origin());
    tools
}

/// The headers of a source, each with the variable that holds its value.
pub(super) fn headers(
    picker: &Picker<'_>,
    document: &Document,
    path: &str,
    section: Option<&BTreeMap<String, VarName>>,
    key_vars: &[&str],
) -> BTreeMap<String, String> {
    let path = format!("{path}.headersEnv");
    let section = section.into_iter().flatten();
    let vars: Vec<VarName> = section.clone().map(|(_, name)| name.clone()).collect();
    refuse_secrets(picker, &path, &vars, &document.origin(), key_vars);
    let mut headers = BTreeMap::new();
    for (name, VarName(variable)) in section {
        // Two spellings of one header would both be sent.
        let name = name.to_ascii_lowercase();
        let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        // A header that changes what a request is could smuggle a second one past the proxy.
        if !plain || OURS.contains(&name.as_str()) || name.starts_with("mcp-") {
            let fix = "Name a header such as `Authorization`, and the variable with its whole value.";
            document.faults.add(&format!("{path}.{name}"), "is not a header that can be set", fix);
            continue;
        }
        headers.insert(name, variable.clone());
    }
    headers
}

/// Notes why an address may not be asked.
pub(super) fn check_url(document: &Document, path: &str, url: &str, hosts: &[String]) {
    // The address is tried with two words in its placeholders: what differs is under a model's control.
    let with = |word: &str| Url::parse(&template(url, |_| word.to_owned())).ok();
    let fix = "Use an address such as `https://api.example.com/issues/{id}`, without user name, password or key in it.";
    let (Some(one), Some(other)) = (with("x"), with("y")) else {
        document.faults.add(path, "is not a web address", fix);
        return;
    };
    let origin = |url: &Url| (url.scheme().to_owned(), url.host_str().map(str::to_owned), url.port_or_known_default());
    let has_user = !one.username().is_empty() || one.password().is_some();
    // A placeholder in the host would let a model choose where the header with the key goes.
    if origin(&one) != origin(&other) || one.host().is_none() || one.fragment().is_some() || has_user {
        document.faults.add(path, "is not a web address", fix);
        return;
    }
    if let Some(why) = refusal(&one, hosts) {
        let fix = "Name its host under `agent.toolHosts`, and use https unless it is this machine.";
        document.faults.add(path, format!("may not be asked: {why}"), fix);
    }
}

/// An address with something in the place of each placeholder.
fn template(url: &str, fill: impl Fn(&str) -> String) -> String {
    let mut parts = url.split('{');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // An open brace without an end is filled all the same, and fails as a parameter that nobody named.
        let (name, rest) = part.split_once('}').unwrap_or((part, ""));
        filled.push_str(&fill(name));
        filled.push_str(rest);
    }
    filled
}

/// Notes parameters that are no object, and placeholders that are no parameters that must be given.
fn check_params(document: &Document, path: &str, params: &Value, url: &str) {
    if params.get("type").and_then(Value::as_str) != Some("object") {
        let fix = "Say `params: {type: object, properties: {id: {type: string}}, required: [id]}`.";
        document.faults.add(&format!("{path}.params"), "must be of type object", fix);
    }
    let required: BTreeSet<&str> =
        params.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    for part in url.split('{').skip(1) {
        let name = part.split_once('}').map_or("", |(name, _)| name);
        // An optional parameter would leave a hole in the path, which could be another resource.
        if !required.contains(name) {
            let message = format!("has the placeholder `{}`, which is not a required parameter", name.escape_debug());
            document.faults.add(
                &format!("{path}.url"),
                message,
                "Name it under `params.properties` and `params.required`.",
            );
        }
    }
}
