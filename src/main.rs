//! The `upshift` program: the helper that confines children if it was started as one; else the TLS provider, and out.

use std::process::ExitCode;

#[cfg(all(target_os = "linux", target_env = "musl"))]
#[global_allocator]
static MEMORY: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    if let Some(ended) = upshift::process::confine::helper::entry() {
        return ended;
    }
    upshift::cli::harden();
    // reqwest is built without a provider of its own and panics unless one is installed first.
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        return ExitCode::from(upshift::domain::outcome::EXIT_INTERNAL);
    }
    upshift::cli::main()
}
