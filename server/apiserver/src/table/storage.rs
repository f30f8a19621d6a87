//! Cells of volumes, claims, classes and drivers.

use fieldmanager_value::Value;

use super::object::Object;

fn access_modes(object: &Object<'_>, path: &str) -> String {
    let modes = object.texts(path);
    let known = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let short: Vec<&str> = known
        .iter()
        .filter(|(mode, _)| modes.contains(mode))
        .map(|(_, short)| *short)
        .collect();

    short.join(",")
}

/// The class of a volume or a claim: an annotation precedes the field.
fn class_name<'o>(object: &Object<'o>) -> &'o str {
    let annotation = object.member(
        "metadata.annotations",
        "volume.beta.kubernetes.io/storage-class",
    );
    annotation
        .and_then(Value::as_str)
        .unwrap_or_else(|| object.text("spec.storageClassName"))
}

fn optional<'o>(object: &Object<'o>, path: &str) -> Value {
    object
        .get(path)
        .and_then(Value::as_str)
        .unwrap_or("<unset>")
        .into()
}

fn phase(object: &Object<'_>) -> Value {
    if object.is_deleted() {
        "Terminating".into()
    } else {
        object.text("status.phase").into()
    }
}

pub(super) fn volume(object: &Object<'_>) -> Vec<Value> {
    let claim = if object.has("spec.claimRef") {
        format!(
            "{}/{}",
            object.text("spec.claimRef.namespace"),
            object.text("spec.claimRef.name")
        )
    } else {
        String::new()
    };

    vec![
        object.text_or("spec.capacity.storage", "0").into(),
        access_modes(object, "spec.accessModes").into(),
        object.text("spec.persistentVolumeReclaimPolicy").into(),
        phase(object),
        claim.into(),
        class_name(object).into(),
        optional(object, "spec.volumeAttributesClassName"),
        object.text("status.reason").into(),
        object.age().into(),
        optional(object, "spec.volumeMode"),
    ]
}

pub(super) fn claim(object: &Object<'_>) -> Vec<Value> {
    let name = object.text("spec.volumeName");
    let (capacity, modes) = if name.is_empty() {
        ("", String::new())
    } else {
        (
            object.text_or("status.capacity.storage", "0"),
            access_modes(object, "status.accessModes"),
        )
    };

    vec![
        phase(object),
        name.into(),
        capacity.into(),
        modes.into(),
        class_name(object).into(),
        optional(object, "spec.volumeAttributesClassName"),
        object.age().into(),
        optional(object, "spec.volumeMode"),
    ]
}

/// The name of the class that is the default one: of those that are marked, the one that was created last, or the first
/// by name.
pub(super) fn default_class(objects: &[Value]) -> Option<&str> {
    let marked = objects.iter().filter(|object| {
        let metadata = object.get("metadata");
        let annotations = metadata.and_then(|metadata| metadata.get("annotations"));
        let group = [
            "storageclass.kubernetes.io",
            "storageclass.beta.kubernetes.io",
        ];
        object.get("kind").and_then(Value::as_str) == Some("StorageClass")
            && group.iter().any(|group| {
                let marker =
                    annotations.and_then(|all| all.get(&format!("{group}/is-default-class")));
                marker.and_then(Value::as_str) == Some("true")
            })
    });

    let text = |object: &'_ Value, name: &str| -> String {
        let field = object
            .get("metadata")
            .and_then(|metadata| metadata.get(name));
        field.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let last = marked.max_by(|a, b| {
        // Times have one format, in which they sort as strings.
        let newer = text(a, "creationTimestamp").cmp(&text(b, "creationTimestamp"));
        newer.then_with(|| text(b, "name").cmp(&text(a, "name")))
    });

    last?.get("metadata")?.get("name")?.as_str()
}

pub(super) fn class(object: &Object<'_>) -> Vec<Value> {
    let name = object.text("metadata.name");
    let default = object.default_class() == Some(name);
    let name = if default {
        format!("{name} (default)")
    } else {
        name.to_owned()
    };

    vec![
        name.into(),
        object.text("provisioner").into(),
        object.text_or("reclaimPolicy", "Delete").into(),
        object.text_or("volumeBindingMode", "Immediate").into(),
        object.flag("allowVolumeExpansion", false).into(),
    ]
}

pub(super) fn driver(object: &Object<'_>) -> Vec<Value> {
    let tokens = if object.has("spec.tokenRequests") {
        let audiences: Vec<&str> = object
            .items("spec.tokenRequests")
            .map(|token| token.text("audience"))
            .collect();
        audiences.join(",")
    } else {
        "<unset>".to_owned()
    };
    let modes = object.texts("spec.volumeLifecycleModes").join(",");

    vec![
        object.flag("spec.attachRequired", true).into(),
        object.flag("spec.podInfoOnMount", false).into(),
        object.flag("spec.storageCapacity", false).into(),
        tokens.into(),
        object.flag("spec.requiresRepublish", false).into(),
        if modes.is_empty() {
            "<none>".into()
        } else {
            modes.into()
        },
    ]
}

pub(super) fn migration(object: &Object<'_>) -> Vec<Value> {
    let resource = match object.text("spec.resource.group") {
        "" => object.text("spec.resource.resource").to_owned(),
        group => format!("{}.{group}", object.text("spec.resource.resource")),
    };
    let mut status = "Unknown";

    for condition in object
        .items("status.conditions")
        .filter(|condition| condition.text("status") == "True")
    {
        if matches!(condition.text("type"), "Running" | "Failed" | "Succeeded") {
            status = condition.text("type");
        }
    }

    vec![resource.into(), status.into()]
}
