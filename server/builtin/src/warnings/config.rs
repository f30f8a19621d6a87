//! Warnings about Secrets, quotas and configurations of webhooks.

use fieldmanager_value::Value;
use fieldmanager_value::internal::go_format::quote;

use super::fields::{at, items, text};
use crate::amount::Amount;
use crate::base64;

/// The resources that are not sent to webhooks.
const EXCLUDED: [&str; 6] = [
    "selfsubjectreviews.authentication.k8s.io",
    "tokenreviews.authentication.k8s.io",
    "localsubjectaccessreviews.authorization.k8s.io",
    "selfsubjectaccessreviews.authorization.k8s.io",
    "selfsubjectrulesreviews.authorization.k8s.io",
    "subjectaccessreviews.authorization.k8s.io",
];

/// Warns of the name of a driver that has letters in upper case.
///
/// Behaviour: `resourceSliceStrategy` of `k8s.io/kubernetes/pkg/registry/resource/resourceslice`.
pub(crate) fn slice(slice: &Value, _: Option<&Value>) -> Vec<String> {
    let driver = text(slice, "spec.driver");
    if driver == driver.to_lowercase() {
        return Vec::new();
    }
    let quoted = quote(driver);
    vec![format!(
        "spec.driver: driver names should be lowercase; {quoted} contains uppercase characters"
    )]
}

/// Warns of rules that name what is not sent to webhooks.
///
/// Behaviour: `warningsForExcludedRules` of `k8s.io/kubernetes/pkg/apis/admissionregistration/validation`.
pub(crate) fn webhooks(configuration: &Value, _: Option<&Value>) -> Vec<String> {
    let mut warnings = Vec::new();
    for (at, webhook) in items(configuration, "webhooks").enumerate() {
        for (index, rule) in items(webhook, "rules").enumerate() {
            let names = |field| items(rule, field).filter_map(Value::as_str);
            let (groups, resources) = (|| names("apiGroups"), || names("resources"));
            if groups().chain(resources()).any(|name| name == "*") {
                continue;
            }
            let pairs = groups()
                .flat_map(|group| resources().map(move |resource| format!("{resource}.{group}")));
            let mut named: Vec<String> = Vec::new();
            for name in pairs.filter(|name| EXCLUDED.contains(&name.as_str())) {
                if !named.contains(&name) {
                    named.push(name);
                }
            }
            warnings.extend(named.into_iter().map(|name| {
                format!(
                    "webhooks[{at}].rules[{index}]: {name} is excluded from admission webhooks; this rule will have no \
                     effect"
                )
            }));
        }
    }
    warnings
}

/// Warns of a key pair that is none. The contents of the blocks are not checked.
pub(crate) fn secret(secret: &Value, _: Option<&Value>) -> Vec<String> {
    if text(secret, "type") != "kubernetes.io/tls" {
        return Vec::new();
    }
    let data = at(secret, "data");
    let blocks = |key: &str| {
        let encoded = data.get(key).and_then(Value::as_str).unwrap_or_default();
        base64::pem_types(&base64::decode(encoded))
    };
    // Blocks of other types are skipped, so a file may have more than is needed.
    let (certificates, keys) = (blocks("tls.crt"), blocks("tls.key"));
    let is_key = |ty: &String| ty == "PRIVATE KEY" || ty.ends_with(" PRIVATE KEY");
    let is_certificate = |ty: &String| ty == "CERTIFICATE";

    // Go stops at the first fault.
    let fault = match (certificates.as_slice(), keys.as_slice()) {
        ([], _) => "failed to find any PEM data in certificate input".to_owned(),
        ([only], _) if is_key(only) => {
            "failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have \
             been switched"
                .to_owned()
        }
        (found, _) if !found.iter().any(is_certificate) => format!(
            "failed to find \"CERTIFICATE\" PEM block in certificate input after skipping PEM blocks of the following \
             types: [{}]",
            found.join(" ")
        ),
        (_, []) => "failed to find any PEM data in key input".to_owned(),
        (_, [only]) if is_certificate(only) => {
            "found a certificate rather than a key in the PEM for the private key".to_owned()
        }
        (_, found) if !found.iter().any(is_key) => format!(
            "failed to find PEM block with type ending in \"PRIVATE KEY\" in key input after skipping PEM blocks of \
             the following types: [{}]",
            found.join(" ")
        ),
        _ => return Vec::new(),
    };
    vec![format!("tls: {fault}")]
}

/// Warns of a new quota whose requests exceed its limits.
pub(crate) fn quota(quota: &Value, live: Option<&Value>) -> Vec<String> {
    let hard = at(quota, "spec.hard");
    let amount = |name: &str| {
        let text = hard.get(name)?.as_str()?;
        Some((name.to_owned(), text, Amount::parse(text)?))
    };
    let known = ["cpu", "memory", "storage", "ephemeral-storage"];
    let pairs = known.iter().filter_map(|name| {
        let bare = Some(name).filter(|name| matches!(**name, "cpu" | "memory"));
        let request = amount(&format!("requests.{name}")).or_else(|| amount(bare?))?;
        Some((request, amount(&format!("limits.{name}"))?))
    });
    pairs
        .filter(|(request, limit)| live.is_none() && request.2 > limit.2)
        .map(|((request, asked, _), (limit, most, _))| {
            format!("ResourceQuota {request} ({asked}) should be less than {limit} ({most})")
        })
        .collect()
}
