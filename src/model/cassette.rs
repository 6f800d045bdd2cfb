//! Recorded replies.
