//! The public API of the updater. The rules of ownership are tested by the scenarios in `tests/scenarios`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot read its own table must fail"
)]

use fieldmanager_fieldpath::{ApiVersion, Filter, Matcher, Owners, Set, VersionedSet};
use fieldmanager_merge::{
    Applied, ApplyRequest, ConvertError, Converter, Error, ErrorKind, Stage, UpdateRequest,
    Updated, Updater,
};
use fieldmanager_schema::{Schema, Type};
use fieldmanager_typed::{Duplicates, TypedValue};
use fieldmanager_value::{Map, Value};

const SCHEMA: &str = "
types:
- name: v1
  map:
    fields:
    - {name: replicas, type: {scalar: numeric}}
    - {name: image, type: {scalar: string}}
    - {name: labels, type: {map: {elementType: {scalar: string}}}}
    - {name: args, type: {list: {elementType: {scalar: string}, elementRelationship: atomic}}}
    - {name: items, type: {list: {elementType: {namedType: item}, elementRelationship: associative, keys: [name]}}}
- name: v2
  map:
    fields:
    - {name: count, type: {scalar: numeric}}
    - {name: image, type: {scalar: string}}
    - {name: labels, type: {map: {elementType: {scalar: string}}}}
    - {name: args, type: {list: {elementType: {scalar: string}, elementRelationship: atomic}}}
    - {name: items, type: {list: {elementType: {namedType: item}, elementRelationship: associative, keys: [name]}}}
- name: item
  map:
    fields:
    - {name: name, type: {scalar: string}}
    - {name: value, type: {scalar: numeric}}
";

fn ty(version: &str) -> Type {
    static SCHEMA_READ: std::sync::LazyLock<Schema> =
        std::sync::LazyLock::new(|| Schema::from_yaml(SCHEMA).unwrap());
    SCHEMA_READ
        .type_named(version)
        .unwrap_or_else(|| panic!("no type {version}"))
}

fn typed(yaml: &str, version: &str) -> TypedValue {
    let value = Value::from_yaml(yaml).unwrap();
    TypedValue::new(value, ty(version), Duplicates::Allow)
        .unwrap_or_else(|error| panic!("{error}: {yaml}"))
}

/// `replicas` at v1 is `count` at v2; v0 no longer exists; conversion to v3 fails.
struct Renaming;

impl Converter for Renaming {
    fn convert(
        &self,
        object: &TypedValue,
        version: &ApiVersion,
    ) -> Result<TypedValue, ConvertError> {
        let missing = ConvertError::MissingVersion {
            version: version.clone(),
        };
        let failed = |message: &str| ConvertError::Failed {
            version: version.clone(),
            message: message.into(),
        };
        let (old, new) = match version.as_str() {
            "v1" => ("count", "replicas"),
            "v2" => ("replicas", "count"),
            "v3" => return Err(failed("the webhook does not answer")),
            _ => return Err(missing),
        };
        let value = match object.value() {
            Value::Map(map) => {
                let renamed = map.iter().map(|(name, value)| {
                    (
                        if *name == old {
                            new.into()
                        } else {
                            name.clone()
                        },
                        value.clone(),
                    )
                });
                Value::Map(renamed.collect::<Map>())
            }
            other => other.clone(),
        };
        TypedValue::new(value, ty(version.as_str()), Duplicates::Allow)
            .map_err(|e| failed(&e.to_string()))
    }
}

/// An object with its owners, and the updater.
struct State {
    updater: Updater,
    live: TypedValue,
    owners: Owners,
}

impl State {
    fn new(updater: Updater) -> Self {
        State {
            updater,
            live: TypedValue::null(ty("v1")),
            owners: Owners::new(),
        }
    }

    fn plain() -> Self {
        Self::new(Updater::builder().build())
    }

    fn versioned() -> Self {
        Self::new(Updater::builder().converter(Renaming).build())
    }

    /// The live object at the version of a request.
    fn at(&self, version: &str) -> TypedValue {
        if self.live.ty() == &ty(version) {
            return self.live.clone();
        }
        Renaming.convert(&self.live, &version.into()).unwrap()
    }

    fn try_apply(
        &self,
        manager: &str,
        version: &str,
        config: &str,
        force: bool,
    ) -> Result<Applied, Error> {
        let config = typed(config, version);
        self.updater.apply(
            ApplyRequest::new(&self.at(version), &config)
                .version(version)
                .owners(&self.owners)
                .manager(manager)
                .force_if(force),
        )
    }

    fn keep(&mut self, applied: Applied, version: &str) {
        self.live = applied.object.unwrap_or_else(|| self.at(version));
        self.owners = applied.owners;
    }

    fn apply(&mut self, manager: &str, version: &str, config: &str) -> &mut Self {
        let applied = self.try_apply(manager, version, config, false).unwrap();
        self.keep(applied, version);
        self
    }

    fn force(&mut self, manager: &str, version: &str, config: &str) -> &mut Self {
        let applied = self.try_apply(manager, version, config, true).unwrap();
        self.keep(applied, version);
        self
    }

    fn update(&mut self, manager: &str, version: &str, object: &str) -> &mut Self {
        let new = typed(object, version);
        let updated = self.updater.update(
            UpdateRequest::new(&self.at(version), &new)
                .version(version)
                .owners(&self.owners)
                .manager(manager),
        );
        let Updated { object, owners, .. } = updated.unwrap();
        (self.live, self.owners) = (object, owners);
        self
    }

    fn error(&self, manager: &str, version: &str, config: &str) -> Error {
        self.try_apply(manager, version, config, false).unwrap_err()
    }

    /// Checks the object and its owners, one manager per line.
    fn check(&mut self, object: &str, owners: &[&str]) -> &mut Self {
        assert_eq!(self.live.value(), &Value::from_yaml(object).unwrap());
        let found: Vec<String> = self
            .owners
            .iter()
            .map(|(name, entry)| {
                let operation = if entry.is_applied() {
                    "applied"
                } else {
                    "updated"
                };
                let paths: Vec<String> = entry.set().paths().map(|path| path.to_string()).collect();
                format!(
                    "{name} {operation} {}: {}",
                    entry.api_version(),
                    paths.join(" ")
                )
            })
            .collect();
        assert_eq!(found, owners);
        self
    }
}

#[test]
fn an_apply_owns_and_prunes_its_fields() {
    State::plain()
        .apply("a", "v1", "{replicas: 1, labels: {x: p}}")
        .check(
            "{replicas: 1, labels: {x: p}}",
            &["a applied v1: .replicas .labels.x"],
        )
        .apply("b", "v1", "{replicas: 1, image: i}")
        .check(
            "{replicas: 1, image: i, labels: {x: p}}",
            &[
                "a applied v1: .replicas .labels.x",
                "b applied v1: .image .replicas",
            ],
        )
        .apply("a", "v1", "{labels: {z: p}}")
        .check(
            "{replicas: 1, image: i, labels: {z: p}}",
            &["a applied v1: .labels.z", "b applied v1: .image .replicas"],
        )
        .apply("b", "v1", "{}")
        .check("{labels: {z: p}}", &["a applied v1: .labels.z"]);
}

#[test]
fn an_update_owns_what_it_changes() {
    State::plain()
        .apply("a", "v1", "{replicas: 1, labels: {x: p}}")
        .update("u", "v1", "{replicas: 2, labels: {x: p}, image: i}")
        .check(
            "{replicas: 2, image: i, labels: {x: p}}",
            &["a applied v1: .labels.x", "u updated v1: .image .replicas"],
        )
        .update("u", "v1", "{replicas: 2}")
        .check("{replicas: 2}", &["u updated v1: .replicas"])
        .update("w", "v1", "{replicas: 2}")
        .check("{replicas: 2}", &["u updated v1: .replicas"])
        .update("w", "v1", "null")
        .check("null", &[]);
}

#[test]
fn a_forced_apply_takes_fields() {
    State::plain()
        .apply("a", "v1", "{replicas: 1, image: i}")
        .force("b", "v1", "{replicas: 2}")
        .check(
            "{replicas: 2, image: i}",
            &["a applied v1: .image", "b applied v1: .replicas"],
        )
        .force("b", "v1", "{image: k}")
        .check("{image: k}", &["b applied v1: .image"]);
}

/// An unchanged object is returned only with `return_input_on_noop`.
#[test]
fn an_apply_without_effect_returns_no_object() {
    let mut state = State::plain();
    state.apply("a", "v1", "{replicas: 1}");
    let again = state
        .try_apply("a", "v1", "{replicas: 1.0}", false)
        .unwrap();
    assert!(again.object.is_none());
    assert_eq!(again.owners, state.owners);
    // Ownership may change nevertheless.
    let shared = state.try_apply("b", "v1", "{replicas: 1}", false).unwrap();
    assert!(shared.object.is_none());
    assert_eq!(shared.owners.len(), 2);

    state.updater = Updater::builder().return_input_on_noop(true).build();
    let again = state.try_apply("a", "v1", "{replicas: 1}", false).unwrap();
    assert!(again.object.unwrap().value().ptr_eq(state.live.value()));
    // The first apply, of an empty configuration.
    let nothing = State::plain().try_apply("a", "v1", "null", false).unwrap();
    assert!(nothing.object.is_none() && nothing.owners.is_empty());
}

/// Unchanged parts are not copied.
#[test]
fn results_share_unchanged_parts() {
    let mut state = State::plain();
    state.apply(
        "a",
        "v1",
        "{replicas: 1, labels: {x: p}, items: [{name: n1, value: 1}]}",
    );
    let before = state.live.clone();
    state.apply("b", "v1", "{image: i}");
    for name in ["labels", "items"] {
        assert!(
            state
                .live
                .value()
                .get(name)
                .unwrap()
                .ptr_eq(before.value().get(name).unwrap()),
            "{name}"
        );
    }
}

#[test]
fn one_conflict_is_one_line() {
    let mut state = State::plain();
    state.apply("a", "v1", "{replicas: 1}");
    let error = state.error("b", "v1", "{replicas: 2}");
    assert_eq!(error.to_string(), r#"conflict with "a": .replicas"#);
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let conflicts = error.conflicts().unwrap();
    assert_eq!(conflicts.len(), 1);
    assert_eq!(
        conflicts.iter().next().unwrap().to_string(),
        error.to_string()
    );
}

#[test]
fn several_conflicts_are_grouped_by_manager() {
    let mut state = State::plain();
    state.apply("b \"q\"", "v1", "{image: i}").apply(
        "a",
        "v1",
        "{replicas: 1, labels: {x: p, z: p}, args: [u], items: [{name: n1, value: 1}]}",
    );
    let config = "{replicas: 2, image: k, labels: {x: r, z: r, w: r}, args: [v], items: [{name: n1, value: 2}]}";
    let error = state.error("c", "v1", config);
    assert_eq!(
        error.to_string(),
        "conflicts with \"a\":\n- .args\n- .replicas\n- .items[name=\"n1\"].value\n- .labels.x\n- .labels.z\n\
         conflicts with \"b \\\"q\\\"\":\n- .image"
    );
    let values: Vec<String> = error
        .conflicts()
        .unwrap()
        .into_iter()
        .map(|conflict| {
            let shown =
                |value: &Option<Value>| value.as_ref().map_or("nothing".into(), Value::to_json);
            format!(
                "{} {}: {} -> {}",
                conflict.manager,
                conflict.path,
                shown(&conflict.live),
                shown(&conflict.wanted)
            )
        })
        .collect();
    assert_eq!(
        values,
        [
            r#"a .args: ["u"] -> ["v"]"#,
            "a .replicas: 1 -> 2",
            r#"a .items[name="n1"].value: 1 -> 2"#,
            r#"a .labels.x: "p" -> "r""#,
            r#"a .labels.z: "p" -> "r""#,
            r#"b "q" .image: "i" -> "k""#,
        ]
    );
    // With force all other managers lose their fields and are dropped.
    let forced = state.try_apply("c", "v1", config, true).unwrap();
    let left: Vec<&str> = forced
        .owners
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(left, ["a", "c"]);
    let items = r#"{"f:items":{"k:{\"name\":\"n1\"}":{".":{},"f:name":{}}}}"#;
    assert_eq!(forced.owners.get("a").unwrap().set().to_json(), items);
}

#[test]
fn a_missing_field_can_have_an_owner() {
    let mut state = State::plain();
    state.apply("a", "v1", "{replicas: 1}");
    // The object was stored without the library.
    state.live = typed("{}", "v1");
    let error = state.error("b", "v1", "{replicas: 2}");
    let conflict = error.conflicts().unwrap().iter().next().unwrap();
    assert_eq!(
        (&conflict.live, &conflict.wanted),
        (&None, &Some(Value::from(2)))
    );
}

#[test]
fn an_error_changes_neither_object_nor_owners() {
    let mut state = State::plain();
    state
        .apply("a", "v1", "{replicas: 1}")
        .update("u", "v1", "{replicas: 1, image: i}");
    let (owners, live) = (state.owners.clone(), state.live.clone());
    state.error("a", "v1", "{image: k}");
    state.error("b", "v1", "{replicas: 2, labels: {x: p}}");
    assert_eq!(state.owners, owners);
    assert!(state.live.value().ptr_eq(live.value()));
}

#[test]
fn objects_of_different_types_are_refused() {
    let state = State::plain();
    let (one, two) = (typed("{}", "v1"), typed("{}", "v2"));
    let none = Owners::new();
    let error = state
        .updater
        .apply(
            ApplyRequest::new(&one, &two)
                .version("v1")
                .owners(&none)
                .manager("a"),
        )
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "failed to merge the configuration: expected objects of one type, got `v1` and `v2`"
    );
    assert_eq!(error.kind(), ErrorKind::Objects);
    assert!(error.conflicts().is_none());
    let error = state
        .updater
        .update(
            UpdateRequest::new(&one, &two)
                .version("v1")
                .owners(&none)
                .manager("a"),
        )
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "failed to compare the objects: expected objects of one type, got `v1` and `v2`"
    );
    assert!(matches!(
        error,
        Error::Typed {
            stage: Stage::Compare,
            ..
        }
    ));
    // The configuration was not checked for duplicates.
    let error = state.error("a", "v1", "{items: [{name: n1}, {name: n1}]}");
    assert_eq!(
        error.to_string(),
        r#"failed to merge the configuration: .items[name="n1"]: duplicate entries for one key"#
    );
}

#[test]
fn an_invalid_schema_is_an_error_of_the_schema() {
    let schema =
        Schema::from_yaml("types: [{name: v1, map: {fields: [{name: f, type: {}}]}}]").unwrap();
    let ty = schema.type_named("v1").unwrap();
    let value = Value::from_yaml("{f: 1}").unwrap();
    assert!(
        TypedValue::new(value, ty, Duplicates::Allow)
            .unwrap_err()
            .is_schema_fault()
    );
}

#[test]
fn managers_at_two_versions_share_fields() {
    let mut state = State::versioned();
    state
        .apply("a", "v1", "{replicas: 1, image: i}")
        .apply("b", "v2", "{count: 1, labels: {x: p}}")
        .check(
            "{count: 1, image: i, labels: {x: p}}",
            &[
                "a applied v1: .image .replicas",
                "b applied v2: .count .labels.x",
            ],
        );
    // A conflict has the path of the field at the version of its owner.
    let error = state.error("b", "v2", "{count: 2, labels: {x: p}}");
    assert_eq!(error.to_string(), r#"conflict with "a": .replicas"#);
    let error = state.error("a", "v1", "{replicas: 2, image: i}");
    assert_eq!(error.to_string(), r#"conflict with "b": .count"#);
    state
        // A field that one manager abandons is kept for the other, under any name.
        .apply("a", "v1", "{image: i}")
        .check(
            "{replicas: 1, image: i, labels: {x: p}}",
            &["a applied v1: .image", "b applied v2: .count .labels.x"],
        )
        .apply("b", "v2", "{}")
        .check("{image: i}", &["a applied v1: .image"]);
}

/// As in Go, an updater that changes its version keeps its fields under the old names.
#[test]
fn a_manager_that_changes_its_version_keeps_its_fields() {
    State::versioned()
        .apply("a", "v1", "{replicas: 1, image: i}")
        .apply("a", "v2", "{count: 2}")
        .check("{count: 2}", &["a applied v2: .count"])
        .update("a", "v1", "{replicas: 2, image: k}")
        .check("{replicas: 2, image: k}", &["a updated v1: .count .image"]);
}

#[test]
fn an_update_takes_fields_at_every_version() {
    State::versioned()
        .apply("a", "v1", "{replicas: 1, image: i}")
        .update("u", "v2", "{count: 3, image: i}")
        .check(
            "{count: 3, image: i}",
            &["a applied v1: .image", "u updated v2: .count"],
        );
}

fn entry(fields: &str, version: &str) -> VersionedSet {
    VersionedSet::new(Set::from_json(fields.as_bytes()).unwrap(), version, true)
}

#[test]
fn managers_at_missing_versions_are_dropped() {
    let mut state = State::versioned();
    state.apply("a", "v1", "{image: i}");
    state.owners.insert("old", entry(r#"{"f:image":{}}"#, "v0"));
    state.apply("b", "v1", "{replicas: 1}").check(
        "{image: i, replicas: 1}",
        &["a applied v1: .image", "b applied v1: .replicas"],
    );
    state.owners.insert("old", entry(r#"{"f:image":{}}"#, "v0"));
    state
        .update("u", "v1", "{image: k}")
        .check("{image: k}", &["u updated v1: .image"]);
    // The fields of an applier at such a version are dropped too, and none of them is pruned.
    state.owners.insert("c", entry(r#"{"f:image":{}}"#, "v0"));
    state.apply("c", "v1", "{replicas: 1}").check(
        "{image: k, replicas: 1}",
        &["c applied v1: .replicas", "u updated v1: .image"],
    );
}

#[test]
fn a_failed_conversion_fails_the_operation() {
    let mut state = State::versioned();
    state.apply("a", "v1", "{image: i}");
    state.owners.insert("b", entry(r#"{"f:image":{}}"#, "v3"));
    let before = state.owners.clone();
    let error = state.error("a", "v1", "{image: k}");
    assert_eq!(
        error.to_string(),
        "failed to convert the object: cannot convert to version `v3`: the webhook does not answer"
    );
    assert_eq!(error.kind(), ErrorKind::Conversion);
    let updated = state.updater.update(
        UpdateRequest::new(&state.live, &state.live)
            .version("v1")
            .owners(&state.owners)
            .manager("a"),
    );
    assert_eq!(updated.unwrap_err(), error);
    assert_eq!(state.owners, before);
    let missing = Error::from(ConvertError::MissingVersion {
        version: "v0".into(),
    });
    assert_eq!(
        missing.to_string(),
        "failed to convert the object: there is no version `v0`"
    );
}

#[test]
fn only_fields_that_the_filter_keeps_are_tracked() {
    let labels = Set::from_json(br#"{"f:labels":{}}"#).unwrap();
    let ignoring = || Updater::builder().filter("v1", Filter::Exclude(labels.clone()));
    let mut state = State::new(ignoring().build());
    state
        .apply("a", "v1", "{replicas: 1, labels: {x: p}}")
        .check(
            "{replicas: 1, labels: {x: p}}",
            &["a applied v1: .replicas"],
        )
        // The field has no owner, so there is no conflict and nothing is pruned.
        .apply("b", "v1", "{labels: {x: q, z: q}}")
        .check(
            "{replicas: 1, labels: {x: q, z: q}}",
            &["a applied v1: .replicas"],
        )
        .update("u", "v1", "{replicas: 1, labels: {x: r}}")
        .check(
            "{replicas: 1, labels: {x: r}}",
            &["a applied v1: .replicas"],
        );

    let only = Filter::Include(Matcher::prefixes([".items[*].value"]).unwrap());
    // A second filter for a version replaces the first.
    let mut state = State::new(ignoring().filter("v1", only).build());
    state
        .apply("a", "v1", "{replicas: 1, items: [{name: n1, value: 1}]}")
        .check(
            "{replicas: 1, items: [{name: n1, value: 1}]}",
            &[r#"a applied v1: .items[name="n1"] .items[name="n1"].value"#],
        )
        .apply("b", "v1", "{replicas: 2}");
    assert_eq!(
        state
            .error("b", "v1", "{items: [{name: n1, value: 2}]}")
            .to_string(),
        r#"conflict with "a": .items[name="n1"].value"#
    );

    // A filter for another version has no effect.
    let mut state = State::new(
        Updater::builder()
            .filter("v2", Filter::Exclude(labels))
            .build(),
    );
    state
        .apply("a", "v1", "{labels: {x: p}}")
        .check("{labels: {x: p}}", &["a applied v1: .labels.x"]);
}

#[test]
fn updaters_are_shared_between_threads() {
    fn check<T: Send + Sync + Clone>(_: &T) {}
    let updater = Updater::builder().unions(false).build();
    check(&updater);
}
