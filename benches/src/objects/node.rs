//! A node with its images and volumes.

use serde_json::{Value, json};

use super::words::Words;

pub(super) fn node() -> Value {
    let mut words = Words::new(2);
    let mut labels = serde_json::Map::new();
    for name in [
        "arch",
        "os",
        "hostname",
        "instance-type",
        "region",
        "zone",
        "pool",
        "disk",
    ] {
        labels.insert(format!("node.example.com/{name}"), words.hex(8).into());
    }
    let images: Vec<Value> = (0..29)
        .map(|i| {
            let name = format!("registry.example.com/shop/service-{i}");
            json!({"names": [format!("{name}@sha256:{}", words.hex(64)), format!("{name}:{i}.2.0")],
                   "sizeBytes": 10_000_000 + words.number(900_000_000)})
        })
        .collect();
    let resources = json!({"cpu": "7910m", "ephemeral-storage": "95551679124", "hugepages-2Mi": "0",
                           "memory": "27615744Ki", "pods": "110"});
    let conditions: Vec<Value> = [
        "MemoryPressure",
        "DiskPressure",
        "PIDPressure",
        "NetworkUnavailable",
        "Ready",
    ]
    .iter()
    .map(|name| {
        json!({"lastHeartbeatTime": "2026-03-02T09:14:31Z", "lastTransitionTime": "2026-02-11T07:02:11Z",
                   "message": words.sentence(6), "reason": format!("Kubelet{name}"), "status": "False",
                   "type": name})
    })
    .collect();
    let volumes: Vec<String> = (0..16)
        .map(|_| format!("kubernetes.io/csi/disk.example.com^vol-{}", words.hex(17)))
        .collect();
    let attached: Vec<Value> = volumes
        .iter()
        .map(|name| json!({"devicePath": "", "name": name}))
        .collect();
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "annotations": {"node.alpha.kubernetes.io/ttl": "0", "csi.example.com/nodeid": words.uid(),
                            "volumes.kubernetes.io/controller-managed-attach-detach": "true"},
            "creationTimestamp": "2026-02-11T07:01:58Z",
            "labels": labels,
            "name": "pool-a-3f41",
            "resourceVersion": "18239876",
            "uid": words.uid()
        },
        "spec": {"podCIDR": "10.4.12.0/24", "podCIDRs": ["10.4.12.0/24"], "providerID": "example://zone-a/3f41"},
        "status": {
            "addresses": [{"address": "10.0.3.17", "type": "InternalIP"},
                          {"address": "203.0.113.41", "type": "ExternalIP"},
                          {"address": "pool-a-3f41", "type": "Hostname"}],
            "allocatable": resources.clone(),
            "capacity": resources,
            "conditions": conditions,
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "images": images,
            "nodeInfo": {"architecture": "amd64", "bootID": words.uid(), "containerRuntimeVersion": "containerd://2.1.4",
                         "kernelVersion": "6.12.8", "kubeletVersion": "v1.37.2", "machineID": words.hex(32),
                         "operatingSystem": "linux", "osImage": "Linux", "systemUUID": words.uid()},
            "volumesAttached": attached,
            "volumesInUse": volumes
        }
    })
}
