//! The faults of an object, in the form of the API server.

use fieldmanager_value::internal::go_format::{quote, write_float};
use fieldmanager_value::internal::{Escape, write_json};
use fieldmanager_value::{Text, Value};

use crate::{FieldError, FieldErrorKind, FieldPath};

/// The maximum number of errors listed for one object. A single error may list every value of an enumeration.
pub(super) const LISTED: usize = 100;

/// The size of the details of faults up to which more of them are listed, in bytes.
const MAX_BYTES: usize = 4 << 20;

/// A number as the verb `%v` of Go writes it.
pub(super) fn shown(number: f64) -> String {
    let mut out = String::new();
    // Writing to a `String` cannot fail.
    let _ = write_float(&mut out, number);
    out
}

/// The place of a value, as a linked list on the stack.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    Root(&'a FieldPath),
    Property(&'a Place<'a>, &'a str),
    /// A field of `additionalProperties`. The API server writes a dot before it also at the root.
    Additional(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
}

impl Place<'_> {
    pub(super) fn is_root(&self) -> bool {
        matches!(self, Place::Root(_))
    }

    fn root(&self) -> &FieldPath {
        match self {
            Place::Root(path) => path,
            Place::Property(above, _) | Place::Additional(above, _) | Place::Item(above, _) => {
                above.root()
            }
        }
    }

    fn path(&self) -> FieldPath {
        match self {
            Place::Root(path) => (*path).clone(),
            Place::Property(above, name) | Place::Additional(above, name) => {
                above.path().child(*name)
            }
            Place::Item(above, at) => above.path().index(*at),
        }
    }

    /// The name with which messages begin.
    fn name(&self) -> String {
        let mut out = String::new();
        self.write_name(&mut out);
        out
    }

    fn write_name(&self, out: &mut String) {
        match self {
            Place::Root(_) => {}
            Place::Property(above, name) if above.is_root() => out.push_str(name),
            Place::Property(above, name) | Place::Additional(above, name) => {
                above.write_name(out);
                out.push('.');
                out.push_str(name);
            }
            Place::Item(above, at) => {
                above.write_name(out);
                out.push_str(&format!("[{at}]"));
            }
        }
    }

    fn invalid(&self, value: impl Into<Value>, says: &str) -> FieldError {
        FieldError::invalid(
            self.path(),
            value,
            format!("{} in body {says}", self.name()),
        )
    }

    /// A fault of the wrong type; `found` is a value or the name of a type.
    pub(super) fn wrong_type(&self, expected: &str, found: &str) -> FieldError {
        let detail = format!(
            "{} in body must be of type {expected}: {}",
            self.name(),
            quote(found)
        );
        let value = Some(found.into());
        FieldError {
            path: self.path(),
            kind: FieldErrorKind::TypeInvalid,
            value,
            detail,
        }
    }

    pub(super) fn too_few(&self, found: usize, limit: i64, what: &str) -> FieldError {
        self.invalid(
            count(found),
            &format!("should have at least {limit} {what}"),
        )
    }

    pub(super) fn too_many(&self, found: usize, limit: i64) -> FieldError {
        let items = if limit == 1 { "item" } else { "items" };
        let detail = match limit {
            0.. => format!("must have at most {limit} {items}"),
            _ => "has too many items".to_owned(),
        };
        FieldError {
            path: self.path(),
            kind: FieldErrorKind::TooMany,
            value: Some(count(found)),
            detail,
        }
    }

    pub(super) fn too_long(&self, limit: i64) -> FieldError {
        FieldError::too_long(self.path(), usize::try_from(limit).unwrap_or_default())
    }

    pub(super) fn too_short(&self, value: &Text, limit: i64) -> FieldError {
        self.invalid(
            value.clone(),
            &format!("should be at least {limit} chars long"),
        )
    }

    pub(super) fn no_match(&self, value: &Text, pattern: &str) -> FieldError {
        self.invalid(value.clone(), &format!("should match '{pattern}'"))
    }

    pub(super) fn bound(&self, value: &Value, says: &str, limit: &str) -> FieldError {
        self.invalid(value.clone(), &format!("should be {says} {limit}"))
    }

    pub(super) fn not_positive(&self, factor: f64) -> FieldError {
        let detail = format!(
            "factor MultipleOf declared for {} must be positive: {}",
            self.name(),
            shown(factor)
        );
        FieldError::invalid(self.path(), factor, detail)
    }

    pub(super) fn duplicates(&self) -> FieldError {
        self.invalid("", "shouldn't contain duplicates")
    }

    pub(super) fn required(&self, name: &str) -> FieldError {
        FieldError::required(self.path().child(name), "")
    }

    pub(super) fn forbidden(&self, name: &str) -> FieldError {
        let detail = format!("{}.{name} in body is a forbidden property", self.name());
        FieldError::invalid(self.path(), name, detail)
    }

    pub(super) fn not_supported(&self, value: &Value, accepted: &[Value]) -> FieldError {
        let accepted: Vec<String> = accepted
            .iter()
            .map(|value| match value {
                Value::String(text) => text.to_string(),
                other => {
                    let mut out = String::new();
                    write_json(other, &mut out, Escape::Go);
                    out
                }
            })
            .collect();
        let accepted: Vec<&str> = accepted.iter().map(String::as_str).collect();

        FieldError::not_supported(self.path(), value.clone(), &accepted)
    }

    /// A number that its type or format cannot represent. As in the API server, the error has no path.
    pub(super) fn out_of_range(&self, what: &str, type_name: &str, format: &str) -> FieldError {
        let format = if format.is_empty() {
            "(default format)".to_owned()
        } else {
            format!("with format {format}")
        };
        self.unplaced(&format!(
            "{what} value must be of type {type_name} {format} in {}",
            self.name()
        ))
    }

    /// A fault of a junctor, whose message quotes the name. As in the API server, the error has no path.
    pub(super) fn junctor(&self, says: &str) -> FieldError {
        self.unplaced(&format!("{} {says}", quote(&self.name())))
    }

    fn unplaced(&self, detail: &str) -> FieldError {
        FieldError::invalid(self.root().clone(), "", detail)
    }
}

fn count(number: usize) -> Value {
    Value::from(i64::try_from(number).unwrap_or(i64::MAX))
}

/// The outcome of checking a value: the first faults, the number of all faults, and the number of successful checks,
/// by which the API server chooses the alternative that it reports.
pub(super) struct Outcome {
    listed: Vec<FieldError>,
    /// The most faults that are listed: the others are counted without an error, which may be as long as the schema.
    most: usize,
    /// The size of the details of the listed faults. Each of them may name all accepted values.
    bytes: usize,
    faults: usize,
    pub(super) matches: u64,
}

impl Outcome {
    pub(super) fn new(most: usize) -> Self {
        Outcome {
            listed: Vec::new(),
            most,
            bytes: 0,
            faults: 0,
            matches: 0,
        }
    }

    /// How many more faults are listed.
    pub(super) fn room(&self) -> usize {
        if self.bytes > MAX_BYTES {
            0
        } else {
            self.most.saturating_sub(self.listed.len())
        }
    }

    pub(super) fn is_valid(&self) -> bool {
        self.faults == 0
    }

    pub(super) fn push(&mut self, fault: impl FnOnce() -> FieldError) {
        if self.room() > 0 {
            let fault = fault();
            if self.listed.contains(&fault) {
                return;
            }
            self.bytes += fault.detail.len();
            self.listed.push(fault);
        }
        self.faults += 1;
    }

    pub(super) fn merge(&mut self, other: Outcome) {
        let unlisted = other.faults - other.listed.len();
        self.faults += unlisted;
        for fault in other.listed {
            self.push(|| fault);
        }
        self.matches += other.matches;
    }

    /// Drops the faults of a value that did not change.
    pub(super) fn forgive(&mut self) {
        self.listed.clear();
        self.bytes = 0;
        self.faults = 0;
    }

    /// The errors. The last one counts those that are not listed.
    pub(super) fn finish(self) -> Vec<FieldError> {
        let unlisted = self.faults - self.listed.len();
        let mut out = self.listed;
        if unlisted > 0 {
            let detail = format!("{unlisted} more errors are not listed");
            let kind = FieldErrorKind::Invalid;
            out.push(FieldError {
                path: FieldPath::default(),
                kind,
                value: None,
                detail,
            });
        }

        out
    }
}
