//! A value with its path, which functions check.

use std::collections::BTreeSet;

use fieldmanager_structural::internal::{NameSyntax, qualified_name};
use fieldmanager_structural::{FieldError, FieldErrorKind, FieldPath};
use fieldmanager_value::Value;

use super::formats;
use crate::amount::Amount;
use crate::place::{self, Errors, IMMUTABLE, NOT_NEGATIVE, Place};
use crate::shown;

/// A field, present or not, with its path and its live counterpart.
#[derive(Clone, Debug)]
pub(crate) struct Field<'v> {
    pub(super) path: FieldPath,
    pub(super) value: Option<&'v Value>,
    live: Option<&'v Value>,
    is_update: bool,
}

impl<'v> Field<'v> {
    /// An object that is created, or that takes the place of a live one.
    pub(crate) fn object(object: &'v Value, live: Option<&'v Value>) -> Self {
        Field {
            path: FieldPath::default(),
            value: Some(object),
            live,
            is_update: live.is_some(),
        }
    }

    /// A part of an object that is created.
    pub(super) fn at(place: &Place<'v>) -> Self {
        Field {
            path: place.path.clone(),
            value: Some(place.value),
            live: None,
            is_update: false,
        }
    }

    /// The same value at another path.
    pub(super) fn moved(&self, path: FieldPath) -> Self {
        Field {
            path,
            ..self.clone()
        }
    }

    /// The field of the live object, without a value if the object is created.
    pub(super) fn before(&self) -> Self {
        Field {
            path: self.path.clone(),
            value: self.live,
            live: None,
            is_update: self.is_update,
        }
    }

    /// The value with its path, if there is one.
    pub(super) fn place(&self) -> Option<Place<'v>> {
        self.value.map(|value| Place::new(&self.path, value))
    }

    /// A member; null counts as absent.
    pub(super) fn get(&self, name: &str) -> Field<'v> {
        let member = |of: Option<&'v Value>| {
            of.and_then(|of| of.get(name))
                .filter(|value| !value.is_null())
        };
        let (value, live) = (member(self.value), member(self.live));
        Field {
            path: self.path.child(name),
            value,
            live,
            is_update: self.is_update,
        }
    }

    fn below(&self, path: FieldPath, value: &'v Value) -> Field<'v> {
        Field {
            path,
            value: Some(value),
            live: None,
            is_update: self.is_update,
        }
    }

    pub(super) fn is_set(&self) -> bool {
        self.value.is_some()
    }

    pub(super) fn is_update(&self) -> bool {
        self.is_update
    }

    /// Whether an update changes the value.
    pub(super) fn is_changed(&self) -> bool {
        self.is_update && self.value != self.live
    }

    /// The string, empty if there is none.
    pub(super) fn text(&self) -> &'v str {
        self.value.and_then(Value::as_str).unwrap_or_default()
    }

    /// The bytes of a string in base64.
    pub(super) fn bytes(&self) -> Vec<u8> {
        crate::base64::decode(self.text())
    }

    /// The number, 0 if there is none.
    pub(super) fn number(&self) -> i64 {
        self.value.and_then(Value::as_i64).unwrap_or_default()
    }

    /// Whether the value is true.
    pub(super) fn is_true(&self) -> bool {
        self.value.and_then(Value::as_bool).unwrap_or_default()
    }

    /// The number of a quantity, 0 if there is none.
    pub(super) fn amount(&self) -> Amount {
        Amount::parse(self.text()).unwrap_or_default()
    }

    /// The items of a list, which have no live counterpart.
    pub(super) fn items(&self) -> impl Iterator<Item = Field<'v>> + use<'v> {
        let field = self.clone();
        let list = self
            .value
            .and_then(Value::as_list)
            .into_iter()
            .flatten()
            .enumerate();
        list.map(move |(at, item)| field.below(field.path.index(at), item))
    }

    /// The strings of the items of a list.
    pub(super) fn texts(&self) -> impl Iterator<Item = &'v str> + use<'v> {
        let list = self.value.and_then(Value::as_list).into_iter().flatten();
        list.map(|item| item.as_str().unwrap_or_default())
    }

    /// The number of items of a list.
    pub(super) fn len(&self) -> usize {
        self.value
            .and_then(Value::as_list)
            .map_or(0, |list| list.len())
    }

    /// The entries of a map, with their keys.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'v str, Field<'v>)> + use<'v> {
        let field = self.clone();
        let map = self.value.and_then(Value::as_map).into_iter().flatten();
        map.map(move |(key, value)| {
            (
                key.as_str(),
                field.below(field.path.key(key.clone()), value),
            )
        })
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

    pub(super) fn missing(&self, detail: &str, errors: &mut Errors) {
        errors.push(FieldError::required(self.path.clone(), detail));
    }

    pub(super) fn forbid(&self, detail: &str, errors: &mut Errors) {
        errors.push(FieldError::forbidden(self.path.clone(), detail));
    }

    pub(super) fn forbid_if(&self, is_fault: bool, detail: &str, errors: &mut Errors) {
        if is_fault {
            self.forbid(detail, errors);
        }
    }

    /// Adds an error that shows the value.
    pub(super) fn invalid(&self, detail: impl Into<String>, errors: &mut Errors) {
        errors.push(FieldError::invalid(self.path.clone(), self.shown(), detail));
    }

    pub(super) fn invalid_if(&self, is_fault: bool, detail: &str, errors: &mut Errors) {
        if is_fault {
            self.invalid(detail, errors);
        }
    }

    /// Adds an error that shows the string, empty if there is none.
    pub(super) fn invalid_text(&self, detail: impl Into<String>, errors: &mut Errors) {
        errors.push(FieldError::invalid(self.path.clone(), self.text(), detail));
    }

    /// Adds an error that shows the number, 0 if there is none.
    pub(super) fn invalid_number(&self, detail: impl Into<String>, errors: &mut Errors) {
        errors.push(FieldError::invalid(
            self.path.clone(),
            self.number(),
            detail,
        ));
    }

    /// Adds an error that shows the value as an internal type of Kubernetes.
    pub(super) fn invalid_as(&self, ty: &str, detail: &str, errors: &mut Errors) {
        errors.push(shown::invalid(
            self.path.clone(),
            &shown::json(ty, self.value),
            detail,
        ));
    }

    pub(super) fn duplicate(&self, errors: &mut Errors) {
        errors.push(FieldError::duplicate(self.path.clone(), self.shown()));
    }

    /// Adds the string to those that were found so far, and an error if it is one of them.
    pub(super) fn unique(&self, found: &mut BTreeSet<&'v str>, errors: &mut Errors) {
        if !found.insert(self.text()) {
            errors.push(FieldError::duplicate(self.path.clone(), self.text()));
        }
    }

    pub(super) fn not_supported(&self, accepted: &[&str], errors: &mut Errors) {
        errors.push(FieldError::not_supported(
            self.path.clone(),
            self.text(),
            accepted,
        ));
    }

    /// Requires the version of an object. The path is not that of the field, as in Kubernetes.
    pub(super) fn require_version(&self, errors: &mut Errors) {
        let version = self.get("metadata").get("resourceVersion");
        let path = FieldPath::root("resourceVersion");
        version.moved(path).require("", errors);
    }

    /// Requires a string, list or map with something in it.
    pub(super) fn require(&self, detail: &str, errors: &mut Errors) {
        if self.is_empty() {
            self.missing(detail, errors);
        }
    }

    /// Requires a string that is not blank.
    pub(super) fn require_words(&self, detail: &str, errors: &mut Errors) {
        if self.text().trim().is_empty() {
            self.missing(detail, errors);
        }
    }

    /// Refuses a string of more bytes.
    pub(super) fn at_most(&self, limit: usize, errors: &mut Errors) {
        if self.text().len() > limit {
            errors.push(FieldError::too_long(self.path.clone(), limit));
        }
    }

    /// Refuses a list of more items, and returns whether it is no longer.
    pub(super) fn at_most_items(&self, limit: usize, errors: &mut Errors) -> bool {
        let is_long = self.len() > limit;
        if is_long {
            let path = self.path.clone();
            errors.push(FieldError::too_many(path, self.len(), limit));
        }
        !is_long
    }

    /// Requires one of these strings.
    pub(super) fn one_of(&self, accepted: &[&str], errors: &mut Errors) {
        if !accepted.contains(&self.text()) {
            self.not_supported(accepted, errors);
        }
    }

    /// Requires one of these strings, if there is a value.
    pub(super) fn optional_one_of(&self, accepted: &[&str], errors: &mut Errors) {
        if self.is_set() {
            self.one_of(accepted, errors);
        }
    }

    /// Requires a string, which is one of these.
    pub(super) fn require_one_of(&self, accepted: &[&str], errors: &mut Errors) {
        match self.text() {
            "" => self.missing("", errors),
            _ => self.one_of(accepted, errors),
        }
    }

    pub(super) fn non_negative(&self, errors: &mut Errors) {
        self.invalid_if(self.number() < 0, NOT_NEGATIVE, errors);
    }

    /// Checks that the whole number of a quantity is not negative.
    pub(super) fn valid_amount(&self, errors: &mut Errors) {
        let number = self.amount().whole();
        if number < 0 {
            let detail = "must be a valid resource quantity";
            errors.push(FieldError::invalid(self.path.clone(), number, detail));
        }
    }

    /// Requires the number of a port.
    pub(super) fn port(&self, errors: &mut Errors) {
        for fault in formats::port(self.number()) {
            errors.push(FieldError::invalid(self.path.clone(), self.number(), fault));
        }
    }

    /// Adds an error for each fault of the string.
    pub(super) fn faults(&self, faults: Vec<String>, errors: &mut Errors) {
        place::faults(&self.path, self.text(), faults, errors);
    }

    /// Requires a name of a syntax, if there is a value.
    pub(super) fn name(&self, syntax: NameSyntax, errors: &mut Errors) {
        if self.is_set() {
            self.faults(syntax.faults(self.text(), false), errors);
        }
    }

    /// Requires a name of a syntax, if there is a string that is not empty.
    pub(super) fn name_or_empty(&self, syntax: NameSyntax, errors: &mut Errors) {
        if !self.is_empty() {
            self.name(syntax, errors);
        }
    }

    /// Requires a name of a syntax.
    pub(super) fn require_name(&self, syntax: NameSyntax, detail: &str, errors: &mut Errors) {
        self.require(detail, errors);
        self.name_or_empty(syntax, errors);
    }

    /// Requires a qualified name.
    pub(super) fn qualified(&self, errors: &mut Errors) {
        self.faults(qualified_name(self.text()), errors);
    }

    /// Requires a qualified name, if there is a value.
    pub(super) fn optional_qualified(&self, errors: &mut Errors) {
        if self.is_set() {
            self.qualified(errors);
        }
    }

    /// Checks the keys and values of labels.
    pub(super) fn labels(&self, errors: &mut Errors) {
        place::labels(&self.path, self.value, errors);
    }

    /// Checks a label selector, if there is one.
    pub(super) fn selector(&self, errors: &mut Errors) {
        if let Some(selector) = self.place() {
            super::selector::check(&selector, errors);
        }
    }

    /// Requires that an update keeps the value.
    pub(super) fn immutable(&self, errors: &mut Errors) {
        self.invalid_if(self.is_changed(), IMMUTABLE, errors);
    }

    /// The same with a message that shows the string, empty if there is none.
    pub(super) fn immutable_text(&self, errors: &mut Errors) {
        if self.is_changed() {
            self.invalid_text(IMMUTABLE, errors);
        }
    }

    /// The same with a message that shows null.
    pub(super) fn immutable_hidden(&self, errors: &mut Errors) {
        if self.is_changed() {
            errors.push(FieldError::invalid(
                self.path.clone(),
                Value::Null,
                IMMUTABLE,
            ));
        }
    }

    /// The same with a message that shows the value, if there is one, as an internal type of Kubernetes.
    pub(super) fn immutable_as(&self, ty: &str, errors: &mut Errors) {
        match self.is_set() {
            true if self.is_changed() => self.invalid_as(ty, IMMUTABLE, errors),
            _ => self.immutable(errors),
        }
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
