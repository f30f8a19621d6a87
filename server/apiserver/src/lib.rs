//! A Kubernetes API server that starts in milliseconds: objects, custom resources, server-side apply, watches and
//! discovery.
//!
//! # Modules
//!
//! | module | what it has |
//! |---|---|
//! | the root | [`ApiServer`], a `tower::Service`, with its options, snapshots and forks |
//! | [`store`] | where objects are stored: the trait with its guarantees, and stores in memory, in a file, and in etcd |
//! | `net` | the server on a port |
//! | [`fault`], [`log`], [`test_api`], [`testing`] | what tests need: faults, the log, requests below `/test`, assertions |

// The futures of connections own the whole server: nightly Rust needs more steps to find that they are `Send`.
#![recursion_limit = "256"]
#![expect(
    clippy::result_large_err,
    reason = "a failure is the answer to a request, and is made once for each"
)]

mod access;
mod admission_metrics;
mod bootstrap;
mod browser;
mod budget;
mod collector;
mod compaction;
mod discovery;
mod documents;
mod encoded;
mod endpoint;
mod expiry;
mod facts;
pub mod fault;
mod flows;
mod gate;
mod http;
mod limits;
pub mod log;
mod metrics;
#[cfg(feature = "net")]
pub mod net;
mod network;
mod object;
mod openapi;
mod origin;
mod participants;
mod pool;
mod query;
mod registry;
mod restore;
mod selector;
mod server;
mod service;
mod snapshot;
mod source;
pub mod store;
mod table;
pub mod test_api;
pub mod testing;
mod ui;
mod watch;

pub use crate::access::Authorization;
pub use crate::http::Body;

pub use bootstrap::LoadError;
pub use collector::{CollectorChange, CollectorStep, Propagation};
#[cfg(feature = "net")]
pub use fieldmanager_access::certificates::{CertificateError, ClientAuthorities};
pub use fieldmanager_access::tokens::{KeyError, Keys, TokenIssuer};
pub use fieldmanager_access::{StaticTokens, TokenFileError, User};
/// What takes part in admission.
pub use fieldmanager_admission as admission;
pub use limits::Limits;
pub use network::ServiceNetwork;
pub use server::{ApiServer, Builder, Collection};
pub use service::Answering;
pub use snapshot::Snapshot;
pub use source::{Random, Source};
