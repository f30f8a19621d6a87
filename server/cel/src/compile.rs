//! Compiles the rules of a schema.

use std::collections::BTreeMap;

use fieldmanager_structural::Structural;
use fieldmanager_structural::internal::{NestedValueValidation, declare_metadata};
use fieldmanager_value::internal::level;
use fieldmanager_value::{Str, Value};

use crate::rule::{Rule, rule};
use crate::visible::is_exposed;

/// The rules of a schema and of the schemas below it.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) rules: Vec<Rule>,
    pub(crate) uses_old_self: bool,
    /// Whether CEL has a type for the values: it has none for items of what is declared as an object.
    pub(crate) has_type: bool,
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
            Source::Structure(schema) => schema
                .additional_properties
                .as_ref()
                .and_then(|all| all.schema())
                .map(Source::Structure),
            Source::Nested(schema) => schema.additional_properties.as_deref().map(Source::Nested),
        }
    }

    fn properties(self) -> Vec<(&'s Str, Source<'s>)> {
        match self {
            Source::Structure(schema) => schema
                .properties
                .iter()
                .map(|(name, inner)| (name, Source::Structure(inner)))
                .collect(),
            Source::Nested(schema) => schema
                .properties
                .iter()
                .map(|(name, inner)| (name, Source::Nested(inner)))
                .collect(),
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
    let values = declare_metadata(schema, is_resource);
    node(Source::Structure(schema), schema, &values, true)
}

fn has_rules(schema: &Structural) -> bool {
    level(|| {
        matches!(&schema.validations, Some(Value::List(rules)) if !rules.is_empty())
            || schema.items.as_ref().is_some_and(has_rules)
            || schema
                .additional_properties
                .as_ref()
                .and_then(|all| all.schema())
                .is_some_and(has_rules)
            || schema
                .properties
                .iter()
                .any(|(_, property)| has_rules(property))
    })
}

fn node(
    source: Source<'_>,
    schema: &Structural,
    values: &Structural,
    has_type: bool,
) -> Option<Node> {
    level(|| {
        let declared = source
            .validations()
            .and_then(Value::as_list)
            .into_iter()
            .flatten();
        let rules: Vec<Rule> = declared
            .filter_map(|declared| rule(declared, schema, values))
            .collect();
        let mut out = Node {
            uses_old_self: rules.iter().any(Rule::uses_old_self),
            has_type,
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
            let is_array = out.schema.generic.type_name == "array";
            out.items = node(source, schema, values, has_type && is_array).map(Box::new);
        }

        let inner = |schema: &Structural| schema.additional_properties.as_ref()?.schema().cloned();
        if let (Some(source), Some(schema), Some(values)) =
            (source.additional(), inner(schema), inner(values))
        {
            out.additional = node(source, &schema, &values, has_type).map(Box::new);
        }

        for (name, source) in source.properties() {
            let Some(schema) = schema.properties.get(name.as_str()) else {
                continue;
            };
            if !has_type || !is_exposed(schema) {
                continue;
            }

            // The names of metadata replace what the definition declares, but rules see the latter.
            let values = match values.properties.get(name.as_str()) {
                Some(values) if !matches!(name.as_str(), "metadata" | "kind" | "apiVersion") => {
                    values
                }
                _ => schema,
            };
            if let Some(node) = node(source, schema, values, has_type) {
                out.properties.insert(name.clone(), node);
            }
        }

        let parts = source.all_of().iter();
        out.all_of = parts
            .filter_map(|nested| node(Source::Nested(nested), schema, values, has_type))
            .collect();
        // A part without rules is left out, so that an evaluation does not visit its values.
        let is_empty = out.rules.is_empty()
            && out.properties.is_empty()
            && out.items.is_none()
            && out.additional.is_none()
            && out.all_of.is_empty();

        (!is_empty).then_some(out)
    })
}
