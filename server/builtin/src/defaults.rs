//! Defaults of built-in kinds.

use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

use crate::Kind;
use crate::kinds::rules;

/// Sets the defaults of an object: what kube-apiserver has after it decoded the object, defaulted it, and converted it
/// to the internal version and back.
///
/// The object is one that [`Kind::decode`](crate::Kind::decode) wrote. An object whose kind has no defaults, or is not
/// in the table, is returned unchanged. Unchanged parts are shared.
///
/// The internal version lacks a few fields: `stringData` of a `Secret` is merged into `data`, and a `DaemonSet` always
/// has the annotation `deprecated.daemonset.template.generation`.
///
/// ```
/// use fieldmanager_builtin::defaulted;
/// use fieldmanager_structural::GroupVersionKind;
/// use fieldmanager_value::Value;
///
/// let service = Value::from_yaml("
/// apiVersion: v1
/// kind: Service
/// spec: {ports: [{port: 80}]}
/// ")?;
/// let service = defaulted(&GroupVersionKind::new("", "v1", "Service"), &service);
/// let spec = service.get("spec").unwrap();
/// assert_eq!(spec.get("ports").unwrap().to_json(), r#"[{"port":80,"protocol":"TCP","targetPort":80}]"#);
/// assert_eq!(spec.get("type").unwrap().as_str(), Some("ClusterIP"));
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
pub fn defaulted(kind: &GroupVersionKind, object: &Value) -> Value {
    let Some(object) = rules().apply(kind, "defaults", object, None, None) else {
        return object.clone();
    };
    let converted = Kind::of(kind).and_then(|kind| kind.convert(&object, &kind).ok());
    converted.unwrap_or(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(api_version: &str, kind: &str, object: &str, expected: &str) {
        let kind = GroupVersionKind::from_api_version_kind(api_version, kind);
        let object = defaulted(&kind, &Value::from_yaml(object).unwrap());
        let expected = Value::from_yaml(expected).unwrap();
        for (name, member) in expected.as_map().unwrap() {
            assert_eq!(object.get(name), Some(member), "{}", object.to_json());
        }
    }

    #[test]
    fn type_of_a_service_decides_its_traffic_policies() {
        check(
            "v1",
            "Service",
            "{spec: {type: ExternalName, sessionAffinity: ClientIP}}",
            "{spec: {type: ExternalName, sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: {timeoutSeconds: 10800}}}}",
        );
        check(
            "v1",
            "Service",
            "{spec: {type: LoadBalancer, sessionAffinityConfig: {}}}",
            "{spec: {type: LoadBalancer, sessionAffinity: None, externalTrafficPolicy: Cluster,
              internalTrafficPolicy: Cluster, allocateLoadBalancerNodePorts: true}}",
        );
    }

    #[test]
    fn string_data_of_a_secret_overwrites_data() {
        check(
            "v1",
            "Secret",
            "{data: {a: eA==, b: eA==}, stringData: {b: yy, c: ''}}",
            "{type: Opaque, data: {a: eA==, b: eXk=, c: ''}}",
        );
    }

    #[test]
    fn empty_api_group_of_a_role_reference_counts_as_absent() {
        check(
            "rbac.authorization.k8s.io/v1",
            "RoleBinding",
            "{roleRef: {apiGroup: '', kind: Role, name: a}, subjects: [{kind: User, name: u}, {kind: ServiceAccount, name: s}]}",
            "{roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: a},
              subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: u}, {kind: ServiceAccount, name: s}]}",
        );
    }

    #[test]
    fn objects_of_other_kinds_are_unchanged() {
        check("example.com/v1", "Shop", "{spec: {}}", "{spec: {}}");
    }
}
