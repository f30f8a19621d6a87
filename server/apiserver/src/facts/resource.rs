//! The resources of CustomResourceDefinitions, as clients find them in discovery documents.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use fieldmanager_builtin::{ResourceFacts, SubresourceFacts};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_structural::crd::{CrdError, CustomResource, Scope};
use fieldmanager_value::Str;
use sha2::{Digest, Sha256};

/// The verbs of custom resources and of their subresources, in the order of discovery documents.
const CUSTOM_VERBS: [&str; 8] = [
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
];
const SUBRESOURCE_VERBS: [&str; 3] = ["get", "patch", "update"];

/// The resource of a CustomResourceDefinition at a version.
///
/// # Errors
///
/// [`CrdError::UnknownVersion`].
pub(crate) fn resource_of_definition(
    definition: &CustomResource,
    version: &str,
) -> Result<ResourceFacts, CrdError> {
    let served = definition.version(version)?;
    let names = &definition.names;
    let subresource = |name: &str, kind| SubresourceFacts {
        name: name.into(),
        kind,
        verbs: SUBRESOURCE_VERBS.map(Str::from).to_vec(),
        ..SubresourceFacts::default()
    };
    let status = served
        .status
        .then(|| subresource("status", definition.kind(version)));
    // The subresource `status` has the kind of the resource, and `scale` that of `autoscaling/v1`, whatever the kind.
    let scale = GroupVersionKind::new("autoscaling", "v1", "Scale");

    let scale = served.scale.is_some().then(|| subresource("scale", scale));
    // The hash is that of the storage version, whatever version is read. A storage version that is not served has none.
    let stored = definition
        .versions
        .iter()
        .find(|version| version.storage && version.served);
    let stored = stored.map(|version| storage_version_hash(&definition.kind(&version.name)));
    Ok(ResourceFacts {
        group: definition.group.clone(),
        version: version.into(),
        kind: names.kind.clone(),
        list_kind: names.list_kind.clone(),
        plural: names.plural.clone(),
        singular: names.singular.clone(),
        short_names: names.short_names.clone(),
        categories: names.categories.clone(),
        namespaced: definition.scope == Scope::Namespaced,
        verbs: CUSTOM_VERBS.map(Str::from).to_vec(),
        subresources: status.into_iter().chain(scale).collect(),
        storage_version_hash: stored.unwrap_or_default().into(),
        custom: true,
        ..ResourceFacts::default()
    })
}

/// The hash of a kind at the version at which its objects are stored, by which clients notice that both changed.
fn storage_version_hash(kind: &GroupVersionKind) -> String {
    let digest = Sha256::digest(format!("{}/{}/{}", kind.group, kind.version, kind.kind));
    BASE64_STANDARD.encode(digest.get(..8).unwrap_or_default())
}
