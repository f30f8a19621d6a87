//! Custom resource definitions: reading, validation, and the OpenAPI definitions that an API server publishes for them.
//!
//! ```
//! use fieldmanager_structural::internal::publish;
//! use fieldmanager_structural::crd::CustomResource;
//! use fieldmanager_value::Value;
//!
//! let shop = CustomResource::from_value(&Value::from_yaml("
//! apiVersion: apiextensions.k8s.io/v1
//! kind: CustomResourceDefinition
//! metadata: {name: shops.example.com}
//! spec:
//!   group: example.com
//!   names: {kind: Shop, plural: shops}
//!   scope: Namespaced
//!   versions:
//!   - name: v1
//!     served: true
//!     storage: true
//!     schema:
//!       openAPIV3Schema:
//!         type: object
//!         properties: {spec: {type: object, properties: {replicas: {type: integer}}}}
//! ")?)?;
//! assert!(shop.violations().is_empty());
//! assert!(publish(&shop, "v1")?.contains("com.example.v1.Shop"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod condition;
mod error;
mod go_struct;
mod keywords;
mod lists;
mod precedence;
mod publish;
mod read;
mod rules;
mod schema_rules;
mod spec_rules;
mod unions;
mod validations;

use std::collections::BTreeMap;

use fieldmanager_fieldpath::{ApiVersion, PathElement, Set};
use fieldmanager_value::{Str, Value};

use crate::GroupVersionKind;

pub use error::CrdError;

/// The parts of the validation of definitions that other crates of the workspace combine.
pub(crate) mod internal {
    pub use super::condition::{Condition, ConditionStatus, structural_condition};
    pub use super::go_struct::{rule as rule_struct, versions as version_structs};
    pub use super::precedence::compare_versions;
    pub use super::publish::{list_kind, publish, publish_all, publish_schema, with_subschemas};
    pub use super::read::is_definition;
    pub use super::rules::{
        check as check_schema, each_schema, has_default, has_extension, violated,
    };
    pub use super::schema_rules::SchemaRules;
}

/// The parts of a `CustomResourceDefinition` of `apiextensions.k8s.io/v1` that describe its objects.
///
/// The fields are those of `spec`; omitted names have the defaults of the API server.
///
/// ```
/// # use fieldmanager_structural::crd::CustomResource;
/// # let shop = CustomResource::from_value(&fieldmanager_testing::shop_with_scale())?;
/// assert_eq!((shop.group.as_str(), shop.versions.len()), ("example.com", 1));
/// assert!(!shop.preserve_unknown_fields);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CustomResource {
    /// The group of all versions, `example.com`.
    pub group: Str,
    /// The names of the resource.
    pub names: Names,
    /// Whether objects are namespaced.
    pub scope: Scope,
    /// Whether undeclared fields are kept.
    pub preserve_unknown_fields: bool,
    /// The versions, in the order of the document.
    pub versions: Vec<Version>,
    /// Whether a webhook converts objects between versions; otherwise only their `apiVersion` differs.
    pub converts_by_webhook: bool,
}

/// The names of a resource.
///
/// ```
/// # use fieldmanager_structural::crd::CustomResource;
/// # let shop = CustomResource::from_value(&fieldmanager_testing::shop_with_scale())?;
/// assert_eq!((shop.names.singular.as_str(), shop.names.list_kind.as_str()), ("shop", "ShopList"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Names {
    /// The plural name, as in URL paths: `shops`.
    pub plural: Str,
    /// The singular name; defaults to the kind in lower case.
    pub singular: Str,
    /// The kind of an object, `Shop`.
    pub kind: Str,
    /// The kind of a list; defaults to the kind followed by `List`.
    pub list_kind: Str,
    /// Short names for command lines.
    pub short_names: Vec<Str>,
    /// The categories that contain the resource, such as `all`.
    pub categories: Vec<Str>,
}

/// The scope of the objects of a resource.
///
/// ```
/// # use fieldmanager_structural::crd::CustomResource;
/// # let shop = CustomResource::from_value(&fieldmanager_testing::shop_with_scale())?;
/// assert_eq!(shop.scope, fieldmanager_structural::crd::Scope::Cluster);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Every object is in a namespace.
    Namespaced,
    /// Objects are cluster-scoped.
    Cluster,
}

/// One version of a resource.
///
/// ```
/// # use fieldmanager_structural::crd::CustomResource;
/// # let shop = CustomResource::from_value(&fieldmanager_testing::shop_with_scale())?;
/// let v1 = &shop.versions[0];
/// assert!(v1.served && !v1.storage && !v1.status && v1.schema.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Version {
    /// The name, such as `v1beta1`.
    pub name: Str,
    /// Whether the API server serves the version.
    pub served: bool,
    /// Whether objects are stored at this version.
    pub storage: bool,
    /// Whether requests to the version return a warning.
    pub deprecated: bool,
    /// A warning that replaces the default one.
    pub deprecation_warning: Option<Str>,
    /// `schema.openAPIV3Schema`, unmodified.
    pub schema: Option<Value>,
    /// Whether the subresource `status` is enabled.
    pub status: bool,
    /// The subresource `scale`.
    pub scale: Option<ScalePaths>,
}

/// The JSON paths of the parts of a `Scale`, such as `.spec.replicas`.
///
/// ```
/// # use fieldmanager_structural::crd::CustomResource;
/// # let shop = CustomResource::from_value(&fieldmanager_testing::shop_with_scale())?;
/// let scale = shop.versions[0].scale.as_ref().ok_or("it has one")?;
/// assert_eq!(scale.spec_replicas.as_str(), ".spec.n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScalePaths {
    /// The desired replicas, under `.spec`.
    pub spec_replicas: Str,
    /// The observed replicas, under `.status`.
    pub status_replicas: Str,
    /// The serialized label selector, under `.spec` or `.status`.
    pub label_selector: Option<Str>,
}

impl CustomResource {
    /// Returns the version with the given name.
    ///
    /// # Errors
    ///
    /// [`CrdError::UnknownVersion`].
    ///
    /// ```
    /// # use fieldmanager_structural::crd::CustomResource;
    /// # let shop = CustomResource::from_value(&fieldmanager_testing::shop_with_scale())?;
    /// assert!(shop.version("v1")?.served);
    /// assert_eq!(shop.version("v2").unwrap_err().to_string(), "there is no version `v2`: the only one is v1");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn version(&self, name: &str) -> Result<&Version, CrdError> {
        self.versions
            .iter()
            .find(|version| version.name == *name)
            .ok_or_else(|| CrdError::UnknownVersion {
                version: name.into(),
                known: self
                    .versions
                    .iter()
                    .map(|version| version.name.clone())
                    .collect(),
            })
    }

    /// The kind of objects at a version.
    ///
    /// ```
    /// # use fieldmanager_structural::crd::CustomResource;
    /// # let shop = CustomResource::from_value(&fieldmanager_testing::shop_with_scale())?;
    /// assert_eq!(shop.kind("v1").to_string(), "example.com/v1, Kind=Shop");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn kind(&self, version: &str) -> GroupVersionKind {
        GroupVersionKind::new(self.group.clone(), version, self.names.kind.clone())
    }

    fn api_version(&self, version: &str) -> ApiVersion {
        self.kind(version).api_version().into()
    }

    /// The fields that a request to a version cannot write, keyed by the version of the entry that loses them: `status`
    /// for the resource itself if it has that subresource, `metadata` and `spec` for `status`. `subresource` is empty
    /// for the resource itself; any other subresource but `status` resets nothing.
    ///
    /// As in the API server, a request to the resource resets fields at its own version only, and a request to `status`
    /// resets fields at every version that has the subresource.
    ///
    /// # Errors
    ///
    /// [`CrdError::UnknownVersion`].
    ///
    /// Behaviour: `GetResetFields` of `k8s.io/apiextensions-apiserver/pkg/registry/customresource`.
    ///
    /// ```
    /// # use fieldmanager_structural::crd::CustomResource;
    /// # let versions = "[{name: v1, served: true, storage: true, subresources: {status: {}}}]";
    /// # let shop = CustomResource::from_value(&fieldmanager_testing::shop(versions))?;
    /// let reset = shop.reset_fields("v1", "")?;
    /// assert_eq!(reset[&"example.com/v1".into()].to_string(), ".status");
    /// let reset = shop.reset_fields("v1", "status")?;
    /// assert_eq!(reset[&"example.com/v1".into()].to_json(), r#"{"f:metadata":{},"f:spec":{}}"#);
    /// assert!(shop.reset_fields("v1", "scale")?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reset_fields(
        &self,
        version: &str,
        subresource: &str,
    ) -> Result<BTreeMap<ApiVersion, Set>, CrdError> {
        let version = self.version(version)?;
        let set = |names: &[&str]| -> Set {
            names
                .iter()
                .map(|name| [PathElement::field(*name)])
                .collect()
        };
        if !version.status {
            return Ok(BTreeMap::new());
        }

        Ok(match subresource {
            "" => BTreeMap::from([(self.api_version(&version.name), set(&["status"]))]),
            "status" => self
                .versions
                .iter()
                .filter(|version| version.status)
                .map(|version| (self.api_version(&version.name), set(&["metadata", "spec"])))
                .collect(),
            _ => BTreeMap::new(),
        })
    }
}
