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
    shop(&format!(
        "[{{name: v1, served: true, subresources: {{scale: {scale}}}}}]"
    ))
}

/// The definition of a namespaced kind in the group `example.com`, in YAML: `version` has further members of its version
/// `v1`, and `properties` those of its schema.
///
/// ```
/// let stall = fieldmanager_testing::definition("Stall", "subresources: {status: {}}", "a: {}\nb: {type: string}");
/// let version = "  - name: v1\n    served: true\n    storage: true\n    subresources: {status: {}}\n    schema:";
/// assert!(stall.contains("  names: {kind: Stall, plural: stalls}\n") && stall.contains(version));
/// assert!(stall.ends_with("        properties:\n          a: {}\n          b: {type: string}\n"));
/// ```
pub fn definition(kind: &str, version: &str, properties: &str) -> String {
    let plural = kind.to_lowercase() + "s";
    let indented = |text: &str, by: usize| -> String {
        text.trim_matches('\n')
            .lines()
            .map(|line| format!("{:by$}{line}\n", ""))
            .collect()
    };
    let (version, properties) = (indented(version, 4), indented(properties, 10));
    format!(
        "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: {plural}.example.com}}
spec:
  group: example.com
  names: {{kind: {kind}, plural: {plural}}}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
{version}    schema:
      openAPIV3Schema:
        type: object
        properties:
{properties}"
    )
}
