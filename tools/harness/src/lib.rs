//! Declarative tests of Server-Side Apply.
//!
//! A [`Scenario`] is a schema, a list of steps, and the expected result of each step. Scenarios are written in files:
//!
//! ```yaml
//! name: two appliers disagree about replicas
//! schema: schema.yaml
//! types: {v1: deployment}
//! steps:
//! - apply: {manager: alice, apiVersion: v1, object: {replicas: 1}}
//!   expect:
//!     object: {replicas: 1}
//!     managed: {alice: {apiVersion: v1, operation: Apply, fields: {f:replicas: {}}}}
//! - apply: {manager: bob, apiVersion: v1, object: {replicas: 2}}
//!   expect: {conflicts: [{manager: alice, path: .replicas}]}
//! ```
//!
//! In a test, [`check`] runs every scenario of files and folders. [`load`], [`run_all`] and [`Report`] are its parts.
//!
//! # What this crate knows
//!
//! Scenario files, how to run them, and their reports. The crate does not print.

mod check;
mod convert;
mod diff;
mod documents;
mod error;
mod files;
mod find;
mod format;
mod format_server;
#[cfg(feature = "apiserver")]
mod history;
mod judge;
mod junit;
mod load;
mod object;
mod oracle;
mod origin;
mod outcome;
mod patches;
mod place;
mod read;
mod report;
mod runner;
mod scenario;
mod schemas;
mod server;
#[cfg(feature = "apiserver")]
mod setup;
mod types;

pub use check::{CheckError, check, run, run_all};
pub use error::{Error, Errors};
pub use files::MAX_INPUT;
#[cfg(feature = "apiserver")]
pub use history::export_history;
pub use load::{Loader, load};
pub use origin::Origin;
pub use report::{Failure, Report, ReportServer, ScenarioReport, Style};
pub use scenario::Scenario;
#[cfg(feature = "apiserver")]
pub use setup::{SetupError, set_up};

/// Items for the other crates of the workspace; no part of the public interface.
#[doc(hidden)]
pub mod internal {
    pub use crate::documents::{PlacedDocument, each_document, parse_documents};
    pub use crate::files::{InputError, in_folder, read_input, require_regular};
    pub use crate::find::{find, find_path};
    pub use crate::judge::{Observed, ObservedAnswer, ObservedRefusal, judge, judge_events};
    pub use crate::object::with_metadata;
    pub use crate::oracle::{answer, answer_line, outcomes};
    pub use crate::outcome::{ErrorKind, Outcome, State, StepError};
    pub use crate::report::{Exchange, Part, ReportLine};
    pub use crate::runner::Runner;
    pub use crate::scenario::{
        Action, Branch, ConflictAt, Conversion, Expect, ExpectedError, ExpectedFault, ManagedWrite,
        ObjectFunction, Options, PairFunction, SetOperation, Step, Watch, WriteVerb,
    };
    pub use crate::schemas::{SchemaError, SchemaSource};
    pub use crate::server::{
        Answer, Case, ExpectedCause, ExpectedEntry, ExpectedEvent, ExpectedStatus, Request, Target,
        Verb,
    };
    pub use fieldmanager_value::internal::escape_untrusted;
}
