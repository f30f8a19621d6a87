//! The parts of Go source that matter here.

use std::collections::HashMap;
use std::sync::Arc;

use crate::fault::Position;
use crate::go::marker::Marker;

/// One file.
#[derive(Debug, Default)]
pub(crate) struct ParsedFile {
    pub(crate) path: String,
    /// The name in the package clause.
    pub(crate) package: String,
    /// The markers before the package clause.
    pub(crate) markers: Vec<Marker>,
    /// The imports of the file: the name, if given, and the path.
    pub(crate) imports: Vec<(Option<String>, String)>,
    /// The packages that were read, by their import names in this file.
    pub(crate) imported: HashMap<String, usize>,
    pub(crate) types: Vec<TypeDecl>,
    pub(crate) constants: Vec<Constant>,
}

/// A type declaration: `type Name ...`.
#[derive(Debug)]
pub(crate) struct TypeDecl {
    pub(crate) name: String,
    pub(crate) at: Position,
    pub(crate) markers: Vec<Marker>,
    pub(crate) ty: GoTypeExpr,
}

/// A type as in the source.
#[derive(Debug)]
pub(crate) enum GoTypeExpr {
    Named(String),
    Qualified(String, String),
    Pointer(Box<GoTypeExpr>),
    List(Box<GoTypeExpr>),
    Map(Box<GoTypeExpr>),
    Struct(GoFields),
    /// Functions, channels, interfaces, and generic types.
    Other,
}

impl GoTypeExpr {
    /// The type without pointers.
    pub(crate) fn pointee(&self) -> &GoTypeExpr {
        match self {
            GoTypeExpr::Pointer(inner) => inner.pointee(),
            other => other,
        }
    }
}

/// The fields of a struct.
#[derive(Debug, Default)]
pub(crate) struct GoFields {
    list: Vec<GoField>,
    /// The indices of fields by JSON name. Of several fields with the same name, the first one is used.
    by_json: HashMap<String, usize>,
    /// The indices of fields whose own fields are inlined in JSON.
    inlined: Vec<usize>,
}

impl GoFields {
    pub(crate) fn new(list: Vec<GoField>) -> Self {
        let mut fields = GoFields::default();
        for (i, field) in list.iter().enumerate() {
            if let Some(json) = &field.json {
                fields.by_json.entry(json.clone()).or_insert(i);
            }
            if field.inlined {
                fields.inlined.push(i);
            }
        }
        GoFields { list, ..fields }
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, GoField> {
        self.list.iter()
    }

    /// The field with a JSON name.
    pub(crate) fn named(&self, json: &str) -> Option<&GoField> {
        self.list.get(*self.by_json.get(json)?)
    }

    /// The fields whose own fields are inlined in JSON.
    pub(crate) fn inlined(&self) -> impl Iterator<Item = &GoField> {
        self.inlined.iter().filter_map(|i| self.list.get(*i))
    }
}

/// A field of a struct.
#[derive(Debug)]
pub(crate) struct GoField {
    /// The name in Go; the type name for an embedded field.
    pub(crate) name: String,
    pub(crate) at: Position,
    /// Fields declared on one line share their markers and their type.
    pub(crate) markers: Arc<[Marker]>,
    pub(crate) ty: Arc<GoTypeExpr>,
    /// The name in JSON; `None` for a field that is not in JSON.
    pub(crate) json: Option<String>,
    /// Whether the fields of the field's type are inlined in JSON.
    pub(crate) inlined: bool,
    /// Whether the tag has `omitempty` or `omitzero`.
    pub(crate) omitted_if_empty: bool,
}

impl GoField {
    pub(crate) fn marker(&self, name: &str) -> Option<&Marker> {
        self.markers.iter().find(|marker| marker.name == name)
    }

    /// Whether the field is optional by the rules of kube-openapi: markers take precedence over tags.
    pub(crate) fn is_optional(&self) -> bool {
        let has = |names: &[&str]| names.iter().any(|name| self.marker(name).is_some());
        if has(&[
            "required",
            "k8s:required",
            "kubebuilder:validation:Required",
        ]) {
            return false;
        }

        has(&[
            "optional",
            "k8s:optional",
            "kubebuilder:validation:Optional",
        ]) || self.omitted_if_empty
    }
}

/// A string constant.
#[derive(Debug)]
pub(crate) struct Constant {
    /// The declared type, if any.
    pub(crate) ty: Option<Arc<GoTypeExpr>>,
    /// The type of the last preceding typed constant in the same declaration.
    pub(crate) beside: Option<Arc<GoTypeExpr>>,
    pub(crate) value: String,
}
