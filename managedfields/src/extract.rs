//! What one manager applied, as a configuration.

use fieldmanager_fieldpath::{PathElement, Set};
use fieldmanager_merge::ConvertError;
use fieldmanager_openapi::GroupVersionKind;
use fieldmanager_schema::Type;
use fieldmanager_typed::{Duplicates, KeyFields, TypedValue};
use fieldmanager_value::{List, ListBuilder, Map, Str, Value};

use crate::convert::at_version;
use crate::entry::{Entry, EntryError};
use crate::error::Error;
use crate::identity::Operation;
use crate::managed::{list_of, with_list};
use crate::manager::FieldManager;

/// What an extracted configuration is for.
///
/// ```
/// use fieldmanager_managedfields::{ExtractForm, FieldManager, Force};
/// use fieldmanager_openapi::GroupVersionKind;
/// use fieldmanager_value::Value;
/// let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).build()?;
/// let noon = "2026-01-31T12:00:00Z".parse()?;
/// let config = r#"{"apiVersion":"v1","data":{"a":"b"},"kind":"ConfigMap","metadata":{"name":"x"}}"#;
/// let live = manager.apply(&Value::Null, &Value::from_json(config)?, "ci", Force::No, noon)?.object;
/// let form = |form| Ok::<_, Box<dyn std::error::Error>>(manager.extract(&live, "ci", form)?.ok_or("none")?.to_json());
/// assert_eq!(form(ExtractForm::Reapply)?, config);
/// assert_eq!(form(ExtractForm::AsGo)?, r#"{"apiVersion":"v1","data":{"a":"b"},"kind":"ConfigMap"}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExtractForm {
    /// To be applied again by the same manager, which changes nothing then: items of lists keep their keys, a list
    /// or map that the manager owns without its content is empty, and name and namespace are there.
    #[default]
    Reapply,
    /// As Go's `ExtractInto`: only what the manager owns, and null for lists and maps that it owns without their
    /// content.
    AsGo,
}

impl FieldManager {
    /// What a manager applied last to this field manager's subresource, with the values that the live object has
    /// now; none if it has no entry. `apiVersion` is the version at which it applied.
    ///
    /// # Errors
    ///
    /// [`Error::Entry`] if the manager's entry cannot be read; entries of others do not matter. [`Error::Convert`],
    /// [`Error::Kind`] and [`Error::Invalid`] if the live object has no form at the version of the entry.
    ///
    /// Behaviour: `ExtractInto` of `k8s.io/apimachinery/pkg/util/managedfields`, which does not convert the object.
    ///
    /// ```
    /// use fieldmanager_managedfields::{ExtractForm, FieldManager, Force};
    /// use fieldmanager_openapi::GroupVersionKind;
    /// use fieldmanager_value::Value;
    /// let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).build()?;
    /// let noon = "2026-01-31T12:00:00Z".parse()?;
    /// let config = |data| Value::from_json(&format!(r#"{{"apiVersion":"v1","data":{data},"kind":"ConfigMap"}}"#));
    /// let live = manager.apply(&Value::Null, &config(r#"{"a":"1"}"#)?, "ci", Force::No, noon)?.object;
    /// let live = manager.apply(&live, &config(r#"{"b":"2"}"#)?, "ops", Force::No, noon)?.object;
    /// let own = manager.extract(&live, "ops", ExtractForm::Reapply)?;
    /// assert_eq!(own, Some(config(r#"{"b":"2"}"#)?));
    /// assert_eq!(manager.extract(&live, "nobody", ExtractForm::Reapply)?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn extract(&self, live: &Value, manager: &str, form: ExtractForm) -> Result<Option<Value>, Error> {
        let Some(entry) = applied_by(live, manager, &self.subresource)? else {
            return Ok(None);
        };
        let (object, ty) = match form {
            ExtractForm::AsGo => {
                (self.to_request_version(live, "convert live object to proper version")?, self.ty.clone())
            }
            ExtractForm::Reapply => {
                let fail = |source| Error::Convert {
                    action: "convert live object to the version of the entry",
                    object: self.described(live),
                    source,
                };
                let object = at_version(&*self.converter, live, &entry.api_version).map_err(fail)?;
                let kind =
                    GroupVersionKind::from_api_version_kind(entry.api_version.as_str(), &self.kind.kind);
                let ty = self.typing.for_kind(&kind).map_err(|source| Error::Kind {
                    action: "find the type of the entry's version",
                    object: self.described(live),
                    source,
                })?;
                (object, ty)
            }
        };
        extract_entry(&object, &ty, &entry, form).map(Some)
    }
}

/// What a manager applied last to an object, for callers that have the type of the object and no [`FieldManager`].
///
/// # Errors
///
/// Those of [`FieldManager::extract`]. [`Error::Convert`] if the object is not at the version of the entry, unless
/// the form is [`ExtractForm::AsGo`], which does not look.
///
/// Behaviour: `ExtractInto` of `k8s.io/apimachinery/pkg/util/managedfields`.
///
/// ```
/// use fieldmanager_managedfields::{ExtractForm, extract};
/// use fieldmanager_schema::Schema;
/// use fieldmanager_value::Value;
/// let live = Value::from_json(r#"{
///     "apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1", "b": "2"},
///     "metadata": {"managedFields": [{
///         "manager": "ci", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
///         "fieldsV1": {"f:data": {"f:a": {}}}
///     }]}
/// }"#)?;
/// let own = extract(&live, &Schema::deduced(), "ci", "", ExtractForm::Reapply)?;
/// assert_eq!(own, Some(Value::from_json(r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"1"}}"#)?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn extract(
    object: &Value,
    ty: &Type,
    manager: &str,
    subresource: &str,
    form: ExtractForm,
) -> Result<Option<Value>, Error> {
    let Some(entry) = applied_by(object, manager, subresource)? else {
        return Ok(None);
    };
    let own = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    if form == ExtractForm::Reapply && own != entry.api_version.as_str() {
        let message = format!("the object is at `{own}`, convert it first");
        let source = ConvertError::Failed { version: entry.api_version, message };
        return Err(Error::Convert { action: "extract from object", object: described(object), source });
    }
    extract_entry(object, ty, &entry, form).map(Some)
}

/// The first entry of an applier; others of the same identity add what they own.
fn applied_by(object: &Value, manager: &str, subresource: &str) -> Result<Option<Entry>, EntryError> {
    let list = list_of(object).and_then(Value::as_list);
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
        match &mut found {
            None => found = Some(entry),
            Some(first) if first.api_version == entry.api_version => {
                first.fields = first.fields.union(&entry.fields);
            }
            // Paths of another version may mean something else.
            Some(_) => {}
        }
    }
    Ok(found)
}

fn extract_entry(object: &Value, ty: &Type, entry: &Entry, form: ExtractForm) -> Result<Value, Error> {
    let (duplicates, keys) = match form {
        ExtractForm::Reapply => (Duplicates::Allow, KeyFields::Append),
        ExtractForm::AsGo => (Duplicates::Refuse, KeyFields::AsGiven),
    };
    // The entries themselves have no owner.
    let typed = TypedValue::new(with_list(object, None), ty.clone(), duplicates).map_err(|source| {
        Error::Invalid {
            action: "convert object to smd typed",
            object: described(object),
            callers: false,
            source,
        }
    })?;
    let part = typed.extract_items(&entry.fields.leaves(), keys).into_value();
    let part = match form {
        ExtractForm::Reapply if has_null(&part) => refilled(&part, object, false, &entry.fields),
        _ => Some(part),
    };
    let mut fields = part.as_ref().and_then(Value::as_map).cloned().unwrap_or_default();
    if !fields.contains("kind") {
        copy(object, &mut fields, &["kind", "apiVersion"]);
    }
    if form == ExtractForm::Reapply
        && let Some(metadata) = object.get("metadata")
    {
        let mut own = fields.get("metadata").and_then(Value::as_map).cloned().unwrap_or_default();
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

/// A part of the live object where null stands for a list or map of which nothing was extracted: it becomes empty
/// if it is owned itself, and else it goes, because an apply of null would take it from its owners.
fn refilled(part: &Value, live: &Value, owned_itself: bool, owned: &Set) -> Option<Value> {
    match (part, live) {
        (Value::Null, Value::Map(_)) => owned_itself.then(|| Value::Map(Map::new())),
        (Value::Null, Value::List(_)) => owned_itself.then(|| Value::List(List::default())),
        (Value::Map(fields), Value::Map(live)) => {
            let mut edits: Vec<(Str, Option<Value>)> = Vec::new();
            for (name, value) in fields.iter().filter(|(_, value)| has_null(value)) {
                let node = owned.get(&PathElement::Field(name.clone()));
                if let (Some(node), Some(live)) = (node, live.get(name)) {
                    edits.push((name.clone(), refilled(value, live, node.is_member(), node.children())));
                }
            }
            let left = fields.with_edits(edits);
            (owned_itself || !left.is_empty() || fields.is_empty()).then_some(Value::Map(left))
        }
        (Value::List(items), Value::List(live)) => {
            let mut left = ListBuilder::default();
            for item in items {
                left.push(refilled_item(item, live, owned).unwrap_or_else(|| item.clone()));
            }
            Some(Value::List(left.build()))
        }
        _ => Some(part.clone()),
    }
}

/// An item of an associative list, matched with the live one by the key that it is owned by.
fn refilled_item(item: &Value, live: &List, owned: &Set) -> Option<Value> {
    if !has_null(item) {
        return None;
    }
    let (element, node) = best(owned.nodes(), |(element, _)| likeness(element, item))?;
    let live = best(live.iter(), |live| likeness(element, live))?;
    // An item is never dropped, because its key is part of the configuration.
    refilled(item, live, true, node.children())
}

/// Whether an item has the key of a path: 2 if it has all of it, 1 if it leaves some to defaults.
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

/// An object in messages: namespace, name and kind.
fn described(object: &Value) -> String {
    let metadata = |name: &str| {
        object
            .get("metadata")
            .and_then(|metadata| metadata.get(name))
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let kind = GroupVersionKind::of_object(object).unwrap_or_default();
    format!("{}/{}; {kind}", metadata("namespace"), metadata("name"))
}
