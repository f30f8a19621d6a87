//! Certificates of Pods: requests for them, and volumes with them.

use fieldmanager_structural::internal::{NameSyntax, qualified_name};
use fieldmanager_structural::{FieldError, FieldErrorKind};
use fieldmanager_value::Value;

use super::certificates::signer_name;
use super::conditions;
use super::field::Field;
use crate::base64::pem_types;
use crate::place::{Errors, faults};

const MOST_UID_BYTES: usize = 128;
const MOST_DOCUMENT_BYTES: usize = 10 * 1024;
const MOST_CHAIN_BYTES: usize = 100 * 1024;
const MOST_ANNOTATION_BYTES: usize = 256 * 1024;
/// The limits of the lifetime of certificates in seconds: the least, and the most of other signers and of those of
/// Kubernetes.
const LEAST_LIFETIME: i64 = 3600;
const MOST_LIFETIME: i64 = 91 * 86_400;
const OWN_LIFETIME: i64 = 86_400;
/// The conditions that end a request.
const ANSWERS: [&str; 3] = ["Issued", "Denied", "Failed"];

/// Checks a new request of a Pod, which an update may not change.
pub(crate) fn pod_request(request: &Field<'_>, errors: &mut Errors) {
    let spec = request.get("spec");
    if request.is_update() {
        spec.immutable_as("PodCertificateRequestSpec", errors);
        return;
    }
    let signer = spec.get("signerName");
    signer_name(&signer, errors);
    user_annotations(&spec.get("unverifiedUserAnnotations"), errors);
    for name in ["pod", "serviceAccount", "node"] {
        let (name, uid) = (
            spec.get(&format!("{name}Name")),
            spec.get(&format!("{name}UID")),
        );
        let faults = NameSyntax::Subdomain.faults(name.text(), false);
        name.faults(faults, errors);
        if uid.is_empty() {
            uid.invalid_text("must not be empty", errors);
        }
        uid.at_most(MOST_UID_BYTES, errors);
    }

    let seconds = spec.get("maxExpirationSeconds");
    if !seconds.is_set() {
        seconds.missing("must be set", errors);
        return;
    }
    let (least, most) = (LEAST_LIFETIME, most_lifetime(&signer));
    let is_fault = !(least..=most).contains(&seconds.number());
    let detail = format!("must be in the range [{least}, {most}]");
    seconds.invalid_if(is_fault, &detail, errors);

    document(&spec, errors);
}

/// A request is either one document, or a key with its proof. What they encode is not checked.
fn document(spec: &Field<'_>, errors: &mut Errors) {
    let parts = ["stubPKCS10Request", "pkixPublicKey", "proofOfPossession"];
    let is_set = parts.map(|name| !spec.get(name).is_empty());
    if is_set != [true, false, false] && is_set != [false, true, true] {
        let detail =
            "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set";
        errors.push(without_value(spec, detail));
        return;
    }
    for part in parts.map(|name| spec.get(name)) {
        if part.bytes().len() > MOST_DOCUMENT_BYTES {
            let path = part.path;
            errors.push(FieldError::too_long(path, MOST_DOCUMENT_BYTES));
            return;
        }
    }
}

/// An error that shows no value.
fn without_value(field: &Field<'_>, detail: &str) -> FieldError {
    FieldError {
        path: field.path.clone(),
        kind: FieldErrorKind::Invalid,
        value: None,
        detail: detail.to_owned(),
    }
}

/// Checks the keys of annotations that Pods pass to a signer: a domain and a name, in any case.
fn user_annotations(annotations: &Field<'_>, errors: &mut Errors) {
    let mut size = 0;
    for (key, value) in annotations.entries() {
        size += key.len() + value.text().len();
        let key = key.to_lowercase();
        let mut found = qualified_name(&key);
        if key.is_empty() {
            annotations.missing("", errors);
            continue;
        }
        if found.is_empty() && !key.contains('/') {
            found.push("must be a domain-prefixed key (such as \"acme.io/foo\")".to_owned());
        }
        faults(&annotations.path, &key, found, errors);
    }
    if size > MOST_ANNOTATION_BYTES {
        let path = annotations.path.clone();
        errors.push(FieldError::too_long(path, MOST_ANNOTATION_BYTES));
    }
}

/// The longest lifetime of the certificates of a signer.
fn most_lifetime(signer: &Field<'_>) -> i64 {
    let domain = signer.text().split('/').next().unwrap_or_default();
    let is_own = domain == "kubernetes.io" || domain.ends_with(".kubernetes.io");
    if is_own { OWN_LIFETIME } else { MOST_LIFETIME }
}

/// Checks what a volume says about the certificate of its Pod.
pub(super) fn projected(certificate: &Field<'_>, errors: &mut Errors) {
    let signer = certificate.get("signerName");
    signer_name(&signer, errors);
    user_annotations(&certificate.get("userAnnotations"), errors);
    let accepted = [
        "RSA3072",
        "RSA4096",
        "ECDSAP256",
        "ECDSAP384",
        "ECDSAP521",
        "ED25519",
    ];
    certificate.get("keyType").one_of(&accepted, errors);

    let seconds = certificate.get("maxExpirationSeconds");
    let mut refuse = |is_fault: bool, bound: String| {
        let detail = format!("if provided, maxExpirationSeconds must be {bound}");
        seconds.invalid_if(seconds.is_set() && is_fault, &detail, errors);
    };
    let (number, most) = (seconds.number(), most_lifetime(&signer));
    refuse(number < LEAST_LIFETIME, format!(">= {LEAST_LIFETIME}"));
    refuse(number > most, format!("<= {most}"));
}

/// Checks the answer to a request of a Pod, which is final. What certificates encode is not checked.
pub(crate) fn pod_request_status(request: &Field<'_>, errors: &mut Errors) {
    if !errors.is_empty() {
        return;
    }
    let status = request.get("status");
    let conditions = status.get("conditions");
    answers(&conditions, errors);
    conditions::check(&conditions, errors);
    if !errors.is_empty() {
        return;
    }

    let has = |conditions: &Field<'_>, types: &[&str]| {
        types.iter().any(|ty| conditions::is_true(conditions, ty))
    };
    let detail = if has(&conditions.before(), &ANSWERS) {
        "immutable after PodCertificateRequest is issued, denied, or failed"
    } else if has(&conditions, &["Denied", "Failed"]) {
        let mut members = status.value.and_then(Value::as_map).into_iter().flatten();
        if members.any(|(name, value)| name != "conditions" && !value.is_null()) {
            let detail = "non-condition status fields must be empty when denying or failing the PodCertificateRequest";
            errors.push(without_value(&status, detail));
        }
        return;
    } else if has(&conditions, &["Issued"]) {
        return issued(&status, errors);
    } else {
        "status is immutable unless transitioning to \"Issued\", \"Denied\", or \"Failed\""
    };
    if status.is_changed() {
        errors.push(without_value(&status, detail));
    }
}

/// Checks that there is one condition of the known types at most, which is true.
fn answers(conditions: &Field<'_>, errors: &mut Errors) {
    let mut known = 0;
    for (at, condition) in conditions.items().enumerate() {
        // Kubernetes writes the index as a name.
        let path = conditions.path.child(format!("[{at}]"));
        let ty = condition.get("type").moved(path.child("type"));
        if !ANSWERS.contains(&ty.text()) {
            ty.not_supported(&ANSWERS, errors);
            continue;
        }
        known += 1;
        if known > 1 {
            let detail = "There may be at most one condition with type \"Issued\", \"Denied\", or \"Failed\"";
            ty.invalid(detail, errors);
        }
        let status = condition.get("status").moved(path.child("status"));
        status.one_of(&["True"], errors);
    }
}

/// Checks the certificates of an issued request, and the times that come with them.
fn issued(status: &Field<'_>, errors: &mut Errors) {
    let chain = status.get("certificateChain");
    if chain.text().len() > MOST_CHAIN_BYTES {
        return errors.push(FieldError::too_long(chain.path, MOST_CHAIN_BYTES));
    }
    let types = pem_types(chain.text().as_bytes());
    let mut is_wrong = types.iter().map(|ty| ty != "CERTIFICATE");
    match is_wrong.next() {
        None => {
            let detail = "issued certificate chain must contain at least one certificate";
            return chain.invalid_text(detail, errors);
        }
        Some(true) => {
            let detail = "issued certificate chain must consist entirely of CERTIFICATE PEM blocks";
            return chain.invalid_text(detail, errors);
        }
        Some(false) => {}
    }

    let before = errors.len();
    let consistent = "must be present and consistent with the issued certificate";
    for (name, detail) in [
        ("notBefore", consistent),
        ("notAfter", consistent),
        (
            "beginRefreshAt",
            "must be present and in the range [notbefore+10min, notafter-10min]",
        ),
    ] {
        status.get(name).require(detail, errors);
    }
    if errors.len() == before && is_wrong.any(|is_wrong| is_wrong) {
        // The spelling is that of Kubernetes.
        let detail = "issued certificate chain must consist entirely of CERTFICATE PEM blocks";
        chain.invalid_text(detail, errors);
    }
}
