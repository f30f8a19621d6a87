//! What is kept of Go source.

use std::collections::HashMap;
use std::sync::Arc;

use crate::fault::Position;
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
    /// The packages that were read, by the names that imports give them in this file.
    pub(crate) imported: HashMap<String, usize>,
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
    Struct(Fields),
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

/// The fields of a struct.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    list: Vec<Field>,
    /// Positions of fields by their names in JSON. Of several with one name the first counts.
    by_json: HashMap<String, usize>,
    /// Positions of the fields whose own fields JSON has in their place.
    inlined: Vec<usize>,
}

impl Fields {
    pub(crate) fn new(list: Vec<Field>) -> Self {
        let mut fields = Fields::default();
        for (i, field) in list.iter().enumerate() {
            if let Some(json) = &field.json {
                fields.by_json.entry(json.clone()).or_insert(i);
            }
            if field.inlined {
                fields.inlined.push(i);
            }
        }
        Fields { list, ..fields }
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Field> {
        self.list.iter()
    }

    /// The field that has a name in JSON.
    pub(crate) fn named(&self, json: &str) -> Option<&Field> {
        self.list.get(*self.by_json.get(json)?)
    }

    /// The fields whose own fields JSON has in their place.
    pub(crate) fn inlined(&self) -> impl Iterator<Item = &Field> {
        self.inlined.iter().filter_map(|i| self.list.get(*i))
    }
}

/// A field of a struct.
#[derive(Debug)]
pub(crate) struct Field {
    /// The name in Go: that of the type for an embedded field.
    pub(crate) name: String,
    pub(crate) at: Position,
    /// Fields of one line share their markers and their type.
    pub(crate) markers: Arc<[Marker]>,
    pub(crate) ty: Arc<Type>,
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
    pub(crate) ty: Option<Arc<Type>>,
    /// The type of the last constant before it in the same declaration that has one.
    pub(crate) beside: Option<Arc<Type>>,
    pub(crate) value: String,
}
