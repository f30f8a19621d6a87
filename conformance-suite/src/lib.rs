//! Server-Side Apply, checked on any Kubernetes API server.
//!
//! The suite is a folder of scenario files, which are part of this crate. Each case runs in a namespace of its own and
//! with definitions of its own, so that cases and runs do not meet.
//!
//! ```no_run
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use fieldmanager_conformance_suite::{Connection, RunOptions, ServerOptions, Suite};
//!
//! let server = ServerOptions { url: Some("http://127.0.0.1:8080".into()), ..ServerOptions::default() };
//! let connection = Connection::new(&server).await?;
//! let options = RunOptions { name: "a1".into(), jobs: 8, keep: false };
//! let report = Suite::embedded()?.run(&connection, &options, |_| {}, std::future::pending()).await;
//! println!("{}", report.summary());
//! # Ok(())
//! # }
//! ```
//!
//! # What this crate knows
//!
//! Requests to a server, their answers, and the cases. It knows no rule of server-side apply, and does not print.

mod baseline;
mod case;
mod connection;
mod definitions;
mod find;
mod judge;
mod names;
mod needs;
mod reply;
mod resources;
mod results;
mod suite;
mod wire;

pub use baseline::{Baseline, Comparison};
#[doc(hidden)]
pub use connection::looks_like_test;
pub use connection::{ConnectError, Connection, ServerOptions};
pub use results::{AreaResult, markdown, results_by_area};
pub use suite::{RunOptions, Suite, area};
