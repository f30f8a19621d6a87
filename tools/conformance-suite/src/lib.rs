//! Server-Side Apply, checked on any Kubernetes API server.
//!
//! The suite is a folder of scenario files, which are part of this crate. Each case runs in a namespace of its own and
//! with definitions of its own, so that cases and runs do not meet.
//!
//! ```no_run
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use fieldmanager_conformance_suite::{RunOptions, ServerOptions, Suite, Target};
//!
//! let server = ServerOptions { url: Some("http://127.0.0.1:8080".into()), ..ServerOptions::default() };
//! let connection = Target::read(&server).await?.connect()?;
//! let options = RunOptions { name: "a1".into(), jobs: 8, keep: false };
//! let outcome = Suite::embedded()?.run(&connection, &options, |_| {}, std::future::pending()).await;
//! println!("{}", outcome.report.summary());
//! # Ok(())
//! # }
//! ```
//!
//! # What this crate knows
//!
//! Requests to a server, their answers, and the cases. It knows no rule of server-side apply, and does not print.

mod baseline;
mod case;
mod cleanup;
mod connection;
mod definitions;
mod fault;
mod guard;
mod names;
mod needs;
mod reply;
mod resources;
mod results;
mod stop;
mod suite;
mod target;
#[cfg(test)]
mod tests;
mod wire;

pub use baseline::{Baseline, Comparison};
pub use cleanup::Leftover;
pub use connection::Connection;
pub use fault::ConnectError;
pub use results::{AreaResult, markdown, results_by_area};
pub use suite::{Outcome, RunOptions, Suite, area};
pub use target::{ServerOptions, Target};

/// Items for the other crates of the workspace; no part of the public interface.
#[doc(hidden)]
pub mod internal {
    pub use crate::connection::{Answer, Message, TOO_LONG};
    pub use crate::fault::CERTIFICATE_HINT;
    pub use crate::resources::root;
    pub use crate::wire::encoded;
}
