//! The audit log: SQLite, append-only, safe against kill -9.
