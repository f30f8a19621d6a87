//! The annotation of client-side apply, which `kubectl` leaves behind.

use fieldmanager_fieldpath::Set;
use fieldmanager_merge::{Conflicts, Force};
use fieldmanager_openapi::GroupVersionKind;
use fieldmanager_typed::Duplicates;
use fieldmanager_value::{Escape, Map, Str, Value};

use crate::error::Error;
use crate::managed::ManagedFields;
use crate::manager::FieldManager;
use crate::time::Time;

/// The annotation with the configuration that client-side apply applied last, as JSON.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The only manager that this concerns.
const KUBECTL: &str = "kubectl";

/// The limit on the size of all annotations together, in bytes.
const MAX_ANNOTATIONS: usize = 256 * 1024;

impl FieldManager {
    /// What the annotation changes about an apply of `kubectl`: fields that it applied on the client's side, and
    /// that nobody changed since, are its own, so conflicts about them do not count; and the annotation follows
    /// what is applied.
    ///
    /// Behaviour: `NewLastAppliedManager` and `NewLastAppliedUpdater` of
    /// `k8s.io/apimachinery/pkg/util/managedfields`.
    pub(crate) fn last_applied(
        &self,
        live: &Value,
        config: &Value,
        managed: &ManagedFields,
        manager: &str,
        now: Time,
        applied: Result<(Value, ManagedFields), Error>,
    ) -> Result<(Value, ManagedFields), Error> {
        if manager != KUBECTL {
            return applied;
        }
        let (object, managed) = match applied {
            Err(Error::Conflicts(conflicts)) => {
                let own = self.last_applied_set(live);
                match own.map_or(Some(conflicts.clone()), |own| not_in(&conflicts, &own)) {
                    Some(others) => return Err(Error::Conflicts(others)),
                    None => self.apply_as(live, config, managed, manager, Force::Yes, now)?,
                }
            }
            other => other?,
        };
        Ok((renewed(&object, config), managed))
    }

    /// The fields that client-side apply applied and that are still as it left them; none if that cannot be said.
    fn last_applied_set(&self, live: &Value) -> Option<Set> {
        let text = annotation(live).filter(|text| !text.is_empty())?;
        let live = self.to_request_version(live, "").ok()?;
        let live = self.typed(&live, "", false, Duplicates::Refuse).ok()?;
        let last = Value::from_json(text).ok()?;
        // A value without a kind is not an object, and an object of another kind is not about this one.
        if GroupVersionKind::of_object(&last)?.api_version() != *self.version.as_str() {
            return None;
        }
        let last = self.typed(&last, "", true, Duplicates::Refuse).ok()?;
        let changes = last.compare(&live).ok()?;
        let own = last.field_set().difference(&changes.modified);
        Some(own.difference(&changes.added).difference(&changes.removed))
    }
}

/// The conflicts about fields that are not in a set; none if there is no such.
fn not_in(conflicts: &Conflicts, own: &Set) -> Option<Conflicts> {
    conflicts.filtered(|conflict| !own.has(&conflict.path))
}

fn annotation(object: &Value) -> Option<&str> {
    object.get("metadata")?.get("annotations")?.get(LAST_APPLIED)?.as_str()
}

/// The object with the annotation made anew, if it has one: what is applied, without the annotation itself. If
/// annotations become too large by that, the object loses it.
fn renewed(object: &Value, config: &Value) -> Value {
    if annotation(object).is_none_or(str::is_empty) {
        return object.clone();
    }
    let mut text = String::new();
    with_annotation(config, None).write_json_escaped(&mut text, Escape::Go);
    text.push('\n');
    let renewed = with_annotation(object, Some(&text));
    let annotations = renewed.get("metadata").and_then(|metadata| metadata.get("annotations"));
    let size = |(name, value): (&Str, &Value)| name.len() + value.as_str().map_or(0, str::len);
    let total: usize = annotations.and_then(Value::as_map).into_iter().flatten().map(size).sum();
    if total > MAX_ANNOTATIONS { with_annotation(object, None) } else { renewed }
}

/// The object with another text as its annotation, or without it. An object without annotations stays as it is.
fn with_annotation(object: &Value, text: Option<&str>) -> Value {
    let edit =
        |map: &Map, name: &str, value: Option<Value>| Value::Map(map.with_edits(vec![(name.into(), value)]));
    let changed = || {
        let fields = object.as_map()?;
        let metadata = fields.get("metadata")?.as_map()?;
        let annotations = metadata.get("annotations")?.as_map()?;
        let annotations = edit(annotations, LAST_APPLIED, text.map(Value::from));
        let metadata = edit(metadata, "annotations", Some(annotations));
        Some(edit(fields, "metadata", Some(metadata)))
    };
    changed().unwrap_or_else(|| object.clone())
}
