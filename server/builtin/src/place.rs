//! A value of an object with its path, and the checks that many fields need.

use std::collections::BTreeSet;

use fieldmanager_structural::internal::{NameSyntax, label_value, qualified_name};
use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::internal::go_format::quote;
use fieldmanager_value::{Map, Value};

/// The error of a field that must not change.
pub(crate) const IMMUTABLE: &str = "field is immutable";
/// The error of a number below zero.
pub(crate) const NOT_NEGATIVE: &str = "must be greater than or equal to 0";

/// The errors that were found so far.
pub(crate) type Errors = Vec<FieldError>;

/// A value and its path. The paths of fields are built for errors alone.
#[derive(Clone, Debug)]
pub(crate) struct Place<'v> {
    pub(crate) path: FieldPath,
    pub(crate) value: &'v Value,
}

impl<'v> Place<'v> {
    pub(crate) fn new(path: &FieldPath, value: &'v Value) -> Self {
        Place {
            path: path.clone(),
            value,
        }
    }

    /// The value of a field. Null is no value.
    pub(crate) fn get(&self, name: &str) -> Option<&'v Value> {
        self.value.get(name).filter(|value| !value.is_null())
    }

    /// The path of a field.
    pub(crate) fn at(&self, name: &str) -> FieldPath {
        self.path.child(name)
    }

    /// A field that has a value.
    pub(crate) fn child(&self, name: &str) -> Option<Place<'v>> {
        self.get(name).map(|value| Place {
            path: self.at(name),
            value,
        })
    }

    /// The string of a field, empty if there is none.
    pub(crate) fn text(&self, name: &str) -> &'v str {
        self.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn int(&self, name: &str) -> Option<i64> {
        self.get(name).and_then(Value::as_i64)
    }

    /// Whether a field is true.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    pub(crate) fn map(&self, name: &str) -> Option<&'v Map> {
        self.get(name).and_then(Value::as_map)
    }

    /// The number of items of a list.
    pub(crate) fn len(&self, name: &str) -> usize {
        self.get(name)
            .and_then(Value::as_list)
            .map_or(0, |list| list.len())
    }

    /// The items of a list with their paths.
    pub(crate) fn items(&self, name: &str) -> impl Iterator<Item = Place<'v>> + use<'v> {
        let list = self
            .get(name)
            .and_then(Value::as_list)
            .filter(|list| !list.is_empty());
        let path = list.map(|_| self.at(name)).unwrap_or_default();
        let items = list.into_iter().flatten().enumerate();
        items.map(move |(at, value)| Place {
            path: path.index(at),
            value,
        })
    }

    /// The items of a list without their paths.
    pub(crate) fn values(&self, name: &str) -> impl Iterator<Item = &'v Value> {
        self.get(name)
            .and_then(Value::as_list)
            .into_iter()
            .flatten()
    }

    pub(crate) fn invalid(&self, name: &str, detail: &str, errors: &mut Errors) {
        let value = self.get(name).cloned().unwrap_or_default();
        errors.push(FieldError::invalid(self.at(name), value, detail));
    }

    pub(crate) fn forbid(&self, name: &str, detail: &str, errors: &mut Errors) {
        errors.push(FieldError::forbidden(self.at(name), detail));
    }

    pub(crate) fn invalid_if(&self, is_fault: bool, name: &str, detail: &str, errors: &mut Errors) {
        if is_fault {
            self.invalid(name, detail, errors);
        }
    }

    pub(crate) fn forbid_if(&self, is_fault: bool, name: &str, detail: &str, errors: &mut Errors) {
        if is_fault {
            self.forbid(name, detail, errors);
        }
    }

    pub(crate) fn missing(&self, name: &str, detail: &str, errors: &mut Errors) {
        errors.push(FieldError::required(self.at(name), detail));
    }

    /// Adds the string of a field to those that were found so far, and an error if it is one of them.
    pub(crate) fn unique(&self, name: &str, found: &mut BTreeSet<&'v str>, errors: &mut Errors) {
        if !found.insert(self.text(name)) {
            errors.push(FieldError::duplicate(self.at(name), self.text(name)));
        }
    }

    /// Requires a string or list that is not empty, and returns whether there is one.
    pub(crate) fn require(&self, name: &str, detail: &str, errors: &mut Errors) -> bool {
        let is_set = match self.get(name) {
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::List(list)) => !list.is_empty(),
            other => other.is_some(),
        };
        if !is_set {
            self.missing(name, detail, errors);
        }
        is_set
    }

    /// Requires that the value of a field, if there is one, is one of the accepted strings.
    pub(crate) fn one_of(&self, name: &str, accepted: &[&str], errors: &mut Errors) {
        if let Some(value) = self
            .get(name)
            .filter(|value| !accepted.iter().any(|text| value.as_str() == Some(*text)))
        {
            errors.push(FieldError::not_supported(
                self.at(name),
                value.clone(),
                accepted,
            ));
        }
    }

    /// Requires that the string of a field, empty if there is none, is one of the accepted ones.
    pub(crate) fn text_one_of(&self, name: &str, accepted: &[&str], errors: &mut Errors) {
        let text = self.text(name);
        if !accepted.contains(&text) {
            errors.push(FieldError::not_supported(self.at(name), text, accepted));
        }
    }

    /// Requires one of the accepted strings.
    pub(crate) fn require_one_of(&self, name: &str, accepted: &[&str], errors: &mut Errors) {
        match self.text(name) {
            "" => self.missing(name, "", errors),
            _ => self.one_of(name, accepted, errors),
        }
    }

    pub(crate) fn non_negative(&self, name: &str, errors: &mut Errors) {
        self.invalid_if(
            self.int(name).is_some_and(|number| number < 0),
            name,
            NOT_NEGATIVE,
            errors,
        );
    }

    /// Requires that a number, if there is one, is in a range.
    pub(crate) fn in_range(&self, name: &str, low: i64, high: i64, errors: &mut Errors) {
        if self
            .int(name)
            .is_some_and(|number| !(low..=high).contains(&number))
        {
            self.invalid(
                name,
                &format!("must be between {low} and {high}, inclusive"),
                errors,
            );
        }
    }

    /// Adds the faults of the string of a field.
    pub(crate) fn faults(
        &self,
        name: &str,
        faults: impl Fn(&str) -> Vec<String>,
        errors: &mut Errors,
    ) {
        let text = self.text(name);
        for fault in faults(text) {
            errors.push(FieldError::invalid(self.at(name), text, fault));
        }
    }

    /// Requires a label of RFC 1123, if there is a string.
    pub(crate) fn label(&self, name: &str, errors: &mut Errors) {
        if !self.text(name).is_empty() {
            self.faults(name, |text| NameSyntax::Label.faults(text, false), errors);
        }
    }

    /// Requires a subdomain of RFC 1123, if there is a string.
    pub(crate) fn subdomain(&self, name: &str, errors: &mut Errors) {
        if !self.text(name).is_empty() {
            self.faults(
                name,
                |text| NameSyntax::Subdomain.faults(text, false),
                errors,
            );
        }
    }

    /// Checks a field that has a value.
    pub(crate) fn check(
        &self,
        name: &str,
        check: fn(&Place<'_>, &mut Errors),
        errors: &mut Errors,
    ) {
        if let Some(field) = self.child(name) {
            check(&field, errors);
        }
    }

    /// Checks the keys and values of labels.
    pub(crate) fn labels(&self, name: &str, errors: &mut Errors) {
        labels(&self.at(name), self.get(name), errors);
    }
}

/// The string of a field as Go quotes it.
pub(crate) fn quoted(place: &Place<'_>, name: &str) -> String {
    quote(place.text(name))
}

/// Adds the faults of a string.
pub(crate) fn faults(path: &FieldPath, text: &str, faults: Vec<String>, errors: &mut Errors) {
    errors.extend(
        faults
            .into_iter()
            .map(|fault| FieldError::invalid(path.clone(), text, fault)),
    );
}

/// Checks the keys and values of labels.
pub(crate) fn labels(path: &FieldPath, labels: Option<&Value>, errors: &mut Errors) {
    for (key, value) in labels.and_then(Value::as_map).into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        faults(path, key, qualified_name(key), errors);
        faults(path, value, label_value(value), errors);
    }
}
