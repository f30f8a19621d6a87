//! Requests as a program sees them: verb, resource, options, body; no HTTP.

pub mod watch;
