//! A value with its path, which functions check.

use fieldmanager_structural::{FieldError, FieldErrorKind, FieldPath};
use fieldmanager_value::Value;

use crate::validation::operation::Operation;

/// A field, present or not, with its path.
#[derive(Clone, Debug)]
pub(super) struct Field<'v> {
    pub(super) path: FieldPath,
    pub(super) value: Option<&'v Value>,
}

impl<'v> Field<'v> {
    pub(super) fn new(path: &FieldPath, value: &'v Value) -> Self {
        Field { path: path.clone(), value: Some(value) }
    }

    /// The field of the live object, without a value if the object is created.
    pub(super) fn live(path: &FieldPath, operation: Operation<'v>) -> Self {
        Field { path: path.clone(), value: operation.live() }
    }

    /// A member; null counts as absent.
    pub(super) fn get(&self, name: &str) -> Field<'v> {
        let value = self.value.and_then(|value| value.get(name)).filter(|value| !value.is_null());
        Field { path: self.path.child(name), value }
    }

    pub(super) fn is_set(&self) -> bool {
        self.value.is_some()
    }

    /// The string, empty if there is none.
    pub(super) fn text(&self) -> &'v str {
        self.value.and_then(Value::as_str).unwrap_or_default()
    }

    /// The number, 0 if there is none.
    pub(super) fn number(&self) -> i64 {
        self.value.and_then(Value::as_i64).unwrap_or_default()
    }

    /// The items of a list.
    pub(super) fn items(&self) -> impl Iterator<Item = Field<'v>> + use<'v> {
        let path = self.path.clone();
        let list = self.value.and_then(Value::as_list).into_iter().flatten().enumerate();
        list.map(move |(at, item)| Field { path: path.index(at), value: Some(item) })
    }

    /// The entries of a map, with their keys.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'v str, Field<'v>)> + use<'v> {
        let path = self.path.clone();
        let map = self.value.and_then(Value::as_map).into_iter().flatten();
        map.map(move |(key, value)| (key.as_str(), Field { path: path.key(key.clone()), value: Some(value) }))
    }

    /// Whether there is no string, list or map with anything in it.
    pub(super) fn is_empty(&self) -> bool {
        match self.value {
            None | Some(Value::Null) => true,
            Some(Value::String(text)) => text.is_empty(),
            Some(Value::List(list)) => list.is_empty(),
            Some(Value::Map(map)) => map.is_empty(),
            Some(_) => false,
        }
    }

    pub(super) fn shown(&self) -> Value {
        self.value.cloned().unwrap_or_default()
    }

    pub(super) fn required(&self, detail: &str) -> FieldError {
        FieldError::required(self.path.clone(), detail)
    }

    pub(super) fn forbidden(&self, detail: &str) -> FieldError {
        FieldError::forbidden(self.path.clone(), detail)
    }

    /// An error that shows the value.
    pub(super) fn invalid(&self, detail: impl Into<String>) -> FieldError {
        FieldError::invalid(self.path.clone(), self.shown(), detail)
    }

    /// An error that shows the string, empty if there is none.
    pub(super) fn invalid_text(&self, detail: impl Into<String>) -> FieldError {
        FieldError::invalid(self.path.clone(), self.text(), detail)
    }

    pub(super) fn duplicate(&self) -> FieldError {
        FieldError::duplicate(self.path.clone(), self.shown())
    }

    pub(super) fn not_supported(&self, accepted: &[&str]) -> FieldError {
        FieldError::not_supported(self.path.clone(), self.text(), accepted)
    }

    /// An error if the string is none of these.
    pub(super) fn one_of(&self, accepted: &[&str]) -> Option<FieldError> {
        (!accepted.contains(&self.text())).then(|| self.not_supported(accepted))
    }

    /// An error for each fault of the number.
    pub(super) fn number_faults(&self, faults: Vec<String>) -> impl Iterator<Item = FieldError> + use<'v> {
        let (path, number) = (self.path.clone(), self.number());
        faults.into_iter().map(move |fault| FieldError::invalid(path.clone(), number, fault))
    }

    /// An error for each fault of the string.
    pub(super) fn faults(&self, faults: Vec<String>) -> impl Iterator<Item = FieldError> + use<'v> {
        let field = self.clone();
        faults.into_iter().map(move |fault| field.invalid_text(fault))
    }
}

/// An error of a value that occurs twice, shown as an internal type of Kubernetes.
pub(super) fn duplicate_struct(field: &Field<'_>, json: &str) -> FieldError {
    FieldError {
        path: field.path.clone(),
        kind: FieldErrorKind::Duplicate,
        value: None,
        detail: json.to_owned(),
    }
}
