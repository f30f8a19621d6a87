//! What is kept of Go source.

use crate::Position;
use crate::go::marker::Marker;

/// One file.
#[derive(Debug, Default)]
pub(crate) struct File {
    pub(crate) path: String,
    /// The name in the package clause.
    pub(crate) package: String,
    /// The markers before the package clause.
    pub(crate) markers: Vec<Marker>,
    /// The name of each import in this file, if it is given, and its path.
    pub(crate) imports: Vec<(Option<String>, String)>,
    pub(crate) types: Vec<TypeDecl>,
    pub(crate) constants: Vec<Constant>,
}

/// `type Name ...`
#[derive(Debug)]
pub(crate) struct TypeDecl {
    pub(crate) name: String,
    pub(crate) at: Position,
    pub(crate) markers: Vec<Marker>,
    pub(crate) ty: Type,
}

/// A type as it is written.
#[derive(Debug)]
pub(crate) enum Type {
    Named(String),
    Qualified(String, String),
    Pointer(Box<Type>),
    List(Box<Type>),
    Map(Box<Type>),
    Struct(Vec<Field>),
    /// Functions, channels, interfaces, generic types.
    Other,
}

impl Type {
    /// The type without pointers around it.
    pub(crate) fn pointee(&self) -> &Type {
        match self {
            Type::Pointer(inner) => inner.pointee(),
            other => other,
        }
    }
}

/// A field of a struct.
#[derive(Debug)]
pub(crate) struct Field {
    /// The name in Go: that of the type for an embedded field.
    pub(crate) name: String,
    pub(crate) at: Position,
    pub(crate) markers: Vec<Marker>,
    pub(crate) ty: Type,
    /// The name in JSON; none for a field that JSON does not have.
    pub(crate) json: Option<String>,
    /// Whether JSON has the fields of the field's type in its place.
    pub(crate) inlined: bool,
    /// `omitempty` or `omitzero`.
    pub(crate) omitted_if_empty: bool,
}

impl Field {
    pub(crate) fn marker(&self, name: &str) -> Option<&Marker> {
        self.markers.iter().find(|marker| marker.name == name)
    }

    /// Whether the field may be absent, as kube-openapi decides it: markers before tags.
    pub(crate) fn is_optional(&self) -> bool {
        let has = |names: &[&str]| names.iter().any(|name| self.marker(name).is_some());
        if has(&["required", "k8s:required", "kubebuilder:validation:Required"]) {
            return false;
        }
        has(&["optional", "k8s:optional", "kubebuilder:validation:Optional"]) || self.omitted_if_empty
    }
}

/// A constant that is a string.
#[derive(Debug)]
pub(crate) struct Constant {
    /// Its type; none if it is left out.
    pub(crate) ty: Option<Type>,
    /// The type of the last constant before it in the same declaration that has one.
    pub(crate) beside: Option<Type>,
    pub(crate) value: String,
}
