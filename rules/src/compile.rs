//! Compiles the rules of a schema.

use std::collections::BTreeMap;

use fieldmanager_structural::Structural;
use fieldmanager_structural::internal::NestedValueValidation;
use fieldmanager_value::internal::level;
use fieldmanager_value::{Map, Str, Value};

use crate::rule::{Rule, rule};

/// The rules of a schema and of the schemas below it.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) rules: Vec<Rule>,
    pub(crate) uses_old_self: bool,
    /// The schema of the definition.
    pub(crate) schema: Structural,
    /// The schema by which values are read, in which resources have `apiVersion`, `kind` and `metadata`.
    pub(crate) values: Structural,
    pub(crate) properties: BTreeMap<Str, Node>,
    pub(crate) items: Option<Box<Node>>,
    pub(crate) additional: Option<Box<Node>>,
    pub(crate) all_of: Vec<Node>,
}

/// A schema with rules: on the structure, or inside `allOf`.
#[derive(Clone, Copy)]
enum Source<'s> {
    Structure(&'s Structural),
    Nested(&'s NestedValueValidation),
}

impl<'s> Source<'s> {
    fn validations(self) -> Option<&'s Value> {
        match self {
            Source::Structure(schema) => schema.validations.as_ref(),
            Source::Nested(schema) => schema.validations.as_ref(),
        }
    }

    fn items(self) -> Option<Source<'s>> {
        match self {
            Source::Structure(schema) => schema.items.as_ref().map(Source::Structure),
            Source::Nested(schema) => schema.items.as_deref().map(Source::Nested),
        }
    }

    fn additional(self) -> Option<Source<'s>> {
        match self {
            Source::Structure(schema) => {
                schema.additional_properties.as_ref().and_then(|all| all.schema()).map(Source::Structure)
            }
            Source::Nested(schema) => schema.additional_properties.as_deref().map(Source::Nested),
        }
    }

    fn properties(self) -> Vec<(&'s Str, Source<'s>)> {
        match self {
            Source::Structure(schema) => {
                schema.properties.iter().map(|(name, inner)| (name, Source::Structure(inner))).collect()
            }
            Source::Nested(schema) => {
                schema.properties.iter().map(|(name, inner)| (name, Source::Nested(inner))).collect()
            }
        }
    }

    fn all_of(self) -> &'s [NestedValueValidation] {
        match self {
            Source::Structure(schema) => &schema.value_validation.all_of,
            Source::Nested(schema) => &schema.value_validation.all_of,
        }
    }
}

/// Compiles the rules of a schema of resources, or of other values; `None` if it has none.
pub(crate) fn compile(schema: &Structural, is_resource: bool) -> Option<Node> {
    if !has_rules(schema) {
        return None;
    }
    let values = with_metadata(schema, is_resource);
    node(Source::Structure(schema), schema, &values)
}

fn has_rules(schema: &Structural) -> bool {
    level(|| {
        matches!(&schema.validations, Some(Value::List(rules)) if !rules.is_empty())
            || schema.items.as_ref().is_some_and(has_rules)
            || schema.additional_properties.as_ref().and_then(|all| all.schema()).is_some_and(has_rules)
            || schema.properties.iter().any(|(_, property)| has_rules(property))
    })
}

/// The schema by which the values of an object are read: a schema of resources declares `apiVersion`, `kind` and the names
/// in `metadata`, and so do schemas of embedded resources.
///
/// ```
/// use fieldmanager_rules::internal::with_metadata;
/// use fieldmanager_structural::Structural;
/// use fieldmanager_value::Value;
/// let schema = Structural::from_value(&Value::from_yaml("{type: object}")?)?;
/// assert!(with_metadata(&schema, true).properties.get("kind").is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn with_metadata(schema: &Structural, is_resource: bool) -> Structural {
    let edited = with_meta(&schema.to_value(), is_resource);
    Structural::from_value(&edited).unwrap_or_else(|_| schema.clone())
}

/// Declares `apiVersion`, `kind` and the names in `metadata` of resources.
fn with_meta(schema: &Value, is_root: bool) -> Value {
    level(|| {
        let Value::Map(map) = schema else { return schema.clone() };
        let is_resource = is_root || map.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true));
        let mut edits: Vec<(Str, Option<Value>)> = Vec::new();
        for name in ["additionalProperties", "items"] {
            if let Some(inner @ Value::Map(_)) = map.get(name) {
                edits.push((name.into(), Some(with_meta(inner, false))));
            }
        }
        let properties = map.get("properties").and_then(Value::as_map);
        let mut inner: Map = match properties {
            Some(properties) => {
                properties.iter().map(|(name, value)| (name.clone(), with_meta(value, false))).collect()
            }
            None => Map::new(),
        };
        if is_resource && !properties.is_some_and(declares_meta) {
            let string = Value::Map(Map::single("type", "string"));
            for name in ["apiVersion", "kind"] {
                inner.insert(name, string.clone());
            }
            let declared = properties
                .and_then(|all| all.get("metadata"))
                .and_then(|metadata| metadata.get("properties"));
            let mut names = Map::new();
            // A generated suffix has at least one byte.
            for (name, most) in [("name", 253), ("generateName", 252)] {
                let own = declared.and_then(|all| all.get(name)?.get("maxLength")?.as_i64());
                let mut bounded = Map::single("type", "string");
                bounded.insert("maxLength", own.map_or(most, |own| own.min(most)));
                names.insert(name, Value::Map(bounded));
            }
            let mut metadata = Map::single("type", "object");
            metadata.insert("properties", Value::Map(names));
            inner.insert("metadata", Value::Map(metadata));
        }
        if !inner.is_empty() {
            edits.push(("properties".into(), Some(Value::Map(inner))));
        }
        edits.sort_by(|a, b| a.0.cmp(&b.0));
        Value::Map(map.with_edits(edits))
    })
}

fn declares_meta(properties: &Map) -> bool {
    let is = |value: Option<&Value>, name: &str| {
        value.and_then(|value| value.get("type")).and_then(Value::as_str) == Some(name)
    };
    let metadata = properties.get("metadata");
    let names = metadata.and_then(|metadata| metadata.get("properties"));
    is(properties.get("kind"), "string")
        && is(properties.get("apiVersion"), "string")
        && is(metadata, "object")
        && ["name", "generateName"].iter().all(|name| is(names.and_then(|names| names.get(name)), "string"))
}

/// Whether CEL has a type for a schema. The API server ignores the rules of others.
///
/// ```
/// use fieldmanager_rules::internal::is_exposed;
/// use fieldmanager_structural::Structural;
/// assert!(!is_exposed(&Structural::default()));
/// ```
pub fn is_exposed(schema: &Structural) -> bool {
    level(|| match schema.generic.type_name.as_str() {
        _ if schema.extensions.int_or_string => true,
        "array" => schema.items.as_ref().is_some_and(is_exposed),
        "object" => match schema.additional_properties.as_ref().and_then(|all| all.schema()) {
            Some(inner) => is_exposed(inner),
            None => true,
        },
        "string" | "boolean" | "number" | "integer" => true,
        _ => false,
    })
}

fn node(source: Source<'_>, schema: &Structural, values: &Structural) -> Option<Node> {
    level(|| {
        let declared = source.validations().and_then(Value::as_list).into_iter().flatten();
        let rules: Vec<Rule> = declared.filter_map(|declared| rule(declared, schema)).collect();
        let mut out = Node {
            uses_old_self: rules.iter().any(Rule::uses_old_self),
            rules,
            schema: schema.clone(),
            values: values.clone(),
            properties: BTreeMap::new(),
            items: None,
            additional: None,
            all_of: Vec::new(),
        };
        if let (Some(source), Some(schema), Some(values)) =
            (source.items(), schema.items.as_ref(), values.items.as_ref())
        {
            out.items = node(source, schema, values).map(Box::new);
        }
        let inner = |schema: &Structural| schema.additional_properties.as_ref()?.schema().cloned();
        if let (Some(source), Some(schema), Some(values)) =
            (source.additional(), inner(schema), inner(values))
        {
            out.additional = node(source, &schema, &values).map(Box::new);
        }
        for (name, source) in source.properties() {
            let Some(schema) = schema.properties.get(name.as_str()) else { continue };
            if !is_exposed(schema) {
                continue;
            }
            // The names of metadata replace what the definition declares, but rules see the latter.
            let values = match values.properties.get(name.as_str()) {
                Some(values) if !matches!(name.as_str(), "metadata" | "kind" | "apiVersion") => values,
                _ => schema,
            };
            if let Some(node) = node(source, schema, values) {
                out.properties.insert(name.clone(), node);
            }
        }
        let parts = source.all_of().iter();
        out.all_of = parts.filter_map(|nested| node(Source::Nested(nested), schema, values)).collect();
        let is_empty = out.rules.is_empty()
            && out.properties.is_empty()
            && out.items.is_none()
            && out.additional.is_none()
            && out.all_of.is_empty();
        (!is_empty).then_some(out)
    })
}
