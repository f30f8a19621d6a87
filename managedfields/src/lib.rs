//! `metadata.managedFields`, and the field manager that an API server calls on create, update, patch and apply.
//!
//! A [`FieldManager`] gets an [`ApplyRequest`], [`UpdateRequest`] or [`PatchRequest`] and returns the object to store,
//! with its managed fields, or an [`Error`] with the [`Status`] to send.
//!
//! # What this crate knows
//!
//! The `metadata` of an object, and the answers of an API server. It has no clock: the caller passes the time.

mod apply;
mod builder;
mod cap;
mod conflict;
mod convert;
mod csa;
mod depth;
mod difference;
mod entry;
mod error;
mod extract;
mod identity;
mod interner;
mod last_applied;
mod lint;
mod managed_fields;
mod manager;
mod migrate;
mod object;
mod objects;
mod options;
mod outcome;
mod patch;
mod request;
mod scale;
mod settings;
mod state;
mod status;
mod strip_for_apply;
mod stripped;
mod time;
mod timestamps;
mod unowned;
mod update;

pub use builder::FieldManagerBuilder;
pub use cap::MAX_UPDATERS;
pub use conflict::MAX_CAUSES;
pub use convert::{ObjectConverter, SameFields};
pub use csa::CsaUpgrade;
pub use depth::MAX_OWNED_DEPTH;
pub use entry::{Entry, EntryError};
pub use error::{Error, ErrorKind};
pub use extract::{ExtractForm, ExtractRequest, extract};
pub use fieldmanager_structural::{MAX_MANAGER, validate_managed_fields};
pub use identity::{Identity, Operation};
pub use interner::Interner;
pub use managed_fields::ManagedFields;
pub use manager::FieldManager;
pub use migrate::{MigrateError, Selector};
pub use objects::{ObjectError, ObjectOutcome};
pub use options::{InvalidOptions, RequestKind, RequestOptions, manager_name};
pub use outcome::Outcome;
pub use request::{ApplyRequest, PatchRequest, UpdateRequest};
pub use scale::ScaleHandler;
pub use status::{Cause, Details, Status};
pub use strip_for_apply::{StripOptions, strip_for_apply};
pub use time::{Time, TimeError};
pub use timestamps::ignore_timestamp_only_changes;

pub use fieldmanager_merge::ConvertError;

/// Items for the other crates of the workspace; no part of the public interface.
#[doc(hidden)]
pub mod internal {
    pub use crate::cap::ANCIENT_CHANGES;
    pub use crate::csa::{find_owners, owners_patch};
    pub use crate::difference::{Change, Difference, OwnershipChange, compare_objects};
    pub use crate::identity::display_name;
    pub use crate::last_applied::LAST_APPLIED;
    pub use crate::lint::{Finding, LintOptions, LintReport, ManagerSize, Severity, lint};
    pub use crate::managed_fields::{Decoded, decode_last, decode_lossy};
    pub use crate::manager::{manager_version, update_no_errors, with_unions};
    pub use crate::migrate::selected_entries;
    pub use crate::objects::map_object;
    pub use crate::options::kind_of_patch;
    pub use crate::outcome::UncheckedOutcome;
    pub use crate::scale::to_parent_as_server;
    pub use crate::unowned::{merge_unowned, merge_unowned_fields};
    pub use crate::update::BEFORE_FIRST_APPLY;
    pub use fieldmanager_structural::MAX_MANAGER;
}
