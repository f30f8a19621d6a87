//! Converts errors of JSON schema to those of Kubernetes.

use fieldmanager_value::Value;
use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::paths::LocationSegment;
use serde_json::Value as Json;

use super::formats;
use crate::{FieldError, FieldErrorKind, FieldPath};

/// A place in the object: its path and the name with which messages begin.
struct Place {
    path: FieldPath,
    name: String,
}

impl Place {
    /// Converts a JSON pointer. The whole object is needed to distinguish field names that are numbers from list
    /// positions.
    fn new(error: &ValidationError<'_>, whole: &Json) -> Self {
        let mut place = Place { path: FieldPath::empty(), name: String::new() };
        let mut here = Some(whole);
        for segment in &error.instance_path().clone() {
            match (segment, here) {
                (LocationSegment::Index(at), Some(Json::Array(items))) => {
                    place.path = place.path.index(at);
                    place.name.push_str(&format!("[{at}]"));
                    here = items.get(at);
                }
                (LocationSegment::Index(at), _) => {
                    let name = at.to_string();
                    here = here.and_then(|here| here.get(&name));
                    place = place.child(&name);
                }
                (LocationSegment::Property(name), _) => {
                    here = here.and_then(|here| here.get(&*name));
                    place = place.child(&name);
                }
            }
        }
        place
    }

    fn child(self, name: &str) -> Self {
        let dot = if self.name.is_empty() { "" } else { "." };
        Place { path: self.path.child(name), name: format!("{}{dot}{name}", self.name) }
    }

    fn invalid(self, value: impl Into<Value>, says: &str) -> FieldError {
        let detail = format!("{} in body {says}", self.name);
        FieldError::invalid(self.path, value, detail)
    }

    fn wrong_type(self, value: impl Into<Value>, expected: &str, found: &str) -> FieldError {
        let found = fieldmanager_value::internal::go_format::quote(found);
        let detail = format!("{} in body must be of type {expected}: {found}", self.name);
        FieldError { path: self.path, kind: FieldErrorKind::TypeInvalid, value: Some(value.into()), detail }
    }

    fn too_many(self, found: usize, limit: u64) -> FieldError {
        let items = if limit == 1 { "item" } else { "items" };
        FieldError {
            path: self.path,
            kind: FieldErrorKind::TooMany,
            value: Some(count(found)),
            detail: format!("must have at most {limit} {items}"),
        }
    }

    /// An error about the value as a whole, whose name is quoted.
    fn whole(self, says: &str) -> FieldError {
        let detail = format!("{} {says}", fieldmanager_value::internal::go_format::quote(&self.name));
        FieldError::invalid(self.path, "", detail)
    }
}

/// The maximum number of errors listed for one object. A single error may list every value of an enumeration.
const LISTED: usize = 100;

/// The errors of an object: the first ones, and the number of the others.
#[derive(Default)]
pub(super) struct Errors {
    listed: Vec<FieldError>,
    unlisted: usize,
}

impl Errors {
    fn is_full(&self) -> bool {
        self.listed.len() >= LISTED
    }

    fn push(&mut self, error: FieldError) {
        if self.is_full() {
            self.unlisted += 1;
        } else {
            self.listed.push(error);
        }
    }

    /// The errors sorted by path, without duplicates. The last one counts the unlisted errors.
    pub(super) fn finish(self) -> Vec<FieldError> {
        let mut out = self.listed;
        out.sort_by_cached_key(|error| (error.path.to_string(), error.message()));
        out.dedup();
        if self.unlisted > 0 {
            let detail = format!("{} more errors are not listed", self.unlisted);
            let kind = FieldErrorKind::Invalid;
            out.push(FieldError { path: FieldPath::empty(), kind, value: None, detail });
        }
        out
    }
}

/// Adds an error of an object.
pub(super) fn push(error: &ValidationError<'_>, object: &Json, out: &mut Errors) {
    if out.is_full() {
        out.unlisted += 1;
        return;
    }
    let place = Place::new(error, object);
    let json: &Json = error.instance();
    let value = || value(json);
    let bound = |place: Place, says: &str, limit: &Json| place.invalid(value(), &format!("{says} {limit}"));
    let pushed = match error.kind() {
        Kind::Required { property } => {
            FieldError::required(place.child(property.as_str().unwrap_or_default()).path, "")
        }
        Kind::Enum { options } => {
            let mut accepted: Vec<String> = options.as_array().into_iter().flatten().map(text).collect();
            accepted.sort();
            let accepted: Vec<&str> = accepted.iter().map(String::as_str).collect();
            FieldError::not_supported(place.path, value(), &accepted)
        }
        Kind::Type { kind } => {
            let found = type_name(json);
            place.wrong_type(found, &expected(kind), found)
        }
        Kind::Format { format } => place.wrong_type(value(), formats::shown(format), &text(json)),
        Kind::Pattern { pattern } => place.invalid(value(), &format!("should match '{pattern}'")),
        Kind::Maximum { limit } => bound(place, "should be less than or equal to", limit),
        Kind::ExclusiveMaximum { limit } => bound(place, "should be less than", limit),
        Kind::Minimum { limit } => bound(place, "should be greater than or equal to", limit),
        Kind::ExclusiveMinimum { limit } => bound(place, "should be greater than", limit),
        Kind::MultipleOf { multiple_of } => {
            place.invalid(value(), &format!("should be a multiple of {multiple_of}"))
        }
        Kind::MaxLength { limit } => {
            FieldError::too_long(place.path, usize::try_from(*limit).unwrap_or(usize::MAX))
        }
        Kind::MinLength { limit } => {
            place.invalid(value(), &format!("should be at least {limit} chars long"))
        }
        Kind::MaxItems { limit } | Kind::MaxProperties { limit } => place.too_many(size(json), *limit),
        Kind::MinItems { limit } => {
            place.invalid(count(size(json)), &format!("should have at least {limit} items"))
        }
        Kind::MinProperties { limit } => {
            place.invalid(count(size(json)), &format!("should have at least {limit} properties"))
        }
        Kind::UniqueItems => place.invalid("", "shouldn't contain duplicates"),
        Kind::AdditionalProperties { unexpected } => {
            for name in unexpected {
                let here = Place { path: place.path.clone(), name: place.name.clone() };
                let detail = format!("{} in body is a forbidden property", here.child(name).name);
                out.push(FieldError::invalid(place.path.clone(), name.as_str(), detail));
            }
            return;
        }
        Kind::Not { .. } => place.whole("must not validate the schema (not)"),
        Kind::AnyOf { context } => {
            best(context, object, out);
            place.whole("must validate at least one schema (anyOf)")
        }
        Kind::OneOfNotValid { context } => {
            best(context, object, out);
            place.whole("must validate one and only one schema (oneOf). Found none valid")
        }
        Kind::OneOfMultipleValid { context } => {
            let valid = context.iter().filter(|errors| errors.is_empty()).count();
            place.whole(&format!(
                "must validate one and only one schema (oneOf). Found {valid} valid alternatives"
            ))
        }
        // The translation does not produce the keywords of other errors.
        _ => FieldError::invalid(place.path, value(), error.to_string()),
    };
    out.push(pushed);
}

/// Adds the errors of the best alternative: the first with the fewest errors.
fn best(context: &[Vec<ValidationError<'static>>], object: &Json, out: &mut Errors) {
    for error in context.iter().min_by_key(|errors| errors.len()).into_iter().flatten() {
        push(error, object, out);
    }
}

fn expected(kind: &TypeKind) -> String {
    let names: Vec<String> = match kind {
        TypeKind::Single(one) => vec![one.to_string()],
        TypeKind::Multiple(several) => several.iter().map(|one| one.to_string()).collect(),
    };
    let mut names: Vec<&str> = names.iter().map(String::as_str).filter(|name| *name != "null").collect();
    names.sort_unstable();
    names.join(",")
}

fn type_name(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(number) if number.is_f64() => "number",
        Json::Number(_) => "integer",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

fn size(json: &Json) -> usize {
    match json {
        Json::Array(items) => items.len(),
        Json::Object(entries) => entries.len(),
        _ => 0,
    }
}

fn count(number: usize) -> Value {
    Value::from(i64::try_from(number).unwrap_or(i64::MAX))
}

fn text(json: &Json) -> String {
    json.as_str().map_or_else(|| json.to_string(), str::to_owned)
}

/// Converts a JSON value of the object. It was converted from a `Value`, so its numbers fit.
fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(flag) => Value::Bool(*flag),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Value::Int(whole),
            None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::List(items.iter().map(value).collect()),
        Json::Object(entries) => {
            Value::Map(entries.iter().map(|(name, entry)| (name.as_str(), value(entry))).collect())
        }
    }
}
