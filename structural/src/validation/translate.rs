//! Translates the dialect of OpenAPI 3.0 to JSON schema.

use fieldmanager_value::internal::level;
use fieldmanager_value::{MAX_DEPTH, Map, Value};
use serde_json::{Map as JsonMap, Number, Value as Json, json};

use super::formats;

/// An error of compiling a schema.
///
/// ```
/// use fieldmanager_structural::validation::Validator;
/// use fieldmanager_value::Value;
/// let error = Validator::new(&Value::from_yaml("{properties: {a: {pattern: '(?=a)'}}}")?).unwrap_err();
/// assert!(error.to_string().starts_with("`properties.a.pattern`: "), "{error}");
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// A keyword has an invalid value.
    #[error("`{path}`: {message}")]
    Keyword {
        /// The path in the schema, with dots.
        path: String,
        /// The fault.
        message: String,
    },
    /// The schema nests deeper than [`MAX_DEPTH`].
    #[error("lists and maps nest deeper than {MAX_DEPTH} levels")]
    TooDeep,
}

/// Converts a value to JSON; `None` if it nests too deeply. Numbers that JSON cannot represent become null.
pub(super) fn instance(value: &Value, depth: usize) -> Option<Json> {
    level(|| {
        Some(match value {
            Value::Null => Json::Null,
            Value::Bool(flag) => Json::Bool(*flag),
            Value::Int(number) => Json::from(*number),
            Value::Float(number) => Number::from_f64(*number).map_or(Json::Null, Json::Number),
            Value::String(text) => Json::String(text.to_string()),
            Value::List(_) | Value::Map(_) if depth >= MAX_DEPTH => return None,
            Value::List(list) => {
                Json::Array(list.iter().map(|item| instance(item, depth + 1)).collect::<Option<_>>()?)
            }
            Value::Map(map) => {
                let entries =
                    map.iter().map(|(name, value)| Some((name.to_string(), instance(value, depth + 1)?)));
                Json::Object(entries.collect::<Option<_>>()?)
            }
        })
    })
}

/// The equivalent JSON schema.
pub(super) fn schema(schema: &Value) -> Result<Json, SchemaError> {
    Translator { path: Vec::new() }.schema(schema)
}

struct Translator<'v> {
    path: Vec<&'v str>,
}

/// Keywords with the same meaning in both dialects.
const SAME: [&str; 10] = [
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "multipleOf",
    "enum",
    "maxProperties",
    "minProperties",
];

impl<'v> Translator<'v> {
    fn fault<T>(&self, keyword: &str, message: String) -> Result<T, SchemaError> {
        let mut path: Vec<&str> = self.path.clone();
        path.push(keyword);
        Err(SchemaError::Keyword { path: path.join("."), message })
    }

    fn at<T>(
        &mut self,
        step: &'v str,
        f: impl FnOnce(&mut Self) -> Result<T, SchemaError>,
    ) -> Result<T, SchemaError> {
        self.path.push(step);
        let out = f(self)?;
        self.path.pop();
        Ok(out)
    }

    fn schema(&mut self, schema: &'v Value) -> Result<Json, SchemaError> {
        level(|| {
            if self.path.len() >= MAX_DEPTH {
                return Err(SchemaError::TooDeep);
            }
            let schema = match schema {
                Value::Map(schema) => schema,
                other => return self.fault("", format!("a schema must be a map, got {}", other.kind())),
            };
            if let Some(Value::String(reference)) = schema.get("$ref") {
                return self.fault("$ref", format!("`{reference}`: references are not supported"));
            }
            let mut out = JsonMap::new();
            for name in SAME {
                match schema.get(name) {
                    None | Some(Value::Null) => {}
                    Some(value) => {
                        out.insert(
                            name.to_owned(),
                            instance(value, self.path.len()).ok_or(SchemaError::TooDeep)?,
                        );
                    }
                }
            }
            // An empty pattern and an empty enumeration are equivalent to absent ones.
            out.retain(|name, value| match name.as_str() {
                "pattern" => value != &json!(""),
                "enum" => value != &json!([]),
                _ => true,
            });
            if let Some(Value::List(required)) = schema.get("required") {
                let names: Vec<Json> = required.iter().filter_map(Value::as_str).map(Json::from).collect();
                out.insert("required".to_owned(), Json::Array(names));
            }
            let takes_null = self.types(schema, &mut out);
            bound(schema, "maximum", "exclusiveMaximum", &mut out);
            bound(schema, "minimum", "exclusiveMinimum", &mut out);
            if let Some(format) = formats::known(schema) {
                out.insert("format".to_owned(), Json::from(format));
            }
            self.below(schema, &mut out)?;
            let mut junctors = self.junctors(schema)?;
            if takes_null && !junctors.is_empty() {
                // The API server does not apply them to null.
                out.insert("if".to_owned(), json!({"not": {"type": "null"}}));
                out.insert("then".to_owned(), Json::Object(junctors));
            } else {
                out.append(&mut junctors);
            }
            Ok(Json::Object(out))
        })
    }

    /// Translates the types. Returns whether null is accepted.
    fn types(&self, schema: &Map, out: &mut JsonMap<String, Json>) -> bool {
        let is = |name: &str| schema.get(name) == Some(&Value::Bool(true));
        let mut names: Vec<Json> = match schema.get("type") {
            _ if is("x-kubernetes-int-or-string") => vec!["integer".into(), "string".into()],
            Some(Value::String(name)) if !name.is_empty() => vec![name.as_str().into()],
            Some(Value::List(names)) => names.iter().filter_map(Value::as_str).map(Json::from).collect(),
            _ => Vec::new(),
        };
        if names.is_empty() {
            return true;
        }
        let null = Json::from("null");
        if is("nullable") && !names.contains(&null) {
            names.push(null.clone());
        }
        let takes_null = names.contains(&null);
        out.insert("type".to_owned(), Json::Array(names));
        takes_null
    }

    fn below(&mut self, schema: &'v Map, out: &mut JsonMap<String, Json>) -> Result<(), SchemaError> {
        if let Some(Value::Map(properties)) = schema.get("properties") {
            let mut all = JsonMap::new();
            for (name, property) in properties {
                let translated = self.at("properties", |t| t.at(name, |t| t.schema(property)))?;
                all.insert(name.to_string(), translated);
            }
            out.insert("properties".to_owned(), Json::Object(all));
        }
        for name in ["items", "additionalProperties"] {
            let translated = match schema.get(name) {
                None | Some(Value::Null) => continue,
                Some(Value::Bool(allowed)) => Json::Bool(*allowed),
                Some(inner) => self.at(name, |t| t.schema(inner))?,
            };
            out.insert(name.to_owned(), translated);
        }
        Ok(())
    }

    fn junctors(&mut self, schema: &'v Map) -> Result<JsonMap<String, Json>, SchemaError> {
        let mut out = JsonMap::new();
        for name in ["allOf", "anyOf", "oneOf"] {
            if let Some(Value::List(schemas)) = schema.get(name)
                && !schemas.is_empty()
            {
                let all: Vec<Json> = schemas
                    .iter()
                    .map(|inner| self.at(name, |t| t.schema(inner)))
                    .collect::<Result<_, _>>()?;
                out.insert(name.to_owned(), Json::Array(all));
            }
        }
        if let Some(inner @ Value::Map(_)) = schema.get("not") {
            out.insert("not".to_owned(), self.at("not", |t| t.schema(inner))?);
        }
        Ok(out)
    }
}

/// Translates a bound, which is exclusive if a flag beside it is set.
fn bound(schema: &Map, name: &str, exclusive: &str, out: &mut JsonMap<String, Json>) {
    let limit = match schema.get(name) {
        Some(Value::Int(limit)) => Json::from(*limit),
        Some(Value::Float(limit)) => Json::from(*limit),
        _ => return,
    };
    let name = if schema.get(exclusive) == Some(&Value::Bool(true)) { exclusive } else { name };
    out.insert(name.to_owned(), limit);
}
