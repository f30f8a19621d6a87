//! The kind of objects of a request, as the library's field managers need it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use fieldmanager_fieldpath::{ApiVersion, Set};
use fieldmanager_managedfields::{ConvertError, FieldManager, ObjectConverter};
use fieldmanager_openapi::internal::import_definitions;
use fieldmanager_openapi::{GroupVersionKind, Importer, Types};
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::{Map, Str, Value};
use serde_json::Value as Json;

use crate::files;
use crate::json::{flag, member, members, own};

/// Imported types, by their file. Importing a real document is slow.
pub(crate) type Known = HashMap<String, Types>;

/// A kind and everything its field managers need.
pub(crate) struct Resource {
    pub(crate) kind: String,
    pub(crate) version: String,
    pub(crate) hub: String,
    pub(crate) has_status: bool,
    pub(crate) uid: String,
    pub(crate) converter: Renames,
    reset: Json,
    structural: BTreeMap<String, Value>,
    types: Option<Types>,
    managers: HashMap<(String, String), Result<FieldManager, String>>,
}

impl Resource {
    /// Reads a request of op `managed`.
    pub(crate) fn new(request: &Json, known: &mut Known) -> Result<Self, String> {
        let text = |pointer: &str| {
            request
                .pointer(pointer)
                .and_then(Json::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let group = text("/gvk/group");
        let version = text("/gvk/version");
        // Versions in a request may omit the group of its kind.
        let full = |version: &str| {
            if version.contains('/') || group.is_empty() {
                version.to_owned()
            } else {
                format!("{group}/{version}")
            }
        };

        // Without a hub, objects are stored at the version of the kind.
        let hub = match text("/hub").as_str() {
            "" => full(&version),
            hub => full(hub),
        };
        let versions = request.get("versions").and_then(Json::as_array);
        let versions = versions.map(|all| all.iter().filter_map(Json::as_str).map(&full).collect());
        let custom = flag(request, "customResource");
        let structural = members(request, "structural");

        Ok(Resource {
            kind: text("/gvk/kind"),
            version: full(&version),
            hub,
            has_status: flag(request, "statusSubresource"),
            uid: text("/uid"),
            converter: Renames {
                known: versions,
                custom,
                by_version: renames(request),
            },
            reset: member(request, "resetFields").clone(),
            structural: structural
                .map(|(version, schema)| (version.clone(), own(schema)))
                .collect(),
            types: types(request, known)?,
            managers: HashMap::new(),
        })
    }

    /// The field manager for a version and subresource; an API server has one for each pair.
    pub(crate) fn manager(
        &mut self,
        version: &str,
        subresource: &str,
    ) -> Result<FieldManager, String> {
        let key = (version.to_owned(), subresource.to_owned());
        if let Some(known) = self.managers.get(&key) {
            return known.clone();
        }
        let made = self.make(version, subresource);
        self.managers.insert(key, made.clone());
        made
    }

    fn make(&self, version: &str, subresource: &str) -> Result<FieldManager, String> {
        let mut builder =
            FieldManager::builder(GroupVersionKind::from_api_version_kind(version, &self.kind))
                .subresource(subresource)
                .converter(self.converter.clone())
                .hub(self.hub.as_str())
                // Go reads unions and ignores them.
                .unions(false);
        if let Some(types) = &self.types {
            builder = builder.types(types.clone());
        }

        for (version, fields) in self
            .reset
            .get(subresource)
            .and_then(Json::as_object)
            .into_iter()
            .flatten()
        {
            let set = Set::from_value(&own(fields)).map_err(|error| error.to_string())?;
            builder = builder.reset_fields(version.as_str(), set);
        }

        // The field manager fills in defaults after an apply, at the version of the object, so they have no owner.
        if !self.structural.is_empty() {
            let structural = Arc::new(self.structural.clone());
            builder = builder.defaulter(move |object| {
                let version = object.complete_kind().map(|kind| kind.version);
                let schema = version.and_then(|version| structural.get(&*version));
                schema.map_or_else(|| object.clone(), |schema| filled(object, schema))
            });
        }

        builder.build().map_err(|error| error.to_string())
    }
}

fn renames(request: &Json) -> BTreeMap<String, Vec<(String, String)>> {
    let by_version = members(request, "renames");
    let pairs = |names: &Json| {
        let pairs = names.as_object().into_iter().flatten();
        pairs
            .filter_map(|(old, new)| Some((old.clone(), new.as_str()?.to_owned())))
            .collect()
    };
    by_version
        .map(|(version, names)| (version.clone(), pairs(names)))
        .collect()
}

fn types(request: &Json, known: &mut Known) -> Result<Option<Types>, String> {
    let preserve = flag(request, "preserveUnknownFields");
    let importer = Importer::new().preserve_unknown_fields(preserve);
    // The same document with another option gives other types.
    if let Some(file) = request.get("definitionsFile").and_then(Json::as_str) {
        let key = format!("{preserve} {file}");
        if let Some(types) = known.get(&key) {
            return Ok(Some(types.clone()));
        }
        let document = files::read(file.as_ref()).map_err(|error| error.to_string())?;
        let types = importer
            .document(&own(&document))
            .map_err(|error| error.to_string())?
            .types;
        known.insert(key, types.clone());
        return Ok(Some(types));
    }

    // Without definitions, the field manager deduces types.
    let Some(definitions) = request.pointer("/schemas/definitions") else {
        return Ok(None);
    };
    let definitions = own(definitions);
    let definitions = definitions.as_map().cloned().unwrap_or_default();
    let imported =
        import_definitions(&importer, definitions.iter()).map_err(|error| error.to_string())?;

    // Without kinds, the library finds types by name; Go finds no type.
    if imported.types.kinds().next().is_none() {
        return Err("no definition names its kind".to_owned());
    }
    Ok(Some(imported.types))
}

/// Converts objects whose versions differ in the names of some fields.
#[derive(Clone, Debug)]
pub(crate) struct Renames {
    /// The existing versions; `None` means all.
    known: Option<BTreeSet<String>>,
    custom: bool,
    by_version: BTreeMap<String, Vec<(String, String)>>,
}

impl Renames {
    fn exists(&self, version: &str) -> bool {
        self.known
            .as_ref()
            .is_none_or(|known| known.contains(version))
    }

    fn names(&self, version: &str) -> &[(String, String)] {
        self.by_version.get(version).map_or(&[], Vec::as_slice)
    }
}

impl ObjectConverter for Renames {
    fn convert(&self, object: &Value, version: &ApiVersion) -> Result<Value, ConvertError> {
        let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
        let (from, kind) = match parse(text("apiVersion")) {
            Some(_) => (text("apiVersion"), text("kind")),
            None => ("", ""),
        };
        let failed = |message: String| ConvertError::Failed {
            version: version.clone(),
            message,
        };

        // Go drops entries of a version that its scheme does not have; the converter of custom resources fails instead.
        if !self.custom && !self.exists(version.as_str()) {
            return Err(ConvertError::MissingVersion {
                version: version.clone(),
            });
        }

        // The checks of that converter, in its order: the group first, then both versions.
        if self.custom {
            let group = |version: &str| {
                parse(version)
                    .map(|(group, _)| group.to_owned())
                    .unwrap_or_default()
            };
            if group(from) != group(version.as_str()) {
                return Err(failed(format!("`{from}` is of another group")));
            }

            if let Some(unknown) = [version.as_str(), from]
                .into_iter()
                .find(|version| !self.exists(version))
            {
                return Err(failed(format!(
                    "request to convert CR with an invalid group/version: {unknown}"
                )));
            }
        }

        // The names of the hub are between those of two versions.
        let mut out = object.clone();
        if from != version.as_str() {
            let back: Vec<_> = self
                .names(from)
                .iter()
                .map(|(old, new)| (new.clone(), old.clone()))
                .collect();
            out = renamed(&renamed(&out, &back), self.names(version.as_str()));
            let header = [("apiVersion", version.as_str()), ("kind", kind)];
            let edits = header.map(|(name, text)| (Str::from(name), Some(Value::from(text))));
            out = Value::Map(
                out.as_map()
                    .cloned()
                    .unwrap_or_default()
                    .with_edits(edits.into()),
            );
        }

        Ok(out)
    }
}

/// Group and version; `None` if there is more than one slash.
pub(crate) fn parse(version: &str) -> Option<(&str, &str)> {
    match version.split('/').collect::<Vec<_>>().as_slice() {
        [version] => Some(("", version)),
        [group, version] => Some((group, version)),
        _ => None,
    }
}

/// Moves fields of the object's maps. All are removed before the first one is inserted.
fn renamed(object: &Value, names: &[(String, String)]) -> Value {
    let mut out = object.clone();
    let mut taken = BTreeMap::new();
    for (old, new) in names {
        if let Some((parent, name)) = old.split_once('.')
            && let Some(value) = object.get(parent).and_then(|parent| parent.get(name))
        {
            taken.insert(new.clone(), value.clone());
            out = with(&out, parent, name, None);
        }
    }

    // A new name may be the old name of another field, so nothing is inserted before all are removed.
    for (path, value) in taken {
        if let Some((parent, name)) = path.split_once('.') {
            out = with(&out, parent, name, Some(value));
        }
    }
    out
}

/// The object with one field of one of its maps set or removed.
pub(crate) fn with(object: &Value, parent: &str, name: &str, value: Option<Value>) -> Value {
    let Value::Map(fields) = object else {
        return object.clone();
    };
    let inner = match fields.get(parent) {
        Some(Value::Map(inner)) => inner.clone(),
        None if value.is_some() => Map::new(),
        _ => return object.clone(),
    };
    let inner = Value::Map(inner.with_edits(vec![(name.into(), value)]));
    Value::Map(fields.with_edits(vec![(parent.into(), Some(inner))]))
}

/// Fills in the defaults of a structural schema.
fn filled(value: &Value, schema: &Value) -> Value {
    let (Value::Map(fields), Some(Value::Map(properties))) = (value, schema.get("properties"))
    else {
        return value.clone();
    };
    let mut edits = Vec::new();

    for (name, property) in properties {
        let default = property.get("default");
        // A null counts as absent where there is a default.
        let present = fields
            .get(name)
            .filter(|present| default.is_none() || !present.is_null());
        if let Some(value) = present.or(default) {
            edits.push((name.clone(), Some(filled(value, property))));
        }
    }

    Value::Map(fields.with_edits(edits))
}
