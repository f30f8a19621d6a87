//! The steps of the registries before objects are stored.

use std::sync::LazyLock;

use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;
use fieldmanager_value::internal::embedded;

use crate::Kind;
use crate::functions::FUNCTIONS;
use crate::table::{Edit, Path, Table, name_of};

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
    let name = format!("create {}", name_of(kind));
    table().apply(&name, object, None, zero.as_ref()).unwrap_or_else(|| object.clone())
}

/// What kube-apiserver's registry makes of an updated object, or of an update of a subresource (`status`,
/// `ephemeralcontainers`, `resize`), before it is validated and stored. The subresource is empty for the object itself.
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
pub fn prepare_update(kind: &GroupVersionKind, subresource: &str, object: &Value, live: &Value) -> Value {
    let zero = Kind::of(kind).map(|kind| kind.zero());
    let operation = if subresource.is_empty() { "update" } else { subresource };
    let mut object = object.clone();
    keep(&mut object, live, "generation", true);
    let name = format!("{operation} {}", name_of(kind));
    if let Some(prepared) = table().apply(&name, &object, Some(live), zero.as_ref()) {
        object = prepared;
    }
    let has = |object: &Value, name: &str| {
        object.get("metadata").and_then(|metadata| metadata.get(name)).is_some_and(|value| !value.is_null())
    };
    for name in ["uid", "deletionGracePeriodSeconds"] {
        if !has(&object, name) {
            keep(&mut object, live, name, false);
        }
    }
    for name in ["creationTimestamp", "deletionTimestamp"] {
        keep(&mut object, live, name, false);
    }
    object
}

/// Takes a member of the metadata from the live object. If that lacks it, it stays, or is removed.
fn keep(object: &mut Value, live: &Value, name: &str, remove: bool) {
    let path = Path::parse(&format!("metadata.{name}"));
    let changed = match path.get(live) {
        Some(value) => path.edit(object, true, &mut |_| Edit::Set(value.clone())),
        None if remove => path.edit(object, false, &mut |_| Edit::Remove),
        None => None,
    };
    if let Some(changed) = changed {
        *object = changed;
    }
}

fn table() -> &'static Table {
    static TABLE: LazyLock<Table> =
        LazyLock::new(|| embedded("strategies", Table::read(include_str!("data/strategy.yaml"), FUNCTIONS)));
    &TABLE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_valid() {
        Table::read(include_str!("data/strategy.yaml"), FUNCTIONS).unwrap();
    }

    fn yaml(text: &str) -> Value {
        Value::from_yaml(text).unwrap()
    }

    #[test]
    fn an_update_of_status_keeps_the_spec() {
        let kind = GroupVersionKind::new("apps", "v1", "ReplicaSet");
        let live = yaml("{metadata: {generation: 2, uid: u}, spec: {replicas: 1}, status: {replicas: 0}}");
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
        assert_eq!(dropped.get("spec"), Some(&yaml("{volumes: [{name: a, emptyDir: {}}]}")));
        assert_eq!(prepare_update(&kind, "", &new, &new).get("spec"), new.get("spec"));
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
