//! The field manager alone, for objects of which only the type is known.

use fieldmanager_managedfields::internal::{Difference, compare_objects};
use fieldmanager_managedfields::{
    ApplyRequest, Error, ErrorKind, FieldManager, PatchRequest, Status, Time, UpdateRequest,
};
use fieldmanager_openapi::internal::types_of;
use fieldmanager_openapi::{GroupVersionKind, Types};
use fieldmanager_patch::PatchTypes;
use fieldmanager_schema::Type;
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_structural::{FieldPath, validate_managed_fields};
use fieldmanager_value::{Str, Value};

use crate::answer::Verb;
use crate::error::Failure;
use crate::plain;
use crate::request::{Request, strip_hint};
use crate::types::Source;

/// The remedy for entries at a version with other fields.
const CONVERSION: &str = ": only versions that differ in nothing but `apiVersion` can be converted, \
    `fieldmanager migrate --drop NAME` removes entries at other versions";

/// The field manager of a type.
pub(crate) struct Alone {
    manager: FieldManager,
    /// Whether the objects have no `apiVersion`.
    plain: bool,
    strategies: Option<PatchTypes>,
}

impl Alone {
    pub(crate) fn new(source: &Source, ty: &Type, request: &Request<'_>) -> Result<Self, Failure> {
        let object = request.object();
        let plain = plain::is_plain(object);
        let kind = if plain {
            plain::versioned(object).declared_kind()
        } else {
            object.declared_kind()
        };
        // A kind has types at all its versions. A type that is named has one form, which holds at every version of the
        // entries.
        let types = if plain {
            plain::types(ty, &kind)?
        } else if request.type_name.is_none() && !kind.kind.is_empty() {
            source.types.clone()
        } else {
            types_at_versions(ty, &kind, &request.live)
        };

        let manager = FieldManager::builder(kind)
            .types(types)
            .subresource(request.args.subresource.as_str())
            .unions(request.unions)
            .build()
            .map_err(|error| Failure::input(source.name(), error))?;
        Ok(Alone {
            manager,
            plain,
            strategies: source.strategies(),
        })
    }

    /// The object that a request makes.
    pub(crate) fn write(
        &self,
        request: &Request<'_>,
        force: bool,
        now: Time,
    ) -> Result<Value, Failure> {
        // Objects without a version have one only while the field manager works on them.
        let live = self.versioned(&request.live);
        let manager = request.manager();
        let written = match request.verb {
            Verb::Apply => {
                let config = self.versioned(&request.given);
                self.manager.apply(
                    ApplyRequest::new(&live, &config)
                        .manager(&manager)
                        .force_if(force)
                        .at(now),
                )
            }
            Verb::Update => {
                let new = self.versioned(&request.given);
                self.manager
                    .update(UpdateRequest::new(&live, &new).manager(&manager).at(now))
            }
            Verb::Patch(how) => {
                let schema = self
                    .strategies
                    .as_ref()
                    .and_then(|types| types.for_object(&live));
                let patch = PatchRequest::new(&live, &request.given, how).schema(schema);
                self.manager.patch(patch.manager(&manager).at(now))
            }
        };

        let object = written.map_err(|error| failure(error, request))?.object;
        // An API server also validates the managed fields of the result before it stores the object.
        check_managed_fields(&object, request)?;
        Ok(if self.plain {
            plain::unversioned(&object)
        } else {
            object
        })
    }

    pub(crate) fn difference(&self, live: &Value, new: &Value) -> Result<Difference, Error> {
        compare_objects(&self.manager, &self.versioned(live), &self.versioned(new))
    }

    fn versioned(&self, object: &Value) -> Value {
        if self.plain {
            plain::versioned(object)
        } else {
            object.clone()
        }
    }
}

/// The type at every version of the live object's entries, for an object whose kind does not determine its type.
fn types_at_versions(ty: &Type, kind: &GroupVersionKind, live: &Value) -> Types {
    let entries = live
        .managed_fields()
        .and_then(Value::as_list)
        .into_iter()
        .flatten();
    let versions = entries.filter_map(|entry| entry.get("apiVersion")?.as_str());
    let others =
        versions.map(|version| GroupVersionKind::from_api_version_kind(version, &kind.kind));
    let kinds: Vec<(GroupVersionKind, Str)> = std::iter::once(kind.clone())
        .chain(others)
        .map(|kind| (kind, ty.name().into()))
        .collect();

    types_of(ty.schema().clone(), kinds)
}

/// Checks the managed fields of a new object as an API server does before it stores the object.
fn check_managed_fields(object: &Value, request: &Request<'_>) -> Result<(), Failure> {
    let path = FieldPath::root("metadata").child("managedFields");
    let errors = validate_managed_fields(object.managed_fields(), &path);
    if errors.is_empty() {
        return Ok(());
    }
    let status = Status::invalid(
        &object.declared_kind(),
        object.metadata_string("name"),
        &errors,
    );
    Err(Failure::refused(
        Box::new(status),
        request.args.wants_status(),
    ))
}

/// Converts an error to a failure that names the file at fault: a `Status` if JSON output was requested.
fn failure(error: Error, request: &Request<'_>) -> Failure {
    if request.args.wants_status() {
        return Failure::Status(Box::new(error.status()));
    }
    // An error about an object of the user names the file of the object.
    let file = crate::files::name(request.file);
    match error {
        Error::Modified { .. } => Failure::Refused(error.to_string()),
        Error::PatchResult { source, .. } => match *source {
            Error::Invalid { source: errors, .. } => Failure::Invalid {
                file: format!("{file}: patched object"),
                errors,
            },
            other => Failure::input(file, format!("patched object: {other}")),
        },
        other => {
            let live = request
                .live_file
                .map_or_else(|| "live object".to_owned(), crate::files::name);
            with_files(other, &request.args.manager, file, live)
        }
    }
}

/// Converts an error to a failure that names the file at fault: the given one or the live one.
pub(crate) fn with_files(error: Error, manager: &str, given: String, live: String) -> Failure {
    match error {
        Error::Conflicts(conflicts) => Failure::Conflicts {
            conflicts,
            manager: manager.to_owned(),
        },
        Error::Invalid {
            callers: true,
            source,
            ..
        } => Failure::Invalid {
            file: given,
            errors: source,
        },
        Error::Invalid { source, .. } => Failure::Invalid {
            file: live,
            errors: source,
        },
        Error::Entry(fault) => Failure::input(live, fault),
        Error::ManagedFieldsInConfig => Failure::input(given, strip_hint(&error.to_string())),
        other => match other.kind() {
            ErrorKind::Stored => Failure::input(live, other),
            ErrorKind::Conversion => Failure::input(live, format!("{other}{CONVERSION}")),
            _ => Failure::input(given, other),
        },
    }
}
