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
//! In a test, [`check`] runs every scenario of files and folders. [`load`], [`run_all`] and [`Report`] are its parts;
//! [`outcomes`] returns the result of each step, regardless of its expectations.
//!
//! # What this crate knows
//!
//! Scenario files, how to run them, and their reports. The crate does not print.

mod check;
mod convert;
mod diff;
mod documents;
mod error;
mod escape;
mod files;
mod format;
mod judge;
mod junit;
mod load;
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
mod types;

pub use check::{CheckError, check, run, run_all};
pub use documents::parse_documents;
pub use error::{Error, Errors};
pub use escape::escape_untrusted;
pub use files::{InputError, MAX_INPUT, read_input};
pub use load::{Loader, load};
pub use oracle::{answer, answer_line, outcomes};
pub use origin::Origin;
pub use outcome::{ErrorKind, Outcome, State, StepError};
pub use report::{Failure, Part, Report, ReportLine, ScenarioReport, Style};
pub use runner::Runner;
pub use scenario::{
    Action, ConflictAt, Conversion, Expect, ExpectedError, ExpectedFault, Options, PatchFormat, Scenario,
    SetOperation, Step,
};
pub use schemas::{SchemaError, SchemaSource};
