//! Warnings about volumes and their drivers.

use fieldmanager_value::Value;
use fieldmanager_value::internal::go_format::quote;

use super::fields::{at, has_annotation, items, text};
use super::network::NODE_LABELS;
use crate::amount::Amount;

const CLASS: &str = "volume.beta.kubernetes.io/storage-class";
const TOKENS: &str = "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to \
                      prevent possible logging of tokens in volume attributes";

pub(crate) fn driver(driver: &Value, live: Option<&Value>) -> Vec<String> {
    let requests = at(driver, "spec.tokenRequests");
    // A driver that had the same requests before was warned about already.
    let is_new = live.is_none_or(|live| at(live, "spec.tokenRequests") != requests);
    let has_requests = items(driver, "spec.tokenRequests").next().is_some();
    let is_unset = at(driver, "spec.serviceAccountTokenInSecrets").is_null();
    if is_new && has_requests && is_unset {
        vec![TOKENS.to_owned()]
    } else {
        Vec::new()
    }
}

/// Annotations that fields replaced.
const ANNOTATIONS: [(&str, &str); 2] = [
    (
        CLASS,
        "deprecated since v1.8; use \"storageClassName\" attribute instead",
    ),
    (
        "volume.beta.kubernetes.io/mount-options",
        "deprecated since v1.31; use \"mountOptions\" attribute instead",
    ),
];

/// Sources of volumes that were replaced: the field, which messages write differently for `storageOS`, and the warning.
const SOURCES: [(&str, &str, &str); 6] = [
    (
        "cephfs",
        "cephfs",
        "deprecated in v1.28, non-functional in v1.31+",
    ),
    (
        "photonPersistentDisk",
        "photonPersistentDisk",
        "deprecated in v1.11, non-functional in v1.16+",
    ),
    (
        "scaleIO",
        "scaleIO",
        "deprecated in v1.16, non-functional in v1.22+",
    ),
    (
        "storageos",
        "storageOS",
        "deprecated in v1.22, non-functional in v1.25+",
    ),
    (
        "glusterfs",
        "glusterfs",
        "deprecated in v1.25, non-functional in v1.26+",
    ),
    (
        "rbd",
        "rbd",
        "deprecated in v1.28, non-functional in v1.31+",
    ),
];

pub(crate) fn volume(volume: &Value, _: Option<&Value>) -> Vec<String> {
    let mut out = Vec::new();
    for (name, instead) in ANNOTATIONS {
        if has_annotation(volume, name) {
            out.push(format!("metadata.annotations[{name}]: {instead}"));
        }
    }

    if text(volume, "spec.persistentVolumeReclaimPolicy") == "Recycle" {
        out.push(
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended \
             approach is to use dynamic provisioning."
                .to_owned(),
        );
    }

    // A volume may name replaced labels of nodes, as selectors of pods may.
    for (place, term) in items(volume, "spec.nodeAffinity.required.nodeSelectorTerms").enumerate() {
        for (at, requirement) in items(term, "matchExpressions").enumerate() {
            let key = text(requirement, "key");
            let found = NODE_LABELS.iter().find(|(label, _)| *label == key);
            out.extend(found.map(|(_, warning)| {
                let path = format!("spec.nodeAffinity.required.nodeSelectorTerms[{place}]");
                format!("{path}.matchExpressions[{at}].key: {key} is {warning}")
            }));
        }
    }

    for (field, shown, warning) in SOURCES {
        if !at(volume, &format!("spec.{field}")).is_null() {
            out.push(format!("spec.{shown}: {warning}"));
        }
    }

    out
}

pub(crate) fn claim(claim: &Value, _: Option<&Value>) -> Vec<String> {
    let mut out = Vec::new();
    if has_annotation(claim, CLASS) {
        let instead = "deprecated since v1.8; use \"storageClassName\" attribute instead";
        out.push(format!("metadata.annotations[{CLASS}]: {instead}"));
    }

    // Storage has no smaller unit than a byte.
    for name in ["requests", "limits"] {
        let size = text(claim, &format!("spec.resources.{name}.storage"));
        if Amount::parse(size).is_some_and(|amount| !amount.is_whole()) {
            let path = format!("spec.resources.{name}[storage]");
            let given = quote(size);
            out.push(format!(
                "{path}: fractional byte value {given} is invalid, must be an integer"
            ));
        }
    }

    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_claims_and_drivers_have_the_warnings_of_kubernetes() {
        let yaml = |text: &str| Value::from_yaml(text).unwrap();
        let sizes =
            yaml("{spec: {resources: {requests: {storage: 100m}, limits: {storage: 1Gi}}}}");
        assert_eq!(
            claim(&sizes, None),
            [
                "spec.resources.requests[storage]: fractional byte value \"100m\" is invalid, must be an integer"
            ]
        );
        let requests = yaml("{spec: {tokenRequests: [{audience: a}]}}");
        assert_eq!(driver(&requests, None), [TOKENS]);
        assert!(driver(&requests, Some(&requests)).is_empty());
        let old = yaml("{spec: {persistentVolumeReclaimPolicy: Recycle, rbd: {}}}");
        assert_eq!(volume(&old, None).len(), 2);
    }
}
