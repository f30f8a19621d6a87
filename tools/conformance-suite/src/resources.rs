//! The resources of kinds.

use std::collections::BTreeMap;

use fieldmanager_builtin::Kind;
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

/// A resource: its name in paths, and whether its objects are in namespaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resource {
    pub(crate) plural: String,
    pub(crate) is_namespaced: bool,
}

/// The resources of a case, by group and kind: those of its definitions, and the built-in ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resources(BTreeMap<(String, String), Resource>);

impl Resources {
    /// Reads the definitions of a case.
    pub(crate) fn of(definitions: &[Value]) -> Self {
        let resource = |definition: &Value| {
            let spec = definition.get("spec")?;
            let names = spec.get("names")?;
            let text = |value: Option<&Value>| Some(value?.as_str()?.to_owned());
            let key = (text(spec.get("group"))?, text(names.get("kind"))?);
            let is_namespaced = spec.get("scope").and_then(Value::as_str) != Some("Cluster");
            Some((
                key,
                Resource {
                    plural: text(names.get("plural"))?,
                    is_namespaced,
                },
            ))
        };

        Resources(definitions.iter().filter_map(resource).collect())
    }

    pub(crate) fn find(&self, api_version: &str, kind: &str) -> Result<Resource, String> {
        let (group, version) = group_version(api_version);
        if let Some(known) = self.0.get(&(group.to_owned(), kind.to_owned())) {
            return Ok(known.clone());
        }
        let facts = Kind::of(&GroupVersionKind::new(group, version, kind));
        let facts = facts.as_ref().and_then(Kind::resource);
        let facts = facts.ok_or_else(|| {
            format!(
                "the kind {kind} at {api_version} is unknown: expected one of `schema`, or a built-in kind"
            )
        })?;

        Ok(Resource {
            plural: facts.plural.to_string(),
            is_namespaced: facts.namespaced,
        })
    }
}

/// The group, empty for the core group, and the version.
pub(crate) fn group_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// The path of a group and version.
pub fn root(api_version: &str) -> String {
    if api_version.contains('/') {
        format!("/apis/{api_version}")
    } else {
        format!("/api/{api_version}")
    }
}
