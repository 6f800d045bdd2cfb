//! Stand-ins for the outside world: they hold state, check what is asked of them, and bill what they serve.

pub(crate) mod model_server;
