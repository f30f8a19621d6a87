//! Label selectors and field selectors, as the query of a list, a watch or a deletion has them.
//!
//! ```
//! use fieldmanager_apiserver::selector::{FieldSelector, LabelSelector};
//! use fieldmanager_value::Value;
//! let pod = Value::from_yaml("{metadata: {name: web-0, labels: {app: web}}, status: {phase: Running}}")?;
//!
//! let labels = LabelSelector::parse("app in (web, api), !canary")?;
//! assert!(labels.matches(&pod));
//!
//! let fields = FieldSelector::parse("metadata.name=web-0,status.phase!=Failed")?;
//! let value = |path: &str| {
//!     path.split('.').try_fold(&pod, |value, name| value.get(name)).and_then(Value::as_str).unwrap_or_default()
//! };
//! assert!(fields.matches(|label| value(label).into()));
//!
//! let error = LabelSelector::parse("app in web").unwrap_err();
//! assert_eq!(error.to_string(), "unable to parse requirement: found 'web' expected: '('");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod fields;
mod labels;

pub use fields::FieldSelector;
pub use labels::{LabelSelector, Operator, Requirement};

/// A selector that cannot be read. Its message is that of kube-apiserver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SelectorError(String);
