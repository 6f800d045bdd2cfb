//! To be written.

pub mod check;
pub mod init;
pub mod schema;
