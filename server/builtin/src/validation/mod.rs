//! Validation of built-in kinds.
//!
//! [`functions`] has a function for each kind, which makes its checks in the order of Kubernetes, and one for each of its
//! subresources whose updates are checked.

pub(crate) mod functions;
mod syntax;

use std::collections::BTreeSet;

use fieldmanager_structural::internal::{
    NameSyntax, validate_object_meta, validate_object_meta_update,
};
use fieldmanager_structural::{FieldError, FieldErrorKind, FieldPath, GroupVersionKind};
use fieldmanager_value::Value;

pub(crate) use self::functions::field::Field;
use crate::Kind;
use crate::kinds::{KindDescription, MetadataChecks, NameFaults};

/// The errors of a new object, [prepared](crate::prepare_create) for creation, in the order of kube-apiserver.
///
/// Metadata, required fields, enumerations, ranges and the like are checked;
/// docs/deviations.md lists what Kubernetes checks besides. An object without errors here may therefore have some there,
/// and never the other way around.
///
/// ```
/// use fieldmanager_builtin::validate_create;
/// use fieldmanager_structural::GroupVersionKind;
/// use fieldmanager_value::Value;
///
/// let kind = GroupVersionKind::new("apps", "v1", "Deployment");
/// let object = Value::from_yaml("{metadata: {name: a, namespace: x}, spec: {replicas: -1, selector: {}}}")?;
/// let errors = validate_create(&kind, &object);
/// assert_eq!(errors[0].to_string(), "spec.replicas: Invalid value: -1: must be greater than or equal to 0");
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
pub fn validate_create(kind: &GroupVersionKind, object: &Value) -> Vec<FieldError> {
    let description = KindDescription::find(kind);
    let is_last = description.metadata == MetadataChecks::Last;
    let mut errors = if is_last || description.metadata == MetadataChecks::Own {
        Vec::new()
    } else {
        metadata(kind, description, object)
    };
    (description.checks)(&Field::object(object, None), &mut errors);
    // For these kinds, Kubernetes checks the metadata only after everything else has passed.
    if is_last && errors.is_empty() {
        errors = metadata(kind, description, object);
    }

    without_duplicates(description, errors)
}

/// The errors of an updated object, [prepared](crate::prepare_update), in the order of kube-apiserver. An update of a
/// subresource has the checks of its metadata and of that part.
///
/// ```
/// use fieldmanager_builtin::validate_update;
/// use fieldmanager_structural::GroupVersionKind;
/// use fieldmanager_value::Value;
///
/// let kind = GroupVersionKind::new("scheduling.k8s.io", "v1", "PriorityClass");
/// let class = |value: i64| Value::from_yaml(&format!("{{metadata: {{name: a, resourceVersion: '1'}}, value: {value}}}"));
/// let errors = validate_update(&kind, "", &class(2)?, &class(1)?);
/// assert_eq!(errors[0].to_string(), "value: Forbidden: may not be changed in an update.");
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
pub fn validate_update(
    kind: &GroupVersionKind,
    subresource: &str,
    object: &Value,
    live: &Value,
) -> Vec<FieldError> {
    let (description, path) = (KindDescription::find(kind), FieldPath::root("metadata"));
    // An update checks the name only as a segment of a URL: the creation has checked its syntax.
    let (new, old) = (object.get("metadata"), live.get("metadata"));
    let mut errors = validate_object_meta(
        new,
        is_namespaced(kind, live),
        NameSyntax::PathSegment,
        &path,
    );

    // Both functions check owner references, for example.
    errors.extend(validate_object_meta_update(new, old, &path));
    retain_first(&mut errors);
    // Some kinds accept any finalizer in an update of their status.
    if subresource != "status" || !description.has_unchecked_status_metadata {
        finalizers(description, new, &mut errors);
    }
    // Most kinds check a changed object as a new one. Its name cannot change, while its prefix can. Few objects have one.
    let has_prefix = new.is_some_and(|metadata| metadata.get("generateName").is_some());
    if has_prefix && subresource.is_empty() && !description.accepts_any_prefix {
        let prefix = path.child("generateName");
        let again = metadata(kind, description, object).into_iter();
        errors.extend(again.filter(|error| error.path == prefix));
    }
    if let Some(checks) = description.checks_of(subresource) {
        checks(&Field::object(object, Some(live)), &mut errors);
    }

    without_duplicates(description, errors)
}

/// The errors without those that occur again, which kube-apiserver drops for kinds with declarative validation.
fn without_duplicates(
    description: &KindDescription,
    mut errors: Vec<FieldError>,
) -> Vec<FieldError> {
    if !description.repeats_errors {
        retain_first(&mut errors);
    }
    errors
}

/// Keeps the first of equal errors.
fn retain_first(errors: &mut Vec<FieldError>) {
    let mut found = BTreeSet::new();
    errors.retain(|error| found.insert(error.to_string()));
}

/// Whether objects of the kind are in namespaces. The object decides for kinds without a resource.
fn is_namespaced(kind: &GroupVersionKind, object: &Value) -> bool {
    let resource = Kind::of(kind).and_then(|kind| kind.resource());
    let has_namespace = || {
        object
            .get("metadata")
            .is_some_and(|metadata| metadata.get("namespace").is_some())
    };
    resource.map_or_else(has_namespace, |resource| resource.namespaced)
}

fn metadata(
    kind: &GroupVersionKind,
    description: &KindDescription,
    object: &Value,
) -> Vec<FieldError> {
    let (metadata, path) = (object.get("metadata"), FieldPath::root("metadata"));
    let is_namespaced = is_namespaced(kind, object);
    let mut errors = validate_object_meta(metadata, is_namespaced, description.name_syntax, &path);
    if let Some(faults) = description.name_faults {
        errors = with_names(errors, object, &path, faults);
    }
    finalizers(description, metadata, &mut errors);
    // Of the metadata of these kinds, only the managed fields are checked.
    if description.metadata == MetadataChecks::ManagedFields {
        let entries = path.child("managedFields").to_string();
        errors.retain(|error| error.path.to_string().starts_with(&entries));
    }
    errors
}

/// The errors of metadata with those of the names of a kind in place of those of a syntax.
fn with_names(
    errors: Vec<FieldError>,
    object: &Value,
    path: &FieldPath,
    faults: NameFaults,
) -> Vec<FieldError> {
    let names = [("generateName", true), ("name", false)];
    let is_of_name = |error: &FieldError| {
        error.kind == FieldErrorKind::Invalid
            && names
                .iter()
                .any(|(name, _)| error.path == path.child(*name))
    };
    let mut found = Vec::new();
    for (name, is_prefix) in names {
        let text = object
            .get("metadata")
            .and_then(|metadata| metadata.get(name));
        if let Some(text) = text.and_then(Value::as_str).filter(|text| !text.is_empty()) {
            let faults = faults(object, text, is_prefix).into_iter();
            found.extend(faults.map(|fault| FieldError::invalid(path.child(name), text, fault)));
        }
    }

    found.extend(errors.into_iter().filter(|error| !is_of_name(error)));
    found
}

/// Checks that each finalizer has a prefix or is one of Kubernetes.
fn finalizers(
    description: &KindDescription,
    metadata: Option<&Value>,
    errors: &mut Vec<FieldError>,
) {
    if let MetadataChecks::AnyFinalizer | MetadataChecks::Last = description.metadata {
        return;
    }
    let finalizers = metadata
        .and_then(|metadata| metadata.get("finalizers"))
        .and_then(Value::as_list);

    for (at, finalizer) in finalizers.into_iter().flatten().enumerate() {
        let finalizer = finalizer.as_str().unwrap_or_default();
        let path = FieldPath::root("metadata").child("finalizers").index(at);
        let faults = syntax::finalizer(finalizer).into_iter();
        errors.extend(faults.map(|fault| FieldError::invalid(path.clone(), finalizer, fault)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn yaml(text: &str) -> Value {
        Value::from_yaml(text).unwrap()
    }

    fn errors(api_version: &str, kind: &str, object: &str, live: Option<&str>) -> Vec<String> {
        let kind = GroupVersionKind::from_api_version_kind(api_version, kind);
        let errors = match live {
            None => validate_create(&kind, &yaml(object)),
            Some(live) => validate_update(&kind, "", &yaml(object), &yaml(live)),
        };
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn required_fields_and_enumerations_are_checked() {
        assert_eq!(
            errors(
                "storage.k8s.io/v1",
                "StorageClass",
                "{metadata: {name: a}, provisioner: '', reclaimPolicy: X}",
                None
            ),
            [
                "reclaimPolicy: Unsupported value: \"X\": supported values: \"Delete\", \"Retain\"",
                "provisioner: Required value"
            ]
        );
        assert_eq!(
            errors(
                "networking.k8s.io/v1",
                "NetworkPolicy",
                "{metadata: {name: a, namespace: x}, spec: {policyTypes: [Ingress, X]}}",
                None
            ),
            [
                "spec.policyTypes[1]: Unsupported value: \"X\": supported values: \"Ingress\", \"Egress\""
            ]
        );
    }

    #[test]
    fn immutable_fields_show_what_kubernetes_shows() {
        let meta = "metadata: {name: a, namespace: x, resourceVersion: '1'}";
        let role = |name: &str| {
            format!(
                "{{{meta}, roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: {name}}}}}"
            )
        };
        assert_eq!(
            errors(
                "rbac.authorization.k8s.io/v1",
                "RoleBinding",
                &role("b"),
                Some(&role("a"))
            ),
            [
                r#"roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"b"}: field is immutable"#
            ]
        );
        let config = |data: &str| format!("{{{meta}, immutable: true, data: {{a: {data}}}}}");
        assert_eq!(
            errors("v1", "ConfigMap", &config("b"), Some(&config("c"))),
            ["data: Forbidden: field is immutable when `immutable` is set"]
        );
    }

    #[test]
    fn finalizers_have_a_prefix_or_are_known_in_new_and_in_updated_objects() {
        let config = |finalizer: &str| {
            format!(
                "{{metadata: {{name: a, namespace: x, resourceVersion: '1', finalizers: [{finalizer}]}}}}"
            )
        };
        let fault = r#"metadata.finalizers[0]: Invalid value: "own": name is neither a standard finalizer name nor is it fully qualified"#;
        assert_eq!(errors("v1", "ConfigMap", &config("own"), None), [fault]);
        assert_eq!(
            errors("v1", "ConfigMap", &config("own"), Some(&config("orphan"))),
            [fault]
        );
        let lease = errors(
            "coordination.k8s.io/v1",
            "Lease",
            &config("own"),
            Some(&config("orphan")),
        );
        assert!(lease.is_empty(), "{lease:?}");
    }

    #[test]
    fn a_priority_level_has_the_member_of_its_type_alone() {
        let level = |spec: &str| {
            let object = format!("{{metadata: {{name: a}}, spec: {{{spec}}}}}");
            errors(
                "flowcontrol.apiserver.k8s.io/v1",
                "PriorityLevelConfiguration",
                &object,
                None,
            )
        };
        let limited = "limited: {nominalConcurrencyShares: 5, limitResponse: {type: Reject}}";
        assert_eq!(level(&format!("type: Limited, {limited}")), [""; 0]);
        let both = level(&format!("type: Limited, {limited}, exempt: {{}}"));
        assert_eq!(both, ["spec.exempt: Forbidden"]);
        assert_eq!(
            level("type: Limited, exempt: {}"),
            ["spec.exempt: Forbidden", "spec.limited: Required value"]
        );
        assert_eq!(
            level(limited),
            ["spec.limited: Forbidden", "spec.type: Required value"]
        );
        let queue = level("type: Limited, limited: {limitResponse: {type: Queue}}");
        assert_eq!(
            queue,
            ["spec.limited.limitResponse.queuing: Required value"]
        );
        let queues = "queuing: {queues: 4, handSize: 8, queueLengthLimit: -1}";
        assert_eq!(
            level(&format!(
                "type: Limited, limited: {{limitResponse: {{type: Queue, {queues}}}}}"
            )),
            [
                "spec.limited.limitResponse.queuing.queueLengthLimit: Invalid value: -1: must be positive",
                "spec.limited.limitResponse.queuing.handSize: Invalid value: 8: should not be greater than queues (4)"
            ]
        );
    }

    #[test]
    fn exit_codes_are_different_and_in_order() {
        let pods = "template: {spec: {restartPolicy: Never, containers: []}}";
        let policy = "podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: In, values: [2, 0, 2]}}]}";
        let job = format!("{{metadata: {{name: a, namespace: x}}, spec: {{{policy}, {pods}}}}}");
        let path = "spec.podFailurePolicy.rules[0].onExitCodes.values";
        let found = errors("batch/v1", "Job", &job, None);
        for error in [
            format!("{path}[1]: Invalid value: 0: must not be 0 for the In operator"),
            format!("{path}[2]: Duplicate value: 2"),
            format!("{path}: Invalid value: [2,0,2]: must be ordered"),
        ] {
            assert!(found.contains(&error), "{error}: {found:?}");
        }
    }

    #[test]
    fn names_have_the_syntax_of_their_kind() {
        assert!(
            errors(
                "rbac.authorization.k8s.io/v1",
                "Role",
                "{metadata: {name: 'A:b', namespace: x}}",
                None
            )
            .is_empty()
        );
        let service = "{metadata: {name: a.b, namespace: x}, spec: {type: ClusterIP, sessionAffinity: None, internalTrafficPolicy: Cluster, ports: [{port: 1, protocol: TCP, targetPort: 1}]}}";
        assert_eq!(errors("v1", "Service", service, None).len(), 1);

        // The name of an object of another kind may have dots.
        assert!(
            errors(
                "v1",
                "ConfigMap",
                "{metadata: {name: a.b, namespace: x}}",
                None
            )
            .is_empty()
        );
        let event = |group: &str, rest: &str| {
            let object = format!("{{metadata: {{name: A_b, namespace: x}}, {rest}}}");
            errors(group, "Event", &object, None)
        };
        assert!(event("v1", "involvedObject: {namespace: x}").is_empty());
        let found = event(
            "events.k8s.io/v1",
            "regarding: {namespace: y}, type: Normal",
        );
        let starts = [
            "involvedObject.namespace: ",
            "metadata.name: Invalid value: \"A_b\": ",
            "eventTime: ",
        ];
        assert!(
            found
                .iter()
                .zip(starts)
                .all(|(error, start)| error.starts_with(start)),
            "{found:?}"
        );
        assert_eq!(found.len(), starts.len());
    }

    #[test]
    fn classes_have_values_and_tolerations_in_bounds() {
        let class = |rest: &str| {
            let object = format!("{{metadata: {{name: a}}, {rest}}}");
            errors("scheduling.k8s.io/v1", "PriorityClass", &object, None)
        };
        assert_eq!(
            class("value: 1000000001, preemptionPolicy: X"),
            [
                "value: Forbidden: maximum allowed value of a user defined priority is 1000000000",
                "preemptionPolicy: Unsupported value: \"X\": supported values: \"PreemptLowerPriority\", \"Never\""
            ]
        );
        let toleration = "{key: a, operator: Exists}";
        let runtime = format!(
            "{{metadata: {{name: a}}, handler: h, scheduling: {{tolerations: [{toleration}, {toleration}]}}}}"
        );
        let found = errors("node.k8s.io/v1", "RuntimeClass", &runtime, None);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with("scheduling.tolerations[1]: Duplicate value: {\"Key\":\"a\""),
            "{found:?}"
        );
    }

    #[test]
    fn metadata_of_a_scale_is_ignored_but_its_managed_fields() {
        let scale = "{metadata: {labels: {'a b': c}, managedFields: [{operation: Odd}]}, spec: {replicas: 1}}";
        let found = errors("autoscaling/v1", "Scale", scale, None);
        assert!(
            !found.is_empty()
                && found
                    .iter()
                    .all(|error| error.starts_with("metadata.managedFields")),
            "{found:?}"
        );
    }

    #[test]
    fn the_status_of_a_job_keeps_its_start_and_its_counters() {
        let kind = GroupVersionKind::from_api_version_kind("batch/v1", "Job");
        let job = |spec: &str, status: &str| {
            yaml(&format!(
                "{{metadata: {{name: a, namespace: x, resourceVersion: '1'}}, spec: {spec}, status: {status}}}"
            ))
        };
        let errors = |spec: &str, status: &str| -> Vec<String> {
            let live = job(
                spec,
                "{failed: 1, succeeded: 2, startTime: '2026-01-01T00:00:00Z'}",
            );
            let errors = validate_update(&kind, "status", &job(spec, status), &live);
            errors.iter().map(ToString::to_string).collect()
        };
        assert_eq!(
            errors("{completions: 2}", "{}"),
            [
                "status.failed: Invalid value: 0: cannot decrease the failed counter",
                "status.succeeded: Invalid value: 0: cannot decrease the succeeded counter",
                "status.startTime: Invalid value: null: field is immutable for unsuspended job once set",
            ]
        );
        assert!(errors("{suspend: true}", "{failed: 1, succeeded: 3}").is_empty());
        let indexed = "{suspend: true, completionMode: Indexed, completions: 3, parallelism: 3}";
        assert!(errors(indexed, "{failed: 2}").is_empty());
    }

    /// The words are those of kube-apiserver 1.37.1.
    #[test]
    fn subresources_are_checked_by_rules_of_their_own() {
        let errors = |api_version: &str, kind: &str, subresource: &str, rest: &str| {
            let kind = GroupVersionKind::from_api_version_kind(api_version, kind);
            let metadata = "metadata: {name: a, namespace: x, resourceVersion: '1'}";
            let live = yaml(&format!("{{{metadata}}}"));
            let object = yaml(&format!("{{{metadata}, {rest}}}"));
            let errors = validate_update(&kind, subresource, &object, &live);
            let errors = errors.iter().map(ToString::to_string);
            errors.collect::<Vec<_>>().join("\n")
        };
        for (kind, subresource, rest, expected) in [
            (
                "ResourceQuota",
                "status",
                "status: {hard: {pods: '1.5'}, used: {pods: '-1'}}",
                "status.hard[pods]: Invalid value: \"1.5\": must be an integer\n\
                 status.used[pods]: Invalid value: \"-1\": must be greater than or equal to 0",
            ),
            (
                "PersistentVolumeClaim",
                "status",
                "status: {allocatedResourceStatuses: {cpu: NodeResizePending}, allocatedResources: {storage: '-1'}}",
                "Spec.accessModes: Required value\n\
                 status.allocatedResourceStatuses: Unsupported value: \"cpu\": supported values: \"storage\"\n\
                 status.allocatedResources[storage]: Invalid value: -1: must be a valid resource quantity",
            ),
            (
                "Service",
                "status",
                "spec: {type: LoadBalancer}, status: {loadBalancer: {ingress: [{ip: x, ipMode: odd, hostname: 1.2.3.4}]}}",
                "status.loadBalancer.ingress[0].ip: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)\n\
                 status.loadBalancer.ingress[0].ipMode: Unsupported value: \"odd\": supported values: \"Proxy\", \"VIP\"\n\
                 status.loadBalancer.ingress[0].hostname: Invalid value: \"1.2.3.4\": must be a DNS name, not an IP address",
            ),
        ] {
            assert_eq!(errors("v1", kind, subresource, rest), expected, "{kind}");
        }

        let address = "status: {loadBalancer: {ingress: [{ip: 01.2.3.4}]}}";
        assert_eq!(
            errors("networking.k8s.io/v1", "Ingress", "status", address),
            "status.loadBalancer.ingress[0].ip: Invalid value: \"01.2.3.4\": must not have leading 0s"
        );
    }

    #[test]
    fn the_phase_and_the_finalizers_of_a_namespace_are_checked_by_its_subresources() {
        let kind = GroupVersionKind::new("", "v1", "Namespace");
        let errors = |subresource: &str, metadata: &str, rest: &str| -> Vec<String> {
            let metadata = format!("metadata: {{name: a, resourceVersion: '1'{metadata}}}");
            let (live, object) = (format!("{{{metadata}}}"), format!("{{{metadata}, {rest}}}"));
            let errors = validate_update(&kind, subresource, &yaml(&object), &yaml(&live));
            errors.iter().map(ToString::to_string).collect()
        };
        assert_eq!(
            errors("status", "", "status: {phase: Terminating}"),
            [
                "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty"
            ]
        );
        let deletion = ", deletionTimestamp: '2026-01-01T00:00:00Z'";
        assert_eq!(
            errors("status", deletion, "status: {phase: Active}"),
            [
                "status.Phase: Invalid value: \"Active\": may only be 'Terminating' if `deletionTimestamp` is not empty"
            ]
        );
        assert_eq!(
            errors("finalize", "", "spec: {finalizers: [kubernetes, foo]}"),
            [
                "spec.finalizers[1]: Invalid value: \"foo\": name is neither a standard finalizer name nor is it fully qualified"
            ]
        );
    }
}
