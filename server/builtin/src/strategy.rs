//! The steps of the registries before objects are stored.

use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

use crate::Kind;
use crate::functions::edit::{at, with_value_of};
use crate::kinds::rules;

/// Prepares a new object as kube-apiserver's registry does before it is validated and stored.
///
/// The object has [defaults](crate::defaulted). It is returned with an empty status where the registry clears it, with
/// generation 1 where the kind has generations, and without fields whose feature gates are off. `metadata.uid` should
/// be set: a `Job` selects its pods by it. The registry reads the clock for a few conditions of pods and for the phase
/// of a `PersistentVolume`; here it is `metadata.creationTimestamp`. Unchanged parts are shared.
///
/// The server's allocators are not included: cluster IPs and node ports stay as they are.
///
/// ```
/// use fieldmanager_builtin::prepare_create;
/// use fieldmanager_structural::GroupVersionKind;
/// use fieldmanager_value::Value;
///
/// let kind = GroupVersionKind::new("networking.k8s.io", "v1", "Ingress");
/// let ingress = Value::from_yaml("{metadata: {name: web}, spec: {}, status: {loadBalancer: {ingress: [{ip: 10.0.0.1}]}}}")?;
/// let stored = prepare_create(&kind, &ingress);
/// assert_eq!(
///     stored.to_json(),
///     r#"{"metadata":{"generation":1,"name":"web"},"spec":{},"status":{"loadBalancer":{}}}"#,
/// );
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
pub fn prepare_create(kind: &GroupVersionKind, object: &Value) -> Value {
    let zero = Kind::of(kind).map(|kind| kind.zero());
    rules()
        .apply(kind, "create", object, None, zero.as_ref())
        .unwrap_or_else(|| object.clone())
}

/// What kube-apiserver's registry makes of an updated object, or of an update of a subresource (`status`,
/// `ephemeralcontainers`, `resize`, `finalize`), before it is validated and stored. The subresource is empty for the object itself.
///
/// Both objects have [defaults](crate::defaulted). The generation is that of the live object, raised by one if the
/// registry does so; `uid`, `creationTimestamp`, `deletionTimestamp` and `deletionGracePeriodSeconds` are those of the
/// live object where an update cannot change them. Unchanged parts are shared.
///
/// ```
/// use fieldmanager_builtin::prepare_update;
/// use fieldmanager_structural::GroupVersionKind;
/// use fieldmanager_value::Value;
///
/// let kind = GroupVersionKind::new("apps", "v1", "Deployment");
/// let live = Value::from_yaml("{metadata: {generation: 3}, spec: {replicas: 1}, status: {replicas: 1}}")?;
/// let new = Value::from_yaml("{metadata: {}, spec: {replicas: 2}, status: {}}")?;
/// let stored = prepare_update(&kind, "", &new, &live);
/// assert_eq!(stored.to_json(), r#"{"metadata":{"generation":4},"spec":{"replicas":2},"status":{"replicas":1}}"#);
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
pub fn prepare_update(
    kind: &GroupVersionKind,
    subresource: &str,
    object: &Value,
    live: &Value,
) -> Value {
    let zero = Kind::of(kind).map(|kind| kind.zero());
    let operation = if subresource.is_empty() {
        "update"
    } else {
        subresource
    };

    // The client cannot set the generation: rules raise the live one.
    let generation = "metadata.generation";
    let mut object = with_value_of(object, generation, at(live, generation));
    if let Some(prepared) = rules().apply(kind, operation, &object, Some(live), zero.as_ref()) {
        object = prepared;
    }

    // What the request leaves out is that of the live object; another value is left to validation.
    for name in ["uid", "deletionGracePeriodSeconds"] {
        if at(&object, &format!("metadata.{name}")).is_none() {
            keep(&mut object, live, name);
        }
    }

    // Times of the live object always win, even over those of the request.
    for name in ["creationTimestamp", "deletionTimestamp"] {
        keep(&mut object, live, name);
    }
    object
}

/// Takes a member of the metadata from the live object, if that has it.
fn keep(object: &mut Value, live: &Value, name: &str) {
    let path = format!("metadata.{name}");
    if let Some(value) = at(live, &path) {
        *object = with_value_of(object, &path, Some(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn yaml(text: &str) -> Value {
        Value::from_yaml(text).unwrap()
    }

    #[test]
    fn an_update_of_status_keeps_the_spec() {
        let kind = GroupVersionKind::new("apps", "v1", "ReplicaSet");
        let live =
            yaml("{metadata: {generation: 2, uid: u}, spec: {replicas: 1}, status: {replicas: 0}}");
        let new = yaml("{metadata: {generation: 9}, spec: {replicas: 3}, status: {replicas: 1}}");
        assert_eq!(
            prepare_update(&kind, "status", &new, &live),
            yaml("{metadata: {generation: 2, uid: u}, spec: {replicas: 1}, status: {replicas: 1}}")
        );
    }

    #[test]
    fn fields_behind_closed_gates_stay_if_the_live_object_has_them() {
        let kind = GroupVersionKind::new("", "v1", "Pod");
        let spec = "{volumes: [{name: a, emptyDir: {mode: 1}}]}";
        let new = yaml(&format!("{{metadata: {{}}, spec: {spec}, status: {{}}}}"));
        let old = yaml("{metadata: {}, spec: {volumes: []}, status: {}}");
        let dropped = prepare_update(&kind, "", &new, &old);
        assert_eq!(
            dropped.get("spec"),
            Some(&yaml("{volumes: [{name: a, emptyDir: {}}]}"))
        );
        assert_eq!(
            prepare_update(&kind, "", &new, &new).get("spec"),
            new.get("spec")
        );
    }

    #[test]
    fn a_service_that_needs_no_node_ports_loses_them() {
        let kind = GroupVersionKind::new("", "v1", "Service");
        let live = yaml(
            "{metadata: {}, spec: {type: NodePort, externalTrafficPolicy: Cluster, ports: [{port: 1, nodePort: 30000}]}, status: {}}",
        );
        let new = yaml(
            "{metadata: {}, spec: {type: ClusterIP, externalTrafficPolicy: Cluster, ports: [{port: 1, nodePort: 30000}]}, status: {}}",
        );
        let spec = prepare_update(&kind, "", &new, &live).get("spec").cloned();
        assert_eq!(spec, Some(yaml("{type: ClusterIP, ports: [{port: 1}]}")));
    }
}
