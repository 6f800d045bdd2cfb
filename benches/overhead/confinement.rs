//! What confinement adds to each child: the same child with it and without, in turn.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use upshift::config::{Network, Sandbox};
use upshift::domain::stop::Stop;
use upshift::process::confine::{Wish, arrange};
use upshift::process::{self, Confinement, Program, Spec};

use crate::machine::median;
use crate::milliseconds;

/// How often each is started.
const CHILDREN: usize = 41;

/// Milliseconds per child without confinement and with it.
pub(crate) fn measure(program: &Path) -> (f64, f64) {
    let tree = tempfile::tempdir().expect("a folder");
    let state = tempfile::tempdir().expect("a folder");
    let env: BTreeMap<OsString, OsString> = std::env::vars_os()
        .filter(|(name, _)| ["PATH", "HOME", "CARGO_HOME", "RUSTUP_HOME"].iter().any(|kept| name == kept))
        .collect();
    let arranged = arrange(&Wish {
        sandbox: Sandbox::Auto,
        network: Network::Auto,
        checkout: tree.path(),
        env: &env,
        kept_out: vec![state.path().to_owned()],
        state: state.path().to_owned(),
        helper: program.to_owned(),
    })
    .expect("children can be confined");
    assert!(arranged.gaps.is_empty() && arranged.notes.is_empty(), "{:?} {:?}", arranged.gaps, arranged.notes);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let child = |confinement: &Confinement| {
        let spec = Spec {
            program: Program::Argv(vec!["/bin/true".into()]),
            cwd: tree.path().to_owned(),
            env: env.clone(),
            stdin: Vec::new(),
            timeout: Duration::from_secs(10),
            keep: 1024,
            merge_stderr: true,
            memory_mb: None,
            confinement: confinement.clone(),
        };
        let began = Instant::now();
        let ended = runtime.block_on(process::run(&spec, &Stop::never(), &mut |_| {})).expect("it starts");
        assert!(ended.exit.is_success(), "{ended:?}");
        milliseconds(began.elapsed())
    };
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..CHILDREN {
        without.push(child(&Confinement::None));
        with.push(child(&arranged.tests.confinement));
    }
    (median(without), median(with))
}
