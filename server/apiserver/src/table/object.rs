//! Reads fields of objects that may be absent.

use fieldmanager_value::{Map, Value};
use jiff::Timestamp;

use super::duration::human_duration;

/// An object or a part of it, with what its cells depend on.
#[derive(Clone, Copy)]
pub(super) struct Object<'o> {
    value: &'o Value,
    now: Timestamp,
    /// The name of the StorageClass that is marked as the default one.
    default_class: Option<&'o str>,
}

impl<'o> Object<'o> {
    pub(super) fn new(value: &'o Value, now: Timestamp, default_class: Option<&'o str>) -> Self {
        Object {
            value,
            now,
            default_class,
        }
    }

    pub(super) fn value(&self) -> &'o Value {
        self.value
    }

    pub(super) fn default_class(&self) -> Option<&'o str> {
        self.default_class
    }

    /// The value at a path of names with dots; null counts as absent.
    pub(super) fn get(&self, path: &str) -> Option<&'o Value> {
        let found = path
            .split('.')
            .try_fold(self.value, |value, name| value.get(name))?;
        Some(found).filter(|value| !value.is_null())
    }

    /// The value at a path whose last step is a name with dots.
    pub(super) fn member(&self, path: &str, name: &str) -> Option<&'o Value> {
        self.get(path)?.get(name)
    }

    pub(super) fn part(&self, value: &'o Value) -> Object<'o> {
        Object { value, ..*self }
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.get(path).is_some()
    }

    /// The string at a path; empty if it is absent.
    pub(super) fn text(&self, path: &str) -> &'o str {
        self.get(path).and_then(Value::as_str).unwrap_or_default()
    }

    /// The string at a path, or another one if it is absent or empty.
    pub(super) fn text_or(&self, path: &str, other: &'o str) -> &'o str {
        Some(self.text(path))
            .filter(|text| !text.is_empty())
            .unwrap_or(other)
    }

    pub(super) fn number(&self, path: &str) -> i64 {
        self.get(path).and_then(Value::as_i64).unwrap_or_default()
    }

    pub(super) fn flag(&self, path: &str, absent: bool) -> bool {
        self.get(path).and_then(Value::as_bool).unwrap_or(absent)
    }

    /// The items of a list at a path.
    pub(super) fn items(
        &self,
        path: &str,
    ) -> impl DoubleEndedIterator<Item = Object<'o>> + ExactSizeIterator + use<'o> {
        let items: Vec<&'o Value> = self
            .get(path)
            .and_then(Value::as_list)
            .into_iter()
            .flatten()
            .collect();
        let whole = *self;
        items.into_iter().map(move |item| whole.part(item))
    }

    /// The strings of a list at a path.
    pub(super) fn texts(&self, path: &str) -> Vec<&'o str> {
        self.get(path)
            .and_then(Value::as_list)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect()
    }

    pub(super) fn map(&self, path: &str) -> Option<&'o Map> {
        self.get(path)?.as_map()
    }

    /// The number of items or members at a path.
    pub(super) fn count(&self, path: &str) -> usize {
        match self.get(path) {
            Some(Value::List(items)) => items.len(),
            Some(Value::Map(members)) => members.len(),
            _ => 0,
        }
    }

    /// The first item of `conditions` of a type.
    pub(super) fn condition(&self, path: &str, kind: &str) -> Option<Object<'o>> {
        self.items(path)
            .find(|condition| condition.text("type") == kind)
    }

    pub(super) fn time(&self, path: &str) -> Option<Timestamp> {
        self.text(path).parse().ok()
    }

    /// The time since a time at a path; `<unknown>` if it is absent.
    pub(super) fn since(&self, path: &str) -> String {
        self.time(path)
            .map_or_else(|| "<unknown>".to_owned(), |time| self.elapsed(time))
    }

    pub(super) fn elapsed(&self, time: Timestamp) -> String {
        human_duration(self.now.duration_since(time))
    }

    pub(super) fn age(&self) -> String {
        self.since("metadata.creationTimestamp")
    }

    pub(super) fn is_deleted(&self) -> bool {
        self.has("metadata.deletionTimestamp")
    }
}
