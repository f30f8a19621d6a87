//! Results of requests round-trip and are valid input for further requests.

use fieldmanager_managedfields::{
    ApplyRequest, ErrorKind, FieldManager, ManagedFields, Outcome, Time, UpdateRequest,
};
use fieldmanager_openapi::GroupVersionKind;
use fieldmanager_value::{MAX_DEPTH, Map, Value};

use crate::choices::Choices;
use crate::objects::{Make, object};
use crate::schemas::ROOTS;

const MANAGERS: [&str; 3] = ["alice", "bob", "carol"];
const STEPS: i64 = 6;

/// Runs requests derived from bytes and checks their outcomes.
pub(crate) fn check_requests(bytes: &[u8]) -> Result<(), String> {
    let kind = GroupVersionKind::from_api_version_kind("v1", "ConfigMap");
    let manager = FieldManager::builder(kind)
        .build()
        .map_err(|error| error.to_string())?;
    let mut choices = Choices::new(bytes);
    let mut live = Value::Null;
    for second in 0..STEPS {
        let now = Time::from_unix_seconds(second).map_err(|error| error.to_string())?;
        let new = request_object(&mut choices);
        let name = choices.pick(&MANAGERS);
        let result = match choices.below(3) {
            0 => manager.update(UpdateRequest::new(&live, &new).manager(name).at(now)),
            1 => manager.apply(ApplyRequest::new(&live, &new).manager(name).at(now)),
            _ => manager.apply(ApplyRequest::new(&live, &new).manager(name).force().at(now)),
        };
        match result {
            Ok(outcome) => {
                live = reparsed(&outcome)?;
                let again = manager.update(UpdateRequest::new(&live, &live).manager(name).at(now));
                let again = again.map_err(|error| {
                    format!("an update with the returned object fails: {error}")
                })?;
                ensure!(
                    !again.changed,
                    "an update without changes returns {} for {live}",
                    again.object
                );
            }
            Err(error) => ensure!(
                matches!(error.kind(), ErrorKind::Conflict | ErrorKind::Request),
                "the result of an earlier request is rejected: {error}"
            ),
        }
        if choices.is_exhausted() {
            break;
        }
    }
    Ok(())
}

/// Parses the JSON of the object of an outcome.
fn reparsed(outcome: &Outcome) -> Result<Value, String> {
    let json = outcome.object.to_json();
    let read =
        Value::from_json(&json).map_err(|error| format!("an outcome cannot be parsed: {error}"))?;
    ensure!(
        read == outcome.object,
        "the outcome differs after reparsing: {read}, {json}"
    );
    let managed = ManagedFields::of_object(&read).map_err(|error| error.to_string())?;
    ensure!(
        managed.entries() == outcome.managed.entries(),
        "the entries differ after reparsing: {managed:?}, {:?}",
        outcome.managed
    );
    Ok(read)
}

/// Generates an object, sometimes with a depth around the limit.
fn request_object(choices: &mut Choices<'_>) -> Value {
    let levels = match choices.one_in(3) {
        true => MAX_DEPTH - 12 + choices.below(16),
        false => choices.below(3),
    };
    let ty = ROOTS.get(choices.below(ROOTS.len()));
    let innermost = ty
        .map(|ty| object(choices, ty, Make::default()))
        .unwrap_or_default();
    let data = (0..levels).fold(innermost, |below, _| Map::single("a", below).into());
    let fields = [
        ("apiVersion", Value::from("v1")),
        ("kind", "ConfigMap".into()),
        ("data", data),
    ];
    Value::Map(fields.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invariants_hold_around_the_depth_limit() {
        let mut state = 1_u64;
        let mut byte = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state.to_be_bytes()[0]
        };
        for _ in 0..100 {
            let bytes: Vec<u8> = (0..200).map(|_| byte()).collect();
            check_requests(&bytes).unwrap();
        }
    }
}
