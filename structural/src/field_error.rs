//! Errors of fields in the format of Kubernetes.

use std::fmt;

use fieldmanager_value::internal::go_format::{quote, write_float};
use fieldmanager_value::internal::{Escape, write_json};
use fieldmanager_value::{Str, Value};

/// A fault of a field, with the messages of `k8s.io/apimachinery/pkg/util/validation/field`.
///
/// ```
/// use fieldmanager_structural::{FieldError, FieldPath};
/// let path = FieldPath::root("spec").child("replicas");
/// let error = FieldError::invalid(path, -1, "must be greater than or equal to 0");
/// assert_eq!(error.to_string(), "spec.replicas: Invalid value: -1: must be greater than or equal to 0");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// The path of the field.
    pub path: FieldPath,
    /// The kind of fault.
    pub kind: FieldErrorKind,
    /// The invalid value, for kinds that show it.
    pub value: Option<Value>,
    /// The reason, or what would be accepted; may be empty.
    pub detail: String,
}

/// The kinds of [`FieldError`]. Each has a reason, which Kubernetes sends in a status cause.
///
/// ```
/// use fieldmanager_structural::{FieldError, FieldErrorKind, FieldPath};
/// let error = FieldError::forbidden(FieldPath::root("status"), "");
/// assert_eq!(error.kind, FieldErrorKind::Forbidden);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldErrorKind {
    /// A required value is missing.
    Required,
    /// A value names something that does not exist.
    NotFound,
    /// A value that must be unique occurs again.
    Duplicate,
    /// A value is invalid.
    Invalid,
    /// A value is not one of the accepted values.
    NotSupported,
    /// A value is not allowed here.
    Forbidden,
    /// A value is too long.
    TooLong,
    /// There are too many values.
    TooMany,
    /// A value has the wrong type.
    TypeInvalid,
    /// A check failed for a reason that is not in the value.
    Internal,
}

impl FieldErrorKind {
    /// The kind as messages show it.
    pub(crate) fn text(self) -> &'static str {
        match self {
            FieldErrorKind::Required => "Required value",
            FieldErrorKind::NotFound => "Not found",
            FieldErrorKind::Duplicate => "Duplicate value",
            FieldErrorKind::Invalid | FieldErrorKind::TypeInvalid => "Invalid value",
            FieldErrorKind::NotSupported => "Unsupported value",
            FieldErrorKind::Forbidden => "Forbidden",
            FieldErrorKind::TooLong => "Too long",
            FieldErrorKind::TooMany => "Too many",
            FieldErrorKind::Internal => "Internal error",
        }
    }
}

/// The `reason` of a cause in a `Status`, for a kind of error.
///
/// ```
/// use fieldmanager_structural::FieldErrorKind;
/// use fieldmanager_structural::internal::cause_reason;
/// assert_eq!(cause_reason(FieldErrorKind::NotSupported), "FieldValueNotSupported");
/// ```
pub fn cause_reason(kind: FieldErrorKind) -> &'static str {
    match kind {
        FieldErrorKind::Required => "FieldValueRequired",
        FieldErrorKind::NotFound => "FieldValueNotFound",
        FieldErrorKind::Duplicate => "FieldValueDuplicate",
        FieldErrorKind::Invalid => "FieldValueInvalid",
        FieldErrorKind::NotSupported => "FieldValueNotSupported",
        FieldErrorKind::Forbidden => "FieldValueForbidden",
        FieldErrorKind::TooLong => "FieldValueTooLong",
        FieldErrorKind::TooMany => "FieldValueTooMany",
        FieldErrorKind::TypeInvalid => "FieldValueTypeInvalid",
        FieldErrorKind::Internal => "InternalError",
    }
}

impl FieldError {
    fn new(
        path: FieldPath,
        kind: FieldErrorKind,
        value: Option<Value>,
        detail: impl Into<String>,
    ) -> Self {
        FieldError {
            path,
            kind,
            value,
            detail: detail.into(),
        }
    }

    /// Creates an error for a missing required value.
    ///
    /// ```
    /// use fieldmanager_structural::{FieldError, FieldPath};
    /// let error = FieldError::required(FieldPath::root("type"), "must not be empty at the root");
    /// assert_eq!(error.to_string(), "type: Required value: must not be empty at the root");
    /// ```
    #[doc(hidden)]
    pub fn required(path: FieldPath, detail: impl Into<String>) -> Self {
        Self::new(path, FieldErrorKind::Required, None, detail)
    }

    /// Creates an error for a value that is not allowed.
    ///
    /// ```
    /// use fieldmanager_structural::{FieldError, FieldPath};
    /// let error = FieldError::forbidden(FieldPath::root("namespace"), "not allowed on this type");
    /// assert_eq!(error.to_string(), "namespace: Forbidden: not allowed on this type");
    /// ```
    #[doc(hidden)]
    pub fn forbidden(path: FieldPath, detail: impl Into<String>) -> Self {
        Self::new(path, FieldErrorKind::Forbidden, None, detail)
    }

    /// Creates an error for an invalid value.
    ///
    /// ```
    /// use fieldmanager_structural::{FieldError, FieldPath};
    /// let error = FieldError::invalid(FieldPath::root("type"), "list", "must be object at the root");
    /// assert_eq!(error.to_string(), "type: Invalid value: \"list\": must be object at the root");
    /// ```
    #[doc(hidden)]
    pub fn invalid(path: FieldPath, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::new(path, FieldErrorKind::Invalid, Some(value.into()), detail)
    }

    /// Creates an error for a value that names something that does not exist.
    ///
    /// ```
    /// use fieldmanager_structural::{FieldError, FieldPath};
    /// let error = FieldError::not_found(FieldPath::root("volumeMounts").index(0).child("name"), "data");
    /// assert_eq!(error.to_string(), "volumeMounts[0].name: Not found: \"data\"");
    /// ```
    #[doc(hidden)]
    pub fn not_found(path: FieldPath, value: impl Into<Value>) -> Self {
        Self::new(path, FieldErrorKind::NotFound, Some(value.into()), "")
    }

    /// Creates an error for an invalid value that messages show as the given JSON. The JSON of a Go struct has the fields
    /// in the order of their declaration, which a [`Value`] does not keep.
    ///
    /// ```
    /// use fieldmanager_structural::{FieldError, FieldPath};
    /// let error = FieldError::invalid_shown(FieldPath::root("rule"), r#"{"Rule":"","Message":""}"#, "must be a rule");
    /// assert_eq!(error.to_string(), r#"rule: Invalid value: {"Rule":"","Message":""}: must be a rule"#);
    /// ```
    #[doc(hidden)]
    pub fn invalid_shown(path: FieldPath, json: &str, detail: impl fmt::Display) -> Self {
        Self::new(
            path,
            FieldErrorKind::Invalid,
            None,
            format!("{json}: {detail}"),
        )
    }

    /// Creates an error for a check that failed for a reason that is not in the value.
    ///
    /// ```
    /// use fieldmanager_structural::{FieldError, FieldPath};
    /// let error = FieldError::internal(FieldPath::root("rules"), "no type");
    /// assert_eq!(error.to_string(), "rules: Internal error: no type");
    /// ```
    #[doc(hidden)]
    pub fn internal(path: FieldPath, detail: impl Into<String>) -> Self {
        Self::new(path, FieldErrorKind::Internal, None, detail)
    }

    /// Creates an error for a list with more than `limit` items.
    ///
    /// ```
    /// use fieldmanager_structural::{FieldError, FieldPath};
    /// let error = FieldError::too_many(FieldPath::root("fields"), 9, 8);
    /// assert_eq!(error.to_string(), "fields: Too many: 9: must have at most 8 items");
    /// ```
    #[doc(hidden)]
    pub fn too_many(path: FieldPath, found: usize, limit: usize) -> Self {
        let items = if limit == 1 { "item" } else { "items" };
        let found = i64::try_from(found).unwrap_or(i64::MAX);
        let detail = format!("must have at most {limit} {items}");
        Self::new(
            path,
            FieldErrorKind::TooMany,
            Some(Value::Int(found)),
            detail,
        )
    }

    /// Creates an error for a value that must be unique.
    ///
    /// ```
    /// use fieldmanager_structural::{FieldError, FieldPath};
    /// use fieldmanager_value::Map;
    /// let error = FieldError::duplicate(FieldPath::root("ports").index(1), Map::single("name", "web"));
    /// assert_eq!(error.to_string(), "ports[1]: Duplicate value: {\"name\":\"web\"}");
    /// ```
    #[doc(hidden)]
    pub fn duplicate(path: FieldPath, value: impl Into<Value>) -> Self {
        Self::new(path, FieldErrorKind::Duplicate, Some(value.into()), "")
    }

    /// Creates an error for a value that is not one of the accepted ones, which the message lists in the given order.
    ///
    /// ```
    /// use fieldmanager_structural::{FieldError, FieldPath};
    /// let error = FieldError::not_supported(FieldPath::root("op"), "Patch", &["Apply", "Update"]);
    /// assert_eq!(
    ///     error.to_string(),
    ///     r#"op: Unsupported value: "Patch": supported values: "Apply", "Update""#
    /// );
    /// ```
    #[doc(hidden)]
    pub fn not_supported(path: FieldPath, value: impl Into<Value>, accepted: &[&str]) -> Self {
        let mut detail = String::new();
        if !accepted.is_empty() {
            detail.push_str("supported values: ");
            for (i, value) in accepted.iter().enumerate() {
                if i > 0 {
                    detail.push_str(", ");
                }
                detail.push_str(&quote(value));
            }
        }

        Self::new(
            path,
            FieldErrorKind::NotSupported,
            Some(value.into()),
            detail,
        )
    }

    /// Creates an error for a string that is longer than `limit` bytes.
    ///
    /// ```
    /// use fieldmanager_structural::{FieldError, FieldPath};
    /// let error = FieldError::too_long(FieldPath::root("manager"), 128);
    /// assert_eq!(error.to_string(), "manager: Too long: may not be more than 128 bytes");
    /// ```
    #[doc(hidden)]
    pub fn too_long(path: FieldPath, limit: usize) -> Self {
        let bytes = if limit == 1 { "byte" } else { "bytes" };
        Self::new(
            path,
            FieldErrorKind::TooLong,
            None,
            format!("may not be more than {limit} {bytes}"),
        )
    }

    /// The message without the path, as in a cause of a `Status`.
    ///
    /// Strings are quoted as in Go, lists and maps are JSON with `<`, `>` and `&` escaped, and a float with six or more
    /// digits before the decimal point has an exponent.
    ///
    /// ```
    /// use fieldmanager_structural::{FieldError, FieldPath};
    /// let path = FieldPath::root("spec");
    /// assert_eq!(FieldError::invalid(path.clone(), "a\u{7f}", "").message(), r#"Invalid value: "a\x7f""#);
    /// assert_eq!(FieldError::invalid(path.clone(), 2e6, "").message(), "Invalid value: 2e+06");
    /// assert_eq!(FieldError::duplicate(path, vec!["<"]).message(), r#"Duplicate value: ["\u003c"]"#);
    /// ```
    pub fn message(&self) -> String {
        let mut out = self.kind.text().to_owned();
        if let Some(value) = &self.value {
            out.push_str(": ");
            match value {
                Value::String(text) => out.push_str(&quote(text)),
                // Writing to a `String` cannot fail.
                Value::Float(number) => drop(write_float(&mut out, *number)),
                other => write_json(other, &mut out, Escape::Go),
            }
        }

        if !self.detail.is_empty() {
            out.push_str(": ");
            out.push_str(&self.detail);
        }
        out
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message())
    }
}

impl std::error::Error for FieldError {}

/// Whether a path is the other one or below it.
///
/// ```
/// use fieldmanager_structural::FieldPath;
/// use fieldmanager_structural::internal::is_below;
/// let spec = FieldPath::root("spec");
/// assert!(is_below(&spec.child("replicas"), &spec));
/// assert!(!is_below(&spec, &spec.child("replicas")));
/// ```
pub fn is_below(path: &FieldPath, above: &FieldPath) -> bool {
    path.0.starts_with(&above.0)
}

/// The path of a field in the notation of `field.Path`: `spec.versions[0].properties[name]`.
///
/// Unlike a field path of managed fields, it has no leading dot, and keys are in brackets without quotes.
///
/// ```
/// use fieldmanager_structural::FieldPath;
/// let path = FieldPath::root("spec").child("versions").index(0).child("properties").key("name");
/// assert_eq!(path.to_string(), "spec.versions[0].properties[name]");
/// assert_eq!(FieldPath::default().child("spec").to_string(), "spec");
/// assert_eq!(FieldPath::default().to_string(), "<nil>");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldPath(Vec<Step>);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Step {
    Child(Str),
    Key(Str),
    Index(usize),
}

impl FieldPath {
    /// The path of a field of the root.
    ///
    /// ```
    /// use fieldmanager_structural::FieldPath;
    /// assert_eq!(FieldPath::root("spec").to_string(), "spec");
    /// ```
    pub fn root(name: impl Into<Str>) -> Self {
        FieldPath(vec![Step::Child(name.into())])
    }

    /// The path of a field below this one.
    ///
    /// ```
    /// use fieldmanager_structural::FieldPath;
    /// assert_eq!(FieldPath::root("spec").child("replicas").to_string(), "spec.replicas");
    /// ```
    #[must_use]
    pub fn child(&self, name: impl Into<Str>) -> Self {
        self.with(Step::Child(name.into()))
    }

    /// The path of an entry of a map.
    ///
    /// ```
    /// use fieldmanager_structural::FieldPath;
    /// assert_eq!(FieldPath::root("labels").key("app").to_string(), "labels[app]");
    /// ```
    #[must_use]
    #[doc(hidden)]
    pub fn key(&self, name: impl Into<Str>) -> Self {
        self.with(Step::Key(name.into()))
    }

    /// The path of an item of a list, by its index.
    ///
    /// ```
    /// use fieldmanager_structural::FieldPath;
    /// assert_eq!(FieldPath::root("ports").index(0).to_string(), "ports[0]");
    /// ```
    #[must_use]
    #[doc(hidden)]
    pub fn index(&self, at: usize) -> Self {
        self.with(Step::Index(at))
    }

    fn with(&self, step: Step) -> Self {
        let mut steps = Vec::with_capacity(self.0.len() + 1);
        steps.extend(self.0.iter().cloned());
        steps.push(step);
        FieldPath(steps)
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("<nil>");
        }
        for (i, step) in self.0.iter().enumerate() {
            match step {
                Step::Child(name) if i == 0 => f.write_str(name)?,
                Step::Child(name) => write!(f, ".{name}")?,
                Step::Key(key) => write!(f, "[{key}]")?,
                Step::Index(at) => write!(f, "[{at}]")?,
            }
        }

        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_formatted_as_in_go() {
        for (value, text) in [
            (Value::Null, "null"),
            (Value::from(true), "true"),
            (Value::from(1_000_000), "1000000"),
            (Value::from(1.0), "1"),
            (Value::from(123_456.5), "123456.5"),
            (Value::from(1_000_000.0), "1e+06"),
            (Value::from(1_000_000.5), "1.0000005e+06"),
            (Value::from(0.0001), "0.0001"),
            (Value::from(0.00002), "2e-05"),
            (Value::from(-1e100), "-1e+100"),
            (Value::from(vec![1e6]), "[1000000]"),
            (
                Value::from(vec!["a<b\u{8}\u{2028}\u{7f}"]),
                "[\"a\\u003cb\\b\\u2028\u{7f}\"]",
            ),
            (Value::from(Vec::<i64>::new()), "[]"),
            (Value::from_json("{}").unwrap(), "{}"),
            (
                Value::from_json(r#"{"b":null,"a":[1,{"x":""}]}"#).unwrap(),
                r#"{"a":[1,{"x":""}],"b":null}"#,
            ),
        ] {
            let error = FieldError::invalid(FieldPath::default(), value, "");
            assert_eq!(error.to_string(), format!("<nil>: Invalid value: {text}"));
        }
    }
}
