//! Pods that do not meet the standard of their namespace.

mod checks;
mod pod;
mod policy;
mod standards;

use std::collections::{BTreeMap, HashSet};
use std::future::ready;

use fieldmanager_managedfields::{Cause, Details, Status};
use fieldmanager_structural::FieldError;
use fieldmanager_structural::internal::ObjectExt;
use fieldmanager_value::Value;
use fieldmanager_value::internal::go_format::quote;

use self::pod::{get, items, text};
use self::policy::{PREFIX, PodLevel, Policy, Standard};
use crate::{
    Admission, AdmissionAnswer, AdmissionOperation, AdmissionPhase, AdmissionRequest, Admitted,
    Cluster, Denial,
};

/// Where a namespace has its labels.
const LABELS: [&str; 2] = ["metadata", "labels"];

/// The most Pods of a namespace that are compared with a new standard.
const MAX_PODS: usize = 3000;

/// The resources that have Pods, each with the path to the Pod.
const RESOURCES: [(&str, &str, &[&str]); 9] = [
    ("", "pods", &[]),
    ("", "replicationcontrollers", &["spec", "template"]),
    ("", "podtemplates", &["template"]),
    ("apps", "replicasets", &["spec", "template"]),
    ("apps", "deployments", &["spec", "template"]),
    ("apps", "statefulsets", &["spec", "template"]),
    ("apps", "daemonsets", &["spec", "template"]),
    ("batch", "jobs", &["spec", "template"]),
    (
        "batch",
        "cronjobs",
        &["spec", "jobTemplate", "spec", "template"],
    ),
];

/// The subresources of Pods that do not change what a Pod is.
const IGNORED: [&str; 8] = [
    "exec",
    "attach",
    "binding",
    "eviction",
    "log",
    "portforward",
    "proxy",
    "status",
];

/// The plugin `PodSecurity`: refuses Pods that violate the standard that the labels `pod-security.kubernetes.io/enforce` and
/// `enforce-version` of their namespace name, and warns of those that violate the one of `warn`. Templates of Pods lead to
/// warnings only. Namespaces with faulty labels are refused.
///
/// A namespace without labels allows everything, and nobody is exempt, as in kube-apiserver without a configuration. There
/// is no limit of time for the Pods of a namespace that gets a stricter standard.
///
/// Behaviour: `k8s.io/pod-security-admission/admission`.
///
/// ```
/// use fieldmanager_admission::{Admission, plugins::PodSecurity};
/// assert_eq!(PodSecurity.name(), "PodSecurity");
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct PodSecurity;

impl Admission for PodSecurity {
    fn name(&self) -> &str {
        "PodSecurity"
    }

    fn handles(&self, phase: AdmissionPhase, request: &AdmissionRequest<'_>) -> bool {
        phase == AdmissionPhase::Validate && is_subject(request)
    }

    fn validate<'a>(
        &'a self,
        request: AdmissionRequest<'a>,
        cluster: &'a dyn Cluster,
    ) -> AdmissionAnswer<'a> {
        match pod_path(&request) {
            None if request.is_of("", "namespaces") => {
                Box::pin(validate_namespace(request, cluster))
            }
            Some(path) if is_subject(&request) => Box::pin(validate_pod(request, path, cluster)),
            _ => Box::pin(ready(Ok(Admitted::default()))),
        }
    }
}

/// Whether a request writes a namespace, or an object that has a Pod.
fn is_subject(request: &AdmissionRequest<'_>) -> bool {
    matches!(
        request.operation,
        AdmissionOperation::Create | AdmissionOperation::Update
    ) && match (request.group, request.resource) {
        ("", "pods") => !IGNORED.contains(&request.subresource),
        ("", "namespaces") => request.subresource.is_empty(),
        _ => request.subresource.is_empty() && pod_path(request).is_some(),
    }
}

/// The path to the Pod in an object; `None` if its resource has none.
fn pod_path(request: &AdmissionRequest<'_>) -> Option<&'static [&'static str]> {
    let asked = (request.group, request.resource);
    let mut known = RESOURCES.iter();
    known.find_map(|(group, resource, path)| ((*group, *resource) == asked).then_some(*path))
}

/// Refuses faulty labels, and warns of Pods that violate a stricter standard.
///
/// Behaviour: `ValidateNamespace` of `k8s.io/pod-security-admission/admission/admission.go`.
async fn validate_namespace(
    request: AdmissionRequest<'_>,
    cluster: &dyn Cluster,
) -> Result<Admitted, Denial> {
    let name = request.field(&[]).metadata_string("name");
    let (policy, faults) = Policy::read(request.field(&LABELS));
    let (old, old_faults) = Policy::read(request.old_field(&LABELS));
    let is_update = request.operation == AdmissionOperation::Update;
    // Other labels of a namespace must stay writable that had these faults before.
    let is_known = is_update && faults == old_faults;
    if !faults.is_empty() && !is_known {
        // A webhook may have renamed the object since, and a generated name is not that of the request.
        let asked = Some(request.name).filter(|asked| !asked.is_empty());
        return Err(Status::invalid(request.kind, asked.unwrap_or(name), &faults).into());
    }

    let (new, old) = (policy.enforce, old.enforce);
    // Only a stricter standard can be violated by Pods that were allowed before.
    let is_relaxed = new.minor == old.minor && new.level <= old.level;
    if !is_update || is_relaxed || new.level == PodLevel::Privileged {
        return Ok(Admitted::default());
    }

    let warnings = match cluster.list(("", "pods"), name).await {
        Ok(pods) => warn_of_pods(name, new, &pods),
        // The namespace is what is asked for, so a fault in the survey of its Pods is only told.
        Err(_) => {
            vec!["failed to list pods while checking new PodSecurity enforce level".to_owned()]
        }
    };
    Ok(Admitted {
        warnings,
        ..Admitted::default()
    })
}

/// The warnings of the Pods of a namespace that violate a standard, one for each combination of reasons.
///
/// Behaviour: `EvaluatePodsInNamespace` of `k8s.io/pod-security-admission/admission/admission.go`.
fn warn_of_pods(namespace: &str, standard: Standard, pods: &[Value]) -> Vec<String> {
    // The first Pod of each controller says most of the others.
    let mut controllers = HashSet::new();
    let (mut chosen, others): (Vec<&Value>, Vec<&Value>) = pods.iter().partition(|pod| {
        let mut owners = items(get(pod, "metadata"), "ownerReferences");
        let owner = owners.find(|owner| owner.get("controller") == Some(&Value::from(true)));
        owner.is_none_or(|owner| controllers.insert(text(owner, "uid")))
    });
    chosen.extend(others);
    chosen.truncate(MAX_PODS);

    let mut found: BTreeMap<String, (&str, usize)> = BTreeMap::new();
    for pod in &chosen {
        let violations = standards::violations(standard, pod);
        let reasons: Vec<&str> = violations.iter().map(|(reason, _)| *reason).collect();
        if !reasons.is_empty() {
            let name = pod.metadata_string("name");
            let (first, count) = found.entry(reasons.join(", ")).or_insert((name, 0));
            *first = name.min(*first);
            *count += 1;
        }
    }

    let mut warnings = Vec::new();
    if chosen.len() < pods.len() {
        warnings.push(format!(
            "new PodSecurity enforce level only checked against the first {} of {} existing pods",
            chosen.len(),
            pods.len()
        ));
    }
    if !found.is_empty() {
        warnings.push(format!(
            "existing pods in namespace {} violate the new PodSecurity enforce level \"{standard}\"",
            quote(namespace)
        ));
    }
    let mut texts: Vec<String> = found
        .into_iter()
        .map(|(reasons, (name, count))| match count {
            1 => format!("{name}: {reasons}"),
            2 => format!("{name} (and 1 other pod): {reasons}"),
            _ => format!("{name} (and {} other pods): {reasons}", count - 1),
        })
        .collect();
    texts.sort();
    warnings.append(&mut texts);
    warnings
}

/// Compares a Pod, or a template of one, with the policy of its namespace. Only Pods are refused.
///
/// Behaviour: `ValidatePod`, `ValidatePodController` and `EvaluatePod` of
/// `k8s.io/pod-security-admission/admission/admission.go`.
async fn validate_pod(
    request: AdmissionRequest<'_>,
    path: &[&str],
    cluster: &dyn Cluster,
) -> Result<Admitted, Denial> {
    let is_pod = path.is_empty();
    let mut admitted = Admitted::default();
    let mut annotate = |key: &str, text: String| {
        admitted.annotations.push((format!("{PREFIX}{key}"), text));
    };
    let labels = match cluster.namespace_labels(request.namespace).await {
        Ok(Some(labels)) => labels,
        other => {
            let text = format!("failed to lookup namespace {}", quote(request.namespace));
            if is_pod {
                return Err(internal(text));
            }
            // A template is no Pod yet: nothing unsafe runs, so it proceeds.
            let missing = format!("namespaces {} not found", quote(request.namespace));
            let error = other.err().map_or(missing, |denial| denial.status.message);
            annotate("error", format!("{text}: {error}"));
            return Ok(admitted);
        }
    };

    // What no standard applies to.
    let (policy, faults) = Policy::read(&labels);
    let is_privileged = |standard: Standard| standard.level == PodLevel::Privileged;
    let is_free = is_privileged(policy.audit) && is_privileged(policy.warn) && faults.is_empty();
    if is_free && is_pod && is_privileged(policy.enforce) {
        annotate("enforce-policy", "privileged:latest".to_owned());
        return Ok(admitted);
    }
    let pod = request.field(path);
    let is_update = request.operation == AdmissionOperation::Update;
    let is_same = is_pod && is_update && !is_significant(pod, request.old_field(path));
    if (is_free && !is_pod) || is_same {
        return Ok(admitted);
    }

    if !faults.is_empty() {
        let text = aggregate(&faults);
        annotate("error", format!("Failed to parse policy: {text}"));
    }
    if is_pod {
        annotate("enforce-policy", policy.enforce.to_string());
        if let Some(text) = standards::describe(policy.enforce, pod) {
            return Err(request.forbidden(&format!("violates {text}")));
        }
    }
    if let Some(text) = standards::describe(policy.audit, pod) {
        annotate("audit-violations", format!("would violate {text}"));
    }
    if let Some(text) = standards::describe(policy.warn, pod) {
        admitted.warnings.push(format!("would violate {text}"));
    }
    Ok(admitted)
}

/// Whether an update of a Pod changes its number of containers, an image, or adds an ephemeral container.
///
/// Behaviour: `isSignificantPodUpdate` of `k8s.io/pod-security-admission/admission/admission.go`.
fn is_significant(new: &Value, old: &Value) -> bool {
    let images = |pod, kind| {
        let containers = items(get(pod, "spec"), kind);
        containers.map(|container| (text(container, "name"), text(container, "image")))
    };
    let differ = |kind| {
        let [new, old] = [new, old].map(|pod| images(pod, kind).map(|(_, image)| image));
        !new.eq(old)
    };

    // Ephemeral containers are only ever added, also in front of others.
    let known: HashSet<(&str, &str)> = images(old, "ephemeralContainers").collect();
    let mut ephemeral = images(new, "ephemeralContainers");
    differ("containers")
        || differ("initContainers")
        || ephemeral.any(|container| !known.contains(&container))
}

/// An error of the server with its cause.
///
/// Behaviour: `NewInternalError` of `k8s.io/apimachinery/pkg/api/errors`.
fn internal(cause: String) -> Denial {
    let message = format!("Internal error occurred: {cause}");
    let mut details = Details::default();
    details.causes = vec![Cause::new("", cause, "")];
    Status::failure(500, "InternalError", message, Some(details)).into()
}

/// The texts of faults as one.
fn aggregate(faults: &[FieldError]) -> String {
    let texts: Vec<String> = faults.iter().map(FieldError::to_string).collect();
    match texts.as_slice() {
        [text] => text.clone(),
        texts => format!("[{}]", texts.join(", ")),
    }
}
