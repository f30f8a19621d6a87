//! Names that follow from the object.

use fieldmanager_structural::internal::NameSyntax;
use fieldmanager_structural::internal::address::ip;
use fieldmanager_value::Value;

use super::field::Field;
use super::formats;
use crate::functions::edit::text;
use crate::place::Errors;

/// A bundle of a signer has the name of the signer as a prefix.
pub(crate) fn trust_bundle(bundle: &Value, name: &str, is_prefix: bool) -> Vec<String> {
    let signer = text(bundle, "spec.signerName");
    if signer.is_empty() {
        if name.contains(':') {
            let fault = "ClusterTrustBundle without signer name must not have \":\" in its name";
            return vec![fault.to_owned()];
        }
        return NameSyntax::Subdomain.faults(name, is_prefix);
    }

    let prefix = format!("{}:", signer.replace('/', ":"));
    match name.strip_prefix(&prefix) {
        Some(rest) => NameSyntax::Subdomain.faults(rest, is_prefix),
        None => vec![format!(
            "ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}"
        )],
    }
}

/// The name of an address is the address, so that there is one object for it. It is never generated.
pub(crate) fn ip_address(_: &Value, name: &str, _: bool) -> Vec<String> {
    let faults = formats::ip_faults(name);
    match ip(name).map(|ip| ip.to_string()) {
        Some(canonical) if faults.is_empty() && canonical != name => {
            vec![format!("must be in canonical form (\"{canonical}\")")]
        }
        _ => faults,
    }
}

/// The name is checked, and a [prefix](prefix_alone) only if there is no other error.
pub(crate) fn without_prefix(_: &Value, name: &str, is_prefix: bool) -> Vec<String> {
    if is_prefix {
        Vec::new()
    } else {
        NameSyntax::Subdomain.faults(name, false)
    }
}

/// Checks the prefix of the name of a new object, as a segment of a path, if there is no other error: the check of the kind counts
/// as one of the declarative ones, which have the name alone.
pub(super) fn prefix_alone(object: &Field<'_>, errors: &mut Errors) {
    let prefix = object.get("metadata").get("generateName");
    if errors.is_empty() && !object.is_update() && !prefix.is_empty() {
        prefix.faults(NameSyntax::PathSegment.faults(prefix.text(), true), errors);
    }
}

/// The name of a service says which group and version it has. It is never generated.
pub(crate) fn api_service(service: &Value, name: &str, _: bool) -> Vec<String> {
    let (version, group) = (text(service, "spec.version"), text(service, "spec.group"));
    api_service_name(version, group, name)
}

/// The faults of the name of a service of a version.
pub(super) fn api_service_name(version: &str, group: &str, name: &str) -> Vec<String> {
    let faults = NameSyntax::PathSegment.faults(name, false);
    let required = format!("{version}.{group}");
    if faults.is_empty() && name != required {
        return vec![format!(
            "must be `spec.version+\".\"+spec.group`: \"{required}\""
        )];
    }
    faults
}
