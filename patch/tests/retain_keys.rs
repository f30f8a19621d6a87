//! The proposal for `$retainKeys`: its examples, and the types that it names.
//!
//! With `FIELDMANAGER_SHARED` set to a folder that has `data/openapi-v3`, the types are those of the documents there;
//! otherwise they are extracts of them.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot read its own table must fail"
)]

use std::path::Path;

use crate::common::yaml;
use fieldmanager_patch::internal::{read_types, write_types};
use fieldmanager_patch::{PatchTypes, strategic};
use fieldmanager_value::Value;

const EXTRACTS: &str = "
components:
  schemas:
    io.k8s.api.apps.v1.Deployment:
      properties:
        spec: {allOf: [{$ref: '#/components/schemas/io.k8s.api.apps.v1.DeploymentSpec'}]}
      x-kubernetes-group-version-kind: [{group: apps, version: v1, kind: Deployment}]
    io.k8s.api.apps.v1.DeploymentSpec:
      properties:
        strategy:
          allOf: [{$ref: '#/components/schemas/io.k8s.api.apps.v1.DeploymentStrategy'}]
          x-kubernetes-patch-strategy: retainKeys
    io.k8s.api.apps.v1.DeploymentStrategy:
      properties:
        type: {type: string}
        rollingUpdate: {allOf: [{$ref: '#/components/schemas/io.k8s.api.apps.v1.RollingUpdateDeployment'}]}
    io.k8s.api.apps.v1.RollingUpdateDeployment:
      properties: {maxSurge: {type: string}, maxUnavailable: {type: string}}
    io.k8s.api.core.v1.Pod:
      properties:
        spec: {allOf: [{$ref: '#/components/schemas/io.k8s.api.core.v1.PodSpec'}]}
        status: {allOf: [{$ref: '#/components/schemas/io.k8s.api.core.v1.PodStatus'}]}
      x-kubernetes-group-version-kind: [{group: '', version: v1, kind: Pod}]
    io.k8s.api.core.v1.PodSpec:
      properties:
        containers:
          type: array
          items: {allOf: [{$ref: '#/components/schemas/io.k8s.api.core.v1.Container'}]}
          x-kubernetes-patch-merge-key: name
          x-kubernetes-patch-strategy: merge
        volumes:
          type: array
          items: {allOf: [{$ref: '#/components/schemas/io.k8s.api.core.v1.Volume'}]}
          x-kubernetes-patch-merge-key: name
          x-kubernetes-patch-strategy: merge,retainKeys
    io.k8s.api.core.v1.Container:
      properties:
        name: {type: string}
        livenessProbe: {allOf: [{$ref: '#/components/schemas/io.k8s.api.core.v1.Probe'}]}
    io.k8s.api.core.v1.Probe:
      properties:
        exec: {type: object, properties: {command: {type: array, items: {type: string}}}}
        httpGet: {type: object, properties: {path: {type: string}, port: {type: integer}}}
        periodSeconds: {type: integer}
    io.k8s.api.core.v1.Volume:
      properties:
        name: {type: string}
        emptyDir: {type: object, properties: {medium: {type: string}}}
        hostPath: {type: object, properties: {path: {type: string}}}
    io.k8s.api.core.v1.PodStatus:
      properties:
        containerStatuses: {type: array, items: {allOf: [{$ref: '#/components/schemas/io.k8s.api.core.v1.ContainerStatus'}]}}
    io.k8s.api.core.v1.ContainerStatus:
      properties:
        name: {type: string}
        state: {allOf: [{$ref: '#/components/schemas/io.k8s.api.core.v1.ContainerState'}]}
    io.k8s.api.core.v1.ContainerState:
      properties:
        running: {type: object, properties: {startedAt: {type: string}}}
        terminated: {type: object, properties: {exitCode: {type: integer}, finishedAt: {type: string}}}
    io.k8s.api.core.v1.PersistentVolume:
      properties:
        spec: {allOf: [{$ref: '#/components/schemas/io.k8s.api.core.v1.PersistentVolumeSpec'}]}
      x-kubernetes-group-version-kind: [{group: '', version: v1, kind: PersistentVolume}]
    io.k8s.api.core.v1.PersistentVolumeSpec:
      properties:
        capacity: {type: object, additionalProperties: {type: string}}
        hostPath: {type: object, properties: {path: {type: string}}}
        nfs: {type: object, properties: {path: {type: string}, server: {type: string}}}
";

/// The extracts, and the documents.
fn sources() -> Vec<PatchTypes> {
    let mut sources = vec![EXTRACTS.to_owned()];
    if let Some(shared) = std::env::var_os("FIELDMANAGER_SHARED") {
        let folder = Path::new(&shared).join("data").join("openapi-v3");
        for name in ["apps-v1.json", "core-v1.json"] {
            sources.push(std::fs::read_to_string(folder.join(name)).unwrap());
        }
    }
    sources
        .iter()
        .map(|text| PatchTypes::from_openapi(&yaml(text)).unwrap())
        .flat_map(|types| {
            let table = read_types(&write_types(&types)).unwrap();
            assert_eq!(write_types(&table), write_types(&types));
            [types, table]
        })
        .collect()
}

/// Checks the patch from a live object to a wanted one, and its result, with all sources that have the type.
#[track_caller]
fn check(name: &str, live: &str, wanted: &str, patch: &str) {
    let (live, wanted, patch) = (yaml(live), yaml(wanted), yaml(patch));
    let mut checked = 0;
    for types in sources() {
        let Some(schema) = types.named(name) else {
            continue;
        };
        checked += 1;
        let made = strategic::create_two_way(&live, &wanted, schema).unwrap();
        assert!(made.strict_eq(&patch), "{name}: {made}, expected {patch}");
        assert_eq!(strategic::apply(&live, &patch, schema).unwrap(), wanted);
    }
    assert!(checked > 0, "no source has {name}");
}

/// Applies a patch that is written by hand.
#[track_caller]
fn check_applied(name: &str, live: &str, patch: &str, result: &str) {
    for types in sources() {
        if let Some(schema) = types.named(name) {
            let found = strategic::apply(&yaml(live), &yaml(patch), schema).unwrap();
            assert_eq!(found, yaml(result), "{name}");
        }
    }
}

/// First example: a union that is a struct of its own, without discriminator. Kubernetes has not given
/// `ContainerStatus.state` the strategy, so the author of the patch writes the directive.
#[test]
fn a_union_without_discriminator() {
    check_applied(
        "io.k8s.api.core.v1.ContainerStatus",
        "state: {running: {startedAt: '2020'}}",
        "state: {$retainKeys: [terminated], terminated: {exitCode: 0, finishedAt: '2021'}}",
        "state: {terminated: {exitCode: 0, finishedAt: '2021'}}",
    );
}

/// Second example: a union with discriminator.
#[test]
fn a_union_with_discriminator() {
    let types = PatchTypes::from_openapi(&yaml(
        "definitions: {t: {properties: {unionName: {$ref: '#/definitions/u', x-kubernetes-patch-strategy: retainKeys}}},
            u: {properties: {}}}",
    ))
    .unwrap();
    let live = yaml("unionName: {discriminatorName: foo, fooField: {fooSubfield: val1}}");
    let wanted = yaml("unionName: {discriminatorName: bar, barField: {barSubfield: val2}}");
    let patch = yaml(
        "unionName: {$retainKeys: [discriminatorName, barField], discriminatorName: bar, barField: {barSubfield: val2}}",
    );
    let schema = types.named("t").unwrap();
    assert_eq!(strategic::apply(&live, &patch, schema).unwrap(), wanted);
    let made = strategic::create_two_way(&live, &wanted, schema).unwrap();
    let retained = made
        .get("unionName")
        .and_then(|union| union.get("$retainKeys"))
        .unwrap();
    assert_eq!(
        retained,
        &Value::from(vec!["barField", "discriminatorName"])
    );
    assert_eq!(strategic::apply(&live, &made, schema).unwrap(), wanted);
}

#[test]
fn deployment_strategy() {
    check(
        "io.k8s.api.apps.v1.Deployment",
        "spec: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}}",
        "spec: {strategy: {type: Recreate}}",
        "spec: {strategy: {$retainKeys: [type], rollingUpdate: null, type: Recreate}}",
    );
    // The field that the server set by default is removed too, although no configuration had it.
    check_applied(
        "io.k8s.api.apps.v1.Deployment",
        "spec: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%}}}",
        "spec: {strategy: {$retainKeys: [type], type: Recreate}}",
        "spec: {strategy: {type: Recreate}}",
    );
}

/// Third example: a union that is inlined in the items of a list.
#[test]
fn volumes() {
    check_applied(
        "io.k8s.api.core.v1.Pod",
        "spec: {volumes: [{name: foo, emptyDir: {medium: Memory}}]}",
        "spec: {volumes: [{$retainKeys: [name, hostPath], name: foo, hostPath: {path: /a}}]}",
        "spec: {volumes: [{name: foo, hostPath: {path: /a}}]}",
    );
    check(
        "io.k8s.api.core.v1.Pod",
        "spec: {volumes: [{name: foo, emptyDir: {medium: Memory}}]}",
        "spec: {volumes: [{name: foo, hostPath: {path: /a}}]}",
        "spec: {$setElementOrder/volumes: [{name: foo}],
            volumes: [{$retainKeys: [hostPath, name], emptyDir: null, hostPath: {path: /a}, name: foo}]}",
    );
}

/// Unions whose parent has other fields, and no strategy: the patch lists them all.
#[test]
fn inlined_unions() {
    check_applied(
        "io.k8s.api.core.v1.PersistentVolumeSpec",
        "{capacity: {storage: 1Gi}, hostPath: {path: /a}}",
        "{$retainKeys: [capacity, nfs], nfs: {server: s, path: /b}}",
        "{capacity: {storage: 1Gi}, nfs: {server: s, path: /b}}",
    );
    check_applied(
        "io.k8s.api.core.v1.Pod",
        "spec: {containers: [{name: a, livenessProbe: {exec: {command: [x]}, periodSeconds: 3}}]}",
        "spec: {containers: [{name: a, livenessProbe: {$retainKeys: [httpGet, periodSeconds], httpGet: {path: /}}}]}",
        "spec: {containers: [{name: a, livenessProbe: {httpGet: {path: /}, periodSeconds: 3}}]}",
    );
}

/// The types of other groups in the proposal's list are unions by their fields alone.
#[test]
fn unions_of_other_groups() {
    let free = fieldmanager_patch::PatchSchema::free();
    for (live, patch, result) in [
        // SubjectAccessReviewSpec and SelfSubjectAccessReviewSpec
        (
            "{user: u, resourceAttributes: {verb: get}}",
            "{$retainKeys: [user, nonResourceAttributes], nonResourceAttributes: {path: /}}",
            "{user: u, nonResourceAttributes: {path: /}}",
        ),
        // PodSignature
        ("{podController: {kind: Job}}", "{$retainKeys: []}", "{}"),
        // NetworkPolicyPeer
        (
            "{podSelector: {matchLabels: {a: b}}}",
            "{$retainKeys: [namespaceSelector], namespaceSelector: {matchLabels: {c: d}}}",
            "{namespaceSelector: {matchLabels: {c: d}}}",
        ),
        // IngressRuleValue, in IngressRule
        (
            "{host: h, http: {paths: [{path: /}]}}",
            "{$retainKeys: [host, tcp], tcp: {port: 1}}",
            "{host: h, tcp: {port: 1}}",
        ),
    ] {
        assert_eq!(
            strategic::apply(&yaml(live), &yaml(patch), free).unwrap(),
            yaml(result)
        );
    }
}
