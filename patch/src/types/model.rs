//! Types with their merge strategies.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use fieldmanager_value::{Kind, Map, Str, Value};

use crate::Fault;

/// The merge strategies and merge keys of types. Cloning is O(1).
///
/// They are read from an OpenAPI document of version 2 or 3, where properties have `x-kubernetes-patch-strategy` and
/// `x-kubernetes-patch-merge-key`, or from a table that has only the fields with such rules
/// ([`write_types`](crate::internal::write_types)). References are followed when a field is looked up.
///
/// ```
/// use fieldmanager_patch::internal::write_types;
/// use fieldmanager_patch::PatchTypes;
/// use fieldmanager_value::Value;
///
/// let document = Value::from_yaml("
/// definitions:
///   shop:
///     type: object
///     properties:
///       goods:
///         type: array
///         items: {$ref: '#/definitions/good'}
///         x-kubernetes-patch-strategy: merge,retainKeys
///         x-kubernetes-patch-merge-key: name
///     x-kubernetes-group-version-kind: [{group: example.com, version: v1, kind: Shop}]
///   good: {type: object, properties: {name: {type: string}}}
/// ")?;
/// let types = PatchTypes::from_openapi(&document)?;
/// let table = r#"{"kinds":[{"group":"example.com","kind":"Shop","type":"shop","version":"v1"}],"types":{"shop":{"goods":{"#;
/// assert!(write_types(&types).to_json().starts_with(table));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct PatchTypes(pub(super) Arc<TypesDocument>);

pub(super) struct TypesDocument {
    pub(super) form: RuleSource,
    pub(super) definitions: Map,
    pub(super) kinds: BTreeMap<(Str, Str), Str>,
}

/// The document with the rules, which decides how they are looked up.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RuleSource {
    V2,
    V3,
    Table,
}

/// Why a document gives no merge strategies.
///
/// ```
/// use fieldmanager_patch::{PatchTypes, TypesError};
/// use fieldmanager_value::Value;
/// assert_eq!(PatchTypes::from_openapi(&Value::Null).unwrap_err(), TypesError::NotOpenApi);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TypesError {
    /// It is no OpenAPI document.
    #[error(
        "not an OpenAPI document: expected `definitions` (version 2), `components.schemas` (version 3) or `$defs`"
    )]
    NotOpenApi,
    /// It is no table of patch types.
    #[error("not a table of patch types: expected `types`")]
    NotTable,
    /// A place holds something else than it should.
    #[error("{path}: expected {expected}, got {found}")]
    WrongType {
        /// Where, in field-path notation.
        path: String,
        /// What would be accepted.
        expected: &'static str,
        /// The value that was found.
        found: Kind,
    },
}

/// How a strategic merge patch treats a list or a map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Strategy {
    /// Maps are merged, lists are replaced.
    #[default]
    Default,
    /// Both are merged.
    Merge,
    /// Both are replaced.
    Replace,
}

/// What the schema says about patches of one field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PatchRule<'t> {
    /// Whether it is merged or replaced.
    pub(crate) strategy: Strategy,
    /// Whether a patch that is made says which fields remain.
    pub(crate) retain_keys: bool,
    /// The field that identifies the items of a list; empty without one.
    pub(crate) merge_key: &'t str,
}

/// The type that a patch is made for or applied to. It is borrowed from its [`PatchTypes`].
#[derive(Clone, Copy)]
pub struct PatchSchema<'t> {
    pub(super) node: SchemaNode<'t>,
}

#[derive(Clone, Copy)]
pub(super) enum SchemaNode<'t> {
    /// Nothing is known: every field is there, and none has a strategy.
    Free,
    /// A schema of a document, or the fields of a type of a table.
    At(&'t PatchTypes, &'t Value),
}

/// The strategies as they are written, and the merge key.
#[derive(Clone, Copy, Default)]
pub(crate) struct RawRule<'t> {
    pub(super) strategies: Option<&'t str>,
    pub(super) merge_key: &'t str,
}

impl<'t> RawRule<'t> {
    /// Parses the strategies. Of two, one must be `retainKeys`.
    pub(crate) fn read(self) -> Result<PatchRule<'t>, Fault> {
        let mut rule = PatchRule {
            merge_key: self.merge_key,
            ..PatchRule::default()
        };
        let Some(text) = self.strategies else {
            return Ok(rule);
        };

        // `retainKeys` is about patches that are made, so it may stand beside a strategy.
        let names: Vec<&str> = text.split(',').collect();
        let other = match names.as_slice() {
            ["retainKeys"] => {
                rule.retain_keys = true;
                ""
            }
            [one] => one,
            ["retainKeys", other] | [other, "retainKeys"] => {
                rule.retain_keys = true;
                other
            }
            _ => {
                let message = format!(
                    "unexpected patch strategy `{text}`: expected one strategy, or one and retainKeys"
                );
                return Err(Fault::Schema { message });
            }
        };

        rule.strategy = match other {
            "merge" => Strategy::Merge,
            "replace" => Strategy::Replace,
            _ => Strategy::Default,
        };
        Ok(rule)
    }
}

impl PatchTypes {
    /// The rules of an OpenAPI document of version 2 or 3, or of a JSON schema with `$defs`, which is looked up as
    /// version 2. Nothing is copied.
    ///
    /// # Errors
    ///
    /// [`TypesError`], if there are no definitions. A fault inside a definition is reported when the definition is looked up.
    ///
    /// Behaviour: `PatchMetaFromOpenAPI` and `PatchMetaFromOpenAPIV3` of
    /// `k8s.io/apimachinery/pkg/util/strategicpatch`.
    pub fn from_openapi(document: &Value) -> Result<Self, TypesError> {
        let schemas = document
            .get("components")
            .and_then(|components| components.get("schemas"));
        // The place of the definitions tells the version of the document.
        let (form, path, at) = match (schemas, document.get("definitions"), document.get("$defs")) {
            (Some(schemas), ..) => (RuleSource::V3, ".components.schemas", schemas),
            (None, Some(definitions), _) => (RuleSource::V2, ".definitions", definitions),
            (None, None, Some(definitions)) => (RuleSource::V2, ".$defs", definitions),
            (None, None, None) => return Err(TypesError::NotOpenApi),
        };
        let definitions = expect_map(path, at)?.clone();
        let mut kinds = BTreeMap::new();

        // If several definitions claim a kind, the first of them has it.
        for (name, schema) in &definitions {
            let claims = schema
                .get("x-kubernetes-group-version-kind")
                .and_then(Value::as_list);
            for claim in claims.into_iter().flatten() {
                let text =
                    |field: &str| claim.get(field).and_then(Value::as_str).unwrap_or_default();
                kinds
                    .entry((
                        api_version(text("group"), text("version")),
                        text("kind").into(),
                    ))
                    .or_insert_with(|| name.clone());
            }
        }

        Ok(PatchTypes(Arc::new(TypesDocument {
            form,
            definitions,
            kinds,
        })))
    }

    /// The type of a name.
    ///
    /// ```
    /// use fieldmanager_patch::PatchTypes;
    /// use fieldmanager_value::Value;
    /// let types = PatchTypes::from_openapi(&Value::from_yaml("{definitions: {shop: {}}}")?)?;
    /// assert!(types.named("shop").is_some() && types.named("house").is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(hidden)]
    pub fn named(&self, name: &str) -> Option<PatchSchema<'_>> {
        let schema = self.0.definitions.get(name)?;
        Some(PatchSchema {
            node: SchemaNode::At(self, schema),
        })
    }

    /// The type of the objects of an `apiVersion` and a `kind`.
    pub fn for_kind(&self, api_version: &str, kind: &str) -> Option<PatchSchema<'_>> {
        let name = self.0.kinds.get(&(api_version.into(), kind.into()))?;
        self.named(name)
    }

    /// The type of an object, by its `apiVersion` and `kind`.
    ///
    /// ```
    /// use fieldmanager_patch::PatchTypes;
    /// use fieldmanager_value::Value;
    /// let types = PatchTypes::from_openapi(&Value::from_yaml("
    /// definitions: {shop: {x-kubernetes-group-version-kind: [{group: '', version: v1, kind: Shop}]}}
    /// ")?)?;
    /// assert!(types.for_object(&Value::from_yaml("{apiVersion: v1, kind: Shop}")?).is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn for_object(&self, object: &Value) -> Option<PatchSchema<'_>> {
        let text = |name: &str| object.get(name).and_then(Value::as_str);
        self.for_kind(text("apiVersion")?, text("kind")?)
    }
}

/// As objects have it: the group is left out where it is empty.
pub(super) fn api_version(group: &str, version: &str) -> Str {
    if group.is_empty() {
        version.into()
    } else {
        format!("{group}/{version}").into()
    }
}

pub(super) fn expect_map<'v>(path: &str, value: &'v Value) -> Result<&'v Map, TypesError> {
    value.as_map().ok_or_else(|| TypesError::WrongType {
        path: path.to_owned(),
        expected: "a map",
        found: value.kind(),
    })
}

impl<'t> PatchSchema<'t> {
    /// The type of which nothing is known: maps are merged, lists are replaced, and no field is unknown.
    pub const fn free() -> Self {
        PatchSchema {
            node: SchemaNode::Free,
        }
    }
}

impl fmt::Debug for PatchTypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self
            .0
            .definitions
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        f.debug_struct("PatchTypes").field("names", &names).finish()
    }
}

impl fmt::Debug for PatchSchema<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.node {
            SchemaNode::Free => f.write_str("free"),
            SchemaNode::At(_, schema) => schema.fmt(f),
        }
    }
}
