//! Objects that an API server accepts are neither refused nor changed, with the schema of Kubernetes and the unions that it
//! declares.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]
#![allow(clippy::print_stderr)]

use std::path::PathBuf;

use fieldmanager_fieldpath::Owners;
use fieldmanager_merge::{ApplyRequest, UpdateRequest, Updater};
use fieldmanager_schema::Schema;
use fieldmanager_schema::internal::{TypeDef, type_definitions};
use fieldmanager_typed::internal::normalize_config;
use fieldmanager_typed::{Duplicates, Ratcheting, TypedValue};
use fieldmanager_value::Value;

/// Types, and for each of them objects that may replace each other in any order.
const ACCEPTED: &[(&str, &[&str])] = &[
    (
        "io.k8s.api.core.v1.SeccompProfile",
        &[
            "{type: RuntimeDefault}",
            "{type: Unconfined}",
            "{type: Localhost, localhostProfile: profiles/audit.json}",
            "{type: Localhost, localhostProfile: profiles/fine.json}",
        ],
    ),
    (
        "io.k8s.api.core.v1.AppArmorProfile",
        &["{type: RuntimeDefault}", "{type: Localhost, localhostProfile: k8s-deny-write}", "{type: Unconfined}"],
    ),
    (
        "io.k8s.api.flowcontrol.v1.LimitResponse",
        &[
            "{type: Reject}",
            "{type: Queue, queuing: {queues: 64, handSize: 8, queueLengthLimit: 50}}",
            "{type: Queue, queuing: {queues: 128, handSize: 6, queueLengthLimit: 50}}",
        ],
    ),
    (
        "io.k8s.api.flowcontrol.v1.PriorityLevelConfiguration",
        &[
            "{metadata: {name: p}, spec: {type: Exempt, exempt: {nominalConcurrencyShares: 0}}}",
            "{metadata: {name: p}, spec: {type: Limited, limited: {limitResponse: {type: Reject}}}}",
            "{metadata: {name: p}, spec: {type: Limited, limited: {nominalConcurrencyShares: 30,
              limitResponse: {type: Queue, queuing: {queues: 64, handSize: 8}}}}}",
        ],
    ),
    (
        "io.k8s.api.flowcontrol.v1.FlowSchema",
        &[
            "{metadata: {name: f}, spec: {rules: [{subjects: [{kind: User, user: {name: alice}},
              {kind: Group, group: {name: ops}}, {kind: ServiceAccount, serviceAccount: {name: s, namespace: d}}],
              nonResourceRules: [{verbs: ['*'], nonResourceURLs: ['*']}]}]}}",
        ],
    ),
    (
        "io.k8s.api.apps.v1.Deployment",
        &[
            "{metadata: {name: web}, spec: {strategy: {type: Recreate}, template: {spec: {containers: [{name: web, image: nginx}]}}}}",
            "{metadata: {name: web}, spec: {strategy: {type: RollingUpdate,
              rollingUpdate: {maxSurge: 25%, maxUnavailable: 1}}, template: {spec: {containers: [
              {name: web, image: nginx, env: [{name: A, value: a},
               {name: B, valueFrom: {fieldRef: {fieldPath: metadata.name}}}],
               livenessProbe: {httpGet: {port: 80, path: /}}, readinessProbe: {tcpSocket: {port: 80}},
               startupProbe: {exec: {command: ['true']}},
               lifecycle: {preStop: {sleep: {seconds: 5}}, postStart: {exec: {command: ['true']}}},
               securityContext: {seccompProfile: {type: Localhost, localhostProfile: x.json},
                appArmorProfile: {type: Localhost, localhostProfile: q}}}],
              securityContext: {seccompProfile: {type: RuntimeDefault}},
              volumes: [{name: e, emptyDir: {}}, {name: c, configMap: {name: c}}, {name: s, secret: {secretName: s}},
               {name: p, projected: {sources: [{secret: {name: s}}, {downwardAPI: {items: [{path: l,
                fieldRef: {fieldPath: metadata.labels}}]}}]}}, {name: h, hostPath: {path: /x, type: ''}}]}}}}",
            "{metadata: {name: web}, spec: {strategy: {type: RollingUpdate}, template: {spec: {containers: [
              {name: web, image: nginx, livenessProbe: {grpc: {port: 80}}}],
              volumes: [{name: e, persistentVolumeClaim: {claimName: e}}, {name: c, emptyDir: {medium: Memory}}]}}}}",
        ],
    ),
    (
        "io.k8s.api.core.v1.Service",
        &[
            "{metadata: {name: s}, spec: {type: ClusterIP, ports: [{port: 80, targetPort: 8080}]}}",
            "{metadata: {name: s}, spec: {type: ExternalName, externalName: example.org}}",
            "{metadata: {name: s}, spec: {type: LoadBalancer, ports: [{port: 80, nodePort: 30080, targetPort: http}]}}",
        ],
    ),
    (
        "io.k8s.api.core.v1.PersistentVolume",
        &[
            "{metadata: {name: v}, spec: {capacity: {storage: 1Gi}, nfs: {server: s, path: /}}}",
            "{metadata: {name: v}, spec: {capacity: {storage: 1Gi}, csi: {driver: d, volumeHandle: h}}}",
        ],
    ),
    (
        "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler",
        &[
            "{metadata: {name: h}, spec: {metrics: [{type: Resource, resource: {name: cpu,
              target: {type: Utilization, averageUtilization: 60}}},
              {type: Pods, pods: {metric: {name: m}, target: {type: AverageValue, averageValue: '1'}}}]}}",
        ],
    ),
    (
        "io.k8s.api.networking.v1.Ingress",
        &[
            "{metadata: {name: i}, spec: {defaultBackend: {service: {name: s, port: {number: 80}}}}}",
            "{metadata: {name: i}, spec: {defaultBackend: {resource: {kind: K, name: x}}}}",
        ],
    ),
];

/// The schema, if the environment variable with its folder is set.
fn kubernetes() -> Option<Schema> {
    let Some(folder) = std::env::var_os("FIELDMANAGER_SHARED") else {
        eprintln!("note: FIELDMANAGER_SHARED is not set, nothing was checked");
        return None;
    };
    let file = PathBuf::from(folder).join("data/kubernetes-schema.yaml");
    Some(Schema::from_yaml(&std::fs::read_to_string(file).unwrap()).unwrap())
}

#[test]
fn the_schema_declares_unions() {
    let Some(schema) = kubernetes() else { return };
    let unions = |def: &TypeDef| def.atom.map.as_ref().map_or(0, |map| map.unions.len());
    let count: usize = type_definitions(&schema).iter().map(unions).sum();
    assert_eq!(count, 27);
}

#[test]
fn objects_that_an_api_server_accepts_are_neither_refused_nor_changed() {
    let Some(schema) = kubernetes() else { return };
    let updater = Updater::builder().build();
    for (name, objects) in ACCEPTED {
        let ty = schema.type_named(name).unwrap_or_else(|| panic!("{name}"));
        let typed = |yaml: &&str| {
            let value = Value::from_yaml(yaml).unwrap();
            TypedValue::new(value, ty.clone(), Duplicates::Refuse)
                .unwrap_or_else(|e| panic!("{yaml}: {e}"))
        };
        let null = TypedValue::null(ty.clone());
        let objects: Vec<TypedValue> = objects.iter().map(typed).collect();
        for new in &objects {
            for old in objects.iter().chain([&null]) {
                let place = format!("{old:?} -> {new:?}");
                let normalized = old.normalize_update(new).expect(&place);
                assert_eq!(normalized.value.value(), new.value(), "{place}");
                let faults = old.validate_unions(new, Ratcheting::Off);
                assert!(faults.is_empty(), "{place}: {faults:?}");

                // An apply of the same object over what the manager applied before.
                let none = Owners::new();
                let before = updater
                    .apply(
                        ApplyRequest::new(&null, old)
                            .version("v1")
                            .owners(&none)
                            .manager("m"),
                    )
                    .expect(&place);
                let live = before.object.unwrap_or_else(|| null.clone());
                let applied = updater
                    .apply(
                        ApplyRequest::new(&live, new)
                            .version("v1")
                            .owners(&before.owners)
                            .manager("m"),
                    )
                    .expect(&place);
                assert_eq!(
                    applied.object.unwrap_or(live).value(),
                    new.value(),
                    "{place}"
                );
                assert_eq!(
                    applied.owners.get("m").unwrap().set(),
                    &new.field_set(),
                    "{place}"
                );

                let updated = updater
                    .update(
                        UpdateRequest::new(old, new)
                            .version("v1")
                            .owners(&none)
                            .manager("m"),
                    )
                    .expect(&place);
                assert_eq!(updated.object.value(), new.value(), "{place}");
            }
        }
    }
}

/// Every declared union, with one member and an unknown value of the discriminator.
#[test]
fn every_declared_union_accepts_a_member_beside_an_unknown_discriminator() {
    let Some(schema) = kubernetes() else { return };
    for def in type_definitions(&schema) {
        for union in def.atom.map.iter().flat_map(|map| &map.unions) {
            let ty = schema.type_named(&def.name).unwrap();
            for field in &union.fields {
                let map = ty.atom().map.as_ref().unwrap();
                let atom = schema.atom(map.type_of(&field.field).unwrap());
                let member = if atom.map.is_some() { "{}" } else { "x" };
                let object = match &union.discriminator {
                    Some(name) => format!("{{{name}: TheirOwn, {}: {member}}}", field.field),
                    None => format!("{{{}: {member}}}", field.field),
                };
                let new = TypedValue::new(
                    Value::from_yaml(&object).unwrap(),
                    ty.clone(),
                    Duplicates::Refuse,
                );
                let new = new.unwrap();
                let null = TypedValue::null(ty.clone());
                for old in [&null, &new] {
                    let normalized = old.normalize_update(&new).unwrap();
                    assert_eq!(
                        normalized.value.value(),
                        new.value(),
                        "{}: {object}",
                        def.name
                    );
                    assert!(
                        old.validate_unions(&new, Ratcheting::Off).is_empty(),
                        "{}: {object}",
                        def.name
                    );
                }
                let config = normalize_config(&null, &new).unwrap();
                assert_eq!(config.value.value(), new.value(), "{}: {object}", def.name);
            }
        }
    }
}
