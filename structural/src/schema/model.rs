//! The data model of a structural schema.

use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use fieldmanager_value::internal::level;
use fieldmanager_value::internal::sorted::SortedMap;
use fieldmanager_value::{Str, Value};

/// A structural schema. Cloning is O(1). Dereferences to its root [`Node`].
///
/// Created only by [`from_value`](Structural::from_value) and by operations on other structural schemas, so its depth
/// is bounded. It may violate the rules of structural schemas, which [`validate`](Structural::validate) reports.
///
/// The default is the empty schema, which the API server uses in place of an absent one.
///
/// ```
/// use fieldmanager_structural::Structural;
/// use fieldmanager_value::Value;
/// let schema = Structural::from_value(&Value::from_yaml("{type: object, properties: {a: {type: string}}}")?)?;
/// assert_eq!(schema.generic.type_name.as_str(), "object");
/// assert_eq!(schema.properties.get("a").unwrap().generic.type_name.as_str(), "string");
/// assert_ne!(schema, Structural::default());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Structural(Arc<Node>);

impl Structural {
    pub(crate) fn new(node: Node) -> Self {
        Structural(Arc::new(node))
    }

    /// Whether both are the same allocation, and therefore equal.
    ///
    /// ```
    /// use fieldmanager_structural::internal::unfold;
    /// use fieldmanager_structural::Structural;
    /// use fieldmanager_value::Value;
    /// let schema = Structural::from_value(&Value::from_yaml("{type: object}")?)?;
    /// assert!(schema.ptr_eq(&schema.clone()));
    /// // The schema has nothing to unfold.
    /// assert!(unfold(&schema).ptr_eq(&schema));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(hidden)]
    pub fn ptr_eq(&self, other: &Structural) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The address of the allocation, which identifies the schema while it is borrowed.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }
}

impl Deref for Structural {
    type Target = Node;

    fn deref(&self) -> &Node {
        &self.0
    }
}

impl Drop for Structural {
    fn drop(&mut self) {
        if let Some(node) = Arc::get_mut(&mut self.0) {
            let properties = std::mem::take(&mut node.properties);
            let below = (node.items.take(), node.additional_properties.take());
            level(|| drop((properties, below)));
        }
    }
}

impl PartialEq for Structural {
    fn eq(&self, other: &Self) -> bool {
        self.ptr_eq(other) || level(|| self.0 == other.0)
    }
}

/// One node of a [`Structural`]. An empty string or list is equivalent to an absent one.
///
/// ```
/// use fieldmanager_structural::Structural;
/// use fieldmanager_value::Value;
/// let schema = Structural::from_value(&Value::from_yaml("{type: array, items: {type: string}, maxItems: 3}")?)?;
/// assert_eq!(schema.items.as_ref().unwrap().generic.type_name.as_str(), "string");
/// assert_eq!(schema.value_validation.max_items, Some(3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Node {
    /// `items`.
    pub items: Option<Structural>,
    /// `properties`, sorted by name.
    pub properties: SortedMap<Str, Structural>,
    /// `additionalProperties`.
    pub additional_properties: Option<AdditionalProperties>,
    /// Type, default and documentation.
    pub generic: Generic,
    /// The extensions that change the structure.
    pub extensions: Extensions,
    /// `x-kubernetes-validations`, unmodified.
    pub validations: Option<Value>,
    /// The keywords that restrict values without affecting the structure.
    pub value_validation: Arc<ValueValidation>,
}

impl Default for Node {
    fn default() -> Self {
        // Most nodes have no restrictions and share this value.
        static NONE: LazyLock<Arc<ValueValidation>> = LazyLock::new(Arc::default);
        Node {
            items: None,
            properties: SortedMap::new(),
            additional_properties: None,
            generic: Generic::default(),
            extensions: Extensions::default(),
            validations: None,
            value_validation: NONE.clone(),
        }
    }
}

/// `additionalProperties`: a schema or a boolean.
///
/// ```
/// use fieldmanager_structural::internal::AdditionalProperties;
/// use fieldmanager_structural::Structural;
/// use fieldmanager_value::Value;
/// let schema = Structural::from_value(&Value::from_yaml("{type: object, additionalProperties: true}")?)?;
/// assert_eq!(schema.additional_properties, Some(AdditionalProperties::Bool(true)));
/// assert!(schema.additional_properties.as_ref().unwrap().schema().is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum AdditionalProperties {
    /// A schema of the values.
    Schema(Structural),
    /// A boolean. As in the API server, pruning keeps the fields of a map with either value.
    Bool(bool),
}

impl AdditionalProperties {
    /// The schema, if it is one.
    ///
    /// ```
    /// use fieldmanager_structural::internal::AdditionalProperties;
    /// use fieldmanager_structural::Structural;
    /// let additional = AdditionalProperties::Schema(Structural::default());
    /// assert_eq!(additional.schema(), Some(&Structural::default()));
    /// ```
    pub fn schema(&self) -> Option<&Structural> {
        match self {
            AdditionalProperties::Schema(schema) => Some(schema),
            AdditionalProperties::Bool(_) => None,
        }
    }
}

/// The type, the default and the documentation of a value.
///
/// ```
/// use fieldmanager_structural::Structural;
/// use fieldmanager_value::Value;
/// let schema = Structural::from_value(&Value::from_yaml("{type: integer, default: 1, nullable: true}")?)?;
/// assert_eq!(schema.generic.default, Some(Value::from(1)));
/// assert!(schema.generic.nullable && schema.generic.title.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Generic {
    /// `description`.
    pub description: Str,
    /// `type`.
    pub type_name: Str,
    /// `title`.
    pub title: Str,
    /// `default`; null is equivalent to absent.
    pub default: Option<Value>,
    /// `nullable`.
    pub nullable: bool,
    /// `externalDocs`.
    pub external_docs: Option<ExternalDocs>,
    /// `example`; null is equivalent to absent.
    pub example: Option<Value>,
}

/// `externalDocs`.
///
/// ```
/// use fieldmanager_structural::Structural;
/// use fieldmanager_value::Value;
/// let schema = Structural::from_value(&Value::from_yaml("{externalDocs: {url: 'https://example.com'}}")?)?;
/// assert_eq!(schema.generic.external_docs.as_ref().unwrap().url.as_str(), "https://example.com");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExternalDocs {
    /// `description`.
    pub description: Str,
    /// `url`.
    pub url: Str,
}

/// The extensions that affect the structure or the ownership of a value.
///
/// ```
/// use fieldmanager_structural::Structural;
/// use fieldmanager_value::Value;
/// let schema = Structural::from_value(&Value::from_yaml("{x-kubernetes-list-type: set}")?)?;
/// assert_eq!(schema.extensions.list_type.as_deref(), Some("set"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extensions {
    /// `x-kubernetes-preserve-unknown-fields`.
    pub preserve_unknown_fields: bool,
    /// `x-kubernetes-embedded-resource`.
    pub embedded_resource: bool,
    /// `x-kubernetes-int-or-string`.
    pub int_or_string: bool,
    /// `x-kubernetes-list-map-keys`.
    pub list_map_keys: Vec<Str>,
    /// `x-kubernetes-list-type`.
    pub list_type: Option<Str>,
    /// `x-kubernetes-map-type`.
    pub map_type: Option<Str>,
    /// `x-kubernetes-unions`, unmodified: a list on an object, or a map on a discriminator.
    pub unions: Option<Value>,
}

/// The keywords that restrict values without affecting the structure.
///
/// ```
/// use fieldmanager_structural::Structural;
/// use fieldmanager_value::Value;
/// let schema = Structural::from_value(&Value::from_yaml("{type: string, enum: [a, b], maxLength: 1}")?)?;
/// assert_eq!(schema.value_validation.max_length, Some(1));
/// assert_eq!(schema.value_validation.enumeration, ["a", "b"].map(Value::from));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValueValidation {
    /// `format`.
    pub format: Str,
    /// `maximum`.
    pub maximum: Option<f64>,
    /// `exclusiveMaximum`.
    pub exclusive_maximum: bool,
    /// `minimum`.
    pub minimum: Option<f64>,
    /// `exclusiveMinimum`.
    pub exclusive_minimum: bool,
    /// `maxLength`.
    pub max_length: Option<i64>,
    /// `minLength`.
    pub min_length: Option<i64>,
    /// `pattern`.
    pub pattern: Str,
    /// `maxItems`.
    pub max_items: Option<i64>,
    /// `minItems`.
    pub min_items: Option<i64>,
    /// `uniqueItems`.
    pub unique_items: bool,
    /// `multipleOf`.
    pub multiple_of: Option<f64>,
    /// `enum`.
    pub enumeration: Vec<Value>,
    /// `maxProperties`.
    pub max_properties: Option<i64>,
    /// `minProperties`.
    pub min_properties: Option<i64>,
    /// `required`.
    pub required: Vec<Str>,
    /// `allOf`.
    pub all_of: Vec<NestedValueValidation>,
    /// `oneOf`.
    pub one_of: Vec<NestedValueValidation>,
    /// `anyOf`.
    pub any_of: Vec<NestedValueValidation>,
    /// `not`.
    pub not: Option<Box<NestedValueValidation>>,
}

/// A schema inside `allOf`, `anyOf`, `oneOf` or `not`.
///
/// ```
/// use fieldmanager_structural::Structural;
/// use fieldmanager_value::Value;
/// let schema = Structural::from_value(&Value::from_yaml("{allOf: [{properties: {a: {minLength: 1}}}]}")?)?;
/// let nested = &schema.value_validation.all_of[0].properties;
/// assert_eq!(nested.get("a").unwrap().value_validation.min_length, Some(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct NestedValueValidation {
    /// The restrictions of values.
    pub value_validation: ValueValidation,
    /// `x-kubernetes-validations`, unmodified. Not allowed here in a structural schema.
    pub validations: Option<Value>,
    /// `items`.
    pub items: Option<Box<NestedValueValidation>>,
    /// `properties`, sorted by name.
    pub properties: SortedMap<Str, NestedValueValidation>,
    /// `additionalProperties`; `true` is the empty schema and `false` is `None`. Not allowed here in a structural
    /// schema.
    pub additional_properties: Option<Box<NestedValueValidation>>,
    /// Not allowed here in a structural schema, except for the `type` of int-or-string.
    pub forbidden_generics: Generic,
    /// Not allowed here in a structural schema.
    pub forbidden_extensions: Extensions,
}

impl NestedValueValidation {
    /// A schema with a type and nothing else.
    pub(super) fn with_type(name: &'static str) -> Self {
        let mut out = Self::default();
        out.forbidden_generics.type_name = name.into();
        out
    }
}

impl Drop for NestedValueValidation {
    fn drop(&mut self) {
        let validation = &mut self.value_validation;
        let junctors = [
            &mut validation.all_of,
            &mut validation.any_of,
            &mut validation.one_of,
        ]
        .map(std::mem::take);
        let boxes = [
            validation.not.take(),
            self.items.take(),
            self.additional_properties.take(),
        ];
        let properties = std::mem::take(&mut self.properties);
        level(|| drop((junctors, boxes, properties)));
    }
}

impl Clone for NestedValueValidation {
    fn clone(&self) -> Self {
        level(|| NestedValueValidation {
            value_validation: self.value_validation.clone(),
            validations: self.validations.clone(),
            items: self.items.clone(),
            properties: self.properties.clone(),
            additional_properties: self.additional_properties.clone(),
            forbidden_generics: self.forbidden_generics.clone(),
            forbidden_extensions: self.forbidden_extensions.clone(),
        })
    }
}

impl PartialEq for NestedValueValidation {
    fn eq(&self, other: &Self) -> bool {
        level(|| {
            self.value_validation == other.value_validation
                && self.validations == other.validations
                && self.items == other.items
                && self.properties == other.properties
                && self.additional_properties == other.additional_properties
                && self.forbidden_generics == other.forbidden_generics
                && self.forbidden_extensions == other.forbidden_extensions
        })
    }
}
