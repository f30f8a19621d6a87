//! The result of an import.

use fieldmanager_value::Str;

use super::fault::Fault;
use crate::Types;

/// The result of an import.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Imported {
    /// The types.
    pub types: Types,
    /// Harmless faults: entries of unions that can never apply.
    pub warnings: Vec<Fault>,
    /// The origin of each union, in the order of the definitions.
    pub unions: Vec<UnionOrigin>,
    /// The faults of the skipped definitions; empty without [`Importer::keep_good`](crate::Importer::keep_good).
    pub faults: Vec<Fault>,
}

/// The two forms of `x-kubernetes-unions`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnionForm {
    /// An entry of the list on a struct, as proposed by KEP-1027 of 2019.
    List,
    /// The map on the property of a discriminator, as proposed by KEP-1027 of 2022.
    Object,
}

/// The origin of a union.
///
/// ```
/// use fieldmanager_openapi::internal::UnionForm;
/// use fieldmanager_openapi::Importer;
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
    /// The path in the definition, in field-path notation.
    pub path: String,
    /// The form of the declaration.
    pub form: UnionForm,
    /// The discriminator, if there is one.
    pub discriminator: Option<Str>,
    /// The members.
    pub members: Vec<Str>,
}

/// The faults of an import, in the order of the definitions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct ImportError(pub Vec<Fault>);
