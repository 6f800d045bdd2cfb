//! Stand-ins for the outside world: they hold state, check what is asked of them, and bill what they serve.

pub(crate) mod canary;
pub(crate) mod git_server;
pub(crate) mod github;
pub(crate) mod log;
pub(crate) mod model_server;
pub(crate) mod ordinary;
pub(crate) mod program;
pub(crate) mod project;
