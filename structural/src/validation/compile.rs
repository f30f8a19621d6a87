//! Compiles an OpenAPI schema.

use std::collections::BTreeMap;

use ahash::AHashSet;
use fieldmanager_value::internal::{level, proceed};
use fieldmanager_value::{MAX_DEPTH, Map, Str, Value};

use super::formats::{self, Check};
use super::regular::Pattern;
use super::types::{TYPES, Types};

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

/// `additionalProperties`.
#[derive(Default)]
pub(super) enum Additional {
    #[default]
    Allowed,
    Forbidden,
    Schema(Box<Node>),
}

/// One schema.
#[derive(Default)]
pub(super) struct Node {
    pub(super) types: Types,
    pub(super) nullable: bool,
    /// The format, unless the API server ignores it.
    pub(super) format: Option<(Str, Check)>,
    pub(super) maximum: Option<f64>,
    pub(super) exclusive_maximum: bool,
    pub(super) minimum: Option<f64>,
    pub(super) exclusive_minimum: bool,
    pub(super) multiple_of: Option<f64>,
    pub(super) max_length: Option<i64>,
    pub(super) min_length: Option<i64>,
    pub(super) pattern: Option<Pattern>,
    pub(super) max_items: Option<i64>,
    pub(super) min_items: Option<i64>,
    pub(super) unique_items: bool,
    pub(super) max_properties: Option<i64>,
    pub(super) min_properties: Option<i64>,
    pub(super) required: Vec<Str>,
    pub(super) enumeration: Vec<Value>,
    /// The strings of the enumeration.
    pub(super) accepted: AHashSet<String>,
    pub(super) properties: BTreeMap<Str, Node>,
    pub(super) additional: Additional,
    pub(super) items: Option<Box<Node>>,
    pub(super) all_of: Vec<Node>,
    pub(super) any_of: Vec<Node>,
    pub(super) one_of: Vec<Node>,
    pub(super) not: Option<Box<Node>>,
}

impl Drop for Node {
    fn drop(&mut self) {
        let junctors = [&mut self.all_of, &mut self.any_of, &mut self.one_of].map(std::mem::take);
        let properties = std::mem::take(&mut self.properties);
        let below = (
            std::mem::take(&mut self.additional),
            self.items.take(),
            self.not.take(),
        );
        level(|| drop((junctors, properties, below)));
    }
}

/// Compiles a schema.
pub(super) fn schema(schema: &Value) -> Result<Node, SchemaError> {
    Compiler { path: Vec::new() }.schema(schema)
}

struct Compiler<'v> {
    path: Vec<&'v str>,
}

impl<'v> Compiler<'v> {
    fn fault<T>(&self, keyword: &str, message: impl Into<String>) -> Result<T, SchemaError> {
        let mut path: Vec<&str> = self.path.clone();
        path.push(keyword);
        Err(SchemaError::Keyword {
            path: path.join("."),
            message: message.into(),
        })
    }

    fn at(&mut self, step: &'v str, schema: &'v Value) -> Result<Node, SchemaError> {
        self.path.push(step);
        let out = self.schema(schema)?;
        self.path.pop();
        Ok(out)
    }

    fn schema(&mut self, schema: &'v Value) -> Result<Node, SchemaError> {
        level(|| {
            // The error is any if the work of the thread was stopped.
            if self.path.len() >= MAX_DEPTH || !proceed(1) {
                return Err(SchemaError::TooDeep);
            }
            let schema = match schema {
                Value::Map(schema) => schema,
                other => {
                    return self.fault("", format!("a schema must be a map, got {}", other.kind()));
                }
            };

            // A reference that is ignored would accept every value.
            if let Some(Value::String(reference)) = schema.get("$ref") {
                return self.fault(
                    "$ref",
                    format!("`{reference}`: references are not supported"),
                );
            }

            // The format is ignored for some types, so the types are read first.
            let mut node = Node::default();
            node.types = self.types(schema)?;
            node.nullable = is(schema, "nullable");
            node.format = formats::known(schema, &node.types);
            self.restrictions(schema, &mut node)?;
            self.below(schema, &mut node)?;

            for (name, into) in [
                ("allOf", &mut node.all_of),
                ("anyOf", &mut node.any_of),
                ("oneOf", &mut node.one_of),
            ] {
                if let Some(Value::List(schemas)) = schema.get(name) {
                    *into = schemas
                        .iter()
                        .map(|inner| self.at(name, inner))
                        .collect::<Result<_, _>>()?;
                }
            }

            if let Some(inner @ Value::Map(_)) = schema.get("not") {
                node.not = Some(Box::new(self.at("not", inner)?));
            }
            Ok(node)
        })
    }

    fn types(&self, schema: &Map) -> Result<Types, SchemaError> {
        let mut types = Types::default();
        let names: Vec<&str> = match schema.get("type") {
            _ if is(schema, "x-kubernetes-int-or-string") => vec!["integer", "string"],
            Some(Value::String(name)) if !name.is_empty() => vec![name],
            Some(Value::List(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };

        for name in names {
            if !types.add(name) {
                return self.fault(
                    "type",
                    format!("`{name}` is not a type; types are {}", TYPES.join(", ")),
                );
            }
        }

        Ok(types)
    }

    fn restrictions(&self, schema: &'v Map, node: &mut Node) -> Result<(), SchemaError> {
        // A flag of a wrong type is false; a number or a pattern of a wrong type is a fault.
        node.exclusive_maximum = is(schema, "exclusiveMaximum");
        node.exclusive_minimum = is(schema, "exclusiveMinimum");
        node.unique_items = is(schema, "uniqueItems");
        for (name, into) in [
            ("maximum", &mut node.maximum),
            ("minimum", &mut node.minimum),
            ("multipleOf", &mut node.multiple_of),
        ] {
            *into = match schema.get(name) {
                #[expect(
                    clippy::cast_precision_loss,
                    reason = "the API server keeps bounds as floats"
                )]
                Some(Value::Int(number)) => Some(*number as f64),
                Some(Value::Float(number)) => Some(*number),
                None | Some(Value::Null) => None,
                Some(other) => {
                    return self.fault(name, format!("expected number, got {}", other.kind()));
                }
            };
        }

        for (name, into) in [
            ("maxLength", &mut node.max_length),
            ("minLength", &mut node.min_length),
            ("maxItems", &mut node.max_items),
            ("minItems", &mut node.min_items),
            ("maxProperties", &mut node.max_properties),
            ("minProperties", &mut node.min_properties),
        ] {
            // A whole float is accepted as a limit, since JSON does not distinguish it from an integer.
            *into = match schema.get(name) {
                Some(Value::Int(number)) => Some(*number),
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "the number has no fraction"
                )]
                Some(Value::Float(number)) if number.fract() == 0.0 => Some(*number as i64),
                None | Some(Value::Null) => None,
                Some(other) => {
                    return self.fault(name, format!("expected integer, got {}", other.kind()));
                }
            };
        }

        // The pattern is checked now and compiled when a value needs it, since a schema may have many large ones.
        node.pattern = match schema.get("pattern") {
            None | Some(Value::Null) => None,
            Some(Value::String(pattern)) if pattern.is_empty() => None,
            Some(Value::String(pattern)) => match Pattern::new(pattern) {
                Ok(pattern) => Some(pattern),
                Err(message) => return self.fault("pattern", message),
            },
            Some(other) => {
                return self.fault("pattern", format!("expected string, got {}", other.kind()));
            }
        };

        if let Some(Value::List(values)) = schema.get("enum") {
            // Enumerations of strings can be long, so they are looked up in a set.
            node.enumeration = values.iter().cloned().collect();
            node.accepted = values
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect();
        }

        if let Some(Value::List(names)) = schema.get("required") {
            node.required = names
                .iter()
                .filter_map(Value::as_str)
                .map(Str::from)
                .collect();
        }

        Ok(())
    }

    fn below(&mut self, schema: &'v Map, node: &mut Node) -> Result<(), SchemaError> {
        if let Some(Value::Map(properties)) = schema.get("properties") {
            self.path.push("properties");
            for (name, property) in properties {
                node.properties
                    .insert(name.clone(), self.at(name, property)?);
            }
            self.path.pop();
        }

        match schema.get("items") {
            None | Some(Value::Null | Value::Bool(_)) => {}
            Some(inner) => node.items = Some(Box::new(self.at("items", inner)?)),
        }
        node.additional = match schema.get("additionalProperties") {
            None | Some(Value::Null | Value::Bool(true)) => Additional::Allowed,
            Some(Value::Bool(false)) => Additional::Forbidden,
            Some(inner) => Additional::Schema(Box::new(self.at("additionalProperties", inner)?)),
        };

        Ok(())
    }
}

fn is(schema: &Map, name: &str) -> bool {
    schema.get(name) == Some(&Value::Bool(true))
}
