//! Whether each model of the ladder can be asked: its key, its name and its endpoint, by free questions to its vendor.
//!
//! Invariant: a line per target, whatever its vendor says. No model is called.

use std::collections::BTreeMap;

use super::finding::Finding;
use crate::backend;
use crate::cli::environment::Environment;
use crate::cli::plan::Resolved;
use crate::cli::setup::Setup;
use crate::cli::{http_client, models, stop_sources};
use crate::config::{EndpointPlan, Plan};
use crate::domain::account::Account;
use crate::domain::model_id::ModelId;
use crate::model::probe::{self, Proof};

/// The subject of the lines.
const ABOUT: &str = "model";

/// Asks for every target of the ladder, each once.
pub(super) async fn examine(resolved: &Resolved, environment: &Environment) -> anyhow::Result<Vec<Finding>> {
    let Resolved { plan, checkout, context, .. } = resolved;
    let setup = Setup::new(checkout, environment, Some(plan), context.as_ref());
    let mut findings = Vec::new();
    for (target, tiers) in targets(plan) {
        // A provider without an endpoint was reported when the plan was resolved.
        let Some(endpoint) = plan.endpoints.get(&target.provider) else { continue };
        let which = format!("{target} ({tiers})");
        findings.push(match asked(&target, endpoint, environment).await {
            Ok(said) => Finding::ok(ABOUT, format!("{which}: {said}")),
            // A vendor's refusal may quote the key that it was sent.
            Err(said) => Finding::told(ABOUT, &setup.redactor.redact(&format!("{which}: {said}"))),
        });
    }
    Ok(findings)
}

async fn asked(target: &ModelId, plan: &EndpointPlan, environment: &Environment) -> Result<String, String> {
    let Some(wire) = models::wire_of(plan) else {
        return Ok("a recording, there is nothing to check".to_owned());
    };
    let endpoint = models::endpoint_of(&target.provider, wire, plan, environment).map_err(|error| error.to_string())?;
    let http = http_client::http(environment);
    let Proof { question, unproven } = probe::prove(endpoint, target, &http, stop_sources::clock(environment)).await?;
    let account = Account::new(&plan.base_url, plan.key_var.as_deref());
    let key = account.key_variable.as_ref().map(|name| format!(" takes the key in {name} and")).unwrap_or_default();
    let host = account.host();
    Ok(match unproven {
        None => format!("{host}{key} knows the model ({question})"),
        Some(unproven) => format!("{host} answers ({question}); {unproven}"),
    })
}

/// Every target once, with the tiers that name it.
fn targets(plan: &Plan) -> Vec<(ModelId, String)> {
    let mut order: Vec<ModelId> = Vec::new();
    let mut tiers: BTreeMap<ModelId, Vec<String>> = BTreeMap::new();
    for (number, tier) in (1..).zip(&plan.tiers) {
        let named = tier.roles().iter().flat_map(|role| tier.targets(*role));
        // Behind an agent stands a model, which is asked for here.
        for target in named.map(backend::answering) {
            let tiers = tiers.entry(target.clone()).or_insert_with(|| {
                order.push(target.clone());
                Vec::new()
            });
            let name = format!("tier {number}");
            if !tiers.contains(&name) {
                tiers.push(name);
            }
        }
    }
    // The order of the ladder, not of the alphabet: a person reads it from the cheapest tier up.
    order.into_iter().map(|target| (target.clone(), tiers.remove(&target).unwrap_or_default().join(", "))).collect()
}
