//! FieldsV1, the JSON encoding of sets in `metadata.managedFields`.
//!
//! A set is an object whose keys are serialized path elements: `f:name`, `k:{"key":"value"}`, `v:value`, `i:index`. The
//! key `.` marks a node that is in the set in addition to its children. A node without children is always in the set.
//!
//! A path of `n` elements takes `n + 1` nested objects. Documents nest at most [`MAX_DEPTH`] objects, so they contain
//! paths of at most [`MAX_PATH_LENGTH`] elements, which is also the limit of [`Set`]. Every accepted document can
//! therefore be written again, and every written document can be read.
//!
//! [`MAX_DEPTH`]: fieldmanager_value::MAX_DEPTH
//! [`MAX_PATH_LENGTH`]: crate::MAX_PATH_LENGTH

mod bytes;
mod fast_reader;
mod level_cache;
mod path_element;
mod serde_reader;
#[cfg(test)]
mod tests;
mod value;
mod write;

use fieldmanager_value::Value;

use crate::{Error, Set};

impl Set {
    /// Parses FieldsV1.
    ///
    /// Keys with an unknown one-letter prefix are ignored together with their values, since a later version of the
    /// format may define them. The values of a repeated key are merged. Numbers keep all their digits. Keys may have
    /// any order; the cost is that of sorting them.
    ///
    /// # Errors
    ///
    /// [`Error::Element`] with the key that is not a path element; [`Error::FieldsV1`] with the position at which the
    /// document is not an object of objects; [`Error::TooDeep`] if more than
    /// [`MAX_DEPTH`](fieldmanager_value::MAX_DEPTH) objects are nested.
    ///
    /// Behaviour: `Set.FromJSON` of `sigs.k8s.io/structured-merge-diff/v6/fieldpath`.
    ///
    /// ```
    /// use fieldmanager_fieldpath::Set;
    /// let set = Set::from_json(br#"{"f:b":{".":{},"v:1":{}},"f:a":{}}"#)?;
    /// assert_eq!(set.to_string(), ".a\n.b\n.b[=1]");
    /// let error = Set::from_json(br#"{"fa":{}}"#).unwrap_err();
    /// assert_eq!(error.to_string(), "key `fa` is not a path element: expected a prefix like `f:`");
    /// # Ok::<(), fieldmanager_fieldpath::Error>(())
    /// ```
    pub fn from_json(text: &[u8]) -> Result<Set, Error> {
        fast_reader::read(text).map_or_else(|| serde_reader::from_json(text), Ok)
    }

    /// Parses FieldsV1 from a value, for example from the field `fieldsV1` of an entry of `metadata.managedFields`.
    ///
    /// # Errors
    ///
    /// Those of [`from_json`](Self::from_json), with [`Error::Fields`] if the value is not an object of objects.
    ///
    /// ```
    /// use fieldmanager_fieldpath::Set;
    /// use fieldmanager_value::Value;
    /// let entry = Value::from_yaml("{fieldsV1: {f:spec: {f:replicas: {}}}}")?;
    /// let set = Set::from_value(entry.get("fieldsV1").unwrap())?;
    /// assert_eq!(set.to_string(), ".spec.replicas");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_value(value: &Value) -> Result<Set, Error> {
        value::read(value).map_or_else(|| serde_reader::from_value(value), Ok)
    }

    /// Returns the set as FieldsV1, byte for byte equal to the output of `Set.ToJSON` of the Go package.
    ///
    /// ```
    /// use fieldmanager_fieldpath::{Path, Set};
    /// let paths = ["ports[port=80]".parse::<Path>()?, "ports[port=80].port".parse()?];
    /// let set: Set = paths.into_iter().collect();
    /// assert_eq!(set.to_json(), r#"{"f:ports":{"k:{\"port\":80}":{".":{},"f:port":{}}}}"#);
    /// # Ok::<(), fieldmanager_fieldpath::Error>(())
    /// ```
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.write_json(&mut out);
        out
    }

    /// Appends the set as FieldsV1, see [`to_json`](Self::to_json).
    pub(crate) fn write_json(&self, out: &mut String) {
        write::write(self, out);
    }

    /// Returns the set as a FieldsV1 value, for example to insert it into an object.
    ///
    /// ```
    /// use fieldmanager_fieldpath::Set;
    /// let set = Set::from_json(br#"{"f:spec":{"f:replicas":{}}}"#)?;
    /// assert_eq!(set.to_value().to_json(), set.to_json());
    /// # Ok::<(), fieldmanager_fieldpath::Error>(())
    /// ```
    pub fn to_value(&self) -> Value {
        value::write(self)
    }
}
