//! Where in a document the structs of Go source are.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

use fieldmanager_value::{Map, Str, Value};

use crate::document::{self, Edit, Step, display, documents};
use crate::fault::quoted;
use crate::go::{Declared, Field, Form, GoTypes, Member, Scope, Type, TypeKey};
use crate::{Fault, Position};

const EXTENSION: &str = "x-kubernetes-unions";
const GVK: &str = "x-kubernetes-group-version-kind";

/// How deep structs are embedded in structs.
const MAX_EMBEDDED: usize = 32;

/// A document that was generated from Go source: CustomResourceDefinitions, or an OpenAPI document.
#[derive(Clone, Copy, Debug)]
pub struct Document<'t> {
    /// How messages call it.
    pub name: &'t str,
    /// YAML, with one or more documents, or JSON.
    pub text: &'t str,
}

/// A document with its unions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inserted {
    /// The text: that of the document, with new entries.
    pub text: String,
    /// How many unions of the source it has, each counted at every place.
    pub unions: usize,
    /// How many entries were added or replaced.
    pub changes: usize,
}

/// Every fault that was found in source and documents, by file and place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults(pub Vec<Fault>);

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for Faults {}

/// Puts the unions of Go source into documents, at every place where the struct occurs: in the schemas of all versions
/// of a CustomResourceDefinition, in which structs are written out, and in the definitions of an OpenAPI document, which
/// refer to each other. What is there already and equal is kept.
///
/// # Errors
///
/// [`Faults`], those of the source among them: a member that a document does not have, a struct that is in no
/// document, a version without types.
pub fn insert(types: &GoTypes, documents: &[Document<'_>]) -> Result<Vec<Inserted>, Faults> {
    let mut faults: Vec<Fault> = types.faults().to_vec();
    let mut placed: BTreeSet<&TypeKey> = BTreeSet::new();
    let mut done = Vec::new();
    for source in documents {
        let mut place = Place {
            types,
            name: source.name,
            path: Vec::new(),
            entries: Vec::new(),
            unions: 0,
            placed: &mut placed,
            faults: &mut faults,
        };
        place.documents(source.text);
        let (edits, unions) = (place.edits(), place.unions);
        match document::apply(source.text, &edits) {
            Ok(text) => done.push(Inserted { text, unions, changes: edits.len() }),
            Err(message) => faults.push(Fault { file: source.name.to_owned(), at: None, message }),
        }
    }
    for key in types.unions.keys().filter(|key| !placed.contains(key)) {
        if let Some((scope, decl)) = types.declaration(key) {
            let names = quoted(documents.iter().map(|document| document.name));
            let message = format!("`{}` declares a union and is in no document: looked in {names}", key.name);
            faults.push(Fault { file: types.path(scope).to_owned(), at: Some(decl.at), message });
        }
    }
    if faults.is_empty() {
        return Ok(done);
    }
    faults.sort();
    faults.dedup();
    Err(Faults(faults))
}

/// A union that Go source declares.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredUnion {
    /// The import path of the package, if it is known.
    pub package: Option<String>,
    /// The struct.
    pub type_name: String,
    /// Where the struct is.
    pub file: String,
    /// The place in the file.
    pub at: Position,
    /// The name of the discriminator in JSON, if there is one.
    pub discriminator: Option<String>,
    /// What a document has to say: an entry of the list on the struct, or the map on the discriminator's property.
    pub extension: Value,
}

impl GoTypes {
    /// The unions that the source declares, those of embedded structs once.
    pub fn declared(&self) -> Vec<DeclaredUnion> {
        let mut all = Vec::new();
        for (key, unions) in &self.unions {
            let Some((scope, decl)) = self.declaration(key) else {
                continue;
            };
            all.extend(unions.iter().map(|union| DeclaredUnion {
                package: self.packages.get(key.package).and_then(|package| package.import_path.clone()),
                type_name: key.name.clone(),
                file: self.path(scope).to_owned(),
                at: decl.at,
                discriminator: union.discriminator.as_ref().map(|field| field.json.clone()),
                extension: match union.form {
                    Form::List => list_form(union),
                    Form::Object => object_form(union),
                },
            }));
        }
        all
    }
}

/// An entry that a map of the document has to have, and what it has.
struct Entry {
    path: Vec<Step>,
    value: Value,
    found: Option<Value>,
}

struct Place<'a, 'f> {
    types: &'a GoTypes,
    name: &'a str,
    path: Vec<Step>,
    entries: Vec<Entry>,
    unions: usize,
    placed: &'f mut BTreeSet<&'a TypeKey>,
    faults: &'f mut Vec<Fault>,
}

/// The fields of a struct and of those embedded in it, and their unions.
#[derive(Default)]
struct Flat<'a> {
    fields: Vec<(Scope, &'a Field)>,
    unions: Vec<(&'a TypeKey, &'a Declared)>,
    /// The structs that it is made of: one that is embedded twice counts once.
    seen: BTreeSet<TypeKey>,
}

impl<'a> Place<'a, '_> {
    fn fault(&mut self, message: impl fmt::Display) {
        self.faults.push(Fault { file: self.name.to_owned(), at: None, message: message.to_string() });
    }

    fn documents(&mut self, text: &str) {
        match documents(text) {
            Err(error) => self.fault(error),
            Ok(documents) if documents.is_empty() => {
                self.fault("no document: expected CustomResourceDefinitions or an OpenAPI document")
            }
            Ok(documents) => {
                for (i, document) in documents.iter().enumerate() {
                    self.inside(Step::Item(i), |place| place.document(document));
                }
            }
        }
    }

    fn inside(&mut self, step: Step, visit: impl FnOnce(&mut Self)) {
        self.path.push(step);
        visit(self);
        self.path.pop();
    }

    /// Goes down a path of fields, if there is one.
    fn field<'v>(&mut self, value: &'v Value, names: &[&str], visit: impl FnOnce(&mut Self, &'v Value)) {
        let Some((name, rest)) = names.split_first() else {
            return visit(self, value);
        };
        if let Some(value) = value.get(name) {
            self.inside(Step::Field((*name).to_owned()), |place| place.field(value, rest, visit));
        }
    }

    fn document(&mut self, document: &Value) {
        let text = |name: &str| document.get(name).and_then(Value::as_str).unwrap_or_default();
        let (version, kind) = (text("apiVersion"), text("kind"));
        if kind == "CustomResourceDefinition" && version == "apiextensions.k8s.io/v1" {
            return self.custom_resource(document);
        }
        if kind.ends_with("List")
            && let Some(Value::List(items)) = document.get("items")
        {
            return self.inside(Step::Field("items".into()), |place| {
                for (i, item) in items.iter().enumerate() {
                    place.inside(Step::Item(i), |place| place.document(item));
                }
            });
        }
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
        let found = if kind.is_empty() { "something else".to_owned() } else { format!("{version} {kind}") };
        self.fault(format!("expected a CustomResourceDefinition of apiextensions.k8s.io/v1 or an OpenAPI document, got {found}"));
    }

    fn custom_resource(&mut self, document: &Value) {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let Some(spec) = document.get("spec") else {
            return self.fault("the CustomResourceDefinition has no `spec`");
        };
        let group = text(spec.get("group"));
        let kind = text(spec.get("names").and_then(|names| names.get("kind")));
        let versions = spec.get("versions").and_then(Value::as_list);
        for (i, version) in versions.into_iter().flatten().enumerate() {
            let name = text(version.get("name"));
            for step in [Step::Field("spec".into()), Step::Field("versions".into()), Step::Item(i)] {
                self.path.push(step);
            }
            match self.root(&group, &name, &kind) {
                Ok(key) => {
                    self.field(version, &["schema", "openAPIV3Schema"], |place, schema| {
                        place.named(schema, &key)
                    });
                }
                Err(message) => {
                    let at = display(&self.path);
                    self.fault(format!("{at}: version `{name}` of {kind}: {message}"));
                }
            }
            self.path.truncate(self.path.len().saturating_sub(3));
        }
    }

    /// The struct of a kind.
    fn root(&self, group: &str, version: &str, kind: &str) -> Result<TypeKey, String> {
        let mut found: Vec<(bool, TypeKey, &str)> = Vec::new();
        let mut others = Vec::new();
        for (scope, decl) in self.types.named(kind) {
            let Type::Struct(fields) = &decl.ty else {
                continue;
            };
            let has_meta = fields.iter().any(|field| field.name == "TypeMeta" && field.inlined);
            let marked = decl.markers.iter().any(|marker| {
                ["kubebuilder:object:root", "k8s:deepcopy-gen:interfaces"].contains(&marker.name.as_str())
            });
            let Some(package) = self.types.packages.get(scope.package).filter(|_| has_meta || marked) else {
                continue;
            };
            let of_version = package.version();
            let fits =
                package.group().is_none_or(|own| own == group) && of_version.is_none_or(|own| own == version);
            if fits {
                let key = TypeKey { package: scope.package, name: decl.name.clone() };
                found.push((of_version.is_some(), key, self.types.path(scope)));
            } else {
                let own = package.group().unwrap_or(group);
                others.push(format!("{own}/{} ({})", of_version.unwrap_or(version), self.types.path(scope)));
            }
        }
        // Packages of this very version first; those that name none have the types of all versions.
        if found.iter().any(|(exact, ..)| *exact) {
            found.retain(|(exact, ..)| *exact);
        }
        match found.as_slice() {
            [(_, key, _)] => Ok(key.clone()),
            [] if others.is_empty() => Err(format!(
                "no Go type `{kind}`: expected a struct of that name with `+kubebuilder:object:root=true` or with TypeMeta"
            )),
            [] => Err(format!("no Go type `{kind}` of {group}/{version}: there are {}", others.join(", "))),
            several => {
                let paths: Vec<&str> = several.iter().map(|(.., path)| *path).collect();
                Err(format!("several Go types `{kind}`: {}", paths.join(", ")))
            }
        }
    }

    fn definitions(&mut self, definitions: &Map) {
        let mut starts: BTreeMap<Str, TypeKey> = BTreeMap::new();
        // Where the path of a package is not known, a definition is found by the end of its name.
        let mut by_end: HashMap<String, Vec<&Str>> = HashMap::new();
        for (name, definition) in definitions {
            let mut parts = name.as_str().rsplit(['.', '/']);
            if let (Some(ty), Some(package)) = (parts.next(), parts.next()) {
                by_end.entry(format!("{package}.{ty}")).or_default().push(name);
            }
            for kind in definition.get(GVK).and_then(Value::as_list).into_iter().flatten() {
                let text = |name: &str| kind.get(name).and_then(Value::as_str).unwrap_or_default();
                if let Ok(key) = self.root(text("group"), text("version"), text("kind")) {
                    starts.insert(name.clone(), key);
                }
            }
        }
        for (scope, decl) in self.types.types() {
            if !matches!(decl.ty, Type::Struct(_)) {
                continue;
            }
            let Some(package) = self.types.packages.get(scope.package) else {
                continue;
            };
            let key = TypeKey { package: scope.package, name: decl.name.clone() };
            let exact = names_in_openapi(
                package.marker("k8s:openapi-model-package"),
                package.import_path.as_deref(),
                &decl.name,
            );
            if let Some(name) = exact.iter().find(|name| definitions.contains(name.as_str())) {
                starts.insert(name.as_str().into(), key);
            } else if exact.is_empty()
                && let Some([name]) =
                    by_end.get(&format!("{}.{}", package.name(), decl.name)).map(Vec::as_slice)
            {
                starts.insert((*name).clone(), key);
            }
        }
        for (name, key) in starts {
            if let Some(schema) = definitions.get(&name) {
                self.inside(Step::Field(name.to_string()), |place| place.named(schema, &key));
            }
        }
    }

    /// The unions of a type, and of what is in it, in a schema of it.
    fn schema(&mut self, schema: &Value, scope: Scope, ty: &'a Type) {
        let types = self.types;
        if let Some(key) = types.struct_key(scope, ty) {
            return self.named(schema, &key);
        }
        match types.underlying(scope, ty) {
            (inner, Type::List(item)) => {
                self.field(schema, &["items"], |place, schema| place.schema(schema, inner, item))
            }
            (inner, Type::Map(item)) => {
                self.field(schema, &["additionalProperties"], |place, schema| {
                    place.schema(schema, inner, item)
                });
            }
            (inner, Type::Struct(fields)) => {
                let mut flat = Flat::default();
                self.fields(inner, fields, &mut flat, MAX_EMBEDDED);
                self.of_struct(schema, &flat);
            }
            _ => {}
        }
    }

    /// The same for a struct of a name.
    fn named(&mut self, schema: &Value, key: &TypeKey) {
        if schema.get("$ref").is_some() {
            return;
        }
        let mut flat = Flat::default();
        self.flatten(key, &mut flat, MAX_EMBEDDED);
        self.of_struct(schema, &flat);
    }

    fn flatten(&self, key: &TypeKey, flat: &mut Flat<'a>, depth: usize) {
        if !flat.seen.insert(key.clone()) {
            return;
        }
        let types = self.types;
        if let Some((key, unions)) = types.unions.get_key_value(key) {
            flat.unions.extend(unions.iter().map(|union| (key, union)));
        }
        if let Some((scope, decl)) = types.declaration(key)
            && let Type::Struct(fields) = decl.ty.pointee()
        {
            self.fields(scope, fields, flat, depth);
        }
    }

    fn fields(&self, scope: Scope, fields: &'a [Field], flat: &mut Flat<'a>, depth: usize) {
        flat.fields.extend(fields.iter().filter(|field| field.json.is_some()).map(|field| (scope, field)));
        if let Some(depth) = depth.checked_sub(1) {
            for field in fields.iter().filter(|field| field.inlined) {
                if let Some(key) = self.types.struct_key(scope, &field.ty) {
                    self.flatten(&key, flat, depth);
                }
            }
        }
    }

    fn of_struct(&mut self, schema: &Value, flat: &Flat<'a>) {
        let properties = schema.get("properties").and_then(Value::as_map);
        let mut list: Vec<Value> = Vec::new();
        for (key, union) in &flat.unions {
            self.placed.insert(key);
            self.unions += 1;
            let fields = union.members.iter().chain(&union.discriminator);
            let missing = fields.filter(|field| !self.has(properties, field)).count();
            match (union.form, &union.discriminator) {
                (Form::Object, Some(discriminator)) if missing == 0 => {
                    let property =
                        properties.and_then(|properties| properties.get(discriminator.json.as_str()));
                    let found = property.and_then(|property| property.get(EXTENSION)).cloned();
                    let steps = [Step::Field("properties".into()), Step::Field(discriminator.json.clone())];
                    let path = self.path.iter().cloned().chain(steps).collect();
                    self.entries.push(Entry { path, value: object_form(union), found });
                }
                _ => list.push(list_form(union)),
            }
        }
        if !list.is_empty() {
            let found = schema.get(EXTENSION).cloned();
            self.entries.push(Entry {
                path: self.path.clone(),
                value: Value::List(list.into_iter().collect()),
                found,
            });
        }
        let Some(properties) = properties else {
            return;
        };
        let mut seen = BTreeSet::new();
        self.path.push(Step::Field("properties".into()));
        for (scope, field) in &flat.fields {
            let Some(name) = field.json.as_deref() else {
                continue;
            };
            // Of fields of one name the outermost counts, which comes first.
            if let Some(property) = properties.get(name).filter(|_| seen.insert(name)) {
                self.inside(Step::Field(name.to_owned()), |place| place.schema(property, *scope, &field.ty));
            }
        }
        self.path.pop();
    }

    /// Whether the schema has a field of a union.
    fn has(&mut self, properties: Option<&Map>, field: &Member) -> bool {
        let has = properties.is_some_and(|properties| properties.contains(field.json.as_str()));
        if !has {
            let known: Vec<&str> = properties.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
            let there = if known.is_empty() {
                "there are no properties".into()
            } else {
                format!("its properties are {}", quoted(known))
            };
            let message = format!(
                "field `{}` of a union is not in {} at {}: {there}",
                field.json,
                self.name,
                display(&self.path)
            );
            self.faults.push(Fault {
                file: self.types.path(field.scope).to_owned(),
                at: Some(field.at),
                message,
            });
        }
        has
    }

    /// What is to be changed: one edit a place.
    fn edits(&mut self) -> Vec<Edit> {
        let mut edits: Vec<Edit> = Vec::new();
        for entry in self.entries.drain(..) {
            if entry.found.as_ref().is_some_and(|found| same(found, &entry.value)) {
                continue;
            }
            edits.push(Edit { path: entry.path, key: EXTENSION, value: entry.value });
        }
        edits
    }
}

/// Whether two extensions say the same: a list in any order.
fn same(found: &Value, value: &Value) -> bool {
    match (found, value) {
        (Value::List(a), Value::List(b)) => a.len() == b.len() && a.iter().all(|a| b.iter().any(|b| a == b)),
        _ => found == value,
    }
}

fn map(entries: Vec<(&str, Value)>) -> Value {
    Value::Map(entries.into_iter().map(|(name, value)| (Str::from(name), value)).collect())
}

/// `{discriminator, fields-to-discriminateBy: {field: value}}`.
fn list_form(union: &Declared) -> Value {
    let members =
        union.members.iter().map(|member| (member.json.as_str(), Value::from(member.value.as_str())));
    let mut entries = vec![("fields-to-discriminateBy", map(members.collect()))];
    entries
        .extend(union.discriminator.iter().map(|field| ("discriminator", Value::from(field.json.as_str()))));
    if union.required {
        entries.push(("required", Value::Bool(true)));
    }
    map(entries)
}

/// `{fieldMembers: {value: {name, optional} or null}}`.
fn object_form(union: &Declared) -> Value {
    let members = union.members.iter().map(|member| {
        let member_of = map(vec![
            ("name", Value::from(member.json.as_str())),
            ("optional", Value::Bool(member.optional)),
        ]);
        (member.value.as_str(), member_of)
    });
    let empty = union.empty.iter().map(|value| (value.as_str(), Value::Null));
    map(vec![("fieldMembers", map(members.chain(empty).collect()))])
}

/// What kube-openapi calls a type of a package.
fn names_in_openapi(model_package: Option<&str>, import_path: Option<&str>, name: &str) -> Vec<String> {
    let mut names: Vec<String> = model_package.iter().map(|package| format!("{package}.{name}")).collect();
    if let Some(path) = import_path {
        let (host, rest) = path.split_once('/').map_or((path, ""), |(host, rest)| (host, rest));
        let mut host: Vec<&str> = host.split('.').collect();
        host.reverse();
        let mut parts = host;
        parts.extend(rest.split('/').filter(|part| !part.is_empty()));
        names.push(format!("{}.{name}", parts.join(".")));
        names.push(format!("{path}.{name}"));
    }
    names
}
