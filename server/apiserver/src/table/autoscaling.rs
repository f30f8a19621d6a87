//! Cells of autoscalers.

use fieldmanager_value::Value;

use super::object::Object;

/// The number of metrics that are shown.
const SHOWN: usize = 2;

pub(super) fn autoscaler(object: &Object<'_>) -> Vec<Value> {
    let target = "spec.scaleTargetRef";
    let min = object
        .get("spec.minReplicas")
        .map_or_else(|| "<unset>".to_owned(), Value::to_json);
    vec![
        format!(
            "{}/{}",
            object.text(&format!("{target}.kind")),
            object.text(&format!("{target}.name"))
        )
        .into(),
        metrics(object).into(),
        min.into(),
        object.number("spec.maxReplicas").into(),
        object.number("status.currentReplicas").into(),
    ]
}

fn metrics(object: &Object<'_>) -> String {
    let statuses: Vec<Object<'_>> = object.items("status.currentMetrics").collect();
    let all: Vec<String> = object
        .items("spec.metrics")
        .enumerate()
        .map(|(i, spec)| metric(&spec, statuses.get(i)))
        .collect();
    if all.is_empty() {
        return "<none>".to_owned();
    }

    let shown: Vec<&str> = all.iter().take(SHOWN).map(String::as_str).collect();
    let shown = shown.join(", ");
    match all.len().checked_sub(SHOWN) {
        Some(more) if more > 0 => format!("{shown} + {more} more..."),
        _ => shown,
    }
}

/// The current and the target value of a metric.
fn metric(spec: &Object<'_>, status: Option<&Object<'_>>) -> String {
    let (field, resource) = match spec.text("type") {
        "External" => ("external", false),
        "Pods" => ("pods", false),
        "Object" => ("object", false),
        "Resource" => ("resource", true),
        "ContainerResource" => ("containerResource", true),
        _ => return "<unknown type>".to_owned(),
    };
    let status = status.filter(|status| status.has(field));
    let path = |rest: &str| format!("{field}.{rest}");
    let current = |name: &str, absent: &str| -> String {
        let value = status.map(|status| status.get(&path(&format!("current.{name}"))));
        match value {
            None => "<unknown>".to_owned(),
            Some(None) => absent.to_owned(),
            Some(Some(value)) => plain(value),
        }
    };

    let target = |name: &str| spec.get(&path(&format!("target.{name}"))).map(plain);
    let name = if resource {
        format!("{}: ", spec.text(&path("name")))
    } else {
        String::new()
    };

    // An average that is absent is zero in the version of the API that has no pointers there.
    match (target("averageValue"), resource) {
        (Some(average), true) => format!("{name}{}/{average}", current("averageValue", "<nil>")),
        (Some(average), false) if field == "pods" => {
            format!("{}/{average}", current("averageValue", "<nil>"))
        }
        (Some(average), false) => {
            format!("{}/{average} (avg)", current("averageValue", "<unknown>"))
        }
        (None, true) => {
            let target = target("averageUtilization")
                .map_or_else(|| "<auto>".to_owned(), |target| format!("{target}%"));
            let current = current("averageUtilization", "<unknown>");
            let percent = if current.starts_with('<') { "" } else { "%" };
            format!("{name}{current}{percent}/{target}")
        }
        (None, false) => {
            format!(
                "{}/{}",
                current("value", "<nil>"),
                target("value").unwrap_or_else(|| "<nil>".to_owned())
            )
        }
    }
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_json(), str::to_owned)
}
