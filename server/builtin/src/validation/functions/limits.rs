//! Limits of the resources of a namespace.

use std::collections::BTreeSet;

use fieldmanager_structural::FieldError;
use fieldmanager_structural::internal::qualified_name;

use super::field::Field;
use super::pods::resources;
use crate::amount::Amount;
use crate::place::Errors;

/// Checks a range of limits.
pub(crate) fn limits(object: &Field<'_>, errors: &mut Errors) {
    let mut types = BTreeSet::new();
    for limit in object.get("spec").get("limits").items() {
        let ty = limit.get("type");
        let found = qualified_name(ty.text());
        let is_known = matches!(ty.text(), "Pod" | "Container" | "PersistentVolumeClaim");
        // Names without a prefix belong to Kubernetes.
        if found.is_empty() && !ty.text().contains('/') && !is_known {
            ty.invalid_text("must be a standard limit type or fully qualified", errors);
        }

        ty.faults(found, errors);
        ty.unique(&mut types, errors);
        limit_names(&limit, ty.text(), errors);
        limit_values(&limit, ty.text() == "Pod", errors);
    }
}

/// Checks the names of the resources of a limit of a type.
fn limit_names(limit: &Field<'_>, ty: &str, errors: &mut Errors) {
    // Limits of pods and containers are for the resources of containers; others accept every known one.
    let names = |member: &str, errors: &mut Errors| {
        for (name, value) in limit.get(member).entries() {
            match ty {
                "Pod" | "Container" => resources::container_resource(name, &value.path, errors),
                _ => drop(resources::resource(name, &value.path, errors)),
            }
        }
    };
    names("max", errors);
    names("min", errors);

    // Defaults fill in containers, so a limit of type `Pod` has none.
    for name in ["default", "defaultRequest"] {
        let values = limit.get(name);
        if ty != "Pod" {
            names(name, errors);
        } else if !values.is_empty() {
            values.forbid("may not be specified when `type` is 'Pod'", errors);
        }
    }

    // Storage is the only resource of a claim, so its limit has to bound that.
    let has_storage = |name: &str| limit.get(name).get("storage").is_set();
    if ty == "PersistentVolumeClaim" && !has_storage("min") && !has_storage("max") {
        let detail =
            "either minimum or maximum storage value is required, but neither was provided";
        limit.get("limits").missing(detail, errors);
    }
    names("maxLimitRequestRatio", errors);
}

/// The values of a resource in a limit, by the member that has them.
struct LimitValues<'v> {
    limit: &'v Field<'v>,
    name: &'v str,
    is_pod: bool,
}

impl<'v> LimitValues<'v> {
    /// A value with its number.
    fn of(&self, member: &str) -> Option<(&'v str, Amount)> {
        // Defaults of pods are forbidden already and need no comparison.
        if self.is_pod && matches!(member, "default" | "defaultRequest") {
            return None;
        }
        let value = self.limit.get(member).value?.get(self.name)?.as_str()?;
        Some((value, Amount::parse(value)?))
    }

    fn refuse(&self, member: &str, shown: &str, detail: String, errors: &mut Errors) {
        let path = self.limit.path.child(member).key(self.name);
        errors.push(FieldError::invalid(path, shown, detail));
    }
}

/// Compares the values of a limit, in the order of their names; the order of Kubernetes is random.
fn limit_values(limit: &Field<'_>, is_pod: bool, errors: &mut Errors) {
    let members = [
        "max",
        "min",
        "default",
        "defaultRequest",
        "maxLimitRequestRatio",
    ];
    let lists = members.map(|member| limit.get(member));
    let names: BTreeSet<&str> = lists
        .iter()
        .flat_map(|list| list.entries().map(|(name, _)| name))
        .collect();

    for name in names {
        let values = LimitValues {
            limit,
            name,
            is_pod,
        };
        bounds(&values, errors);
        ratio(&values, errors);
        // What cannot be overcommitted has one value for both defaults.
        if let (Some((default, limit)), Some((text, request))) =
            (values.of("default"), values.of("defaultRequest"))
            && limit != request
            && !resources::may_exceed(name)
        {
            let detail = format!(
                "default value {default} must equal to defaultRequest value {text} in {name}"
            );
            values.refuse("defaultRequest", text, detail, errors);
        }
    }
}

/// Checks that the values ascend from the minimum over the default request and the default to the maximum.
fn bounds(values: &LimitValues<'_>, errors: &mut Errors) {
    let [min, max, default, request] = [
        ("min", "min"),
        ("max", "max"),
        ("default", "default"),
        ("default request", "defaultRequest"),
    ]
    .map(|(shown, member)| (shown, values.of(member)));
    let limit = ("default limit", default.1);

    // Each row has the path of its error, a pair, and which value is shown.
    for (at, (low_name, low), (high_name, high), shows_low) in [
        ("min", min, max, true),
        ("defaultRequest", min, request, false),
        ("defaultRequest", request, max, true),
        ("defaultRequest", request, limit, true),
        ("default", min, default, true),
        ("default", default, max, false),
    ] {
        let (Some((low, least)), Some((high, most))) = (low, high) else {
            continue;
        };
        if least > most {
            let shown = if shows_low { low } else { high };
            let detail = format!("{low_name} value {low} is greater than {high_name} value {high}");
            values.refuse(at, shown, detail, errors);
        }
    }
}

/// Checks the ratio of limits and requests, which the maximum and the minimum bound.
fn ratio(values: &LimitValues<'_>, errors: &mut Errors) {
    const MEMBER: &str = "maxLimitRequestRatio";
    /// The largest number of which Go computes thousandths.
    const MOST: i64 = i64::MAX / 1000;

    let Some((shown, ratio)) = values.of(MEMBER) else {
        return;
    };
    // A limit is never below its request, so a ratio below 1 could not be met.
    if ratio < Amount::parse("1").unwrap_or_default() {
        let detail = format!("ratio {shown} is less than 1");
        values.refuse(MEMBER, shown, detail, errors);
    }

    let (Some((_, min)), Some((_, max))) = (values.of("min"), values.of("max")) else {
        return;
    };
    let is_small = [ratio, min, max].iter().all(|one| one.whole() < MOST);
    let number = |amount: Amount| {
        if is_small {
            amount.thousandths() as f64 / 1000.0
        } else {
            amount.whole() as f64
        }
    };
    let most = number(max) / number(min);
    if number(ratio) > most {
        let detail = format!("ratio {shown} is greater than max/min = {most:.6}");
        values.refuse(MEMBER, shown, detail, errors);
    }
}
