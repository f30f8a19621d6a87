//! The types of custom resources.

use fieldmanager_structural::crd::CustomResource;
use fieldmanager_structural::internal::publish_all;

use crate::import::import_definitions;
use crate::{ImportError, Imported, Importer, Types};

impl Importer {
    /// Imports the types of all versions of a custom resource, served or not. An API server uses these types to apply.
    ///
    /// Imports the definitions that an API server would publish, so custom kinds
    /// are treated like built-in ones. `spec.preserveUnknownFields` is always respected.
    ///
    /// # Errors
    ///
    /// [`ImportError`] if lists or maps have unknown types, or unions are not valid. A definition without
    /// [violations](CustomResource::violations), which do not cover unions, has no other faults.
    ///
    /// Behaviour: `buildOpenAPIModelsForApply` of `k8s.io/apiextensions-apiserver/pkg/apiserver`.
    ///
    /// ```
    /// use fieldmanager_structural::internal::list_kind;
    /// use fieldmanager_openapi::{Importer, ListUnions};
    /// use fieldmanager_structural::crd::CustomResource;
    /// use fieldmanager_value::Value;
    /// let shop = CustomResource::from_value(&Value::from_yaml("
    /// apiVersion: apiextensions.k8s.io/v1
    /// kind: CustomResourceDefinition
    /// spec:
    ///   group: example.com
    ///   names: {kind: Shop, plural: shops}
    ///   scope: Cluster
    ///   versions:
    ///   - name: v1
    ///     served: true
    ///     storage: true
    ///     schema:
    ///       openAPIV3Schema: {type: object, properties: {a: {type: object}}, x-kubernetes-unions: [{fields: {b: B}}]}
    /// ")?)?;
    /// let imported = Importer::new().unions(ListUnions::Respecting).custom_resource(&shop)?;
    /// assert!(imported.types.for_kind(&list_kind(&shop, "v1")).is_ok());
    /// assert_eq!(
    ///     imported.warnings[0].to_string(),
    ///     "definition `com.example.v1.Shop`: .x-kubernetes-unions[0]: member `b` is not a property of the struct",
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn custom_resource(&self, resource: &CustomResource) -> Result<Imported, ImportError> {
        let importer = self.clone();
        let importer = if resource.preserve_unknown_fields {
            importer.preserve_unknown_fields(true)
        } else {
            importer
        };
        import_definitions(&importer, &publish_all(resource))
    }
}

impl Types {
    /// The types of all versions of a custom resource, from an [`Importer`] with default options.
    ///
    /// # Errors
    ///
    /// As for [`Importer::custom_resource`].
    ///
    /// ```
    /// use fieldmanager_openapi::Types;
    /// use fieldmanager_structural::crd::CustomResource;
    /// use fieldmanager_value::Value;
    /// let shop = CustomResource::from_value(&Value::from_yaml("
    /// apiVersion: apiextensions.k8s.io/v1
    /// kind: CustomResourceDefinition
    /// spec:
    ///   group: example.com
    ///   names: {kind: Shop, plural: shops}
    ///   scope: Cluster
    ///   versions: [{name: v1, served: true, storage: true}]
    /// ")?)?;
    /// assert_eq!(Types::from_custom_resource(&shop)?.for_kind(&shop.kind("v1"))?.name(), "com.example.v1.Shop");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_custom_resource(resource: &CustomResource) -> Result<Self, ImportError> {
        Ok(Importer::new().custom_resource(resource)?.types)
    }
}
