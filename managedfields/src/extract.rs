//! Extracts what one manager applied, as a configuration.

use fieldmanager_fieldpath::{PathElement, Set};
use fieldmanager_merge::ConvertError;
use fieldmanager_openapi::GroupVersionKind;
use fieldmanager_schema::Type;
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_typed::{Duplicates, KeyFields, TypedValue};
use fieldmanager_value::{List, Map, Str, Value};

use crate::convert::at_version;
use crate::entry::{Entry, EntryError};
use crate::error::Error;
use crate::identity::Operation;
use crate::manager::FieldManager;
use crate::object::{described, with_list};

/// The form of an extracted configuration.
///
/// ```
/// use fieldmanager_managedfields::{ApplyRequest, ExtractForm, FieldManager};
/// use fieldmanager_openapi::GroupVersionKind;
/// use fieldmanager_value::Value;
/// let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).build()?;
/// let json = r#"{"apiVersion":"v1","data":{"a":"b"},"kind":"ConfigMap","metadata":{"name":"x"}}"#;
/// let config = Value::from_json(json)?;
/// let live = manager.apply(ApplyRequest::new(&Value::Null, &config).manager("ci"))?.object;
/// let form = |form| Ok::<_, Box<dyn std::error::Error>>(manager.extract(&live, "ci", form)?.unwrap().to_json());
/// assert_eq!(form(ExtractForm::Reapply)?, json);
/// assert_eq!(form(ExtractForm::AsGo)?, r#"{"apiVersion":"v1","data":{"a":"b"},"kind":"ConfigMap"}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExtractForm {
    /// For another apply by the same manager, which is a no-op: items of lists keep their keys, a list or map that the
    /// manager owns without its content is empty, and name and namespace are included.
    #[default]
    Reapply,
    /// As `ExtractInto` in Go: only the fields that the manager owns, and null for lists and maps that it owns without
    /// their content.
    AsGo,
}

impl FieldManager {
    /// Extracts what a manager applied last to the subresource of this field manager, with the present values of the live
    /// object. The result is at the version at which the manager applied; it is `None` if the manager has no entry.
    ///
    /// # Errors
    ///
    /// [`Error::Entry`] if the manager's entry cannot be read; other entries are ignored. [`Error::Convert`],
    /// [`Error::Kind`] and [`Error::Invalid`] if the live object has no form at the version of the entry.
    ///
    /// Behaviour: `ExtractInto` of `k8s.io/apimachinery/pkg/util/managedfields`, which does not convert the object.
    ///
    /// ```
    /// use fieldmanager_managedfields::{ApplyRequest, ExtractForm, FieldManager};
    /// use fieldmanager_openapi::GroupVersionKind;
    /// use fieldmanager_value::Value;
    /// let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).build()?;
    /// let config = |data| Value::from_json(&format!(r#"{{"apiVersion":"v1","data":{data},"kind":"ConfigMap"}}"#));
    /// let (of_ci, of_ops) = (config(r#"{"a":"1"}"#)?, config(r#"{"b":"2"}"#)?);
    /// let live = manager.apply(ApplyRequest::new(&Value::Null, &of_ci).manager("ci"))?.object;
    /// let live = manager.apply(ApplyRequest::new(&live, &of_ops).manager("ops"))?.object;
    /// assert_eq!(manager.extract(&live, "ops", ExtractForm::Reapply)?, Some(of_ops));
    /// assert_eq!(manager.extract(&live, "unknown", ExtractForm::Reapply)?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn extract(
        &self,
        live: &Value,
        manager: &str,
        form: ExtractForm,
    ) -> Result<Option<Value>, Error> {
        let settings = &self.settings;
        let Some(entry) = applied_by(live, manager, &settings.subresource)? else {
            return Ok(None);
        };

        // Paths are valid at the version of the entry, at which they are applied again. Go reads them at that of the
        // client.
        let (object, ty) = match form {
            ExtractForm::AsGo => (
                settings.to_request_version(live, "convert live object to proper version")?,
                settings.ty.clone(),
            ),
            ExtractForm::Reapply => {
                let fail = |source| Error::Convert {
                    action: "convert live object to the version of the entry",
                    object: described(live),
                    source,
                };
                let object =
                    at_version(&*settings.converter, live, &entry.api_version).map_err(fail)?;
                let kind = GroupVersionKind::from_api_version_kind(
                    entry.api_version.as_str(),
                    &settings.kind.kind,
                );
                let ty = settings
                    .typing
                    .for_kind(&kind)
                    .map_err(|source| Error::Kind {
                        action: "find the type of the entry's version",
                        object: described(live),
                        source,
                    })?;

                (object, ty)
            }
        };

        extract_entry(&object, &ty, &entry, form).map(Some)
    }
}

/// A request to extract what a manager applied last, for [`extract`].
#[derive(Clone, Copy, Debug)]
#[must_use = "a request does nothing until it is passed to `extract`"]
pub struct ExtractRequest<'a> {
    object: &'a Value,
    ty: &'a Type,
    manager: &'a str,
    subresource: &'a str,
    form: ExtractForm,
}

impl<'a> ExtractRequest<'a> {
    /// Extracts from an object of this type what the manager applied last to the object itself, in the form
    /// [`ExtractForm::Reapply`].
    pub fn new(object: &'a Value, ty: &'a Type, manager: &'a str) -> Self {
        ExtractRequest {
            object,
            ty,
            manager,
            subresource: "",
            form: ExtractForm::default(),
        }
    }

    /// The subresource that the manager applied.
    pub fn subresource(mut self, subresource: &'a str) -> Self {
        self.subresource = subresource;
        self
    }

    /// What the result contains.
    pub fn form(mut self, form: ExtractForm) -> Self {
        self.form = form;
        self
    }
}

/// Extracts what a manager applied last to an object, for callers that have the type of the object and no
/// [`FieldManager`].
///
/// # Errors
///
/// Those of [`FieldManager::extract`]. [`Error::Convert`] if the object is not at the version of the entry; for
/// [`ExtractForm::AsGo`] this is not checked.
///
/// Behaviour: `ExtractInto` of `k8s.io/apimachinery/pkg/util/managedfields`.
///
/// ```
/// use fieldmanager_managedfields::{ExtractRequest, extract};
/// use fieldmanager_schema::Schema;
/// use fieldmanager_value::Value;
/// let live = Value::from_json(r#"{
///     "apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1", "b": "2"},
///     "metadata": {"managedFields": [{
///         "manager": "ci", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
///         "fieldsV1": {"f:data": {"f:a": {}}}
///     }]}
/// }"#)?;
/// let own = extract(ExtractRequest::new(&live, &Schema::deduced(), "ci"))?;
/// assert_eq!(own, Some(Value::from_json(r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"1"}}"#)?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn extract(request: ExtractRequest<'_>) -> Result<Option<Value>, Error> {
    let ExtractRequest {
        object,
        ty,
        manager,
        subresource,
        form,
    } = request;
    let Some(entry) = applied_by(object, manager, subresource)? else {
        return Ok(None);
    };

    let own = object.api_version();
    if form == ExtractForm::Reapply && own != entry.api_version.as_str() {
        let message = format!("the object is at `{own}`, convert it first");
        let source = ConvertError::Failed {
            version: entry.api_version,
            message,
        };
        return Err(Error::Convert {
            action: "extract from object",
            object: described(object),
            source,
        });
    }

    extract_entry(object, ty, &entry, form).map(Some)
}

/// The first entry of an applier, with the fields of later entries of the same identity and version.
fn applied_by(
    object: &Value,
    manager: &str,
    subresource: &str,
) -> Result<Option<Entry>, EntryError> {
    let list = object.managed_fields().and_then(Value::as_list);
    let mut found: Option<Entry> = None;
    for (index, value) in list.into_iter().flatten().enumerate() {
        let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
        let wanted = text("manager") == manager
            && text("operation") == Operation::Apply.name()
            && text("subresource") == subresource;
        if !wanted {
            continue;
        }

        let entry = Entry::from_value(index, value)?;
        // Entries of one identity count as one, as in `ManagedFields`.
        match &mut found {
            None => found = Some(entry),
            Some(first) if first.api_version == entry.api_version => {
                first.fields = first.fields.union(&entry.fields);
            }
            // At another version, the same path may be another field.
            Some(_) => {}
        }
    }

    Ok(found)
}

fn extract_entry(
    object: &Value,
    ty: &Type,
    entry: &Entry,
    form: ExtractForm,
) -> Result<Value, Error> {
    // To be applied again, items need their keys, and duplicates of the live object must not fail.
    let (duplicates, keys) = match form {
        ExtractForm::Reapply => (Duplicates::Allow, KeyFields::Append),
        ExtractForm::AsGo => (Duplicates::Refuse, KeyFields::AsGiven),
    };

    // The entries themselves have no owner.
    let typed =
        TypedValue::new(with_list(object, None), ty.clone(), duplicates).map_err(|source| {
            Error::Invalid {
                action: "convert object to smd typed",
                object: described(object),
                callers: false,
                source,
            }
        })?;
    let part = typed
        .extract_items(&entry.fields.leaves(), keys)
        .into_value();

    // A list or map that lost its content is null, which is not what the manager applied.
    let part = match form {
        ExtractForm::Reapply if has_null(&part) => refilled(&part, object, false, &entry.fields),
        _ => Some(part),
    };
    let mut fields = part
        .as_ref()
        .and_then(Value::as_map)
        .cloned()
        .unwrap_or_default();
    if !fields.contains("kind") {
        copy(object, &mut fields, &["kind", "apiVersion"]);
    }

    // The name has no owner, but an object without it cannot be applied.
    if form == ExtractForm::Reapply
        && let Some(metadata) = object.get("metadata")
    {
        let mut own = fields.metadata().cloned().unwrap_or_default();
        copy(metadata, &mut own, &["name", "namespace"]);
        if !own.is_empty() || fields.contains("metadata") {
            fields.insert("metadata", own);
        }
    }

    Ok(Value::Map(fields))
}

fn copy(from: &Value, to: &mut Map, names: &[&str]) {
    for name in names {
        if let Some(value) = from.get(name).filter(|value| !value.is_null()) {
            to.insert(*name, value.clone());
        }
    }
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::List(list) => list.iter().any(has_null),
        Value::Map(map) => map.iter().any(|(_, value)| has_null(value)),
        _ => false,
    }
}

/// A part of the live object with its null values replaced. Null denotes a list or map of which nothing was extracted: it
/// becomes empty if it is owned itself, and is removed otherwise, because applying null would take it from its owners.
fn refilled(part: &Value, live: &Value, owned_itself: bool, owned: &Set) -> Option<Value> {
    match (part, live) {
        (Value::Null, Value::Map(_)) => owned_itself.then(|| Value::Map(Map::new())),
        (Value::Null, Value::List(_)) => owned_itself.then(|| Value::List(List::default())),
        (Value::Map(fields), Value::Map(live)) => {
            let mut edits: Vec<(Str, Option<Value>)> = Vec::new();
            for (name, value) in fields.iter().filter(|(_, value)| has_null(value)) {
                let node = owned.get(&PathElement::Field(name.clone()));
                if let (Some(node), Some(live)) = (node, live.get(name)) {
                    edits.push((
                        name.clone(),
                        refilled(value, live, node.is_member(), node.children()),
                    ));
                }
            }
            let left = fields.with_edits(edits);

            (owned_itself || !left.is_empty() || fields.is_empty()).then_some(Value::Map(left))
        }
        (Value::List(items), Value::List(live)) => {
            let refilled =
                |item: &Value| refilled_item(item, live, owned).unwrap_or_else(|| item.clone());
            Some(Value::List(items.iter().map(refilled).collect()))
        }
        _ => Some(part.clone()),
    }
}

/// An item of an associative list with its null values replaced. The live item is found by the key in `owned`.
fn refilled_item(item: &Value, live: &List, owned: &Set) -> Option<Value> {
    if !has_null(item) {
        return None;
    }
    let (element, node) = best(owned.nodes(), |(element, _)| likeness(element, item))?;
    let live = best(live.iter(), |live| likeness(element, live))?;
    // An item is never dropped, because its key is part of the configuration.
    refilled(item, live, true, node.children())
}

/// How well an item matches the key of a path: 2 if it has all key fields, 1 if defaults supply some, 0 if it does not match.
fn likeness(element: &PathElement, item: &Value) -> u8 {
    let PathElement::Key(fields) = element else {
        return 0;
    };
    let each = fields.iter().map(|(name, value)| match item.get(name) {
        Some(own) if own == value => 2,
        None => 1,
        Some(_) => 0,
    });
    each.min().unwrap_or_default()
}

fn best<T>(all: impl Iterator<Item = T>, likeness: impl Fn(&T) -> u8) -> Option<T> {
    all.map(|one| (likeness(&one), one))
        .filter(|(likeness, _)| *likeness > 0)
        .max_by_key(|(l, _)| *l)
        .map(|(_, one)| one)
}
