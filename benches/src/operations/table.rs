//! The table of the Go package's benchmark (`merge/real_test.go`).
//!
//! As in that benchmark, a run starts without an object and with a new updater, objects are typed beforehand, and all
//! runs use the same objects, so the library has cached the index of a large list from the second run on. In *fresh*
//! cells every run has new objects: nothing is cached with them, and they are not in the processor's cache either.

use fieldmanager_merge::{ApplyRequest, Updater};
use fieldmanager_schema::Type;
use fieldmanager_typed::{Duplicates, TypedValue};
use fieldmanager_value::{Str, Value};

use super::state::State;
use crate::measure::{Prepared, fresh, reused};
use crate::objects::{Object, object};

/// The operations.
pub const OPERATIONS: [&str; 6] = [
    "Create",
    "Apply",
    "ApplyTwice",
    "ApplyTwiceNoCompare",
    "Update",
    "UpdateVersion",
];

/// Operations that the Go package's benchmark does not have: an apply that conflicts with that of another manager in
/// many fields, and the comparison of these two objects.
const OTHERS: [&str; 2] = ["Conflict", "Compare"];

type Inputs = (TypedValue, TypedValue);

pub(super) fn prepare(name: &str, operation: &str, reuse: bool) -> Option<Prepared> {
    let object = object(name)?;
    let ty = object.ty();
    if OTHERS.contains(&operation) {
        return Some(changed(operation, &object, &ty));
    }
    let operation = *OPERATIONS.iter().find(|known| **known == operation)?;
    let output = {
        let (object, ty) = (object.clone(), ty.clone());
        Box::new(move || run(operation, &ty, &inputs(operation, &object, &ty)).output())
    };
    // Small objects are processed in batches, because reading the clock for each would change the result. The Go side
    // has batches of the same size.
    let batch = (100_000 / object.json.len() as u64).max(1);
    let run = if reuse {
        let inputs = inputs(operation, &object, &ty);
        reused(move || run(operation, &ty, &inputs))
    } else {
        let for_inputs = ty.clone();
        fresh(
            batch,
            move || inputs(operation, &object, &for_inputs),
            move |inputs| run(operation, &ty, inputs),
        )
    };
    Some(Prepared { run, output })
}

/// Each operation of a run has its own object, as in Go.
fn inputs(operation: &str, object: &Object, ty: &Type) -> Inputs {
    let duplicates = if operation.starts_with("Apply") {
        Duplicates::Refuse
    } else {
        Duplicates::Allow
    };
    let first = object.read(ty, duplicates);
    let second = match operation {
        "Create" | "Apply" => first.clone(),
        _ => object.read(ty, duplicates),
    };
    (first, second)
}

fn run(operation: &str, ty: &Type, (first, second): &Inputs) -> State {
    let updater = Updater::builder()
        .return_input_on_noop(operation == "ApplyTwiceNoCompare")
        .build();
    let nothing = State::nothing(ty);
    match operation {
        "Create" => nothing.update(&updater, first, "controller", "v1"),
        "Apply" => nothing.apply(&updater, first, "controller", false),
        "Update" | "UpdateVersion" => {
            let version = if operation == "Update" { "v1" } else { "v2" };
            let state = nothing.update(&updater, first, "controller", "v1");
            state.update(&updater, second, "other-controller", version)
        }
        _ => {
            let state = nothing.apply(&updater, first, "controller", false);
            state.apply(&updater, second, "other-controller", false)
        }
    }
}

fn changed(operation: &str, object: &Object, ty: &Type) -> Prepared {
    let first = object.read(ty, Duplicates::Refuse);
    let second = change(first.value());
    let second = TypedValue::new(second, ty.clone(), Duplicates::Refuse).unwrap();
    let output = first.compare(&second).unwrap().modified.to_string();
    let run = if operation == "Compare" {
        reused(move || first.compare(&second).unwrap())
    } else {
        let updater = Updater::builder().build();
        let state = State::nothing(ty).apply(&updater, &first, "controller", false);
        reused(move || {
            let request = ApplyRequest::new(&state.live, &second)
                .version("v1")
                .owners(&state.owners);
            updater
                .apply(request.manager("other-controller"))
                .unwrap_err()
        })
    };
    Prepared {
        run,
        output: Box::new(move || output.clone().into()),
    }
}

/// The value with changed strings, except for common key fields.
fn change(value: &Value) -> Value {
    match value {
        Value::String(text) => format!("{text}-changed").into(),
        Value::List(list) => list.iter().map(change).collect::<Vec<_>>().into(),
        Value::Map(map) => {
            let kept =
                |name: &str| ["name", "key", "type", "mountPath", "ip", "uid"].contains(&name);
            let entry = |(name, value): (&Str, &Value)| {
                (
                    name.clone(),
                    if kept(name) {
                        value.clone()
                    } else {
                        change(value)
                    },
                )
            };
            Value::Map(map.iter().map(entry).collect())
        }
        other => other.clone(),
    }
}
