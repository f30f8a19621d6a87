//! Label selectors.

use fieldmanager_value::Value;

use crate::object_ext::ObjectExt;

/// Whether a valid label selector (`matchLabels` and `matchExpressions`) selects labels. One without terms selects
/// everything.
///
/// Behaviour: `LabelSelectorAsSelector` of `k8s.io/apimachinery/pkg/apis/meta/v1`, and `Requirement.Matches` of
/// `k8s.io/apimachinery/pkg/labels`.
///
/// ```
/// use fieldmanager_structural::internal::selects;
/// use fieldmanager_value::Value;
/// let selector = Value::from_yaml("{matchExpressions: [{key: tier, operator: NotIn, values: [db]}]}")?;
/// assert!(selects(&selector, None));
/// assert!(!selects(&selector, Some(&Value::from_yaml("{tier: db}")?)));
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
pub fn selects(selector: &Value, labels: Option<&Value>) -> bool {
    let label = |key: &str| labels?.get(key)?.as_str();
    let equal = selector.get("matchLabels").and_then(Value::as_map);
    let mut equal = equal.into_iter().flatten();

    let expressions = selector.get("matchExpressions").and_then(Value::as_list);
    equal.all(|(key, value)| label(key.as_str()) == value.as_str())
        && expressions.into_iter().flatten().all(|expression| {
            let found = label(expression.string("key"));
            let values = expression.get("values").and_then(Value::as_list);
            let mut values = values.into_iter().flatten();
            let mut is_listed = || values.any(|value| value.as_str() == found);
            match expression.string("operator") {
                "In" => found.is_some() && is_listed(),
                "NotIn" => found.is_none() || !is_listed(),
                "Exists" => found.is_some(),
                _ => found.is_none(),
            }
        })
}
