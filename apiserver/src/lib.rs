//! A Kubernetes API server that starts in milliseconds: objects, custom resources, server-side apply, watches and
//! discovery.
//!
//! # Layers
//!
//! | module | what it knows |
//! |---|---|
//! | `store` | revisions, compare-and-swap, consistent lists, watches from a revision, compaction |
//! | `facts` | what kube-apiserver serves: resources, columns, field selectors, OpenAPI documents |
//! | `registry` | the resources that are served, built in or by CustomResourceDefinitions |
//! | `endpoint` | requests as a program sees them: verb, resource, options, body; no HTTP |
//! | `discovery`, `openapi` | the documents that clients read first |
//! | `table` | objects as the rows that `kubectl get` prints |
//! | `ui` | the page for people: objects with their owners, histories, scenario files |
//! | `http` | paths, content types, streams of watches |
//! | `fault`, `log`, `test_api`, `testing` | what tests need: faults, the log, requests below `/test`, assertions |

// The futures of connections own the whole server: nightly Rust needs more steps to find that they are `Send`.
#![recursion_limit = "256"]
#![expect(
    clippy::result_large_err,
    reason = "a failure is the answer to a request, and is made once for each"
)]

mod bootstrap;
mod browser;
mod budget;
pub mod collector;
pub mod discovery;
mod documents;
mod endpoint;
mod expiry;
pub mod facts;
pub mod fault;
mod gate;
mod http;
mod limits;
pub mod log;
mod metrics;
#[cfg(feature = "net")]
pub mod net;
mod object;
pub mod openapi;
mod origin;
mod pool;
mod query;
mod registry;
mod restore;
pub mod selector;
mod server;
mod service;
mod snapshot;
mod source;
pub mod store;
pub mod table;
pub mod test_api;
pub mod testing;
mod ui;
pub mod watch;

pub use crate::http::Body;
pub use limits::Limits;
pub use server::{ApiServer, Builder, Collection, LoadError};
pub use service::Answering;
pub use snapshot::Snapshot;
pub use source::{Random, Source};
