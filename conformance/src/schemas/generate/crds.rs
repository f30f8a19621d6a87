//! Custom resource definitions.

use serde_json::{Value, json};

use super::{broken, set, structural};
use crate::generate::random::Random;

pub(super) fn crd(random: &mut Random) -> Value {
    let count = if random.chance(25) { 2 } else { 1 };
    let versions: Vec<Value> = (0..count).map(|number| version(random, number)).collect();
    let mut spec = json!({
        "group": "example.com",
        "names": {"kind": "Shop", "plural": "shops", "singular": "shop", "listKind": "ShopList"},
        "scope": if random.chance(50) { "Namespaced" } else { "Cluster" },
        "versions": versions,
    });
    if random.chance(5) {
        set(&mut spec, "preserveUnknownFields", random.chance(70));
    }
    if random.chance(10)
        && let Some(names) = spec.get_mut("names")
    {
        // The singular and the kind of lists have defaults.
        *names = json!({"kind": "Shop", "plural": "shops"});
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "shops.example.com"},
        "spec": spec,
    })
}

fn version(random: &mut Random, number: usize) -> Value {
    let mut version = json!({
        "name": if number == 0 { "v1" } else { "v1beta1" },
        "served": number == 0 || random.chance(70),
        "storage": number == 0,
    });
    if !random.chance(3) {
        let mut schema = structural::root(random);
        broken::schema(random, &mut schema, 20);
        set(&mut version, "schema", json!({"openAPIV3Schema": schema}));
    }
    if random.chance(25) {
        set(&mut version, "subresources", json!({"status": {}}));
    }
    version
}
