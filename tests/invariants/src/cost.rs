//! The cost of operations on hostile input.

use fieldmanager_managedfields::{ApplyRequest, FieldManager, PatchRequest, Time, UpdateRequest};
use fieldmanager_openapi::{Importer, Types};
use fieldmanager_patch::PatchType;
use fieldmanager_structural::crd::CustomResource;
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_typed::{Duplicates, TypedValue};
use fieldmanager_value::Value;

/// Runs every operation that accepts untrusted input and returns the number of bytes written.
///
/// The input is a YAML stream of up to four documents: the source of the types, the live object, a configuration, and a
/// patch, which is a JSON patch if it is a list. Without a source of types, the types are deduced. A rejected document
/// ends the run, and its error message counts as output.
///
/// The caller measures the work. It must be linear in the length of the input, with the factors given by
/// [`check_cost`].
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
        match types
            .for_object(object)
            .map(|ty| TypedValue::new(object.clone(), ty, Duplicates::Allow))
        {
            Ok(Ok(value)) => *written += value.field_set().to_json().len(),
            Ok(Err(errors)) => *written += errors.to_string().len(),
            Err(error) => *written += error.to_string().len(),
        }
    }
    let Some(kind) = live.complete_kind() else {
        return;
    };
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
    let (Ok(manager), Ok(now)) = (builder.build(), Time::from_unix_seconds(0)) else {
        return;
    };
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
            *written += serde_json::to_string(&error.status())
                .unwrap_or_default()
                .len();
            None
        }
    };
    note(manager.apply(ApplyRequest::new(live, config).manager("alice").at(now)));
    let applied = note(
        manager.apply(
            ApplyRequest::new(live, config)
                .manager("alice")
                .force()
                .at(now),
        ),
    );
    let updated = note(manager.update(UpdateRequest::new(live, config).manager("bob").at(now)));
    for object in [applied, updated].into_iter().flatten() {
        note(
            manager.apply(
                ApplyRequest::new(&object, config)
                    .manager("alice")
                    .force()
                    .at(now),
            ),
        );
    }
    if patch.is_null() {
        return;
    }
    let how = if patch.as_list().is_some() {
        PatchType::Json
    } else {
        PatchType::Merge
    };
    note(manager.patch(PatchRequest::new(live, patch, how).manager("carol").at(now)));
    if how == PatchType::Merge {
        let types = fieldmanager_patch::builtin::types();
        let strategic = PatchRequest::new(live, patch, PatchType::Strategic);
        note(
            manager.patch(
                strategic
                    .schema(types.for_object(live))
                    .manager("carol")
                    .at(now),
            ),
        );
    }
}

/// The measured cost of [`run_cost`].
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// The length of the input.
    pub input: usize,
    /// The number of allocations.
    pub allocations: u64,
    /// The total size of all allocations, including freed ones.
    pub bytes: u64,
    /// The number of bytes written, as returned by [`run_cost`].
    pub written: usize,
}

/// Checks that the work of [`run_cost`] is proportional to its input, except for work bounded by constant limits: 16
/// MiB of expanded aliases and as many bytes of defaults, each printed several times, and 1,000,000 items that a patch
/// merges again.
///
/// For all attacks at every size and for generated values, `tests/cost.rs` measured at most a tenth of the accepted
/// allocations, a third of the accepted bytes and an eighth of the accepted output, in debug builds.
///
/// This bounds allocations, not steps: slow code that does not allocate is detected by the measurement of processor
/// time in `tests/cost.rs` and by the time limit of the fuzzer.
///
/// # Errors
///
/// A message that describes the exceeded bound.
pub fn check_cost(cost: Cost) -> Result<(), String> {
    for (metric, found, most) in cost.bounds() {
        let input = cost.input;
        ensure!(
            found <= most,
            "{found} {metric} for {input} bytes of input, expected at most {most}"
        );
    }
    Ok(())
}

impl Cost {
    /// Each metric with its name, its value and its bound.
    pub fn bounds(self) -> [(&'static str, u64, u64); 3] {
        let [input, written] =
            [self.input, self.written].map(|n| u64::try_from(n).unwrap_or(u64::MAX));
        let linear = |constant: u64, each_read: u64, each_written: u64| {
            constant
                .saturating_add(input.saturating_mul(each_read))
                .saturating_add(written.saturating_mul(each_written))
        };
        // Merging items again costs the product of the number of items and the size of the target, up to the limit.
        let merged_again = (input.saturating_mul(input) / 2).min(2 << 30);
        [
            ("allocations", self.allocations, linear(100_000, 10, 1)),
            (
                "allocated bytes",
                self.bytes,
                linear(16 << 20, 1_000, 100).saturating_add(merged_again),
            ),
            ("written bytes", written, linear(256 << 20, 1_000, 0)),
        ]
    }
}
