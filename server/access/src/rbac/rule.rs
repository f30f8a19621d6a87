//! Rules of roles.

use fieldmanager_structural::internal::ObjectExt;
use fieldmanager_value::Value;
use fieldmanager_value::internal::go_format::quote;

use crate::Attributes;

/// What stands for everything in a list of a rule.
const ALL: &str = "*";

/// A rule of a role: what one may do with some resources or paths. An absent list is an empty one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct PolicyRule {
    pub(super) verbs: Vec<String>,
    pub(super) groups: Vec<String>,
    pub(super) resources: Vec<String>,
    pub(super) names: Vec<String>,
    pub(super) paths: Vec<String>,
}

impl PolicyRule {
    /// The rules in `rules` of a role.
    pub(super) fn all(role: &Value) -> Vec<Self> {
        role.items("rules").map(Self::read).collect()
    }

    pub(super) fn read(rule: &Value) -> Self {
        PolicyRule {
            verbs: rule.strings("verbs"),
            groups: rule.strings("apiGroups"),
            resources: rule.strings("resources"),
            names: rule.strings("resourceNames"),
            paths: rule.strings("nonResourceURLs"),
        }
    }

    /// Whether a request may proceed by this rule alone.
    ///
    /// Behaviour: `RuleAllows` of `plugin/pkg/auth/authorizer/rbac`.
    pub(super) fn allows(&self, attributes: &Attributes<'_>) -> bool {
        if !has(&self.verbs, attributes.verb) {
            return false;
        }
        if let Some(path) = attributes.path {
            return self.paths.iter().any(|rule| covers_path(rule, path));
        }
        let mut resources = self.resources.iter();
        let mut names = self.names.iter();
        has(&self.groups, attributes.group)
            && resources.any(|rule| covers_resource(rule, attributes))
            && (self.names.is_empty() || names.any(|name| name == attributes.name))
    }

    /// The number of strings.
    pub(super) fn len(&self) -> usize {
        let of_resources = self.groups.len() + self.resources.len() + self.names.len();
        self.verbs.len() + of_resources + self.paths.len()
    }
}

/// Whether a list has a string, or the one that stands for everything.
pub(super) fn has(list: &[String], text: &str) -> bool {
    list.iter().any(|item| item == ALL || item == text)
}

/// Whether a resource in a rule, such as `pods`, `pods/log`, `*/scale` or `*`, covers a requested one.
fn covers_resource(rule: &str, requested: &Attributes<'_>) -> bool {
    let (resource, subresource) = (requested.resource, requested.subresource);
    if rule == ALL {
        return true;
    }
    if subresource.is_empty() {
        return rule == resource;
    }
    // The subresource of a path can have slashes itself.
    let rest = rule
        .strip_prefix(resource)
        .and_then(|rest| rest.strip_prefix('/'));
    rest == Some(subresource) || rule.strip_prefix("*/") == Some(subresource)
}

/// Whether a path in a rule covers a path. All stars at its end count as one.
pub(super) fn covers_path(rule: &str, path: &str) -> bool {
    rule == path || rule.ends_with('*') && path.starts_with(rule.trim_end_matches('*'))
}

/// A rule as a value: the verbs, and the other lists that are not empty.
pub(super) fn rule_value<'n>(
    verbs: &'n [String],
    lists: impl IntoIterator<Item = (&'n str, &'n [String])>,
) -> Value {
    let lists = lists.into_iter().filter(|(_, list)| !list.is_empty());
    let all = std::iter::once(("verbs", verbs)).chain(lists);
    Value::Map(all.map(|(name, list)| (name, list.to_vec())).collect())
}

/// Strings as Go writes a slice of them with `%q`.
pub(crate) fn quote_all<S: AsRef<str>>(strings: impl IntoIterator<Item = S>) -> String {
    let quoted: Vec<String> = strings
        .into_iter()
        .map(|text| quote(text.as_ref()))
        .collect();
    format!("[{}]", quoted.join(" "))
}
