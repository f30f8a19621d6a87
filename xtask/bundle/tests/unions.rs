//! Normalization does not change objects that the API server accepts: every union of the bundled schema is tried with
//! the objects that its documentation allows, in every order.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers may panic")]

use std::collections::BTreeSet;

use fieldmanager_openapi::builtin;
use fieldmanager_schema::Type;
use fieldmanager_schema::internal::type_definitions;
use fieldmanager_typed::{Duplicates, Ratcheting, TypedValue};
use fieldmanager_value::Value;

const PROFILES: &[&str] = &[
    "{type: RuntimeDefault}",
    "{type: Unconfined}",
    "{type: Localhost, localhostProfile: audit.json}",
];
const MODES: &[&str] = &["{all: {}}", "{single: {}}"];

/// Types, and objects that the API server accepts.
const ACCEPTED: [(&str, &[&str]); 18] = [
    ("core.v1.AppArmorProfile", PROFILES),
    ("core.v1.SeccompProfile", PROFILES),
    (
        "core.v1.PodSchedulingGroup",
        &["{podGroupName: a}", "{podGroupName: b}"],
    ),
    (
        "flowcontrol.v1.LimitResponse",
        &["{type: Reject}", "{type: Queue, queuing: {queues: 8}}"],
    ),
    (
        "flowcontrol.v1.PriorityLevelConfigurationSpec",
        &[
            "{type: Exempt}",
            "{type: Exempt, exempt: {lendablePercent: 0}}",
            "{type: Limited, limited: {limitResponse: {type: Reject}}}",
        ],
    ),
    (
        "flowcontrol.v1.Subject",
        &[
            "{kind: User, user: {name: a}}",
            "{kind: Group, group: {name: a}}",
            "{kind: ServiceAccount, serviceAccount: {name: a, namespace: b}}",
        ],
    ),
    (
        "lifecycle.v1alpha1.EvictionRequestTarget",
        &["{pod: {name: a, uid: b}}"],
    ),
    (
        "lifecycle.v1alpha1.EvictionTarget",
        &["{pod: {name: a, uid: b}}"],
    ),
    ("scheduling.v1alpha3.CompositeDisruptionMode", MODES),
    (
        "scheduling.v1alpha3.CompositePodGroupSchedulingPolicy",
        &["{basic: {}}", "{gang: {minGroupCount: 2}}"],
    ),
    ("scheduling.v1alpha3.DisruptionMode", MODES),
    (
        "scheduling.v1alpha3.PodGroupSchedulingPolicy",
        &["{basic: {}}", "{gang: {minCount: 2}}"],
    ),
    ("scheduling.v1alpha3.WorkloadPodGroupDisruptionMode", MODES),
    (
        "scheduling.v1alpha3.WorkloadPodGroupSchedulingPolicy",
        &["{basic: {}}", "{gang: {minCount: 2}}"],
    ),
    ("scheduling.v1beta1.CompositeDisruptionMode", MODES),
    (
        "scheduling.v1beta1.CompositePodGroupSchedulingPolicy",
        &["{basic: {}}", "{gang: {minGroupCount: 2}}"],
    ),
    ("scheduling.v1beta1.DisruptionMode", MODES),
    (
        "scheduling.v1beta1.PodGroupSchedulingPolicy",
        &["{basic: {}}", "{gang: {minCount: 2}}"],
    ),
];

fn typed(ty: &Type, text: &str) -> TypedValue {
    let value = Value::from_yaml(text).unwrap();
    TypedValue::new(value, ty.clone(), Duplicates::Refuse)
        .unwrap_or_else(|errors| panic!("{text}: {errors}"))
}

#[test]
fn accepted_objects_are_not_changed() {
    let types = builtin::types();
    for (name, objects) in ACCEPTED {
        let ty = types
            .schema()
            .type_named(&format!("io.k8s.api.{name}"))
            .unwrap();
        let objects: Vec<TypedValue> = objects.iter().map(|text| typed(&ty, text)).collect();
        let nothing = TypedValue::null(ty);
        for old in objects.iter().chain([&nothing]) {
            for new in &objects {
                let said = format!("{name}: from {} to {}", old.value(), new.value());
                let normalized = old
                    .normalize_update(new)
                    .unwrap_or_else(|error| panic!("{said}: {error}"));
                assert!(normalized.changes.is_empty(), "{said}");
                assert_eq!(normalized.value.value(), new.value(), "{said}");
                let faults = old.validate_unions(new, Ratcheting::Off);
                assert!(
                    faults.is_empty(),
                    "{said}: {}",
                    faults.iter().map(ToString::to_string).collect::<String>()
                );
            }
        }
    }
}

/// A later release may have a value that this release does not declare.
#[test]
fn values_of_later_releases_are_not_changed() {
    let types = builtin::types();
    for name in ["core.v1.SeccompProfile", "flowcontrol.v1.LimitResponse"] {
        let ty = types
            .schema()
            .type_named(&format!("io.k8s.api.{name}"))
            .unwrap();
        let old = TypedValue::null(ty.clone());
        let new = typed(&ty, "{type: Later}");
        assert!(
            old.normalize_update(&new).unwrap().changes.is_empty(),
            "{name}"
        );
        assert!(
            old.validate_unions(&new, Ratcheting::Off).is_empty(),
            "{name}"
        );
    }
}

#[test]
fn every_union_is_covered() {
    let types = builtin::types();
    let with_unions = type_definitions(types.schema()).iter().filter(|def| {
        let map = def.atom.map.as_ref();
        map.is_some_and(|map| !map.unions.is_empty())
    });
    let names: BTreeSet<&str> = with_unions.map(|def| def.name.as_str()).collect();
    let tried: Vec<String> = ACCEPTED
        .iter()
        .map(|(name, _)| format!("io.k8s.api.{name}"))
        .collect();
    assert_eq!(names, tried.iter().map(String::as_str).collect());
}
