//! Requests for certificates. What DER encodes is not checked, and neither are signatures.

use std::collections::BTreeSet;

use fieldmanager_structural::FieldError;
use fieldmanager_structural::internal::NameSyntax;
use fieldmanager_value::Value;
use fieldmanager_value::internal::go_format::quote;

use super::field::Field;
use super::names;
use crate::base64::pem_types;
use crate::place::Errors;

const LEGACY_SIGNER: &str = "kubernetes.io/legacy-unknown";
const MOST_DOMAIN_BYTES: usize = 253;
const MOST_SIGNER_BYTES: usize = 571;
const MOST_BUNDLE_BYTES: usize = 1 << 20;
const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

pub(crate) fn request(request: &Field<'_>, errors: &mut Errors) {
    check_request(request, errors);
    conditions_stay(request, false, errors);
    certificate_stays(request, false, errors);
}

pub(crate) fn request_status(request: &Field<'_>, errors: &mut Errors) {
    check_request(request, errors);
    conditions_stay(request, false, errors);
    certificate_stays(request, true, errors);
}

pub(crate) fn request_approval(request: &Field<'_>, errors: &mut Errors) {
    check_request(request, errors);
    conditions_stay(request, true, errors);
    certificate_stays(request, false, errors);
}

fn check_request(of: &Field<'_>, errors: &mut Errors) {
    let (spec, status) = (of.get("spec"), of.get("status"));
    let (request, usages) = (spec.get("request"), spec.get("usages"));
    let first = pem_types(&request.bytes()).into_iter().next();
    if first.as_deref() != Some("CERTIFICATE REQUEST") {
        request.invalid("PEM block type must be CERTIFICATE REQUEST", errors);
    }
    usages.require("", errors);
    for usage in usages.items() {
        usage.one_of(&USAGES, errors);
    }
    let mut seen = BTreeSet::new();
    for usage in usages.items() {
        usage.unique(&mut seen, errors);
    }

    let signer = spec.get("signerName");
    // Requests of an early version of the API keep their signer.
    if signer.text() == LEGACY_SIGNER && signer.before().text() != LEGACY_SIGNER {
        let detail = "the legacy signerName is not allowed via this API version";
        signer.invalid(detail, errors);
    } else {
        signer_name(&signer, errors);
    }
    let seconds = spec.get("expirationSeconds");
    let is_short = seconds.is_set() && seconds.number() < 600;
    let detail = "may not specify a duration less than 600 seconds (10 minutes)";
    seconds.invalid_if(is_short, detail, errors);

    let conditions = status.get("conditions");
    check_conditions(&conditions, errors);
    let certificate = status.get("certificate");
    if certificate.is_set() && (certificate.is_changed() || !of.is_update()) {
        check_certificate(&certificate, errors);
    }
    exclusive_conditions(&conditions, errors);
}

fn check_conditions(conditions: &Field<'_>, errors: &mut Errors) {
    let live = conditions.before();
    let types: Vec<&str> = live.items().map(|item| item.get("type").text()).collect();
    // A fault that the live request has may stay.
    let has_empty = types.contains(&"");
    let distinct: BTreeSet<&&str> = types.iter().collect();
    let has_equal = distinct.len() < types.len();
    let mut seen = BTreeSet::new();

    for condition in conditions.items() {
        let (ty, status) = (condition.get("type"), condition.get("status"));
        if !has_empty {
            ty.require("", errors);
        }
        // Some conditions say by their presence that they hold.
        let accepted: &[&str] = match ty.text() {
            "Approved" | "Denied" | "Failed" => &["True"],
            _ => &["False", "True", "Unknown"],
        };
        status.require_one_of(accepted, errors);
        if !has_equal {
            ty.unique(&mut seen, errors);
        }
    }
}

/// A request is approved or denied, not both. This is an error of the generated validation of Kubernetes, a union of
/// items.
fn exclusive_conditions(conditions: &Field<'_>, errors: &mut Errors) {
    let has = |conditions: &Field<'_>| ["Approved", "Denied"].map(|ty| count(conditions, ty) > 0);
    if has(conditions) != [true, true] || has(&conditions.before()) == [true, true] {
        return;
    }
    let members = ["Approved", "Denied"].map(|ty| format!("conditions[{{\"type\": \"{ty}\"}}]"));
    let quoted = members.clone().map(|member| format!("`{member}`"));
    let detail = format!("must specify at most one of: {}", quoted.join(", "));
    let shown = format!("{{{}}}", members.join(", "));
    let path = conditions.path.clone();
    errors.push(FieldError::invalid(path, shown, detail));
}

fn of_type<'v>(conditions: &Field<'v>, ty: &str) -> Vec<&'v Value> {
    let items = conditions.items();
    items
        .filter(|condition| condition.get("type").text() == ty)
        .filter_map(|condition| condition.value)
        .collect()
}

fn count(conditions: &Field<'_>, ty: &str) -> usize {
    of_type(conditions, ty).len()
}

/// The decision about a request is final, and only its approval makes it.
fn conditions_stay(request: &Field<'_>, approves: bool, errors: &mut Errors) {
    let conditions = request.get("status").get("conditions");
    if !request.is_update() {
        return;
    }
    let live = conditions.before();
    let mut forbid = |verb: &str, ty: &str| {
        let detail = format!("updates may not {verb} a condition of type {}", quote(ty));
        conditions.forbid(&detail, errors);
    };
    for ty in ["Approved", "Denied", "Failed"] {
        if count(&conditions, ty) < count(&live, ty) {
            forbid("remove", ty);
        }
    }

    if approves {
        return;
    }
    for ty in ["Approved", "Denied"] {
        let (new, old) = (of_type(&conditions, ty), of_type(&live, ty));
        if new.len() > old.len() {
            forbid("add", ty);
        } else if new.len() == old.len() && new != old {
            forbid("modify", ty);
        }
    }
}

fn certificate_stays(request: &Field<'_>, may_issue: bool, errors: &mut Errors) {
    let certificate = request.get("status").get("certificate");
    if !certificate.is_changed() {
        return;
    }
    let was_issued = !certificate.before().is_empty();
    if !may_issue {
        certificate.forbid("updates may not set certificate content", errors);
    } else if was_issued {
        certificate.forbid(
            "updates may not modify existing certificate content",
            errors,
        );
    }
}

/// A certificate is blocks of one type.
fn check_certificate(certificate: &Field<'_>, errors: &mut Errors) {
    let bytes = certificate.bytes();
    if bytes.is_empty() {
        return;
    }
    let labels = pem_types(&bytes);
    let other = labels.iter().find(|label| *label != "CERTIFICATE");
    let detail = match other {
        Some(other) => format!(
            "only CERTIFICATE PEM blocks are allowed, found {}",
            quote(other)
        ),
        None if labels.is_empty() => "must contain at least one CERTIFICATE PEM block".to_owned(),
        None => return,
    };
    let path = certificate.path.clone();
    errors.push(FieldError::invalid(path, "<certificate data>", detail));
}

/// Requires the name of a signer: a domain and a path.
pub(super) fn signer_name(signer: &Field<'_>, errors: &mut Errors) {
    let text = signer.text();
    if text.is_empty() {
        signer.missing("", errors);
        return;
    }
    let Some((domain, path)) = text.split_once('/').filter(|(_, path)| !path.contains('/')) else {
        let detail =
            "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        signer.invalid(detail, errors);
        return;
    };
    if domain.len() > MOST_DOMAIN_BYTES {
        let path = signer.path.clone();
        errors.push(FieldError::too_long(path, MOST_DOMAIN_BYTES));
    }

    labels(signer, domain, NameSyntax::Label, errors);
    let detail = "should be a domain with at least two segments separated by dots";
    if !domain.contains('.') {
        errors.push(FieldError::invalid(signer.path.clone(), domain, detail));
    }
    labels(signer, path, NameSyntax::Subdomain, errors);
    if text.len() > MOST_SIGNER_BYTES {
        errors.push(FieldError::too_long(signer.path.clone(), MOST_SIGNER_BYTES));
    }
}

/// Checks the labels of a part. Only the first faulty label is reported, with the part as the value.
fn labels(signer: &Field<'_>, part: &str, syntax: NameSyntax, errors: &mut Errors) {
    for label in part.split('.') {
        let faults = syntax.faults(label, false);
        let is_faulty = !faults.is_empty();
        for fault in faults {
            let detail = format!("validating label {}: {fault}", quote(label));
            errors.push(FieldError::invalid(signer.path.clone(), part, detail));
        }
        if is_faulty {
            return;
        }
    }
}

/// The faults of the name of a bundle, which starts with that of its signer if it has one.
pub(super) fn bundle_name(name: &str) -> Vec<String> {
    let own = name.rsplit_once(':').map_or(name, |(_, own)| own);
    NameSyntax::Subdomain.faults(own, false)
}

/// Checks a bundle of certificates, which are not parsed.
///
/// Behaviour: `ValidateClusterTrustBundle` of `pkg/apis/certificates/validation` of Kubernetes.
pub(crate) fn trust_bundle(object: &Field<'_>, errors: &mut Errors) {
    let (name, spec) = (object.get("metadata").get("name"), object.get("spec"));
    let (signer, bundle) = (spec.get("signerName"), spec.get("trustBundle"));
    // The name of a new object is checked with its metadata. Another signer may make it wrong.
    if let Some(whole) = object.value.filter(|_| object.is_update()) {
        name.faults(names::trust_bundle(whole, name.text(), false), errors);
    }
    if !signer.is_empty() {
        signer_name(&signer, errors);
    }
    if !object.is_update() || bundle.is_changed() {
        trust_anchors(&bundle, errors);
    }
    signer.immutable_text(errors);
}

/// Requires blocks of certificates.
fn trust_anchors(bundle: &Field<'_>, errors: &mut Errors) {
    if bundle.text().len() > MOST_BUNDLE_BYTES {
        let path = bundle.path.clone();
        errors.push(FieldError::too_long(path, MOST_BUNDLE_BYTES));
        return;
    }
    let mut refuse = |detail: String| {
        errors.push(FieldError::invalid(
            bundle.path.clone(),
            "<value omitted>",
            detail,
        ));
    };
    let types = pem_types(bundle.text().as_bytes());
    let is_wrong = |(_, ty): &(usize, &String)| *ty != "CERTIFICATE";
    for (index, ty) in types.iter().enumerate().filter(is_wrong) {
        refuse(format!("entry {index} has bad block type: {ty}"));
    }
    if types.is_empty() {
        refuse("at least one trust anchor must be provided".to_owned());
    }
}
