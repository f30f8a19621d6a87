//! Checks of the sources of volumes, and of the status of those that persist. The words are those of kube-apiserver 1.37.1.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use fieldmanager_builtin::{defaulted, validate_create, validate_update};
use fieldmanager_structural::{FieldError, GroupVersionKind};
use fieldmanager_value::Value;

fn shown(errors: &[FieldError]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

/// The errors of a volume of a pod, whose paths are below that of the volume.
fn in_pod(source: &str) -> Vec<String> {
    let kind = GroupVersionKind::new("", "v1", "Pod");
    let object = format!(
        "{{metadata: {{name: a, namespace: x}}, spec: {{containers: [{{name: a, image: x}}], volumes: [{{name: v, {source}}}]}}}}"
    );
    let object = defaulted(&kind, &Value::from_yaml(&object).unwrap());
    let errors = shown(&validate_create(&kind, &object)).into_iter();
    errors
        .map(|error| error.replace("spec.volumes[0].", ""))
        .collect()
}

/// The errors of a persistent volume.
fn persistent(source: &str) -> Vec<String> {
    let kind = GroupVersionKind::new("", "v1", "PersistentVolume");
    let object = format!(
        "{{metadata: {{name: a}}, spec: {{capacity: {{storage: 1}}, accessModes: [ReadWriteOnce], {source}}}}}"
    );
    let object = defaulted(&kind, &Value::from_yaml(&object).unwrap());
    shown(&validate_create(&kind, &object))
}

#[test]
fn partitions_are_those_of_a_disk() {
    let detail = "must be between 1 and 255, inclusive";
    assert_eq!(
        in_pod("gcePersistentDisk: {pdName: x, partition: 0}"),
        [""; 0]
    );
    assert_eq!(
        in_pod("gcePersistentDisk: {pdName: x, partition: 256}"),
        [format!(
            "persistentDisk.partition: Invalid value: 256: {detail}"
        )]
    );
    assert_eq!(
        persistent("awsElasticBlockStore: {volumeID: x, partition: -1}"),
        [format!(
            "spec.awsElasticBlockStore.partition: Invalid value: -1: {detail}"
        )]
    );
}

#[test]
fn targets_and_initiators_have_names_of_three_forms() {
    let names = |target: &str, initiator: &str| {
        in_pod(&format!(
            "iscsi: {{targetPortal: x, lun: 1, iqn: '{target}', initiatorName: '{initiator}', secretRef: {{}}}}"
        ))
    };
    let (eui, naa) = (
        "eui.0123456789abcdef",
        "naa.0123456789abcdef0123456789abcdef",
    );
    assert_eq!(names(eui, naa), [""; 0]);
    let good = "iqn.2001-04.com.example:a:b";
    assert_eq!(names(good, "iqn,:iqn.2001-04.a:b"), [""; 0]);
    assert_eq!(
        names(
            "iqn.2001-04.a:,iqn.2001-04.a:é",
            "naaé0123456789abcdef0123456789abcdef"
        ),
        [""; 0]
    );
    for name in [
        "iqn.x",
        "iqn.2001-04.:b",
        "iqn.2001-04.a:",
        "iqn.2001-04.a:b:c,d",
        "iqn.200a-04.a:b",
        "eui.0",
        "eui\n0123456789abcdef",
        "naa.0123456789abcdef",
        "naa",
    ] {
        let shown = name.replace('\n', "\\n");
        assert_eq!(
            names(&shown.replace("\\n", "\n\n"), eui),
            [format!(
                "iscsi.iqn: Invalid value: \"{shown}\": must be valid format"
            )],
        );
    }
    assert_eq!(
        names(good, ""),
        [
            "iscsi.initiatorname: Invalid value: \"\": must be valid format starting with iqn, eui, or naa"
        ]
    );
    let portal = "p".repeat(63);
    assert_eq!(
        persistent(&format!(
            "iscsi: {{targetPortal: {portal}, iqn: x, lun: 1, initiatorName: iqn}}"
        )),
        [
            format!(
                "spec.iscsi.targetportal: Invalid value: \"{portal}\": Total length of <volume name>:<iscsi.targetPortal> must \
                 be under 64 characters if iscsi.initiatorName is specified."
            ),
            "spec.iscsi.iqn: Invalid value: \"x\": must be valid format".to_owned(),
            "spec.iscsi.initiatorname: Invalid value: \"iqn\": must be valid format".to_owned(),
        ]
    );
}

#[test]
fn registries_of_quobyte_are_hosts_with_ports() {
    let detail = "must be a host:port pair or multiple pairs separated by commas";
    assert_eq!(in_pod("quobyte: {registry: 'a:1,:', volume: v}"), [""; 0]);
    assert_eq!(
        in_pod("quobyte: {registry: 'a:1,[x', volume: v}"),
        [format!(
            "quobyte.registry: Invalid value: \"a:1,[x\": {detail}"
        )]
    );
}

#[test]
fn the_status_of_a_volume_or_of_a_claim_needs_a_version() {
    let update = |kind: &str, text: &str| {
        let kind = GroupVersionKind::new("", "v1", kind);
        let object = Value::from_yaml(text).unwrap();
        shown(&validate_update(&kind, "status", &object, &object))
    };
    let missing = [
        "metadata.resourceVersion: Invalid value: \"\": must be specified for an update",
        "resourceVersion: Required value",
        "Spec.accessModes: Required value",
    ];
    assert_eq!(
        update("PersistentVolume", "{metadata: {name: a}}"),
        missing[..2]
    );
    assert_eq!(
        update(
            "PersistentVolumeClaim",
            "{metadata: {name: a, namespace: x}}"
        ),
        missing
    );
}
