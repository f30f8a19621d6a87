//! Bytes to bytes: parses an object with its managed fields from JSON, applies, and writes JSON.

use std::rc::Rc;

use fieldmanager_managedfields::{ApplyRequest, FieldManager, Time, UpdateRequest};
use fieldmanager_openapi::{GroupVersionKind, Types};
use fieldmanager_schema::Schema;
use fieldmanager_value::Value;

use crate::measure::{Prepared, reused};
use crate::objects::{Object, object, schema_text};

/// The configurations: the one that the manager applied before, the same with one label changed, and both with a field
/// manager that deduces the structure.
pub const CASES: [&str; 4] = ["same", "change", "same-deduced", "change-deduced"];

/// The live object and the configuration of a case.
#[derive(Clone, Debug)]
pub struct Texts {
    /// The object with its managed fields.
    pub live: String,
    /// The configuration.
    pub config: String,
}

/// The manager that applied the object, and applies it again.
const MANAGER: &str = "deployer";

fn noon(hour: i64) -> Time {
    Time::from_unix_seconds(1_772_442_000 + 3600 * hour).unwrap()
}

pub(super) fn field_manager(object: &Object, deduced: bool) -> FieldManager {
    let value = Value::from_json(&object.json).unwrap();
    let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
    let kind = GroupVersionKind::from_api_version_kind(text("apiVersion"), text("kind"));
    let builder = FieldManager::builder(kind);
    if deduced {
        return builder.build().unwrap();
    }
    builder
        .types(Types::from(
            Schema::from_yaml(schema_text(object.schema)).unwrap(),
        ))
        .build()
        .unwrap()
}

/// The JSON of a case: the object as applied by `deployer`, with a status written by a controller.
pub fn texts(name: &str, what: &str) -> Option<Texts> {
    let object = object(name)?;
    let manager = field_manager(&object, what.ends_with("-deduced"));
    let whole = Value::from_json(&object.json).unwrap();
    let mut config: serde_json::Value = serde_json::from_str(&object.json).unwrap();
    config.as_object_mut()?.remove("status");
    // Configurations do not have the fields that the server sets.
    let metadata = config.get_mut("metadata")?.as_object_mut()?;
    for name in [
        "creationTimestamp",
        "resourceVersion",
        "uid",
        "generateName",
    ] {
        metadata.remove(name);
    }
    let applied = Value::from_json(&config.to_string()).unwrap();
    let first = manager
        .apply(
            ApplyRequest::new(&Value::Null, &applied)
                .manager(MANAGER)
                .at(noon(0)),
        )
        .unwrap();
    let list = first.managed;
    let live = manager
        .update(
            UpdateRequest::new(&first.object, &list.set_in(&whole))
                .manager("controller")
                .at(noon(1)),
        )
        .unwrap();
    if what.starts_with("change") {
        config["metadata"]["labels"]["app"] = "changed".into();
    }
    Some(Texts {
        live: live.object.to_json(),
        config: config.to_string(),
    })
}

pub(super) fn prepare(name: &str, what: &str) -> Option<Prepared> {
    let what = CASES.iter().find(|known| **known == what)?;
    let manager = field_manager(&object(name)?, what.ends_with("-deduced"));
    let Texts { live, config } = texts(name, what)?;
    let step = Rc::new(move || apply(&manager, &live, &config));
    let output = step.clone();
    let run = reused(move || step());
    Some(Prepared {
        run,
        output: Box::new(move || without_times(&output())),
    })
}

/// Parses, applies and writes.
pub(crate) fn apply(manager: &FieldManager, live: &str, config: &str) -> String {
    let live = Value::from_json(live).unwrap();
    let config = Value::from_json(config).unwrap();
    manager
        .apply(
            ApplyRequest::new(&live, &config)
                .manager(MANAGER)
                .at(noon(2)),
        )
        .unwrap()
        .object
        .to_json()
}

/// The object without times, because Go reads the clock.
fn without_times(text: &str) -> serde_json::Value {
    let mut object: serde_json::Value = serde_json::from_str(text).unwrap();
    for entry in object["metadata"]["managedFields"].as_array_mut().unwrap() {
        entry.as_object_mut().unwrap().remove("time");
    }
    object
}

/// A field manager and the JSON of an apply, which threads share.
pub struct SharedApply {
    manager: FieldManager,
    texts: Texts,
}

impl SharedApply {
    /// Parses, applies and writes once.
    pub fn run(&self) {
        std::hint::black_box(apply(&self.manager, &self.texts.live, &self.texts.config));
    }
}

/// The apply of a change to an object, to be run by several threads.
pub fn shared_apply(name: &str) -> Option<SharedApply> {
    Some(SharedApply {
        manager: field_manager(&object(name)?, false),
        texts: texts(name, "change")?,
    })
}
