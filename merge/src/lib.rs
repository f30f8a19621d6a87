//! The updater: what an apply or an update does to an object and to the ownership of its fields.
//!
//! ```
//! use fieldmanager_fieldpath::Managers;
//! use fieldmanager_merge::{Error, Force, SameVersion, Updater};
//! use fieldmanager_schema::Schema;
//! use fieldmanager_typed::{Duplicates, TypedValue};
//! use fieldmanager_value::Value;
//!
//! let any = Schema::deduced();
//! let typed = |yaml| TypedValue::new(Value::from_yaml(yaml).unwrap(), any.clone(), Duplicates::Refuse);
//! let updater = Updater::builder().converter(SameVersion).build();
//! let v1 = "v1".into();
//!
//! let config = typed("{replicas: 1}")?;
//! let applied = updater.apply(&TypedValue::null(any.clone()), &config, &v1, &Managers::new(), "ci", Force::No)?;
//! let live = applied.object.unwrap();
//!
//! let other = typed("{replicas: 2}")?;
//! let error = updater.apply(&live, &other, &v1, &applied.managers, "ops", Force::No).unwrap_err();
//! assert_eq!(error.to_string(), r#"conflict with "ci": .replicas"#);
//! let forced = updater.apply(&live, &other, &v1, &applied.managers, "ops", Force::Yes)?;
//! assert!(forced.managers.get("ci").is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Managers are taken by reference and returned as a new value, so an error leaves them unchanged.
//!
//! # What this crate knows
//!
//! Typed values and managers. It does no I/O and knows no Kubernetes object layout.

mod conflict;
mod converter;
mod error;
mod ownership;
mod prune;
mod updater;
mod versions;

pub use conflict::{Conflict, Conflicts};
pub use converter::{ConvertError, Converter, MAX_VERSIONS, SameVersion};
pub use error::{Error, ErrorKind, Stage};
pub use updater::{Applied, Force, Updated, Updater, UpdaterBuilder};
