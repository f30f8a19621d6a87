//! Requests to an API server: create, update, patch and apply, from a body and the live object to the object to store,
//! warnings, or a `Status`.
//!
//! A [`Resource`] is a kind at a version: built in, or a custom resource. It gets a [`Request`], the live object and the
//! body, and returns an [`Outcome`] with the object to store, or [`Refused`] with the answer. Decoding, pruning, defaults,
//! field validation, ownership of fields, preconditions, subresources and validation are those of kube-apiserver, in its
//! order and with its messages.
//!
//! ```
//! use fieldmanager_handlers::{Action, Request, Resource};
//! use fieldmanager_managedfields::RequestOptions;
//! use fieldmanager_structural::crd::CustomResource;
//!
//! let versions = "[{name: v1, served: true, storage: true}]";
//! let shops = Resource::custom(&CustomResource::from_value(&fieldmanager_testing::shop(versions))?, "v1")?;
//! let request = Request::new("2026-01-31T12:00:00Z".parse()?)
//!     .name("corner")
//!     .uid("7e1b")
//!     .content_type("application/apply-patch+yaml")
//!     .options(RequestOptions::default().field_manager("ops"));
//! let config = b"{apiVersion: example.com/v1, kind: Shop, metadata: {name: corner}}";
//! let applied = shops.patch(&request, None, config)?;
//! assert_eq!((applied.code(), applied.action), (201, Action::Create));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What this crate knows
//!
//! One object and one request. It has no HTTP, no storage, no clock and no randomness: the caller passes the time, the
//! uid and the end of generated names, stores the object, and sets its `resourceVersion`.

#![expect(
    clippy::result_large_err,
    reason = "a status is the answer to a request, and is made once for each"
)]

mod apply;
mod body;
mod conversion;
pub mod custom;
mod decode;
mod definition;
mod delete_options;
mod edited;
mod error;
mod go_value;
mod kind;
mod metadata;
mod outcome;
mod part;
mod patch;
mod pending;
mod preconditions;
mod request;
mod resource;
mod scale;
mod scale_request;
mod state;
mod status;
mod strict;
mod warnings;
mod write;

pub use error::ResourceError;
pub use outcome::{Action, Outcome, Refused};
pub use pending::Pending;
pub use request::{Method, Request, Subresource};
pub use resource::Resource;

#[doc(hidden)]
pub mod internal {
    pub use crate::body::Media;
    pub use crate::conversion::Convert;
    pub use crate::definition::{approval, errors_of_definition};
    pub use crate::delete_options::read_delete_options;
    pub use crate::resource::{
        builtin_resource, converting_resource, custom_resource, difference, missing_replicas,
    };
    pub use crate::status::unsupported_media_type;
}
