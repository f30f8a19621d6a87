//! The log of a test server: every request, and which fields it took, gained and lost.
//!
//! A server has a log if its [`Limits::log`](crate::Limits::log) is not 0, as a [server for tests](crate::Builder::test_api)
//! has. Requests, objects that a program [loads](crate::ApiServer::load), and changes of the collector are entries, in the
//! order in which they ended. What the server writes because of a request, as the status of a definition, is a part of
//! the entry of the request.
//!
//! A server with the [page](crate::Builder::page) also keeps the history of objects: the objects that writes stored, and
//! the requests that were refused. Requests are recorded once for both.
//!
//! ```
//! # tokio_test::block_on(async {
//! use fieldmanager_apiserver::ApiServer;
//! use fieldmanager_value::Value;
//! let server = ApiServer::builder().test_api(true).build().await?;
//! let map = Value::from_yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {color: red}}")?;
//! server.load(&map).await?;
//! let log = server.log();
//! assert!(log.wrote("fieldmanager", ".data.color"));
//! log.assert_never_wrote("alice", ".data.color");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

mod entry;
mod export;
mod fields;
mod history;
mod recorder;
mod store;

pub(crate) use entry::is_in;
pub use entry::{Change, Log, LogEntry, ManagerChange, Written};
pub use export::{ExportHistory, RecordedEffect, RecordedEvent, RecordedHistory};
pub(crate) use history::{Event, History, Item, ObjectHistory, Refusal, Request};
pub(crate) use recorder::{Recorder, note, recorded, refused};
pub(crate) use store::Recorded;
