//! What checkout left in the user's git configuration to get in again: taken out for the run, put back at its end.
//!
//! `actions/checkout` leaves a header with the job's token in `.git/config`, or since its version 6 in a file under `RUNNER_TEMP`
//! that `.git/config` includes (GITHUB.md 5). Tests could read it, so a run lifts it into memory.
