//! Compares answers to requests with a real kube-apiserver.
//!
//! A case is a sequence of requests to one object of a kind: `kind`, `path`, `name`, and `steps`. A step has a `verb`, a
//! subresource `sub`, a `version` other than that of the path, a `query`, a user `agent`, a content `type`, and a body:
//! a `text`, or an object `body`, merged into the live object if `base` is `live`, with the members `carry` of the live
//! metadata, without those that `drop` points at, and with those that `set` gives.

mod cases;
mod client;
#[cfg(feature = "command")]
mod command;
mod compare;
mod deviations;
mod directives;
mod exchange;
mod faults;
mod generate;
mod in_process;
mod kinds;
mod live;
mod other;
mod patches;
mod pointer;
mod process;
mod recording;
mod request;
mod requests;
mod run;
mod sequences;
mod session;
mod story;
mod template;

pub use client::{Client, Document};
#[cfg(feature = "command")]
pub use command::{CommandReport, replay_by_command};
pub use live::Live;
pub use process::{Process, build};
pub use recording::Recording;
pub use request::{Answer, Request};
pub use run::{ServerOptions, replay, start};
