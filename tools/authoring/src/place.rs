//! Finds the structs of Go source in a document.

use std::collections::{BTreeSet, HashMap};
use std::fmt;

use fieldmanager_value::{List, Map, Str, Value};

use crate::document::{self, DocumentEdits, NodeStep, RefusedEdit, display, documents};
use crate::fault::{Fault, Position};
use crate::fault::{listed, quoted};
use crate::go::{
    Declared, FileScope, GoFields, GoTypeExpr, GoTypes, TypeKey, UnionForm, UnionMember,
};

const EXTENSION: &str = "x-kubernetes-unions";
const GVK: &str = "x-kubernetes-group-version-kind";

/// The maximum number of structs embedded in a struct, directly or transitively. Each of them is searched for every
/// property.
const MAX_EMBEDDED: usize = 64;

/// The maximum number of reported faults of documents. The search stops there, which bounds its cost for documents with
/// a fault at every position.
const MAX_FAULTS: usize = 1000;

/// A document that was generated from Go source: CustomResourceDefinitions, or an OpenAPI document.
#[derive(Clone, Copy, Debug)]
pub struct Document<'t> {
    /// The name in messages.
    pub name: &'t str,
    /// YAML with one or more documents, or JSON.
    pub text: &'t str,
}

/// A document with its unions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inserted {
    /// The document with the new entries.
    pub text: String,
    /// The number of unions, counted at every occurrence of their structs.
    pub unions: usize,
    /// The number of entries that were added or replaced.
    pub changes: usize,
}

/// All faults of source and documents, by file and position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults(pub Vec<Fault>);

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for Faults {}

/// Adds the unions of Go source to documents, wherever a struct occurs: in the schemas of all versions of a
/// CustomResourceDefinition, where structs are inlined, and in the definitions of an OpenAPI document, which refer to
/// each other. Existing equal unions are kept.
///
/// # Errors
///
/// [`Faults`], including those of the source: a member that a document does not have, a struct that occurs in no
/// document, a version without types.
pub fn insert(types: &GoTypes, documents: &[Document<'_>]) -> Result<Vec<Inserted>, Faults> {
    let mut faults: Vec<Fault> = types.faults().to_vec();
    let mut placed: BTreeSet<&TypeKey> = BTreeSet::new();
    let mut done = Vec::new();
    for source in documents {
        let mut place = DocumentWalk::new(types, source.name, &mut placed, &mut faults);
        place.documents(source.text);
        done.extend(place.finish(source.text));
    }

    // Without a fault, a union that is in no document would be lost.
    for key in types.unions.keys().filter(|key| !placed.contains(key)) {
        if let Some((scope, decl)) = types.declaration(key) {
            let names = quoted(documents.iter().map(|document| document.name));
            let message = format!(
                "`{}` declares a union but occurs in no document: searched {names}",
                key.name
            );
            faults.push(Fault {
                file: types.path(scope).to_owned(),
                at: Some(decl.at),
                message,
            });
        }
    }

    if faults.is_empty() {
        return Ok(done);
    }
    // A struct with a fault may occur at many places of the documents, and is reported once.
    faults.sort();
    faults.dedup();
    Err(Faults(faults))
}

/// A union that Go source declares.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredUnion {
    /// The import path of the package, if it is known.
    pub package: Option<String>,
    /// The name of the struct.
    pub type_name: String,
    /// The file of the struct.
    pub file: String,
    /// The position in the file.
    pub at: Position,
    /// The JSON name of the discriminator, if there is one.
    pub discriminator: Option<String>,
    /// The extension that a document needs: an entry of the list on the struct, or the map on the discriminator's
    /// property.
    pub extension: Value,
}

impl GoTypes {
    /// The unions that the source declares; unions of embedded structs are listed once.
    pub fn declared(&self) -> Vec<DeclaredUnion> {
        let mut all = Vec::new();
        for (key, unions) in &self.unions {
            let Some((scope, decl)) = self.declaration(key) else {
                continue;
            };
            all.extend(unions.iter().map(|union| {
                DeclaredUnion {
                    package: self
                        .packages
                        .get(key.package)
                        .and_then(|package| package.import_path.clone()),
                    type_name: key.name.clone(),
                    file: self.path(scope).to_owned(),
                    at: decl.at,
                    discriminator: union.discriminator.as_ref().map(|field| field.json.clone()),
                    extension: match union.form {
                        UnionForm::List => list_form(union),
                        UnionForm::Object => object_form(union),
                    },
                }
            }));
        }

        all
    }
}

/// A parallel walk over a document and the Go types of its parts.
struct DocumentWalk<'a, 'f> {
    types: &'a GoTypes,
    name: &'a str,
    path: Vec<NodeStep>,
    /// The entries to add at the nodes of the path; the last one is the current node.
    edits: Vec<DocumentEdits>,
    unions: usize,
    placed: &'f mut BTreeSet<&'a TypeKey>,
    /// Faults with a position in the source.
    faults: &'f mut Vec<Fault>,
    /// Faults of the document.
    refused: Vec<RefusedEdit>,
    /// The number of faults found in this document.
    found: usize,
    /// The number of lookups of the walk.
    steps: usize,
}

/// A struct, or a struct embedded in it.
#[derive(Clone, Copy)]
struct StructPart<'a> {
    scope: FileScope,
    fields: &'a GoFields,
    unions: Option<(&'a TypeKey, &'a [Declared])>,
}

impl<'a, 'f> DocumentWalk<'a, 'f> {
    fn new(
        types: &'a GoTypes,
        name: &'a str,
        placed: &'f mut BTreeSet<&'a TypeKey>,
        faults: &'f mut Vec<Fault>,
    ) -> Self {
        let edits = vec![DocumentEdits::default()];
        let (path, refused) = (Vec::new(), Vec::new());
        DocumentWalk {
            types,
            name,
            path,
            edits,
            unions: 0,
            placed,
            faults,
            refused,
            found: 0,
            steps: 0,
        }
    }

    /// The document with its unions, if it can be edited. Otherwise adds a fault, like those of the walk.
    fn finish(mut self, text: &str) -> Option<Inserted> {
        // The document is edited even after faults of the walk, so that those of the edit are reported with them.
        let edits = self.edits.pop().unwrap_or_default();
        let text_with_unions = match document::apply(text, EXTENSION, &edits) {
            Ok(text) => Some(text),
            Err(refused) => {
                self.refused.push(refused);
                None
            }
        };

        if self.found >= MAX_FAULTS {
            let message = format!("there may be more faults: the search ended at {MAX_FAULTS}");
            self.refused.push(RefusedEdit {
                path: Vec::new(),
                message,
            });
        }

        // The text is parsed again for positions, so this is done once and only for faults.
        if !self.refused.is_empty() {
            let paths: Vec<&[NodeStep]> = self
                .refused
                .iter()
                .map(|refused| refused.path.as_slice())
                .collect();

            for (at, refused) in document::positions(text, &paths)
                .into_iter()
                .zip(&self.refused)
            {
                let (file, message) = (self.name.to_owned(), refused.message.clone());
                self.faults.push(Fault { file, at, message });
            }
        }

        text_with_unions.map(|text| Inserted {
            text,
            unions: self.unions,
            changes: edits.count(),
        })
    }

    /// Adds a fault at the current node.
    fn fault(&mut self, message: impl fmt::Display) {
        if self.found >= MAX_FAULTS {
            return;
        }
        self.found += 1;
        self.refused.push(RefusedEdit {
            path: self.path.clone(),
            message: message.to_string(),
        });
    }

    fn documents(&mut self, text: &str) {
        match documents(text) {
            Err(error) => self.fault(error),
            Ok(documents) if documents.is_empty() => self.fault(
                "no document found: expected CustomResourceDefinitions or an OpenAPI document",
            ),
            Ok(documents) => {
                for (i, document) in documents.iter().enumerate() {
                    self.inside(NodeStep::Item(i), |place| place.document(document));
                }
            }
        }
    }

    fn inside(&mut self, step: NodeStep, visit: impl FnOnce(&mut Self)) {
        self.path.push(step);
        self.edits.push(DocumentEdits::default());
        visit(self);
        if let (Some(step), Some(below)) = (self.path.pop(), self.edits.pop())
            && let Some(edits) = self.edits.last_mut()
        {
            edits.add(step, below);
        }
    }

    /// Records the entry that the current node needs, unless the node has it.
    fn entry(&mut self, value: Value, found: Option<&Value>) {
        if found.is_none_or(|found| !same(found, &value))
            && let Some(edits) = self.edits.last_mut()
        {
            edits.entry = Some(value);
        }
    }

    /// Descends a path of fields, if it exists.
    fn field<'v>(
        &mut self,
        value: &'v Value,
        names: &[&str],
        visit: impl FnOnce(&mut Self, &'v Value),
    ) {
        let Some((name, rest)) = names.split_first() else {
            return visit(self, value);
        };
        if let Some(value) = value.get(name) {
            self.inside(NodeStep::Field((*name).to_owned()), |place| {
                place.field(value, rest, visit)
            });
        }
    }

    fn document(&mut self, document: &Value) {
        let text = |name: &str| {
            document
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let (version, kind) = (text("apiVersion"), text("kind"));
        if kind == "CustomResourceDefinition" && version == "apiextensions.k8s.io/v1" {
            return self.custom_resource(document);
        }

        // A `List`, as kubectl writes it, has definitions as items.
        if kind.ends_with("List")
            && let Some(Value::List(items)) = document.get("items")
        {
            return self.inside(NodeStep::Field("items".into()), |place| {
                for (i, item) in items.iter().enumerate() {
                    place.inside(NodeStep::Item(i), |place| place.document(item));
                }
            });
        }

        // Swagger 2.0, OpenAPI 3 and JSON Schema keep their definitions in different places.
        for path in [&["definitions"][..], &["components", "schemas"], &["$defs"]] {
            let mut found = false;
            self.field(document, path, |place, definitions| {
                if let Value::Map(definitions) = definitions {
                    found = true;
                    place.definitions(definitions);
                }
            });
            if found {
                return;
            }
        }

        let found = if kind.is_empty() {
            "something else".to_owned()
        } else {
            format!("{version} {kind}")
        };
        self.fault(format!("expected a CustomResourceDefinition of apiextensions.k8s.io/v1 or an OpenAPI document, got {found}"));
    }

    fn custom_resource(&mut self, document: &Value) {
        let text =
            |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let Some(spec) = document.get("spec") else {
            return self.fault("the CustomResourceDefinition has no `spec`");
        };
        let group = text(spec.get("group"));
        let kind = text(spec.get("names").and_then(|names| names.get("kind")));
        let versions = spec.get("versions").and_then(Value::as_list);

        // Each version has its own Go type, in the package of that version.
        for (i, version) in versions.into_iter().flatten().enumerate() {
            let name = text(version.get("name"));
            let visit = |place: &mut Self| match place.root(&group, &name, &kind) {
                Ok(key) => place.field(version, &["schema", "openAPIV3Schema"], |place, schema| {
                    place.named(schema, key);
                }),
                Err(message) => {
                    let at = display(&place.path);
                    place.fault(format!("{at}: version `{name}` of {kind}: {message}"));
                }
            };
            self.inside(NodeStep::Field("spec".into()), |place| {
                place.inside(NodeStep::Field("versions".into()), |place| {
                    place.inside(NodeStep::Item(i), visit)
                });
            });
        }
    }

    /// The struct of a kind.
    fn root(&self, group: &str, version: &str, kind: &str) -> Result<&'a TypeKey, String> {
        let types = self.types;
        let place = |key: &TypeKey| {
            types
                .declaration(key)
                .map_or("", |(scope, _)| types.path(scope))
        };

        // The fault distinguishes an unknown kind from one in another group or version, since the corrections differ.
        match types.roots(group, version, kind).as_slice() {
            [key] => Ok(*key),
            [] if types.roots_named(kind).is_empty() => Err(format!(
                "no Go type `{kind}`: expected a struct of that name with `+kubebuilder:object:root=true` or with TypeMeta"
            )),
            [] => {
                let others = types.roots_named(kind).iter().map(|key| {
                    let package = types.packages.get(key.package);
                    let own = |value: Option<&String>, other: &str| {
                        value.map_or(other, String::as_str).to_owned()
                    };
                    let group = own(package.and_then(|package| package.group.as_ref()), group);
                    let version = own(
                        package.and_then(|package| package.version.as_ref()),
                        version,
                    );
                    format!("{group}/{version} ({})", place(key))
                });

                Err(format!(
                    "no Go type `{kind}` of {group}/{version}: there are {}",
                    listed(others)
                ))
            }
            several => {
                let paths = several.iter().map(|key| place(key).to_owned());
                Err(format!("several Go types `{kind}`: {}", listed(paths)))
            }
        }
    }

    fn definitions(&mut self, definitions: &Map) {
        // If the path of a package is unknown, its definition is found by the end of the name, if that is unique.
        let mut ends: HashMap<String, usize> = HashMap::new();
        for (name, _) in definitions {
            if let Some(end) = end(name) {
                *ends.entry(end).or_default() += 1;
            }
        }

        for (name, definition) in definitions {
            let types = self.types;
            let by_end = || {
                end(name)
                    .filter(|end| ends.get(end) == Some(&1))
                    .and_then(|end| types.definition_by_end(&end))
            };
            let by_kind = || {
                let kinds = definition
                    .get(GVK)
                    .and_then(Value::as_list)
                    .into_iter()
                    .flatten();
                kinds.filter_map(|kind| self.root_of(kind)).last()
            };

            // The exact name takes precedence over its end, and both over the kind, which may belong to several
            // packages.
            if let Some(key) = types.definition(name).or_else(by_end).or_else(by_kind) {
                self.inside(NodeStep::Field(name.to_string()), |place| {
                    place.named(definition, key)
                });
            }
        }
    }

    /// The struct of an entry of `x-kubernetes-group-version-kind`, if there is exactly one.
    fn root_of(&self, kind: &Value) -> Option<&'a TypeKey> {
        let text = |name: &str| kind.get(name).and_then(Value::as_str).unwrap_or_default();
        match self
            .types
            .roots(text("group"), text("version"), text("kind"))
            .as_slice()
        {
            [key] => Some(*key),
            _ => None,
        }
    }

    /// Processes the unions of a type and of its parts, in its schema.
    fn schema(&mut self, schema: &Value, scope: FileScope, ty: &'a GoTypeExpr) {
        let types = self.types;
        if let Some(key) = types.struct_key(scope, ty) {
            return self.named(schema, &key);
        }
        match types.underlying(scope, ty) {
            (inner, GoTypeExpr::List(item)) => self.field(schema, &["items"], |place, schema| {
                place.schema(schema, inner, item)
            }),
            (inner, GoTypeExpr::Map(item)) => {
                self.field(schema, &["additionalProperties"], |place, schema| {
                    place.schema(schema, inner, item)
                });
            }
            (inner, GoTypeExpr::Struct(fields)) => {
                self.of_struct(
                    schema,
                    StructPart {
                        scope: inner,
                        fields,
                        unions: None,
                    },
                );
            }
            _ => {}
        }
    }

    /// The same for a named struct.
    fn named(&mut self, schema: &Value, key: &TypeKey) {
        if schema.get("$ref").is_none()
            && let Some(part) = self.part(key)
        {
            self.of_struct(schema, part);
        }
    }

    fn part(&self, key: &TypeKey) -> Option<StructPart<'a>> {
        let types = self.types;
        // The name may be defined by another struct: `type App v1.App`.
        let key = types.struct_named(key)?;
        let (scope, decl) = types.declaration(&key)?;
        let GoTypeExpr::Struct(fields) = decl.ty.pointee() else {
            return None;
        };

        let unions = types
            .unions
            .get_key_value(&key)
            .map(|(key, unions)| (key, unions.as_slice()));
        Some(StructPart {
            scope,
            fields,
            unions,
        })
    }

    /// A struct and its embedded structs. Less deeply embedded structs precede others, because their fields take
    /// precedence.
    fn parts(&mut self, outermost: StructPart<'a>) -> Vec<StructPart<'a>> {
        let mut parts = vec![outermost];
        let mut next = 0;
        // The list is also the queue of the search, so it is in the order of depth.
        while let Some(part) = parts.get(next).copied() {
            next += 1;
            for field in part.fields.inlined() {
                self.steps += 1;
                let embedded = self
                    .types
                    .struct_key(part.scope, &field.ty)
                    .and_then(|key| self.part(&key));
                let Some(embedded) = embedded else {
                    continue;
                };

                // A struct that is embedded twice, or in itself by a pointer, counts once, so the search ends.
                if parts
                    .iter()
                    .any(|known| std::ptr::eq(known.fields, embedded.fields))
                {
                    continue;
                }

                if parts.len() > MAX_EMBEDDED {
                    self.found += 1;
                    let message = format!(
                        "`{}` exceeds the limit on embedded structs: expected at most {MAX_EMBEDDED} in a struct, including nested ones",
                        field.name
                    );
                    let file = self.types.path(part.scope).to_owned();
                    self.faults.push(Fault {
                        file,
                        at: Some(field.at),
                        message,
                    });
                    return parts;
                }
                parts.push(embedded);
            }
        }

        parts
    }

    fn of_struct(&mut self, schema: &Value, outermost: StructPart<'a>) {
        if self.found >= MAX_FAULTS {
            return;
        }
        let parts = self.parts(outermost);
        let properties = schema.get("properties").and_then(Value::as_map);
        let mut list: Vec<Value> = Vec::new();
        let mut of_properties: Vec<(&str, Value)> = Vec::new();

        for (key, unions) in parts.iter().filter_map(|part| part.unions) {
            self.placed.insert(key);
            for union in unions {
                self.unions += 1;
                // Each missing field is a fault, after which no document is returned, so the form of the entry does not
                // matter.
                let fields = union.members.iter().chain(&union.discriminator);
                let missing = fields.filter(|field| !self.has(properties, field)).count();
                match (union.form, &union.discriminator) {
                    (UnionForm::Object, Some(discriminator)) if missing == 0 => {
                        of_properties.push((&discriminator.json, object_form(union)));
                    }
                    _ => list.push(list_form(union)),
                }
            }
        }

        // The list form is an entry of the struct, the object form one of the discriminator's property.
        if !list.is_empty() {
            self.entry(
                Value::List(list.into_iter().collect()),
                schema.get(EXTENSION),
            );
        }

        let Some(properties) = properties else {
            return;
        };
        self.inside(NodeStep::Field("properties".into()), |place| {
            for (name, value) in of_properties {
                let found = properties
                    .get(name)
                    .and_then(|property| property.get(EXTENSION));
                place.inside(NodeStep::Field(name.to_owned()), |place| {
                    place.entry(value, found)
                });
            }

            // The parts are ordered by depth, so the field that takes precedence in JSON is found first.
            for (name, property) in properties {
                let field = parts.iter().find_map(|part| {
                    place.steps += 1;
                    Some((part.scope, part.fields.named(name)?))
                });
                if let Some((scope, field)) = field {
                    place.inside(NodeStep::Field(name.to_string()), |place| {
                        place.schema(property, scope, &field.ty);
                    });
                }
            }
        });
    }

    /// Whether the schema has a field of a union.
    fn has(&mut self, properties: Option<&Map>, field: &UnionMember) -> bool {
        self.steps += 1;
        if properties.is_some_and(|properties| properties.contains(&field.json)) {
            return true;
        }
        self.found += 1;
        let known = quoted(
            properties
                .into_iter()
                .flatten()
                .map(|(name, _)| name.as_str()),
        );
        let there = match known.as_str() {
            "" => "there are no properties".to_owned(),
            known => format!("its properties are {known}"),
        };

        let message = format!(
            "field `{}` of a union is not in {} at {}: {there}",
            field.json,
            self.name,
            display(&self.path)
        );
        let file = self.types.path(field.scope).to_owned();
        self.faults.push(Fault {
            file,
            at: Some(field.at),
            message,
        });

        false
    }
}

/// Whether two extensions are equivalent; the order of a list is ignored.
fn same(found: &Value, value: &Value) -> bool {
    let sorted = |list: &List| {
        let mut items: Vec<String> = list.iter().map(Value::to_json).collect();
        items.sort_unstable();
        items
    };
    match (found, value) {
        (Value::List(a), Value::List(b)) => sorted(a) == sorted(b),
        _ => found == value,
    }
}

/// The package and the type at the end of the name of a definition.
fn end(name: &str) -> Option<String> {
    let mut parts = name.rsplit(['.', '/']);
    let (ty, package) = (parts.next()?, parts.next()?);
    Some(format!("{package}.{ty}"))
}

fn map(entries: Vec<(&str, Value)>) -> Value {
    Value::Map(
        entries
            .into_iter()
            .map(|(name, value)| (Str::from(name), value))
            .collect(),
    )
}

/// The list form: `{discriminator, fields-to-discriminateBy: {field: value}}`.
fn list_form(union: &Declared) -> Value {
    let members = union
        .members
        .iter()
        .map(|member| (member.json.as_str(), Value::from(member.value.as_str())));
    let mut entries = vec![("fields-to-discriminateBy", map(members.collect()))];
    entries.extend(
        union
            .discriminator
            .iter()
            .map(|field| ("discriminator", Value::from(field.json.as_str()))),
    );
    if union.required {
        entries.push(("required", Value::Bool(true)));
    }

    map(entries)
}

/// The object form: `{fieldMembers: {value: {name, optional} or null}}`.
fn object_form(union: &Declared) -> Value {
    let members = union.members.iter().map(|member| {
        let member_of = map(vec![
            ("name", Value::from(member.json.as_str())),
            ("optional", Value::Bool(member.optional)),
        ]);
        (member.value.as_str(), member_of)
    });
    let empty = union
        .empty
        .iter()
        .map(|value| (value.as_str(), Value::Null));

    map(vec![("fieldMembers", map(members.chain(empty).collect()))])
}

#[cfg(test)]
mod tests;
