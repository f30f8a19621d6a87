//! Whether the rules of a user include those of a role.

use std::collections::{BTreeMap, BTreeSet};

use super::rule::{PolicyRule, covers_path, has, quote_all};

/// How many strings are compared at most, about.
const MAX_COMPARISONS: usize = 100_000_000;

/// What the parts of one permission cost besides comparisons.
const COST_OF_PERMISSION: usize = 500;

/// There are too many combinations of verbs, groups, resources and names to look at each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooManyPermissions;

/// The permissions in rules that no rule of a user includes, as messages show them, sorted. Permissions that differ in the
/// verb alone are shown together.
///
/// Every permission has to be included by one rule. kube-apiserver looks at any number of them.
///
/// Behaviour: `Covers` of `k8s.io/component-helpers/auth/rbac/validation`, `CompactRules` of `pkg/registry/rbac/validation`.
pub(super) fn missing(
    held: &[&PolicyRule],
    wanted: &[PolicyRule],
) -> Result<BTreeSet<String>, TooManyPermissions> {
    // A role of a few bytes can name millions of combinations.
    let each = COST_OF_PERMISSION + held.iter().map(|rule| rule.len() + 1).sum::<usize>();
    let count = wanted.iter().map(count_permissions);
    let count = count.fold(0, usize::saturating_add);
    if count.saturating_mul(each) > MAX_COMPARISONS {
        return Err(TooManyPermissions);
    }

    // The verbs of each resource, in the order in which rules name them.
    let mut resources: BTreeMap<(&str, &str, Option<&str>), Vec<&str>> = BTreeMap::new();
    let mut out = BTreeSet::new();
    for rule in wanted {
        for verb in &rule.verbs {
            for path in &rule.paths {
                if !held.iter().any(|held| includes_path(held, verb, path)) {
                    let (path, verb) = (quote_all([path]), quote_all([verb]));
                    out.insert(format!("{{NonResourceURLs:{path}, Verbs:{verb}}}"));
                }
            }
        }

        each_permission(rule, |group, resource, verb, name| {
            let mut held = held.iter();
            if !held.any(|held| includes_resource(held, group, resource, verb, name)) {
                let verbs = resources.entry((group, resource, name)).or_default();
                verbs.push(verb);
            }
        });
    }

    // The set sorts the texts, since Go sorts them and not the rules.
    out.extend(
        resources
            .into_iter()
            .map(|((group, resource, name), verbs)| {
                let name = name.map(|name| format!(", ResourceNames:{}", quote_all([name])));
                format!(
                    "{{APIGroups:{}, Resources:{}{}, Verbs:{}}}",
                    quote_all([group]),
                    quote_all([resource]),
                    name.unwrap_or_default(),
                    quote_all(verbs)
                )
            }),
    );
    Ok(out)
}

fn count_permissions(rule: &PolicyRule) -> usize {
    let resources = [&rule.groups, &rule.resources, &rule.verbs].map(Vec::len);
    let resources = resources.into_iter().fold(1, usize::saturating_mul);
    resources
        .saturating_mul(rule.names.len().max(1))
        .saturating_add(rule.paths.len().saturating_mul(rule.verbs.len()))
}

/// Visits all combinations of a group, a resource, a verb and a name, in the order of Go.
fn each_permission<'r>(
    rule: &'r PolicyRule,
    mut visit: impl FnMut(&'r str, &'r str, &'r str, Option<&'r str>),
) {
    let mut names: Vec<Option<&str>> = rule.names.iter().map(|name| Some(&**name)).collect();
    if names.is_empty() {
        names.push(None);
    }
    for group in &rule.groups {
        for resource in &rule.resources {
            for verb in &rule.verbs {
                names
                    .iter()
                    .for_each(|name| visit(group, resource, verb, *name));
            }
        }
    }
}

fn includes_path(held: &PolicyRule, verb: &str, path: &str) -> bool {
    has(&held.verbs, verb)
        && held.names.is_empty()
        && held.paths.iter().any(|rule| covers_path(rule, path))
}

fn includes_resource(
    held: &PolicyRule,
    group: &str,
    resource: &str,
    verb: &str,
    name: Option<&str>,
) -> bool {
    let (_, subresource) = resource.split_once('/').unwrap_or_default();
    let is_of_all = |rule: &String| {
        let part = rule.strip_prefix("*/");
        part.is_some_and(|part| resource.contains('/') && part == subresource)
    };
    let includes_name = |name: &str| held.names.iter().any(|held| held == name);

    has(&held.verbs, verb)
        && has(&held.groups, group)
        && (has(&held.resources, resource) || held.resources.iter().any(is_of_all))
        && (held.names.is_empty() || name.is_some_and(includes_name))
}
