//! Warnings about objects that make pods from a template.

use fieldmanager_structural::FieldPath;
use fieldmanager_value::Value;

use super::pods;
use crate::place::Place;

const HOST_NAMES: &str = "Pod names and hostnames";

fn generation(object: &Value) -> Option<&Value> {
    object.get("metadata")?.get("generation")
}

/// The value at a path of fields.
fn at<'v>(object: &'v Value, path: &[&str]) -> Option<Place<'v>> {
    let root = Place::new(&FieldPath::default(), object);
    path.iter().try_fold(root, |place, name| place.child(name))
}

/// The warnings about the template at a path of a new object, or of one whose generation changed.
fn of_template(path: &[&str], object: &Value, live: Option<&Value>) -> Vec<String> {
    let mut out = Vec::new();
    // An unchanged generation means an unchanged spec, which was warned about before.
    if live.is_none_or(|live| generation(object) != generation(live))
        && let Some(template) = at(object, path)
    {
        pods::template(&template, &mut out);
    }
    out
}

/// The warnings about an object whose name is the start of the names of its pods.
fn named(path: &[&str], object: &Value, live: Option<&Value>) -> Vec<String> {
    let mut out = Vec::new();
    if live.is_none() {
        out.extend(pods::host_name(object, HOST_NAMES));
    }
    out.extend(of_template(path, object, live));
    out
}

pub(crate) fn pod_template(object: &Value, live: Option<&Value>) -> Vec<String> {
    of_template(&["template"], object, live)
}

/// A `Deployment` or a `ReplicaSet`.
pub(crate) fn replicas(object: &Value, live: Option<&Value>) -> Vec<String> {
    named(&["spec", "template"], object, live)
}

/// The warnings about an update of a `ReplicationController` are about the live template, as in Kubernetes.
pub(crate) fn controller(object: &Value, live: Option<&Value>) -> Vec<String> {
    match live {
        Some(live) => of_template(&["spec", "template"], live, Some(object)),
        None => named(&["spec", "template"], object, None),
    }
}

pub(crate) fn daemons(object: &Value, live: Option<&Value>) -> Vec<String> {
    // The generation also rises for other fields, so the templates are compared.
    let template = |object: &Value| {
        object
            .get("spec")
            .and_then(|spec| spec.get("template"))
            .cloned()
    };
    match live {
        Some(live) if template(live) == template(object) => Vec::new(),
        _ => of_template(&["spec", "template"], object, None),
    }
}

pub(crate) fn stateful(object: &Value, live: Option<&Value>) -> Vec<String> {
    let mut out = of_template(&["spec", "template"], object, live);
    let Some(spec) = at(object, &["spec"]) else {
        return out;
    };
    for claim in spec.items("volumeClaimTemplates") {
        // The name of the field of an update is not that of JSON, as in Kubernetes.
        let shown = if live.is_some() { "Spec" } else { "spec" };
        let claim_spec = claim.get("spec").map(|value| Place {
            path: claim.at(shown),
            value,
        });
        pods::claim_spec(claim_spec, &mut out);
    }

    if spec
        .int("revisionHistoryLimit")
        .is_some_and(|limit| limit < 0)
    {
        let path = spec.at("revisionHistoryLimit");
        out.push(format!(
            "{path}: a negative value retains all historical revisions; a value >= 0 is recommended"
        ));
    }

    out
}

pub(crate) fn job(object: &Value, live: Option<&Value>) -> Vec<String> {
    named(&["spec", "template"], object, live)
}

pub(crate) fn schedule(object: &Value, live: Option<&Value>) -> Vec<String> {
    let mut out = named(&["spec", "jobTemplate", "spec", "template"], object, live);
    let spec = at(object, &["spec"]);
    // kube-apiserver refuses a new schedule with a time zone in it, and only warns about an existing one.
    if live.is_some() && spec.is_some_and(|spec| spec.text("schedule").contains("TZ")) {
        out.push(
            "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see \
             https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
                .to_owned(),
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn yaml(text: &str) -> Value {
        Value::from_yaml(text).unwrap()
    }

    #[test]
    fn templates_of_new_and_changed_objects_have_warnings() {
        let object = |generation: i64| {
            yaml(&format!(
                "{{metadata: {{name: a, generation: {generation}}}, spec: {{template: {{spec: {{imagePullSecrets: [{{name: a}}, {{name: a}}]}}}}}}}}"
            ))
        };
        let expected = ["spec.template.spec.imagePullSecrets[1].name: duplicate name \"a\""];
        assert_eq!(replicas(&object(1), None), expected);
        assert_eq!(replicas(&object(2), Some(&object(1))), expected);
        assert!(replicas(&object(1), Some(&object(1))).is_empty());
        assert_eq!(
            controller(&yaml("{metadata: {generation: 2}}"), Some(&object(1))),
            expected
        );
    }

    #[test]
    fn names_that_are_no_labels_have_warnings() {
        assert_eq!(
            job(&yaml("{metadata: {name: a.b}}"), None),
            [
                "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a \
                 DNS label is recommended: [must not contain dots]"
            ]
        );
    }
}
