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
    if !faults.is_empty() {
        return Err(faults);
    }

    let mut families = Families::of(service, live);
    let mut errors = Vec::new();
    if let Some(live) = live {
        families.release(live, &mut errors);
    }
    families.check_single(&mut errors);
    families.infer(&mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }

    // A headless Service without a selector gets no address, so it may have families that the cluster does not.
    if families.is_free {
        families.complete_free();
    } else {
        families.check_cluster()?;
    }
    Ok(families.written(service))
}

/// The fields of a Service about families, and what they are.
struct Families {
    policy: Str,
    addresses: Vec<Str>,
    families: Vec<Str>,
    /// Whether the Service is headless and has no selector: its endpoints may be of both families.
    is_free: bool,
}

impl Families {
    fn of(service: &Value, live: Option<&Value>) -> Self {
        let is_free = text(service, "spec.clusterIP") == "None" && !has_selector(service);
        let policy = |service| text(service, "spec.ipFamilyPolicy");
        // An update that leaves the policy out keeps that of the live Service.
        let given = [policy(service), live.map(policy).unwrap_or_default()];
        let default = if is_free { REQUIRE_DUAL } else { SINGLE };
        let policy = given.into_iter().find(|policy| !policy.is_empty());

        Families {
            policy: policy.unwrap_or(default).into(),
            addresses: strings(service, "clusterIPs"),
            families: strings(service, "ipFamilies"),
            is_free,
        }
    }

    fn invalid_policy(&self, detail: String) -> FieldError {
        let path = FieldPath::root("spec").child("ipFamilyPolicy");
        FieldError::invalid(path, self.policy.clone(), detail)
    }

    /// Lists that a client left as they were lose their second item with `SingleStack`. With another policy, a shorter list is
    /// refused.
    fn release(&mut self, live: &Value, errors: &mut Vec<FieldError>) {
        let (old_addresses, old_families) =
            (strings(live, "clusterIPs"), strings(live, "ipFamilies"));
        if self.policy == SINGLE {
            let lists = [
                (&mut self.addresses, old_addresses),
                (&mut self.families, old_families),
            ];
            let kept = lists.into_iter().filter(|(fields, old)| *fields == old);
            kept.for_each(|(fields, _)| fields.truncate(1));
            return;
        }

        for (fields, old, what) in [
            (&self.addresses, old_addresses, "secondary cluster IP"),
            (&self.families, old_families, "secondary IP family"),
        ] {
            if !fields.is_empty() && fields.len() < old.len() {
                let detail = format!("must be 'SingleStack' to release the {what}");
                errors.push(self.invalid_policy(detail));
            }
        }
    }

    /// Two items that are left are those of the request, and contradict `SingleStack`.
    fn check_single(&self, errors: &mut Vec<FieldError>) {
        let lists = [
            (&self.addresses, "cluster IPs"),
            (&self.families, "IP families"),
        ];
        let is_pair = |fields: &[Str]| self.policy == SINGLE && fields.len() == 2;
        for (_, what) in lists.into_iter().filter(|(fields, _)| is_pair(fields)) {
            let detail = format!(
                "must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified"
            );
            errors.push(self.invalid_policy(detail));
        }
    }

    /// Families that the request leaves out follow from its addresses, or else from the cluster.
    fn infer(&mut self, errors: &mut Vec<FieldError>) {
        for (at, address) in self.addresses.iter().enumerate().skip(self.families.len()) {
            match address.as_str() {
                "None" => break,
                address if address.contains(':') => {
                    let path = FieldPath::root("spec").child("clusterIPs").index(at);
                    let detail = "IPv6 is not configured on this cluster";
                    errors.push(FieldError::invalid(path, list(&self.addresses), detail));
                }
                _ => self.families.push("IPv4".into()),
            }
        }
        if self.families.is_empty() {
            self.families.push("IPv4".into());
        }
    }

    fn complete_free(&mut self) {
        if let ([one], true) = (self.families.as_slice(), self.policy != SINGLE) {
            let other = if *one == "IPv4" { "IPv6" } else { "IPv4" };
            self.families.push(other.into());
        }
    }

    /// Checks that the cluster has the families.
    fn check_cluster(&self) -> Result<(), Vec<FieldError>> {
        let mut errors = Vec::new();
        if self.policy == REQUIRE_DUAL {
            let detail = "this cluster is not configured for dual-stack services";
            errors.push(self.invalid_policy(detail.to_owned()));
        }

        for (at, family) in self.families.iter().enumerate() {
            if *family != "IPv4" {
                let path = FieldPath::root("spec").child("ipFamilies").index(at);
                let detail = "not configured on this cluster";
                errors.push(FieldError::invalid(path, family.clone(), detail));
            }
        }

        if errors.is_empty() {
            Ok(())
        } else {
            Err(errors)
        }
    }

    fn written(self, service: &Value) -> Value {
        let mut fields = spec_of(service).cloned().unwrap_or_default();
        fields.insert("ipFamilyPolicy", self.policy);
        fields.insert("ipFamilies", list(&self.families));
        if !self.addresses.is_empty() {
            fields.insert("clusterIPs", list(&self.addresses));
        }
        with(service, "spec", fields).unwrap_or_else(|| service.clone())
    }
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
