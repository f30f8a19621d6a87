//! From OpenAPI schemas to types.

mod convert;
mod document;
mod extensions;
mod fault;
mod keys;
mod kinds;
mod targets;
mod unions;

use std::collections::BTreeSet;

use fieldmanager_schema::{Schema, TypeDef};
use fieldmanager_value::{Str, Value};

use crate::Types;

pub use document::LoadError;
pub(crate) use document::definitions;
pub use fault::Fault;

/// What the list form of `x-kubernetes-unions` becomes: `[{discriminator, fields-to-discriminateBy}]` says
/// nothing about who wins when discriminator and members disagree.
///
/// The object form of KEP-1027 on a discriminator's property is always respecting and closed.
///
/// ```
/// use fieldmanager_openapi::ListUnions;
/// assert_eq!(ListUnions::default(), ListUnions::Deducing);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListUnions {
    /// The discriminator follows the member that is set, as KEP-1027 of 2019 proposes.
    #[default]
    Deducing,
    /// The discriminator is respected as it is, which is what Go's converter by way of proto models produces.
    Respecting,
}

/// How OpenAPI schemas become types.
///
/// The result for each definition is what `ToSchemaFromOpenAPI` of `k8s.io/kube-openapi/pkg/schemaconv` gives, and
/// its unions, which that leaves out. Types and fields come in the order of their names.
///
/// ```
/// use fieldmanager_openapi::Importer;
/// use fieldmanager_value::Value;
///
/// let document = Value::from_yaml("
/// definitions:
///   shop:
///     type: object
///     properties:
///       owners: {type: array, items: {type: string}, x-kubernetes-list-type: set}
/// ")?;
/// let imported = Importer::new().document(&document)?;
/// let shop = imported.types.schema().type_named("shop").ok_or("it is there")?;
/// assert!(shop.atom().map.as_ref().unwrap().field("owners").is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Importer {
    unions: ListUnions,
    preserve_unknown_fields: bool,
    keep_good: bool,
}

/// What an import gives.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Imported {
    /// The types.
    pub types: Types,
    /// What looks wrong and harms nobody: entries of unions that can never apply.
    pub warnings: Vec<Fault>,
    /// Where each union came from, in the order of the definitions.
    pub unions: Vec<UnionOrigin>,
    /// What is wrong with the definitions that were left out; empty unless [`Importer::keep_good`] was asked
    /// for.
    pub faults: Vec<Fault>,
}

/// The two forms of `x-kubernetes-unions`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnionForm {
    /// An entry of the list on a struct, as KEP-1027 of 2019 proposes.
    List,
    /// The map on the property of a discriminator, as KEP-1027 of 2022 proposes.
    Object,
}

/// Where a union came from.
///
/// ```
/// use fieldmanager_openapi::{Importer, UnionForm};
/// use fieldmanager_value::Value;
/// let document = Value::from_yaml("
/// definitions:
///   shop:
///     type: object
///     properties: {cash: {type: string}, card: {type: string}}
///     x-kubernetes-unions: [{fields-to-discriminateBy: {cash: Cash, card: Card}}]
/// ")?;
/// let union = &Importer::new().document(&document)?.unions[0];
/// assert_eq!((union.definition.as_str(), union.path.as_str()), ("shop", ".x-kubernetes-unions[0]"));
/// assert_eq!((union.form, union.members.len()), (UnionForm::List, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnionOrigin {
    /// The name of the definition.
    pub definition: String,
    /// The place in the definition, in field-path notation.
    pub path: String,
    /// The form in which it is written there.
    pub form: UnionForm,
    /// The discriminator, if there is one.
    pub discriminator: Option<Str>,
    /// The members.
    pub members: Vec<Str>,
}

/// Why a document is not imported: every fault that was found, in the order of the definitions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct ImportError(pub Vec<Fault>);

impl Importer {
    /// The usual way: unions in list form deduce, unknown fields are refused, and any fault is an error.
    pub fn new() -> Self {
        Self::default()
    }

    /// What the list form of unions becomes.
    #[must_use]
    pub fn unions(mut self, unions: ListUnions) -> Self {
        self.unions = unions;
        self
    }

    /// Whether every struct takes fields that it does not declare, as `spec.preserveUnknownFields` of a custom
    /// resource definition says.
    #[must_use]
    pub fn preserve_unknown_fields(mut self, preserve: bool) -> Self {
        self.preserve_unknown_fields = preserve;
        self
    }

    /// Whether definitions with faults are left out instead of being an error. What refers to one of them takes
    /// any value there, with the structure deduced from it, and [`Imported::faults`] says so.
    ///
    /// ```
    /// use fieldmanager_openapi::Importer;
    /// use fieldmanager_value::Value;
    /// let document = Value::from_yaml("
    /// definitions:
    ///   good: {type: object, properties: {bad: {$ref: '#/definitions/bad'}}}
    ///   bad: {type: array}
    /// ")?;
    /// let imported = Importer::new().keep_good(true).document(&document)?;
    /// assert_eq!(imported.faults[0].to_string(), "definition `bad`: `items` must be specified on arrays");
    /// assert!(imported.types.schema().type_named("good").is_some());
    /// assert!(Importer::new().document(&document).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn keep_good(mut self, keep: bool) -> Self {
        self.keep_good = keep;
        self
    }

    /// Imports an OpenAPI document: the `definitions` of version 2, the `components.schemas` of version 3, or the
    /// `$defs` of a JSON schema.
    ///
    /// # Errors
    ///
    /// [`LoadError`] if it is no such document or has faults.
    pub fn document(&self, document: &Value) -> Result<Imported, LoadError> {
        let definitions = definitions(document).ok_or(LoadError::NotOpenApi)??;
        Ok(self.definitions(definitions)?)
    }

    /// Imports definitions by name, in any order.
    ///
    /// # Errors
    ///
    /// [`ImportError`] with every fault, unless the good definitions are to be kept; then none.
    ///
    /// ```
    /// use fieldmanager_openapi::Importer;
    /// use fieldmanager_value::{Str, Value};
    /// let definitions = [(Str::from("a"), Value::from_yaml("{type: object, x-kubernetes-map-type: odd}")?)];
    /// let error = Importer::new().definitions(definitions.iter().map(|(n, v)| (n, v))).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "definition `a`: .x-kubernetes-map-type: unknown map type `odd`: atomic and granular are accepted",
    /// );
    /// # Ok::<(), fieldmanager_value::Error>(())
    /// ```
    pub fn definitions<'v>(
        &self,
        definitions: impl IntoIterator<Item = (&'v Str, &'v Value)>,
    ) -> Result<Imported, ImportError> {
        let mut sorted: Vec<(&Str, &Value)> = definitions.into_iter().collect();
        sorted.sort_by(|a, b| a.0.cmp(b.0));
        let mut dropped: BTreeSet<Str> = BTreeSet::new();
        let mut faults: Vec<Fault> = Vec::new();
        loop {
            let mut converter = convert::Converter::new(self, &sorted, &dropped);
            let mut types = converter.all(&sorted);
            let found = std::mem::take(&mut converter.faults);
            let found = if found.is_empty() {
                converter.warnings.extend(keys::drop_unknown(&mut types));
                match Schema::from_definitions(types) {
                    Ok(schema) => {
                        let types = Types::new(schema, converter.kinds);
                        let convert::Converter { warnings, unions, .. } = converter;
                        return Ok(Imported { types, warnings, unions, faults });
                    }
                    Err(error) => error.faults().iter().map(Fault::of_schema).collect(),
                }
            } else {
                found
            };
            let bad: Vec<Str> = found.iter().map(|fault| Str::from(fault.definition.as_str())).collect();
            faults.extend(found);
            // Every round leaves out another definition; a fault that belongs to none ends it.
            if !self.keep_good || !bad.iter().fold(false, |more, name| dropped.insert(name.clone()) | more) {
                return Err(ImportError(faults));
            }
        }
    }
}

/// The definitions of the two types that any import ends with.
fn untyped() -> impl Iterator<Item = TypeDef> {
    let deduced = Schema::deduced();
    let definitions: Vec<TypeDef> = deduced.schema().definitions().to_vec();
    definitions.into_iter()
}
