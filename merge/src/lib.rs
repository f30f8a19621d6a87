//! The updater: computes what an apply or an update does to an object and to the owners of its fields.
//!
//! ```
//! use fieldmanager_merge::{ApplyRequest, Updater};
//! use fieldmanager_schema::Schema;
//! use fieldmanager_typed::{Duplicates, TypedValue};
//! use fieldmanager_value::Value;
//!
//! let any = Schema::deduced();
//! let typed = |yaml| TypedValue::new(Value::from_yaml(yaml).unwrap(), any.clone(), Duplicates::Refuse);
//! let updater = Updater::builder().build();
//!
//! let (nothing, config) = (TypedValue::null(any.clone()), typed("{replicas: 1}")?);
//! let applied = updater.apply(ApplyRequest::new(&nothing, &config).version("v1").manager("ci"))?;
//! let live = applied.object.unwrap();
//!
//! let config = typed("{replicas: 2}")?;
//! let request = ApplyRequest::new(&live, &config).version("v1").owners(&applied.owners).manager("ops");
//! let error = updater.apply(request.clone()).unwrap_err();
//! assert_eq!(error.to_string(), r#"conflict with "ci": .replicas"#);
//! let forced = updater.apply(request.force())?;
//! assert!(forced.owners.get("ci").is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Objects and owners are taken by reference and returned as new values, so an error leaves them unchanged.
//!
//! # What this crate knows
//!
//! Typed values and their owners. It does no I/O and knows no Kubernetes object layout.

mod apply;
mod conflict;
mod converter;
mod error;
mod ownership;
mod prune;
mod request;
mod settings;
mod update;
mod updater;
mod versions;

pub use conflict::{Conflict, Conflicts};
pub use converter::{ConvertError, Converter, MAX_VERSIONS, SameVersion};
pub use error::{Error, ErrorKind, Stage};
pub use request::{Applied, ApplyRequest, UpdateRequest, Updated};
pub use updater::{Updater, UpdaterBuilder};
