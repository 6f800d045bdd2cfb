//! How the shipped program is linked.

#![expect(clippy::disallowed_methods, reason = "so a build script asks and answers")]

use std::env;

/// Leaves out the tables by which a stack is unwound.
const NO_TABLES: &str = "link/no_unwinding.ld";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={NO_TABLES}");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    // The profile `dist` alone is made for size, and it alone ends at a panic, so that nothing ever unwinds.
    if !is("OPT_LEVEL", "z") || !is("CARGO_CFG_TARGET_OS", "linux") {
        return;
    }
    let root = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    println!("cargo:rustc-link-arg-bins=-Wl,-T,{root}/{NO_TABLES}");
    if is("CARGO_CFG_TARGET_ENV", "musl") {
        // A bit for each relocation instead of 24 bytes. Where the C library is the machine's own it may be too old for it.
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}
