//! `bindings` and `pods/binding`: a Pod gets its node.

use fieldmanager_managedfields::Time;
use fieldmanager_structural::internal::NameSyntax;
use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::Value;

use super::actions::done;
use super::admission::refused;
use super::conditions::{since, with_condition};
use super::failure::internal;
use super::{Answer, Call, Core, Failure};
use crate::object::{has_items, is_terminating, map, metadata, text, with_field, with_metadata};

impl Core {
    /// `POST` of `bindings`, whose body names the Pod, and of `pods/binding`, whose path does too.
    pub(super) async fn bind(&self, call: &Call<'_>) -> Result<Answer, Failure> {
        let registry = self.registry();
        let served = |plural| {
            let found = registry.get("", "v1", plural);
            found.ok_or_else(Failure::resource_not_found)
        };
        let handlers = served("bindings")?.handlers().map_err(internal)?;
        let check = |binding: &Value| check_binding(call.name, binding);
        let outcome = self.question(call, handlers, check).await?;
        let binding = &outcome.object;

        let pod = Call {
            served: served("pods")?,
            name: text(binding, &["metadata", "name"]),
            ..*call
        };
        let now = self.source.now();
        let bound = self.changed(&pod, |live| bound(&pod, live, binding, now));
        let bound = bound.await;
        bound.map_err(|failure| refused(&outcome.warnings, failure))?;

        Ok(Answer {
            warnings: outcome.warnings,
            ..done(201)
        })
    }
}

/// Checks a binding, with the name of the Pod in the path; that is empty if the body alone names it.
///
/// Behaviour: `Create` of `BindingREST` in `pkg/registry/core/pod/storage` of Kubernetes.
fn check_binding(in_path: &str, binding: &Value) -> Result<(), Failure> {
    let name = text(binding, &["metadata", "name"]);
    if !in_path.is_empty() && in_path != name {
        let message = "name in URL does not match name in Binding object";
        return Err(Failure::bad_request(message));
    }

    // The registry does not say that these faults are those of the request.
    match target_faults(binding).as_slice() {
        [] if name.is_empty() => Err(Failure::bad_request("Name parameter required.")),
        [] => Ok(()),
        [fault] => Err(Failure::new(500, "", fault.clone())),
        all => Err(Failure::new(500, "", format!("[{}]", all.join(", ")))),
    }
}

/// The faults of the node that a binding names.
fn target_faults(binding: &Value) -> Vec<String> {
    let target = FieldPath::root("target");
    let (kind, name) = (
        text(binding, &["target", "kind"]),
        text(binding, &["target", "name"]),
    );
    let is_node = ["", "Node"].contains(&kind);
    let mut errors = Vec::new();

    if !is_node {
        let accepted = ["Node", "<empty>"];
        errors.push(FieldError::not_supported(
            target.child("kind"),
            kind,
            &accepted,
        ));
    }
    if name.is_empty() {
        errors.push(FieldError::required(target.child("name"), ""));
    } else if is_node {
        let faults = NameSyntax::Subdomain.faults(name, false).into_iter();
        errors.extend(faults.map(|fault| FieldError::invalid(target.child("name"), name, fault)));
    }

    errors.iter().map(FieldError::to_string).collect()
}

/// Refuses a binding of another Pod, or of another version of it. kube-apiserver checks both in its store, whose error
/// names the key of etcd.
fn check_identity(call: &Call<'_>, pod: &Value, binding: &Value) -> Result<(), Failure> {
    for (what, field) in [("UID", "uid"), ("ResourceVersion", "resourceVersion")] {
        let [wanted, own] = [binding, pod].map(|object| text(object, &["metadata", field]));
        if wanted.is_empty() || wanted == own {
            continue;
        }
        let (namespace, name) = (call.namespace, call.name);
        return Err(Failure::of_object(
            409,
            "Conflict",
            call,
            |resource, quoted| {
                format!(
                    "Operation cannot be fulfilled on {resource} {quoted}: StorageError: invalid object, Code: 4, Key: \
                     /registry/pods/{namespace}/{name}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: \
                     {what} in precondition: {wanted}, {what} in object meta: {own}"
                )
            },
        ));
    }
    Ok(())
}

/// A Pod that is assigned to the node of a binding, with the labels and annotations of that.
fn bound(call: &Call<'_>, pod: &Value, binding: &Value, now: Time) -> Result<Value, Failure> {
    check_identity(call, pod, binding)?;

    // A Pod is assigned once, and only if it may run.
    let (name, node) = (call.name, text(pod, &["spec", "nodeName"]));
    let fault = if is_terminating(pod) {
        format!("pod {name} is being deleted, cannot be assigned to a host")
    } else if !node.is_empty() {
        format!("pod {name} is already assigned to node {node:?}")
    } else if has_items(pod, &["spec", "schedulingGates"]) {
        format!("pod {name} has non-empty .spec.schedulingGates")
    } else {
        String::new()
    };
    if !fault.is_empty() {
        let resource = "pods/binding";
        let message = format!("Operation cannot be fulfilled on {resource} {name:?}: {fault}");
        return Err(Failure::about(
            409,
            "Conflict",
            ("", resource, name),
            message,
        ));
    }

    let node = text(binding, &["target", "name"]).into();
    let mut pod = with_field(pod, "spec", "nodeName", node);
    for name in ["annotations", "labels"] {
        let added = metadata(binding, name).and_then(Value::as_map);
        let Some(added) = added.filter(|added| !added.is_empty()) else {
            continue;
        };
        let mut all = metadata(&pod, name)
            .and_then(Value::as_map)
            .cloned()
            .unwrap_or_default();
        for (key, value) in added {
            all.insert(key.clone(), value.clone());
        }
        pod = with_metadata(&pod, name, Some(Value::Map(all)));
    }

    let pod = without_nomination(&pod);
    Ok(with_pod_condition(&pod, "PodScheduled", now, &[]))
}

/// The Pod without the node that it was to get.
fn without_nomination(pod: &Value) -> Value {
    match pod.get("status") {
        Some(Value::Map(status)) if status.contains("nominatedNodeName") => {
            let mut status = status.clone();
            status.remove("nominatedNodeName");
            crate::object::with(pod, "status", status)
        }
        _ => pod.clone(),
    }
}

/// A Pod with a condition that is true. One that was true before keeps its time.
pub(super) fn with_pod_condition(
    pod: &Value,
    kind: &str,
    now: Time,
    texts: &[(&str, &str)],
) -> Value {
    with_condition(pod, kind, |old| {
        let time = since(old, "True").unwrap_or_else(|| now.to_string().into());
        let fields = [
            ("type", kind.into()),
            ("status", "True".into()),
            ("lastProbeTime", Value::Null),
            ("lastTransitionTime", time),
        ];
        let texts = texts.iter().map(|(name, text)| (*name, (*text).into()));
        map(fields.into_iter().chain(texts))
    })
}
