//! Writes a structural schema.

use std::fmt;

use fieldmanager_value::internal::level;

use fieldmanager_value::{List, Map, Str, Value};

use super::{
    AdditionalProperties, Extensions, Generic, NestedValueValidation, Node, Structural,
    ValueValidation,
};

impl Structural {
    /// The schema in the format of `JSONSchemaProps` of `apiextensions.k8s.io/v1`. Reading it returns an equal schema.
    ///
    /// Unlike `ToKubeOpenAPI` in the API server, this also writes `additionalProperties` inside junctors.
    ///
    /// ```
    /// use fieldmanager_structural::Structural;
    /// use fieldmanager_value::Value;
    /// let text = r#"{"allOf":[{"additionalProperties":{"minLength":1}}],"type":"object"}"#;
    /// let schema = Structural::from_value(&Value::from_json(text)?)?;
    /// assert_eq!(schema.to_value().to_json(), text);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(hidden)]
    pub fn to_value(&self) -> Value {
        node(self)
    }
}

/// The JSON of the schema.
impl fmt::Debug for Structural {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_value(), f)
    }
}

/// The JSON of the schema.
impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&node(self), f)
    }
}

/// The JSON of the schema.
impl fmt::Debug for NestedValueValidation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&nested(self), f)
    }
}

pub(super) fn node(node: &Node) -> Value {
    level(|| {
        let mut out = Writer::default();
        out.put("items", node.items.as_ref().map(|items| self::node(items)));
        let properties: Map = node
            .properties
            .iter()
            .map(|(name, schema)| (name, self::node(schema)))
            .collect();
        out.put(
            "additionalProperties",
            node.additional_properties
                .as_ref()
                .map(|additional| match additional {
                    AdditionalProperties::Bool(allowed) => Value::Bool(*allowed),
                    AdditionalProperties::Schema(schema) => self::node(schema),
                }),
        );

        out.generic(&node.generic);
        out.extensions(&node.extensions);
        out.value_validation(&node.value_validation);
        out.put("x-kubernetes-validations", node.validations.clone());
        out.map("properties", properties);
        out.texts("required", &node.value_validation.required);
        out.build()
    })
}

pub(super) fn nested(nested: &NestedValueValidation) -> Value {
    level(|| {
        let mut out = Writer::default();
        out.value_validation(&nested.value_validation);
        out.texts("required", &nested.value_validation.required);
        out.put("x-kubernetes-validations", nested.validations.clone());
        out.put("items", nested.items.as_deref().map(self::nested));
        out.map(
            "properties",
            nested
                .properties
                .iter()
                .map(|(name, schema)| (name, self::nested(schema)))
                .collect(),
        );

        out.put(
            "additionalProperties",
            nested.additional_properties.as_deref().map(self::nested),
        );
        out.generic(&nested.forbidden_generics);
        out.extensions(&nested.forbidden_extensions);
        out.build()
    })
}

/// Writes keywords that are present.
#[derive(Default)]
struct Writer(Vec<(Str, Value)>);

impl Writer {
    fn build(self) -> Value {
        Value::Map(Map::from_iter(self.0))
    }

    fn put(&mut self, keyword: &'static str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.0.push((keyword.into(), value.into()));
        }
    }

    fn text(&mut self, keyword: &'static str, text: &Str) {
        self.put(keyword, (!text.is_empty()).then(|| text.clone()));
    }

    fn flag(&mut self, keyword: &'static str, flag: bool) {
        self.put(keyword, flag.then_some(true));
    }

    fn list(&mut self, keyword: &'static str, list: List) {
        self.put(keyword, (!list.is_empty()).then_some(list));
    }

    fn texts(&mut self, keyword: &'static str, texts: &[Str]) {
        self.list(keyword, texts.iter().map(Value::from).collect());
    }

    fn map(&mut self, keyword: &'static str, map: Map) {
        self.put(keyword, (!map.is_empty()).then_some(map));
    }

    fn generic(&mut self, generic: &Generic) {
        self.text("description", &generic.description);
        self.text("type", &generic.type_name);
        self.text("title", &generic.title);
        self.put("default", generic.default.clone());
        self.flag("nullable", generic.nullable);
        self.put(
            "externalDocs",
            generic.external_docs.as_ref().map(|docs| {
                let mut out = Writer::default();
                out.text("description", &docs.description);
                out.text("url", &docs.url);
                out.build()
            }),
        );
        self.put("example", generic.example.clone());
    }

    fn extensions(&mut self, extensions: &Extensions) {
        self.flag(
            "x-kubernetes-preserve-unknown-fields",
            extensions.preserve_unknown_fields,
        );
        self.flag(
            "x-kubernetes-embedded-resource",
            extensions.embedded_resource,
        );
        self.flag("x-kubernetes-int-or-string", extensions.int_or_string);
        self.texts("x-kubernetes-list-map-keys", &extensions.list_map_keys);
        self.put("x-kubernetes-list-type", extensions.list_type.clone());
        self.put("x-kubernetes-map-type", extensions.map_type.clone());
        self.put("x-kubernetes-unions", extensions.unions.clone());
    }

    /// Writes everything but `required`, which follows the properties.
    fn value_validation(&mut self, validation: &ValueValidation) {
        self.text("format", &validation.format);
        self.put("maximum", validation.maximum);
        self.flag("exclusiveMaximum", validation.exclusive_maximum);
        self.put("minimum", validation.minimum);
        self.flag("exclusiveMinimum", validation.exclusive_minimum);
        self.put("maxLength", validation.max_length);
        self.put("minLength", validation.min_length);
        self.text("pattern", &validation.pattern);
        self.put("maxItems", validation.max_items);
        self.put("minItems", validation.min_items);
        self.flag("uniqueItems", validation.unique_items);
        self.put("multipleOf", validation.multiple_of);

        self.list("enum", validation.enumeration.iter().cloned().collect());
        self.put("maxProperties", validation.max_properties);
        self.put("minProperties", validation.min_properties);
        for (keyword, schemas) in [
            ("allOf", &validation.all_of),
            ("anyOf", &validation.any_of),
            ("oneOf", &validation.one_of),
        ] {
            self.list(keyword, schemas.iter().map(nested).collect());
        }
        self.put("not", validation.not.as_deref().map(nested));
    }
}
