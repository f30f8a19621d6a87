//! The custom resource `Shop`.

use fieldmanager_value::Value;

/// The definition of the cluster-scoped kind `Shop` in the group `example.com`, with a list of versions in YAML.
///
/// # Panics
///
/// If the list is not YAML.
pub fn shop(versions: &str) -> Value {
    let text = format!(
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
spec:
  group: example.com
  names: {{kind: Shop, plural: shops}}
  scope: Cluster
  versions: {versions}
"
    );
    Value::from_yaml(&text).expect("the versions are YAML")
}

/// The definition of the namespaced kind `Shop` in the group `shops.example.com`, with the rest of the spec in YAML.
///
/// # Panics
///
/// If the spec is not YAML.
pub fn namespaced_shop(spec: &str) -> Value {
    let text = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n  group: shops.example.com\n  \
         names: {{kind: Shop, plural: shops}}\n  scope: Namespaced\n  {spec}\n"
    );
    Value::from_yaml(&text).expect("the spec is YAML")
}

/// The definition of `Shop` with the version `v1`, which has a scale and no schema.
pub fn shop_with_scale() -> Value {
    let scale = "{specReplicasPath: .spec.n, statusReplicasPath: .status.n}";
    shop(&format!("[{{name: v1, served: true, subresources: {{scale: {scale}}}}}]"))
}
