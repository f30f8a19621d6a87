//! The IP families of a Service, on a server with IPv4 only.
//!
//! Behaviour: `initIPFamilyFields` of `k8s.io/kubernetes/pkg/registry/core/service/storage`.

use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::{List, Map, Str, Value};

use super::edit::{at, text, with};
use super::service::{cluster_ips, ips, kept_allocations};
use crate::validation::functions::service::service_address_faults;

const SINGLE: &str = "SingleStack";
const REQUIRE_DUAL: &str = "RequireDualStack";

/// A Service as kube-apiserver has it before it chooses addresses and ports: with those of the `live` one, with both fields of
/// cluster IPs, `ipFamilyPolicy` and `ipFamilies`. This precedes [`prepare_create`](crate::prepare_create) and
/// [`prepare_update`](crate::prepare_update).
///
/// # Errors
///
/// The faults of the addresses and families. They precede all others.
///
/// ```
/// use fieldmanager_builtin::prepare_allocation;
/// use fieldmanager_value::Value;
///
/// let service = |policy: &str| Value::from_yaml(&format!("{{spec: {{type: ClusterIP, ipFamilyPolicy: {policy}}}}}"));
/// let families = prepare_allocation(&service("PreferDualStack")?, None).unwrap();
/// assert_eq!(families.get("spec").unwrap().get("ipFamilies").unwrap().to_json(), r#"["IPv4"]"#);
/// let errors = prepare_allocation(&service("RequireDualStack")?, None).unwrap_err();
/// assert!(errors[0].to_string().ends_with("this cluster is not configured for dual-stack services"));
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
pub fn prepare_allocation(service: &Value, live: Option<&Value>) -> Result<Value, Vec<FieldError>> {
    let both = match live {
        None => cluster_ips(service),
        Some(_) => kept_allocations(service, live),
    };
    let service = both.as_ref().unwrap_or(service);
    if text(service, "spec.type") == "ExternalName" {
        return Ok(service.clone());
    }
    let faults = service_address_faults(service, live);
    if faults.is_empty() {
        with_families(service, live)
    } else {
        Err(faults)
    }
}

fn with_families(service: &Value, live: Option<&Value>) -> Result<Value, Vec<FieldError>> {
    let spec = FieldPath::root("spec");
    let policy_path = spec.child("ipFamilyPolicy");
    // A headless Service without a selector may have endpoints of both families, so it requires both by default.
    let is_headless = text(service, "spec.clusterIP") == "None" && !has_selector(service);
    // An update that leaves the policy out keeps that of the live Service.
    let policy: Str = match text(service, "spec.ipFamilyPolicy") {
        "" => match live
            .map(|live| text(live, "spec.ipFamilyPolicy"))
            .unwrap_or_default()
        {
            "" if is_headless => REQUIRE_DUAL.into(),
            "" => SINGLE.into(),
            old => old.into(),
        },
        policy => policy.into(),
    };

    let mut addresses = strings(service, "clusterIPs");
    let mut families = strings(service, "ipFamilies");
    let mut errors = Vec::new();
    let mut invalid = |path: FieldPath, value: Value, detail: &str| {
        errors.push(FieldError::invalid(path, value, detail.to_owned()));
    };

    // Lists that a client left as they were lose their second item with `SingleStack`. With another policy, a shorter
    // list is refused.
    if let Some(live) = live {
        for (fields, name, what) in [
            (&mut addresses, "clusterIPs", "secondary cluster IP"),
            (&mut families, "ipFamilies", "secondary IP family"),
        ] {
            let old = strings(live, name);
            if policy == SINGLE {
                if *fields == old {
                    fields.truncate(1);
                }
            } else if !fields.is_empty() && fields.len() < old.len() {
                let detail = format!("must be 'SingleStack' to release the {what}");
                invalid(policy_path.clone(), policy.clone().into(), &detail);
            }
        }
    }

    // Two items that are left are those of the request, and contradict its policy.
    if policy == SINGLE {
        for (fields, what) in [(&addresses, "cluster IPs"), (&families, "IP families")] {
            if fields.len() == 2 {
                let detail = format!(
                    "must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified"
                );
                invalid(policy_path.clone(), policy.clone().into(), &detail);
            }
        }
    }

    // Families that the request leaves out follow from its addresses.
    for (at, address) in addresses.iter().enumerate().skip(families.len()) {
        match address.as_str() {
            "None" => break,
            address if address.contains(':') => {
                let detail = "IPv6 is not configured on this cluster";
                invalid(spec.child("clusterIPs").index(at), list(&addresses), detail);
            }
            _ => families.push("IPv4".into()),
        }
    }

    if !errors.is_empty() {
        return Err(errors);
    }
    // Such a Service gets no address, so it may have families that the cluster does not.
    if is_headless {
        if families.is_empty() {
            families.push("IPv4".into());
        }
        if let ([one], true) = (families.as_slice(), policy != SINGLE) {
            let other = if *one == "IPv4" { "IPv6" } else { "IPv4" };
            families.push(other.into());
        }
    } else {
        let mut invalid = |path: FieldPath, value: Str, detail: &str| {
            errors.push(FieldError::invalid(path, value, detail.to_owned()));
        };
        if policy == REQUIRE_DUAL {
            let detail = "this cluster is not configured for dual-stack services";
            invalid(policy_path, policy.clone(), detail);
        }

        for (at, family) in families
            .iter()
            .enumerate()
            .filter(|(_, family)| **family != "IPv4")
        {
            invalid(
                spec.child("ipFamilies").index(at),
                family.clone(),
                "not configured on this cluster",
            );
        }

        if !errors.is_empty() {
            return Err(errors);
        }
        if families.is_empty() {
            families.push("IPv4".into());
        }
    }

    let mut fields = spec_of(service).cloned().unwrap_or_default();
    fields.insert("ipFamilyPolicy", policy);
    fields.insert("ipFamilies", list(&families));
    if !addresses.is_empty() {
        fields.insert("clusterIPs", list(&addresses));
    }
    Ok(with(service, "spec", fields).unwrap_or_else(|| service.clone()))
}

fn spec_of(service: &Value) -> Option<&Map> {
    at(service, "spec").and_then(Value::as_map)
}

fn has_selector(service: &Value) -> bool {
    let selector = at(service, "spec.selector").and_then(Value::as_map);
    selector.is_some_and(|selector| !selector.is_empty())
}

/// A list of strings of the spec. The first address is also in a field of its own.
fn strings(service: &Value, name: &str) -> Vec<Str> {
    if name == "clusterIPs" && ips(service).is_none() {
        let address = text(service, "spec.clusterIP");
        return if address.is_empty() {
            Vec::new()
        } else {
            vec![address.into()]
        };
    }

    let items = spec_of(service).and_then(|spec| spec.get(name)?.as_list());
    items
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(Str::from)
        .collect()
}

fn list(items: &[Str]) -> Value {
    let items = items.iter().map(|item| Value::from(item.clone()));
    Value::List(items.collect::<List>())
}
