//! Strategic merge patch, which merges lists by the keys of a schema.
//!
//! The behaviour is that of `k8s.io/apimachinery/pkg/util/strategicpatch`, except that no directive becomes data, and that
//! input which crashes Go is an error; `docs/deviations.md` lists the differences.

mod clean;
mod conflicts;
mod diff;
mod diff_lists;
mod directive;
pub(crate) mod left;
mod lists;
mod merge;
mod order;
pub(crate) mod preconditions;
mod scalar;

use fieldmanager_value::{Map, Value};

use crate::{Error, Fault, PatchSchema};
use diff::{Diff, DiffPart};
use merge::{MergeTarget, Merger};

pub use merge::MAX_MERGED_AGAIN;

/// A document as an object. As in Go, null is an empty object.
fn object<'v>(what: &'static str, value: &'v Value) -> Result<&'v Map, Error> {
    static EMPTY: Map = Map::new();
    match value {
        Value::Map(map) => Ok(map),
        Value::Null => Ok(&EMPTY),
        other => Err(Fault::NotAnObject {
            what,
            found: other.kind(),
        }
        .into()),
    }
}

/// Applies a patch to an object. The result shares unchanged parts with the object.
///
/// Directives never become data: in new content they are checked and omitted, and maps with `$patch` are omitted as a whole.
///
/// # Errors
///
/// [`Error`], with the path: faults of the patch, items without merge keys, and merged fields that the schema does not
/// have.
///
/// Behaviour: `StrategicMergePatch` of `k8s.io/apimachinery/pkg/util/strategicpatch`.
///
/// ```
/// use fieldmanager_patch::internal::read_types;
/// use fieldmanager_patch::{PatchTypes, strategic};
/// use fieldmanager_value::Value;
///
/// let types = read_types(&Value::from_yaml(
///     "types: {pod: {containers: {strategy: merge, key: name}}}",
/// )?)?;
/// let schema = types.named("pod").ok_or("the type exists")?;
/// let live = Value::from_yaml("containers: [{name: app, image: a:1}, {name: log, image: l:1}]")?;
/// let patch = Value::from_yaml("containers: [{name: app, image: a:2}, {name: log, $patch: delete}]")?;
/// let new = strategic::apply(&live, &patch, schema)?;
/// assert_eq!(new.to_json(), r#"{"containers":[{"image":"a:2","name":"app"}]}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn apply(original: &Value, patch: &Value, schema: PatchSchema<'_>) -> Result<Value, Error> {
    let (original, patch) = (object("original", original)?, object("patch", patch)?);
    Merger::new(MergeTarget::Apply)
        .map(original, patch, schema, 0)
        .map(Value::Map)
}

/// Creates the patch from the original object to the modified one.
///
/// Values that replace others are copied into the patch without a walk. If the modified object nests deeper than
/// [`MAX_DEPTH`](fieldmanager_value::MAX_DEPTH), so may the patch, and [`apply`] refuses it.
///
/// # Errors
///
/// [`Error`]: lists that cannot be merged, unknown fields that differ.
///
/// Behaviour: `CreateTwoWayMergePatch` of `k8s.io/apimachinery/pkg/util/strategicpatch`.
///
/// ```
/// use fieldmanager_patch::internal::read_types;
/// use fieldmanager_patch::{PatchTypes, strategic};
/// use fieldmanager_value::Value;
///
/// let types = read_types(&Value::from_yaml("types: {spec: {strategy: {strategy: retainKeys}}}")?)?;
/// let schema = types.named("spec").ok_or("the type exists")?;
/// let original = Value::from_yaml("strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}")?;
/// let modified = Value::from_yaml("strategy: {type: Recreate}")?;
/// let patch = strategic::create_two_way(&original, &modified, schema)?;
/// assert_eq!(
///     patch.to_json(),
///     r#"{"strategy":{"$retainKeys":["type"],"rollingUpdate":null,"type":"Recreate"}}"#,
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn create_two_way(
    original: &Value,
    modified: &Value,
    schema: PatchSchema<'_>,
) -> Result<Value, Error> {
    let (original, modified) = (object("original", original)?, object("modified", modified)?);
    Diff {
        part: DiffPart::All,
        order: true,
    }
    .maps(original, modified, schema, false, 0)
    .map(Value::Map)
}

/// Creates the patch of a client that applied the original object before and applies the modified one now, for the current
/// object: it sets fields that differ from the current object, and deletes fields that only the original object has.
///
/// With `overwrite`, changes by others are overwritten; without it they are a conflict.
///
/// # Errors
///
/// [`Error`], as for [`create_two_way`]; [`Fault::Conflict`] with both sides.
///
/// Behaviour: `CreateThreeWayMergePatch` of `k8s.io/apimachinery/pkg/util/strategicpatch`.
///
/// ```
/// use fieldmanager_patch::{Fault, PatchSchema, strategic};
/// use fieldmanager_value::Value;
///
/// let original = Value::from_yaml("{a: 1, b: 1}")?;
/// let modified = Value::from_yaml("{a: 2}")?;
/// let current = Value::from_yaml("{a: 1, b: 1, c: 1}")?;
/// let free = PatchSchema::free();
/// let patch = strategic::create_three_way(&original, &modified, &current, free, false)?;
/// assert_eq!(patch.to_json(), r#"{"a":2,"b":null}"#);
///
/// let current = Value::from_yaml("{a: 3, b: 1}")?;
/// let error = strategic::create_three_way(&original, &modified, &current, free, false).unwrap_err();
/// assert!(matches!(error.fault(), Fault::Conflict { .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn create_three_way(
    original: &Value,
    modified: &Value,
    current: &Value,
    schema: PatchSchema<'_>,
    overwrite: bool,
) -> Result<Value, Error> {
    let original = object("original", original)?;
    let (modified, current) = (object("modified", modified)?, object("current", current)?);
    // The changes lead from the current object to the modified one. Deletions follow from the original, because a
    // field that only the current object has belongs to others.
    let delta = Diff {
        part: DiffPart::Changes,
        order: true,
    }
    .maps(current, modified, schema, false, 0)?;
    let deletions = Diff {
        part: DiffPart::Deletions,
        order: true,
    }
    .maps(original, modified, schema, false, 0)?;

    let patch = Merger::new(MergeTarget::Compose).map(&deletions, &delta, schema, 0)?;
    // Without `overwrite`, a change by others since the original must not be undone.
    if !overwrite {
        let changes = Diff {
            part: DiffPart::All,
            order: false,
        }
        .maps(original, current, schema, false, 0)?;
        if conflicts::maps(&patch, &changes, schema, 0)? {
            let (patch, changes) = (Value::Map(patch), Value::Map(changes));
            return Err(Fault::Conflict { patch, changes }.into());
        }
    }

    Ok(Value::Map(patch))
}

/// Merges several patches into one. If two change the same field, the later one wins.
///
/// Applying the result equals applying all patches one after the other, if they have no `$patch`: as in Go, this directive
/// is applied to the earlier patches and is not part of the result.
///
/// # Errors
///
/// [`Error`]; [`Fault::DirectivesDiffer`] if two patches have different directives for one list or map.
///
/// Behaviour: `MergeStrategicMergeMapPatchUsingLookupPatchMeta` of `k8s.io/apimachinery/pkg/util/strategicpatch`.
///
/// ```
/// use fieldmanager_patch::{PatchSchema, strategic};
/// use fieldmanager_value::Value;
/// let patches = [Value::from_yaml("{a: 1, b: 1}")?, Value::from_yaml("{b: null}")?];
/// let merged = strategic::merge_patches(&patches, PatchSchema::free())?;
/// assert_eq!(merged.to_json(), r#"{"a":1,"b":null}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn merge_patches<'v>(
    patches: impl IntoIterator<Item = &'v Value>,
    schema: PatchSchema<'_>,
) -> Result<Value, Error> {
    let mut merged = Map::new();
    for patch in patches {
        merged =
            Merger::new(MergeTarget::Compose).map(&merged, object("patch", patch)?, schema, 0)?;
    }
    Ok(Value::Map(merged))
}

/// Whether two patches set the same field to different values. Lists that are merged by value never conflict.
///
/// # Errors
///
/// [`Error`]: lists that cannot be merged, fields that the schema does not have.
///
/// Behaviour: `MergingMapsHaveConflicts` of `k8s.io/apimachinery/pkg/util/strategicpatch`.
///
/// ```
/// use fieldmanager_patch::{PatchSchema, strategic};
/// use fieldmanager_value::Value;
/// let (left, right) = (Value::from_yaml("{a: 1, b: 1}")?, Value::from_yaml("{b: 2}")?);
/// assert!(strategic::has_conflicts(&left, &right, PatchSchema::free())?);
/// assert!(!strategic::has_conflicts(&left, &left, PatchSchema::free())?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn has_conflicts(left: &Value, right: &Value, schema: PatchSchema<'_>) -> Result<bool, Error> {
    conflicts::maps(
        object("left patch", left)?,
        object("right patch", right)?,
        schema,
        0,
    )
}
