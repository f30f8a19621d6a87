//! `metadata.managedFields`, and what an apiserver calls on create, update, patch and apply.
//!
//! A [`FieldManager`] takes a live object and a new one, or a configuration, and gives the object to store with
//! its managed fields right, or an [`Error`] that knows the [`Status`] to send.
//!
//! # What this crate knows
//!
//! That an object has `metadata`, what Kubernetes keeps there, and how an apiserver answers. It has no clock: the
//! caller passes the time.

mod builder;
mod cap;
mod conflict;
mod convert;
mod csa;
mod depth;
mod dry_run;
mod entry;
mod error;
mod extract;
mod identity;
mod interner;
mod last_applied;
mod lint;
mod managed;
mod manager;
mod migrate;
mod objects;
mod patch;
mod request;
mod scale;
mod state;
mod status;
mod steps;
mod strip_for_apply;
mod time;
mod timestamps;

pub use builder::FieldManagerBuilder;
pub use cap::{ANCIENT_CHANGES, MAX_UPDATERS};
pub use conflict::MAX_CAUSES;
pub use convert::{ObjectConverter, SameFields};
pub use csa::{CsaUpgrade, find_owners};
pub use depth::MAX_OWNED_DEPTH;
pub use dry_run::{Change, DryRun, OwnershipChange};
pub use entry::{Entry, EntryError};
pub use error::{Error, ErrorKind};
pub use extract::{ExtractForm, extract};
pub use fieldmanager_structural::{MAX_MANAGER, validate_managed_fields};
pub use identity::{Identity, Operation};
pub use interner::Interner;
pub use last_applied::LAST_APPLIED;
pub use lint::{Finding, LintOptions, LintReport, ManagerSize, Severity, lint};
pub use managed::ManagedFields;
pub use manager::{FieldManager, Outcome};
pub use migrate::{MigrateError, Selector};
pub use objects::{ObjectError, ObjectOutcome, map_object};
pub use request::{InvalidOptions, RequestKind, RequestOptions, manager_name};
pub use scale::ScaleHandler;
pub use status::{Cause, Details, Status};
pub use steps::BEFORE_FIRST_APPLY;
pub use strip_for_apply::{StripOptions, strip_for_apply};
pub use time::{Time, TimeError};
pub use timestamps::ignore_timestamp_only_changes;

pub use fieldmanager_merge::{ConvertError, Force};
