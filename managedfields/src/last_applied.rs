//! The annotation of client-side apply, which `kubectl` leaves behind.
//!
//! Behaviour: `NewLastAppliedManager` and `NewLastAppliedUpdater` of `k8s.io/apimachinery/pkg/util/managedfields`.

use fieldmanager_fieldpath::Set;
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_typed::Duplicates;
use fieldmanager_value::internal::{Escape, write_json};
use fieldmanager_value::{Map, Str, Value};

use crate::settings::Settings;

/// The annotation with the configuration that client-side apply applied last, as JSON.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The only manager for which the annotation has an effect.
pub(crate) const KUBECTL: &str = "kubectl";

/// The limit on the size of all annotations together, in bytes.
const MAX_ANNOTATIONS: usize = 256 * 1024;

/// The fields that client-side apply applied last and that have not changed since. `None` if the live object has no valid
/// annotation.
pub(crate) fn unchanged_fields(settings: &Settings, live: &Value) -> Option<Set> {
    let text = annotation(live).filter(|text| !text.is_empty())?;
    let live = settings.to_request_version(live, "").ok()?;
    let live = settings.typed(&live, "", false, Duplicates::Refuse).ok()?;
    let last = Value::from_json(text).ok()?;

    // The annotation must be an object of this kind.
    if last.complete_kind()?.api_version() != *settings.version.as_str() {
        return None;
    }
    let last = settings.typed(&last, "", true, Duplicates::Refuse).ok()?;
    // A field of the annotation is unchanged if the live object still has the same value.
    let changes = last.compare(&live).ok()?;
    let own = last.field_set().difference(&changes.modified);
    Some(own.difference(&changes.added).difference(&changes.removed))
}

fn annotation(object: &Value) -> Option<&str> {
    object.annotations()?.get(LAST_APPLIED)?.as_str()
}

/// The object with its annotation, if it has one, set to the configuration without the annotation. The object loses the
/// annotation if all annotations together would be too large.
pub(crate) fn renewed(object: &Value, config: &Value) -> Value {
    if annotation(object).is_none_or(str::is_empty) {
        return object.clone();
    }
    let mut text = String::new();
    write_json(&with_annotation(config, None), &mut text, Escape::Go);
    text.push('\n');
    let renewed = with_annotation(object, Some(&text));
    let size = |(name, value): (&Str, &Value)| name.len() + value.as_str().map_or(0, str::len);
    let annotations = renewed.annotations().into_iter().flatten();
    let total: usize = annotations.map(size).sum();

    // An API server refuses larger annotations, so the configuration is not recorded in that case.
    if total > MAX_ANNOTATIONS {
        with_annotation(object, None)
    } else {
        renewed
    }
}

/// The object with another annotation, or without it. An object without annotations is unchanged.
fn with_annotation(object: &Value, text: Option<&str>) -> Value {
    let edit = |map: &Map, name: &str, value: Option<Value>| {
        Value::Map(map.with_edits(vec![(name.into(), value)]))
    };
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
