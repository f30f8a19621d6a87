//! Built-in kinds.

use std::collections::BTreeSet;

use fieldmanager_admission::policies::check_expressions;
use fieldmanager_builtin::{
    self as facts, CountsEmpty, KindDescription, ResourceFacts, StoredForm,
};
use fieldmanager_fieldpath::ApiVersion;
use fieldmanager_managedfields::{
    ConvertError, FieldManager, FieldManagerBuilder, ObjectConverter, Time,
};
use fieldmanager_openapi::Types;
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::internal::level;
use fieldmanager_value::{Map, Str, Value};

use super::{Change, Checked, Decoded, Form, INTERNAL, Kind, Origin, Policy, Unseen, unions};
use crate::body::fields_of;
use crate::definition;
use crate::metadata;
use crate::request::Subresource;

/// A built-in kind at one version.
#[derive(Clone, Copy)]
pub(crate) struct Builtin {
    kind: facts::Kind,
    has_defaults: bool,
}

impl Builtin {
    /// The facts about a kind; `None` if it is not built in.
    pub(crate) fn of(kind: &GroupVersionKind, has_defaults: bool) -> Option<Self> {
        Some(Builtin {
            kind: facts::Kind::of(kind)?,
            has_defaults,
        })
    }

    fn description(&self) -> &'static KindDescription {
        self.kind.description()
    }

    /// The facts of the resource; `None` for a `Scale`, which is of several resources.
    pub(crate) fn resource(&self) -> Option<&'static ResourceFacts> {
        self.kind.resource()
    }

    /// The versions of the kind.
    pub(crate) fn versions(&self) -> impl Iterator<Item = ApiVersion> {
        self.kind
            .versions()
            .map(|kind| ApiVersion::from(kind.gvk().api_version()))
    }

    /// A field manager for a subresource.
    pub(crate) fn field_manager(
        &self,
        types: Types,
        subresource: Subresource,
    ) -> FieldManagerBuilder {
        let applied = *self;
        let manager = FieldManager::builder(self.kind.gvk().clone())
            .types(types)
            .subresource(subresource.segment())
            .empty_object(fields_of(&self.kind.zero()))
            .converter(Versions(self.kind))
            .last_entry_counts(true)
            .defaulter(move |object| applied.applied(object));
        let reset = self.kind.reset_fields(subresource.segment()).into_iter();

        reset.fold(manager, |manager, (version, filter)| {
            manager.reset_filter(version, filter)
        })
    }

    /// The object without what the format of the store loses: whether a list is empty or null, and whether bytes are.
    fn as_stored(&self, object: &Value) -> Value {
        match self.description().stored_as {
            StoredForm::Json => object.clone(),
            StoredForm::ProtobufWithBytes(member) => with_bytes(object, member),
            StoredForm::Protobuf => without_empty_lists(object).unwrap_or_else(|| object.clone()),
        }
    }

    /// What the resource of the kind allows.
    pub(crate) fn policy(&self) -> Policy {
        let resource = self.kind.resource();
        Policy {
            form: Form::Struct,
            allows_unconditional_update: resource
                .is_some_and(|found| found.allows_unconditional_update),
            allows_create_on_update: resource.is_some_and(|found| found.allows_create_on_update),
            deprecation: self.description().deprecation.map(str::to_owned),
            converts_by_webhook: false,
            tracked: None,
        }
    }

    /// Whether a document has an empty list or map that the kind compares with an absent one, and that the object made of the
    /// document does not fill: an apply of no items leaves those of others.
    fn has_empty(&self, document: &Value, object: &Value) -> bool {
        let Some(CountsEmpty { member, except, .. }) = self.description().counts_empty else {
            return false;
        };
        let object = object.get(member);
        match document.get(member) {
            Some(Value::Map(fields)) => fields
                .iter()
                .filter(|(name, _)| *name != except)
                .any(|(name, value)| has_empty(value, object.and_then(|object| object.get(name)))),
            other => other.is_some_and(|value| has_empty(value, object)),
        }
    }

    /// The status, at the version at which objects are stored, of an object that a request made.
    fn stored_status(&self, object: &Value, sources: &[&Value]) -> Option<Value> {
        let own = self.kind.gvk();
        // The annotation has no metric without a value, so that a value of zero is added when the object is read.
        let annotation = self.description().status_annotation?;
        let storage = self.kind.resource()?.storage_version.clone()?;
        let storage = GroupVersionKind::new(own.group.clone(), storage, own.kind.clone());
        let annotations =
            |object: &Value| metadata::field(object, "annotations")?.as_map().cloned();
        let has_metrics =
            |source: &&Value| annotations(source).is_some_and(|all| all.contains(annotation));
        let object = match annotations(object).filter(|_| !sources.iter().any(has_metrics)) {
            Some(own) => {
                let rest = own.with_edits(vec![(annotation.into(), None)]);
                metadata::with(object, vec![("annotations", Some(Value::Map(rest)))])
            }
            None => object.clone(),
        };

        let stored = self
            .kind
            .convert(&object, &facts::Kind::of(&storage)?)
            .ok()?;
        stored.get("status").cloned()
    }

    /// Why the scheme of Kubernetes cannot convert an object of a declared kind to this one.
    fn refusal(&self, declared: &GroupVersionKind) -> Option<String> {
        let own = self.kind.gvk();
        // The internal version has the kinds of the others.
        let version = if declared.version == INTERNAL {
            &own.version
        } else {
            &declared.version
        };
        let named = GroupVersionKind::new(
            declared.group.clone(),
            version.clone(),
            declared.kind.clone(),
        );

        // A known kind of another resource is registered, but has no conversion to this one.
        if facts::Kind::of(&named).is_none() {
            return Some(not_registered(declared));
        }
        let is_own = named.group == own.group && named.kind == own.kind;
        (!is_own).then(|| {
            format!(
                "converting ({}.{}) to ({}.{}): unknown conversion",
                named.version,
                named.kind,
                package(self.description().internal_group()),
                own.kind
            )
        })
    }
    /// An object that an apply made, in canonical form and with defaults.
    fn applied(&self, object: &Value) -> Value {
        match self.kind.from_unstructured(object) {
            Ok(decoded) => self.defaulted(&decoded.object),
            Err(_) => object.clone(),
        }
    }
}

/// An object with no bytes in place of null in a map.
fn with_bytes(object: &Value, name: &str) -> Value {
    let object = without_empty_lists(object).unwrap_or_else(|| object.clone());
    let (Some(fields), Some(bytes)) = (object.as_map(), object.get(name).and_then(Value::as_map))
    else {
        return object;
    };
    let edits: Vec<_> = bytes
        .iter()
        .filter(|(_, value)| value.is_null())
        .map(|(key, _)| (key.clone(), Some(Value::from(""))))
        .collect();

    if edits.is_empty() {
        object.clone()
    } else {
        let bytes = Value::Map(bytes.with_edits(edits));
        Value::Map(fields.with_edits(vec![(name.into(), Some(bytes))]))
    }
}

/// Whether a value has an empty list that `made` of it does not fill, or the empty map of a selector. Other maps of these kinds
/// are structs.
fn has_empty(value: &Value, made: Option<&Value>) -> bool {
    level(|| match value {
        Value::List(list) if list.is_empty() => {
            let items = made.and_then(Value::as_list);
            items.is_none_or(|items| items.is_empty())
        }
        Value::List(list) => list.iter().any(|item| has_empty(item, None)),
        Value::Map(map) => map.iter().any(|(name, value)| {
            has_empty(value, made.and_then(|made| made.get(name)))
                || name == "matchLabels" && value.as_map().is_some_and(Map::is_empty)
                || name == "caBundle" && value.as_str().is_some_and(str::is_empty)
        }),
        _ => false,
    })
}

/// The value with null for empty lists. Decoded objects have none but those of fields that Go does not omit.
fn without_empty_lists(value: &Value) -> Option<Value> {
    match value {
        Value::List(list) if list.is_empty() => Some(Value::Null),
        Value::List(list) => level(|| {
            let edits = list.iter().enumerate();
            let edits = edits.filter_map(|(at, item)| Some((at, without_empty_lists(item)?)));
            let edits: Vec<(usize, Value)> = edits.collect();
            (!edits.is_empty()).then(|| Value::List(list.with_edits(edits, Vec::new())))
        }),
        Value::Map(map) => level(|| {
            let edits = map.iter().filter_map(|(name, value)| {
                Some((name.clone(), Some(without_empty_lists(value)?)))
            });
            let edits: Vec<(Str, Option<Value>)> = edits.collect();
            (!edits.is_empty()).then(|| Value::Map(map.with_edits(edits)))
        }),
        _ => None,
    }
}

/// A volume with the time of the last change of its phase, unless the client sets another one.
fn with_transition_time(volume: &Value, live: &Value, now: Time) -> Value {
    const NAME: &str = "lastPhaseTransitionTime";
    let field = |object: &Value, name: &str| {
        object
            .get("status")
            .and_then(|status| status.get(name))
            .cloned()
    };
    let (new, old) = (field(volume, NAME), field(live, NAME));
    let is_same_phase = field(volume, "phase") == field(live, "phase");

    // A client that sends the live time along with a new phase did not set the time.
    let time = match is_same_phase {
        true if new.is_none() => old,
        false if new.is_none() || new == old => Some(Value::from(now.to_string().as_str())),
        _ => return volume.clone(),
    };

    let (Value::Map(fields), Some(Value::Map(status))) = (volume, volume.get("status")) else {
        return volume.clone();
    };
    let status = status.with_edits(vec![(NAME.into(), time)]);
    Value::Map(fields.with_edits(vec![("status".into(), Some(Value::Map(status)))]))
}

/// A CertificateSigningRequest whose conditions have times. A condition that was there has the time of its transition.
fn with_condition_times(request: &Value, live: &Value, now: Time) -> Value {
    let conditions = |object: &Value| object.get("status")?.get("conditions")?.as_list().cloned();
    let (Value::Map(fields), Some(Value::Map(status)), Some(new)) =
        (request, request.get("status"), conditions(request))
    else {
        return request.clone();
    };
    let old = conditions(live).unwrap_or_default();
    let given = |condition: &Value, name: &str| {
        let time = condition.get(name).filter(|time| !time.is_null());
        time.cloned()
    };

    let timed = new.iter().map(|condition| {
        let mut fields = fields_of(condition);
        let now = || Value::from(now.to_string().as_str());
        let is_same = |other: &&Value| {
            ["type", "status"]
                .iter()
                .all(|name| other.get(name) == condition.get(name))
        };
        let before = old.iter().find(is_same);
        let before = before.and_then(|old| given(old, "lastTransitionTime"));

        let updated = given(condition, "lastUpdateTime").unwrap_or_else(now);
        let changed = given(condition, "lastTransitionTime").or(before);
        fields.insert("lastUpdateTime", updated);
        fields.insert("lastTransitionTime", changed.unwrap_or_else(now));
        Value::Map(fields)
    });
    let timed = Value::List(timed.collect());
    let status = status.with_edits(vec![("conditions".into(), Some(timed))]);
    Value::Map(fields.with_edits(vec![("status".into(), Some(Value::Map(status)))]))
}

/// Converts between the versions of a kind.
struct Versions(facts::Kind);

impl ObjectConverter for Versions {
    fn convert(&self, object: &Value, version: &ApiVersion) -> Result<Value, ConvertError> {
        let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
        let missing = |version: &ApiVersion| ConvertError::MissingVersion {
            version: version.clone(),
        };
        let kind = |api_version: &str| {
            facts::Kind::of(&GroupVersionKind::from_api_version_kind(
                api_version,
                &self.0.gvk().kind,
            ))
        };
        let from = kind(text("apiVersion")).ok_or_else(|| missing(&text("apiVersion").into()))?;
        let to = kind(version.as_str()).ok_or_else(|| missing(version))?;

        from.convert(object, &to)
            .map_err(|error| ConvertError::Failed {
                version: version.clone(),
                message: error.to_string(),
            })
    }
}

impl Kind for Builtin {
    fn decode(&self, object: &Value, origin: Origin) -> Result<Decoded, String> {
        // A strategic merge patch has no JSON text: the converter of unstructured objects has other rules and messages.
        if origin == Origin::Unstructured {
            let decoded = self
                .kind
                .from_unstructured(object)
                .map_err(|error| error.to_string())?;
            return Ok(Decoded {
                object: decoded.object,
                unknown: super::unknown_fields(&decoded.unknown),
            });
        }

        let version = object
            .get("apiVersion")
            .and_then(Value::as_str)
            .unwrap_or_default();

        // A body may name another version of the kind.
        let other = if *self.kind.gvk().api_version().to_string() == *version {
            None
        } else {
            facts::Kind::of(&GroupVersionKind::from_api_version_kind(
                version,
                &self.kind.gvk().kind,
            ))
        };
        let kind = other.unwrap_or(self.kind);
        let decoded = kind.decode(object).map_err(|error| error.to_string())?;
        kind.check_annotations(&decoded.object)
            .map_err(|error| error.to_string())?;

        let converted = other.and_then(|other| other.convert(&decoded.object, &self.kind).ok());
        let unknown = super::unknown_fields(&decoded.unknown);
        Ok(Decoded {
            object: converted.unwrap_or(decoded.object),
            unknown,
        })
    }

    fn malformed(&self, config: &Value) -> Option<String> {
        self.kind
            .from_unstructured(config)
            .err()
            .map(|error| error.to_string())
    }

    fn unseen(&self, document: &Value, object: &Value, sources: &[&Value]) -> Unseen {
        Unseen {
            has_empty: self.has_empty(document, object),
            status: self.stored_status(object, sources),
        }
    }

    fn defaulted(&self, object: &Value) -> Value {
        if self.has_defaults {
            facts::defaulted(self.kind.gvk(), object)
        } else {
            object.clone()
        }
    }

    fn read(&self, stored: &Value) -> Value {
        let version = ApiVersion::from(self.kind.gvk().api_version());
        let own = stored.get("apiVersion").and_then(Value::as_str) == Some(version.as_str());
        let object = if own {
            stored.clone()
        } else {
            Versions(self.kind)
                .convert(stored, &version)
                .unwrap_or_else(|_| stored.clone())
        };

        // Defaults of a newer server also reach objects that were stored before it.
        match self.kind.decode(&object) {
            Ok(decoded) => self.defaulted(&decoded.object),
            Err(_) => object,
        }
    }

    fn stored(&self, object: &Value) -> (Value, Option<Value>) {
        if self.description().is_defaulted_when_stored {
            (self.defaulted(object), None)
        } else {
            (object.clone(), None)
        }
    }

    fn prepare(&self, change: &Change<'_>) -> Value {
        let gvk = self.kind.gvk();
        let object = self.as_stored(change.object);

        // The server sets the uid, so an object that is named by it has a name only from here on.
        let Some(live) = change.live else {
            let has_name = !metadata::text(&object, "name").is_empty();
            let object = match metadata::field(&object, "uid") {
                Some(uid) if self.description().is_named_by_uid && !has_name => {
                    metadata::with(&object, vec![("name", Some(uid.clone()))])
                }
                _ => object,
            };
            return facts::prepare_create(gvk, &object);
        };

        // The time of a phase needs the clock, which the strategies of the kinds do not know.
        let is_status = change.subresource == Subresource::Status;
        let object = if is_status && self.description().has_phase_time {
            with_transition_time(&object, live, change.now)
        } else {
            object
        };
        let is_answered = change.subresource == Subresource::Approval
            || is_status && gvk.kind.as_str() == "CertificateSigningRequest";
        let object = if is_answered {
            with_condition_times(&object, live, change.now)
        } else {
            object
        };
        facts::prepare_update(gvk, change.subresource.segment(), &object, live)
    }

    fn changes_stored(&self, stored: &Value, object: &Value) -> bool {
        let own = self.kind.gvk();
        if !self.description().generation_follows_storage {
            return false;
        }
        let version = stored
            .get("apiVersion")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let hub = facts::Kind::of(&GroupVersionKind::from_api_version_kind(version, &own.kind));
        let Some(hub) = hub.filter(|hub| hub.gvk() != own) else {
            return false;
        };

        // The live object has its defaults at that version, so that a missing one is no difference.
        let live = Builtin { kind: hub, ..*self }.read(stored);
        self.kind
            .convert(object, &hub)
            .is_ok_and(|object| object.get("spec") != live.get("spec"))
    }

    fn allocation_fault(&self, object: &Value) -> Option<String> {
        if !self.description().has_allocations {
            return None;
        }
        let spec = object.get("spec")?;
        let ports = match spec.get("type")?.as_str()? {
            "NodePort" | "LoadBalancer" => spec.get("ports")?.as_list()?,
            _ => return None,
        };

        // Ports are allocated by protocol: TCP and UDP may have the same number.
        let mut seen = BTreeSet::new();
        let mut numbers = ports.iter().filter_map(|port| {
            let number = port
                .get("nodePort")?
                .as_i64()
                .filter(|number| *number != 0)?;
            Some((
                port.get("protocol")
                    .and_then(Value::as_str)
                    .unwrap_or_default(),
                number,
            ))
        });
        let (protocol, number) = numbers.find(|port| !seen.insert(*port))?;

        Some(format!("duplicate nodePort: {{{protocol} {number}}}"))
    }

    fn check(&self, change: &Change<'_>, unions: bool) -> Checked {
        let Change {
            subresource,
            object,
            live,
            ..
        } = *change;
        let (gvk, description) = (self.kind.gvk(), self.description());

        // The checks of definitions need CEL, which the crate of built-in kinds does not know.
        let mut found: Checked = match (live, subresource) {
            (None, _) if description.is_definition => {
                definition::validate_create(object, facts::validate_create(gvk, object))
            }
            (Some(live), Subresource::Status) if description.is_definition => {
                definition::validate_status(object, live)
            }
            (Some(live), _) if description.is_definition => {
                definition::validate_update(object, live)
            }
            (None, _) => facts::validate_create(gvk, object).into(),
            (Some(live), _) => {
                facts::validate_update(gvk, subresource.segment(), object, live).into()
            }
        };

        if subresource == Subresource::Object {
            found.errors = check_expressions(gvk, object, live, found.errors);
        }

        // kube-apiserver has no unions: their declarations are validated only if they have an effect.
        if unions && description.is_definition {
            found
                .errors
                .extend(unions::declaration_faults(object, live));
        }

        found.named = description
            .internal
            .map(|version| GroupVersionKind::from_api_version_kind(version, description.kind));
        found.notes = match subresource {
            Subresource::Status if description.is_definition => Vec::new(),
            _ if description.is_definition => definition::warnings(object, live),
            _ => facts::warnings(gvk, subresource.segment(), object, live),
        };

        found
    }

    fn refuses(&self, declared: &GroupVersionKind) -> Option<String> {
        let error = self.refusal(declared)?;
        // Both versions of events have one internal type, which is of the core group.
        let group = self.description().internal_group();
        if declared.version != INTERNAL || group == self.description().group {
            return Some(error);
        }
        let internal = GroupVersionKind::new(group, INTERNAL, declared.kind.clone());
        Some(self.refusal(&internal).unwrap_or(error))
    }
}

/// The Go package of the internal types of a group.
fn package(group: &str) -> &str {
    match group.split('.').next().unwrap_or_default() {
        "" => "core",
        "internal" => "apiserverinternal",
        name => name,
    }
}

/// The message of a scheme of Kubernetes that does not have a kind.
pub(crate) fn not_registered(kind: &GroupVersionKind) -> String {
    let version = if kind.version == INTERNAL {
        format!("the internal version of group \"{}\"", kind.group)
    } else {
        format!("version \"{}\"", kind.api_version())
    };
    format!(
        "no kind \"{}\" is registered for {version} in scheme \"pkg/runtime/scheme.go:111\"",
        kind.kind
    )
}

impl std::fmt::Debug for Builtin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Builtin").field(self.kind.gvk()).finish()
    }
}
