//! Loads types, and finds the type of an object or by name.

use std::path::Path;

use fieldmanager_handlers::Resource;
use fieldmanager_handlers::internal::{builtin_resource, custom_resource};
use fieldmanager_openapi::internal::{SourceKind, sources};
use fieldmanager_openapi::internal::{UnionForm, UnionOrigin};
use fieldmanager_openapi::{GroupVersionKind, Importer, KindError, SourceError, Types, builtin};
use fieldmanager_patch::PatchTypes;
use fieldmanager_schema::{Schema, Type, UNTYPED_DEDUCED};
use fieldmanager_structural::crd::CustomResource;
use fieldmanager_value::Value;

use crate::args::TypeArgs;
use crate::error::Failure;
use crate::files::{self, Files};
use crate::names;
use crate::output;

/// A source of types, and its name for messages.
pub(crate) struct Source {
    pub(crate) types: Types,
    /// The name of the file; `None` for the bundled schema.
    file: Option<String>,
    /// The documents of the file.
    documents: Vec<Value>,
    /// The origins of the unions.
    unions: Vec<UnionOrigin>,
}

/// Loads the types of a file, or by default the bundled schema of Kubernetes.
pub(crate) fn load(file: Option<&Path>, files: Files) -> Result<Source, Failure> {
    let Some(path) = file else {
        return Ok(Source {
            types: builtin::types(),
            file: None,
            documents: Vec::new(),
            unions: Vec::new(),
        });
    };

    let documents = files.documents(path)?;
    let imported =
        Types::load_all(&documents, &Importer::new()).map_err(|error| faults(path, &error))?;

    // `schema check` prints the warnings about definitions.
    for warning in imported
        .warnings
        .iter()
        .filter(|warning| warning.definition.is_empty())
    {
        output::err().warning(&files::name(path), &warning.to_string())?;
    }

    Ok(Source {
        types: imported.types,
        file: Some(files::name(path)),
        documents,
        unions: imported.unions,
    })
}

/// Describes the origin of a union: its members, path and form.
pub(crate) fn union_origin(union: &UnionOrigin) -> String {
    let members: Vec<&str> = union.members.iter().map(|member| member.as_str()).collect();
    let by = union
        .discriminator
        .as_ref()
        .map_or(String::new(), |name| format!(" by {}", name.as_str()));
    let form = match union.form {
        UnionForm::List => "list form",
        UnionForm::Object => "object form",
    };

    format!(
        "union of {}{by}: {}, {form}",
        members.join(", "),
        union.path
    )
}

/// Converts an error. Every fault gets a line with the file name.
pub(crate) fn faults(path: &Path, error: &SourceError) -> Failure {
    let file = files::name(path);
    Failure::Several(
        error
            .to_string()
            .split('\n')
            .map(|fault| format!("{file}: {fault}"))
            .collect(),
    )
}

/// Finds the type that the arguments name, or else the type of the object's apiVersion and kind.
pub(crate) fn of(
    args: &TypeArgs,
    object: &Value,
    object_file: &Path,
    files: Files,
) -> Result<Type, Failure> {
    load(args.schema.as_deref(), files)?.of(args.type_name.as_deref(), object, object_file)
}

/// Finds the definition of a kind among documents. Returns the other defined kinds as well.
pub(crate) fn definition(
    documents: &[Value],
    kind: &GroupVersionKind,
) -> Result<(Option<CustomResource>, Vec<String>), String> {
    let mut others = Vec::new();
    for document in sources(documents) {
        if SourceKind::detect(&document) != Some(SourceKind::CustomResource) {
            continue;
        }
        let resource = CustomResource::from_value(&document).map_err(|error| error.to_string())?;
        if resource.group == kind.group && resource.names.kind == kind.kind {
            return Ok((Some(resource), others));
        }
        others.push(format!("{} of {}", resource.names.kind, resource.group));
    }

    Ok((None, others))
}

/// The resource of a kind that is built in, or that documents define, with the answers of a server.
pub fn resource(
    documents: Option<&[Value]>,
    kind: &GroupVersionKind,
    defaults: bool,
) -> Result<Option<Resource>, String> {
    let resource = match documents {
        None => builtin_resource(kind, defaults).ok(),
        Some(documents) => match definition(documents, kind)? {
            (None, _) => None,
            (Some(found), _) => Some(
                custom_resource(&found, &kind.version, defaults)
                    .map_err(|error| error.to_string())?,
            ),
        },
    };

    Ok(resource.map(|resource| resource.server_answers(true)))
}

impl Source {
    /// The name of the bundled schema or of the file, for messages.
    pub(crate) fn name(&self) -> String {
        match &self.file {
            Some(file) => file.clone(),
            None => format!(
                "bundled schema (Kubernetes {})",
                fieldmanager_openapi::internal::RELEASE
            ),
        }
    }

    /// Describes the origins of the unions of a type, one per line.
    pub(crate) fn unions(&self, ty: &Type) -> Vec<String> {
        let own = self
            .unions
            .iter()
            .filter(|union| union.definition == ty.name());
        let lines: Vec<String> = own.map(union_origin).collect();
        let has_some = ty
            .atom()
            .map
            .as_ref()
            .is_some_and(|map| !map.unions.is_empty());
        if !lines.is_empty() || !has_some {
            return lines;
        }

        // These unions have no origin of their own, so the whole source is named.
        vec![match &self.file {
            Some(file) => format!("unions: `unions` of the type in {file}"),
            None => format!(
                "unions: `x-kubernetes-unions` in the OpenAPI document of Kubernetes {}, with corrections",
                fieldmanager_openapi::internal::RELEASE
            ),
        }]
    }

    /// Finds the type with a name, or else the type of an object.
    pub(crate) fn of(
        &self,
        type_name: Option<&str>,
        object: &Value,
        object_file: &Path,
    ) -> Result<Type, Failure> {
        match type_name {
            Some(name) => self.named(name),
            None => self.for_object(object, object_file),
        }
    }

    /// The documents of the file; `None` for the bundled schema.
    pub(crate) fn documents(&self) -> Option<&[Value]> {
        self.file.as_ref().map(|_| self.documents.as_slice())
    }

    /// The strategies for strategic merge patches. Only OpenAPI documents and the bundled types have them.
    pub(crate) fn strategies(&self) -> Option<PatchTypes> {
        if self.file.is_none() {
            return Some(fieldmanager_patch::builtin::types().clone());
        }
        let found = sources(&self.documents);
        let document = found
            .iter()
            .find(|document| SourceKind::detect(document) == Some(SourceKind::OpenApi))?;
        PatchTypes::from_openapi(document).ok()
    }

    fn for_object(&self, object: &Value, object_file: &Path) -> Result<Type, Failure> {
        if let Some(ty) = self.of_plain_kind(object) {
            return Ok(ty);
        }
        self.types.for_object(object).map_err(|error| {
            // A similar kind is hint enough. Otherwise the hint is the option that selects a type.
            let hint = match &error {
                KindError::Unknown { nearest, .. } if !nearest.is_empty() => String::new(),
                KindError::Unknown { .. } if self.file.is_none() => {
                    format!(" in the {}: --schema FILE loads another", self.name())
                }
                KindError::Unknown { .. } => {
                    format!(
                        " in {}: name one with --type (`schema types` lists them)",
                        self.name()
                    )
                }
                _ => ": name its type with --type (`schema types` lists them)".to_owned(),
            };

            Failure::input(files::name(object_file), format!("{error}{hint}"))
        })
    }

    /// Without kinds in the schema: finds the type that an object without `apiVersion` names as its kind.
    fn of_plain_kind(&self, object: &Value) -> Option<Type> {
        let kind = object
            .get("kind")
            .and_then(Value::as_str)
            .filter(|kind| !kind.is_empty())?;
        if object.get("apiVersion").is_some() || self.types.kinds().next().is_some() {
            return None;
        }
        let schema = self.types.schema();
        let name = schema
            .type_names()
            .find(|name| name.eq_ignore_ascii_case(kind))?;

        schema.type_named(name)
    }

    /// Finds a type by its name, by a kind, or by a kind with its group and version.
    pub(crate) fn named(&self, name: &str) -> Result<Type, Failure> {
        // The exact name of a type takes precedence over all other readings.
        let schema = self.types.schema();
        if let Some(ty) = schema.type_named(name) {
            return Ok(ty);
        }
        if name == UNTYPED_DEDUCED {
            return Ok(Schema::deduced());
        }

        let of_kind = |kind: &GroupVersionKind| {
            self.types
                .for_kind(kind)
                .map_err(|error| Failure::input(self.name(), error))
        };
        // A kind with its version is unique, such as `apps/v1/Deployment`.
        if let Some((version, kind)) = name.rsplit_once('/') {
            return of_kind(&GroupVersionKind::from_api_version_kind(version, kind));
        }

        // A kind alone is enough if a single group has it.
        let kinds: Vec<GroupVersionKind> =
            self.types.kinds().map(|(kind, _)| kind.clone()).collect();
        match names::kind(name, &kinds) {
            names::Found::One(kind) => return of_kind(&kind),
            names::Found::Several(groups) => {
                let groups: Vec<String> = groups
                    .iter()
                    .map(|kind| format!("{}/{}", kind.api_version(), kind.kind))
                    .collect();
                let message = format!("several kinds are called `{name}`: {}", groups.join(", "));
                return Err(Failure::input(self.name(), message));
            }
            names::Found::None => {}
        }

        // Types of parts, such as `Container`, belong to no kind.
        if let Some(found) = names::last_segment(name, schema.type_names()) {
            return schema.type_named(found).ok_or_else(|| self.unknown(name));
        }
        Err(self.unknown(name))
    }

    fn unknown(&self, name: &str) -> Failure {
        let kinds = self
            .types
            .kinds()
            .map(|(kind, _)| format!("{}/{}", kind.api_version(), kind.kind));
        let near = names::nearest(name, kinds, self.types.schema().type_names());
        let hint = match near.as_slice() {
            [] => "`schema types` lists the known types".to_owned(),
            near => format!("similar are {}", near.join(", ")),
        };
        Failure::input(self.name(), format!("there is no type `{name}`: {hint}"))
    }
}
