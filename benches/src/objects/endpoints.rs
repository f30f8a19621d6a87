//! The endpoints of a service with a thousand pods: a long list, which is one leaf for the field manager.

use serde_json::{Value, json};

use super::words::Words;

const ADDRESSES: u64 = 905;

pub(super) fn endpoints() -> Value {
    let mut words = Words::new(3);
    let addresses: Vec<Value> = (0..ADDRESSES)
        .map(|i| {
            json!({
                "ip": format!("10.4.{}.{}", i / 250, i % 250),
                "nodeName": format!("pool-a-{}", words.hex(4)),
                "targetRef": {
                    "kind": "Pod",
                    "name": format!("checkout-66f9d8b7c4-{}", words.hex(5)),
                    "namespace": "shop",
                    "resourceVersion": (18_000_000 + words.number(900_000)).to_string(),
                    "uid": words.uid()
                }
            })
        })
        .collect();
    json!({
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {
            "annotations": {"endpoints.kubernetes.io/last-change-trigger-time": "2026-03-02T09:14:31Z"},
            "labels": {"app": "checkout"},
            "name": "checkout",
            "namespace": "shop",
            "resourceVersion": "18239001",
            "uid": words.uid()
        },
        "subsets": [{"addresses": addresses, "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}]}]
    })
}
