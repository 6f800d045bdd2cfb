//! Tools of other programs: a client of the Model Context Protocol, over a program's standard input and output or over HTTP.
//!
//! Owns the conversation with one server: the greeting, the list of its tools, calls, and what it asks or logs meanwhile (`inbox`), and
//! which of its tools are offered under which names (`offer`), with schemas that vendors take (`schema`). It starts no process itself:
//! [`live`] is handed how. [`Remote`] carries the same conversation to an address.
//! Invariants: each request is answered, in time or with the reason why not. What a server says is foreign text, capped, and never our own
//! words. A tool that does not say that it only reads is offered only where a person allowed it by name.
//!
//! Written here and not over `rmcp`: of the protocol a client of tools needs a greeting, a list and a call. The rest of what stands here is
//! ours in any case: a server starts in the helper that confines it, its lines are capped before they are parsed, and HTTP goes through the
//! client that knows allowed hosts alone.
//!
//! Start reading at [`Client`].

mod client;
mod inbox;
mod offer;
mod remote;
mod schema;
mod trouble;

pub use self::client::{Client, live};
pub use self::offer::{Offer, Offered, offered};
pub use self::remote::Remote;
pub use self::trouble::McpError;
