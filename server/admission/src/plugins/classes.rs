//! Plugins about claims, volumes and default classes: DefaultStorageClass, StorageObjectInUseProtection,
//! PersistentVolumeClaimResize, DefaultIngressClass.

use fieldmanager_value::Value;

use super::amounts::quantity;
use super::object::{at, default_class, items, push, set, text};
use super::plugin::PluginSteps::{Mutate, Validate};
use super::plugin::{Plugin, answer, is_create};
use crate::{
    AdmissionAnswer, AdmissionOperation, AdmissionRequest, Admitted, Cluster, ResourceName,
};

/// A claim without a class gets the default one.
///
/// Behaviour: `k8s.io/kubernetes/plugin/pkg/admission/storage/storageclass/setdefault/admission.go`.
pub(super) const DEFAULT_STORAGE_CLASS: Plugin = Plugin {
    name: "DefaultStorageClass",
    handles: |request| request.is_of("", "persistentvolumeclaims") && is_create(request),
    steps: Mutate(set_default),
};

/// An Ingress without a class gets the default one.
///
/// Behaviour: `k8s.io/kubernetes/plugin/pkg/admission/network/defaultingressclass/admission.go`.
pub(super) const DEFAULT_INGRESS_CLASS: Plugin = Plugin {
    name: "DefaultIngressClass",
    handles: |request| request.is_of("networking.k8s.io", "ingresses") && is_create(request),
    steps: Mutate(set_default),
};

/// What is in use has a finalizer.
///
/// Behaviour: `k8s.io/kubernetes/plugin/pkg/admission/storage/storageobjectinuseprotection/admission.go`.
pub(super) const STORAGE_OBJECT_IN_USE_PROTECTION: Plugin = Plugin {
    name: "StorageObjectInUseProtection",
    handles: |request| is_create(request) && finalizer(request).is_some(),
    steps: Mutate(protect),
};

/// Only bound claims of a class that allows it grow.
///
/// Behaviour: `k8s.io/kubernetes/plugin/pkg/admission/storage/persistentvolume/resize/admission.go`.
pub(super) const PERSISTENT_VOLUME_CLAIM_RESIZE: Plugin = Plugin {
    name: "PersistentVolumeClaimResize",
    handles: |request| {
        request.is_of("", "persistentvolumeclaims")
            && request.operation == AdmissionOperation::Update
    },
    steps: Validate(check_growth),
};

/// The annotation with the class of a claim that goes before its field.
const CLASS: &str = "volume.beta.kubernetes.io/storage-class";
/// The annotation with the class of an Ingress that goes before its field.
const INGRESS_CLASS: &str = "kubernetes.io/ingress.class";
const STORAGE_CLASSES: ResourceName<'static> = ("storage.k8s.io", "storageclasses");
const INGRESS_CLASSES: ResourceName<'static> = ("networking.k8s.io", "ingressclasses");
/// The annotations that make a class the default one.
const STORAGE_MARKS: [&str; 2] = [
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
];
const INGRESS_MARKS: [&str; 1] = ["ingressclass.kubernetes.io/is-default-class"];

/// Sets the class of an object to the default one, unless it has one.
fn set_default<'a>(request: AdmissionRequest<'a>, cluster: &'a dyn Cluster) -> AdmissionAnswer<'a> {
    let (field, annotation, classes, marks) = match request.resource {
        "ingresses" => (
            "ingressClassName",
            INGRESS_CLASS,
            INGRESS_CLASSES,
            &INGRESS_MARKS[..],
        ),
        _ => (
            "storageClassName",
            CLASS,
            STORAGE_CLASSES,
            &STORAGE_MARKS[..],
        ),
    };
    Box::pin(async move {
        // An empty class is a choice too: it asks for none.
        let annotation = request.field(&["metadata", "annotations", annotation]);
        if !annotation.is_null() || !request.field(&["spec", field]).is_null() {
            return Ok(Admitted::default());
        }
        let class = default_class(&cluster.list(classes, "").await?, marks);
        let changed = class.map(|class| set(request.field(&[]), &["spec", field], class));

        Ok(changed.map(Admitted::changed).unwrap_or_default())
    })
}

/// The finalizer that protects an object.
fn finalizer(request: &AdmissionRequest<'_>) -> Option<&'static str> {
    match (request.group, request.resource, request.subresource) {
        ("", "persistentvolumes", "") => Some("kubernetes.io/pv-protection"),
        ("", "persistentvolumeclaims", "") => Some("kubernetes.io/pvc-protection"),
        ("storage.k8s.io", "volumeattributesclasses", "") => Some("kubernetes.io/vac-protection"),
        _ => None,
    }
}

fn protect<'a>(request: AdmissionRequest<'a>, _: &'a dyn Cluster) -> AdmissionAnswer<'a> {
    let (object, path) = (request.field(&[]), ["metadata", "finalizers"]);
    let missing = finalizer(&request)
        .filter(|missing| !items(object, &path).any(|own| own.as_str() == Some(missing)));
    let changed = missing.map(|missing| push(object, &path, missing));

    answer(changed)
}

fn check_growth<'a>(
    request: AdmissionRequest<'a>,
    cluster: &'a dyn Cluster,
) -> AdmissionAnswer<'a> {
    Box::pin(async move {
        let (new, old) = (request.field(&[]), request.old_field(&[]));
        let size = |claim: &Value| {
            let size = quantity(at(claim, &["spec", "resources", "requests", "storage"]));
            size.map_or(0, |size| size.nanos)
        };
        // Validation refuses a claim that shrinks.
        if size(new) <= size(old) {
            return Ok(Admitted::default());
        }
        if text(old, &["status", "phase"]) != "Bound" {
            return Err(request.forbidden("Only bound persistent volume claims can be expanded"));
        }

        let class = class(new);
        // A claim without a class has no provisioner that could resize it.
        if !class.is_empty() && class == self::class(old) {
            let class = cluster.get(STORAGE_CLASSES, "", class).await?;
            let class = class.unwrap_or_default();
            if at(&class, &["allowVolumeExpansion"]).as_bool() == Some(true) {
                return Ok(Admitted::default());
            }
        }
        Err(request.forbidden(
            "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support \
             resize",
        ))
    })
}

/// The class of a claim; empty if it has none.
pub(super) fn class(claim: &Value) -> &str {
    let annotation = at(claim, &["metadata", "annotations", CLASS]).as_str();
    annotation.unwrap_or_else(|| text(claim, &["spec", "storageClassName"]))
}
