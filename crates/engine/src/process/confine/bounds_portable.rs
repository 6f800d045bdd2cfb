//! The bounds of a child where there are none: nobody can have any.
//!
//! Invariant: same interface as on Linux.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

/// Bounds that cannot be.
#[derive(Debug)]
pub enum Bounds {}

#[cfg_attr(windows, expect(dead_code, reason = "children are started another way"))]
impl Bounds {
    pub(in crate::process) const fn door(&self) -> Option<Stdio> {
        match *self {}
    }

    #[cfg(unix)]
    pub(in crate::process) const fn door_with_line(&self) -> Option<(Stdio, std::os::unix::net::UnixStream)> {
        match *self {}
    }

    pub(in crate::process) const fn around(&self, _plain: &Command, _name: &OsStr, _door: Option<&Stdio>) -> Command {
        match *self {}
    }
}

impl Bounds {
    pub(super) const fn remember(&self) {
        match *self {}
    }

    pub(super) const fn forget(&self) -> std::io::Result<()> {
        match *self {}
    }

    pub(super) const fn put_back(&self) -> std::io::Result<Option<String>> {
        match *self {}
    }
}
