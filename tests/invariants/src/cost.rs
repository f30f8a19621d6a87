//! The cost of operations on hostile input.

use fieldmanager_managedfields::{FieldManager, Force, Time};
use fieldmanager_openapi::crd::CustomResource;
use fieldmanager_openapi::{GroupVersionKind, Importer, Types};
use fieldmanager_patch::PatchType;
use fieldmanager_typed::{Duplicates, TypedValue};
use fieldmanager_value::Value;

/// Runs every operation that reads untrusted input, and returns the number of bytes that they write.
///
/// The text is a YAML stream of up to four documents: the source of the types, the live object, a configuration, and a
/// patch, which is a JSON patch if it is a list. If the first document has no types, the types are deduced. What is
/// refused ends there; its message is written too.
///
/// The caller measures the work. It must be linear in the length of the text: [`check_cost`] says by which factors.
pub fn run_cost(text: &str) -> usize {
    let mut written = 0;
    match Value::all_from_yaml(text) {
        Ok(documents) => operate(&documents, &mut written),
        Err(error) => written += error.to_string().len(),
    }
    written
}

fn operate(documents: &[Value], written: &mut usize) {
    let null = Value::Null;
    let document = |i: usize| documents.get(i).unwrap_or(&null);
    let (source, live, config, patch) = (document(0), document(1), document(2), document(3));
    for document in documents {
        *written += document.to_json().len() + document.to_yaml().len();
    }
    let types = match Types::load_all(std::slice::from_ref(source), &Importer::new()) {
        Ok(imported) => Some(imported.types),
        Err(error) => {
            *written += error.to_string().len();
            None
        }
    };
    for object in [live, config] {
        let Some(types) = &types else { break };
        match types.of_object(object).map(|ty| TypedValue::new(object.clone(), ty, Duplicates::Allow)) {
            Ok(Ok(value)) => *written += value.field_set().to_json().len(),
            Ok(Err(errors)) => *written += errors.to_string().len(),
            Err(error) => *written += error.to_string().len(),
        }
    }
    let Some(kind) = GroupVersionKind::of_object(live) else { return };
    if let Ok(resource) = CustomResource::from_value(source)
        && let Ok(Some(structural)) = resource.structural(&kind.version)
    {
        match structural.default_object(live) {
            Ok(object) => *written += object.to_json().len(),
            Err(error) => *written += error.to_string().len(),
        }
    }
    let builder = FieldManager::builder(kind);
    let builder = match types.filter(|types| types.kinds().next().is_some()) {
        Some(types) => builder.types(types),
        None => builder,
    };
    let (Ok(manager), Ok(now)) = (builder.build(), Time::from_unix_seconds(0)) else { return };
    let mut note = |outcome: Result<
        fieldmanager_managedfields::Outcome,
        fieldmanager_managedfields::Error,
    >| match outcome {
        Ok(outcome) => {
            *written += outcome.object.to_json().len();
            Some(outcome.object)
        }
        Err(error) => {
            *written += error.to_string().len();
            *written += serde_json::to_string(&error.status()).unwrap_or_default().len();
            None
        }
    };
    note(manager.apply(live, config, "alice", Force::No, now));
    let applied = note(manager.apply(live, config, "alice", Force::Yes, now));
    let updated = note(manager.update(live, config, "bob", now));
    for object in [applied, updated].into_iter().flatten() {
        note(manager.apply(&object, config, "alice", Force::Yes, now));
    }
    if patch.is_null() {
        return;
    }
    let how = if patch.as_list().is_some() { PatchType::Json } else { PatchType::Merge };
    note(manager.patch(live, patch, how, None, "carol", now));
    if how == PatchType::Merge {
        let types = fieldmanager_patch::builtin::types();
        note(manager.patch(live, patch, PatchType::Strategic, types.of_object(live), "carol", now));
    }
}

/// What [`run_cost`] may allocate: a constant and a factor for each byte of input. Measured over the seeds and the
/// attacks in debug and release builds, ordinary input needs up to 1/10 of each.
const ALLOCATIONS: (u64, u64) = (20_000, 100);
const BYTES: (u64, u64) = (32 << 20, 40_000);
/// What it may write.
const WRITTEN: (u64, u64) = (1 << 20, 2_000);

/// Checks that the work of [`run_cost`] is in proportion to its input.
///
/// # Errors
///
/// Which amount exceeds its bound.
pub fn check_cost(input: usize, allocations: u64, bytes: u64, written: usize) -> Result<(), String> {
    let input = u64::try_from(input).unwrap_or(u64::MAX);
    let written = u64::try_from(written).unwrap_or(u64::MAX);
    for (what, found, (constant, factor)) in [
        ("allocations", allocations, ALLOCATIONS),
        ("allocated bytes", bytes, BYTES),
        ("written bytes", written, WRITTEN),
    ] {
        let most = constant.saturating_add(input.saturating_mul(factor));
        ensure!(found <= most, "{found} {what} for {input} bytes of input, expected at most {most}");
    }
    Ok(())
}
