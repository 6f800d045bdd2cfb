//! `upshift resume`: goes on with a run that was killed, interrupted or parked, without paying twice.

use clap::Args as ClapArgs;

use super::environment::{Environment, current_dir};
use super::setup::{self, Setup};
use super::{Failure, report};
use crate::audit::{Journal, RunStatus};
use crate::lifecycle;

/// What `resume` takes.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The run: its id or a unique beginning of it [default: the latest]
    run: Option<String>,
    /// The audit log it is recorded in
    #[arg(long, value_name = "PATH")]
    audit_db: Option<String>,
}

/// Takes the run up where its last decision left it.
pub(super) fn run(args: Args, environment: &Environment) -> anyhow::Result<u8> {
    let checkout = current_dir()?;
    let setup = Setup::new(&checkout, environment);
    let path = report::audit_path(args.audit_db.as_deref(), environment);
    if !report::exists(&path, &checkout, environment) {
        return Err(report::no_log(&path));
    }
    let mut store = setup.open_store(Some(&path))?;
    let run_id = match &args.run {
        Some(prefix) => store.find_run(prefix),
        None => store.latest_run(),
    };
    let run_id = run_id.map_err(|error| setup::audit_failure(&error))?;
    let loaded = store.load_run(&run_id).map_err(|error| setup::audit_failure(&error))?;
    if loaded.status == RunStatus::Running {
        return Err(Failure::usage(format!("run {run_id} is still going on in another process; nothing was done")));
    }
    let mut state = lifecycle::load(&loaded).map_err(|error| Failure::usage(error.to_string()))?;
    state.plan.audit = Some(path);
    let workspace = setup.open_workspace(&state.plan)?;
    let invocation = store
        .continue_run(&run_id, std::process::id(), &setup.clock().timestamp())
        .map_err(|error| setup::audit_failure(&error))?;
    let mut journal = Journal::new(store, Vec::new());
    let lost = lifecycle::settle_lost(&mut journal, &state, setup.clock())?;
    lifecycle::recall_touched(&journal, &mut state, &loaded.events)?;
    let replay = lifecycle::replay_of(&journal, &state)?;
    for listener in setup.listeners(&loaded.events) {
        journal.listen(listener);
    }
    journal.tell(&invocation);
    if lost > 0 {
        super::say(&format!(
            "⚠ {lost} model call(s) were under way when the run was killed: counted at their worst case"
        ));
    }
    setup::block_on(setup.carry(workspace, journal, state, replay))
}
