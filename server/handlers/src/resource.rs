//! A resource: one kind at one version, with its subresources.

use std::fmt;
use std::sync::Arc;

use fieldmanager_fieldpath::ApiVersion;
use fieldmanager_managedfields::internal::{Difference, compare_objects, merge_unowned_fields};
use fieldmanager_managedfields::{Error, FieldManager, FieldManagerBuilder, Status};
use fieldmanager_openapi::Types;
use fieldmanager_patch::PatchType;
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_structural::crd::{CustomResource, Scope};
use fieldmanager_value::{Str, Value};

use crate::body::Given;
use crate::conversion::{By, Convert};
use crate::error::ResourceError;
use crate::kind::builtin::Builtin;
use crate::kind::custom::Custom;
use crate::kind::{Form, Origin};
use crate::metadata;
use crate::outcome::{Outcome, Refused};
use crate::part::{Inner, Options, Part};
use crate::pending::Pending;
use crate::preconditions::exists;
use crate::request::{Method, Request, Subresource};
use crate::scale::{API_VERSION, ScaleFields};
use crate::state::Write;
use crate::status::Target;

/// The types of patches that built-in resources accept.
const BUILT_IN: [PatchType; 4] = [
    PatchType::Json,
    PatchType::Merge,
    PatchType::Strategic,
    PatchType::Apply,
];

/// The types of patches that custom resources accept.
const CUSTOM: [PatchType; 3] = [PatchType::Json, PatchType::Merge, PatchType::Apply];

/// One kind at one version, for requests to its objects and their subresources. Cheap to clone.
///
/// ```
/// use fieldmanager_handlers::{Action, Request, Resource};
/// use fieldmanager_structural::GroupVersionKind;
/// use fieldmanager_value::Value;
///
/// let config_maps = Resource::builtin(&GroupVersionKind::from_api_version_kind("v1", "ConfigMap"))?;
/// let now = "2026-01-31T12:00:00Z".parse()?;
/// let request = Request::new(now).namespace("shop").uid("7e1b").user_agent("kubectl/v1.37.1");
/// let body = br#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "data": {"a": "b"}}"#;
/// let created = config_maps.create(&request, None, body)?;
/// assert_eq!((created.code(), created.action), (201, Action::Create));
///
/// // The server stores the object with the version that it chooses.
/// let stored = created.object.to_json().replace(r#""name":"web""#, r#""name":"web","resourceVersion":"1""#);
/// let live = Value::from_json(&stored)?;
///
/// let request = Request::new(now).namespace("shop").name("web").content_type("application/merge-patch+json");
/// let patched = config_maps.patch(&request, Some(&live), br#"{"data": {"a": "c"}}"#)?;
/// assert_eq!(patched.object.get("data").map(|data| data.to_json()).as_deref(), Some(r#"{"a":"c"}"#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Resource {
    pub(crate) inner: Arc<Inner>,
    options: Options,
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resource")
            .field("kind", &self.kind().to_string())
            .finish_non_exhaustive()
    }
}

impl Resource {
    /// A kind that is built into Kubernetes.
    ///
    /// # Errors
    ///
    /// [`ResourceError::NotBuiltIn`].
    ///
    /// ```
    /// use fieldmanager_handlers::Resource;
    /// use fieldmanager_structural::GroupVersionKind;
    /// assert!(Resource::builtin(&GroupVersionKind::from_api_version_kind("apps/v1", "Deployment")).is_ok());
    /// assert!(Resource::builtin(&GroupVersionKind::from_api_version_kind("apps/v1", "Shop")).is_err());
    /// ```
    pub fn builtin(kind: &GroupVersionKind) -> Result<Self, ResourceError> {
        builtin_resource(kind, true)
    }

    /// A custom resource at a version that its definition has.
    ///
    /// # Errors
    ///
    /// [`ResourceError::Definition`] if the definition lacks the version, or if its schema cannot be used.
    ///
    /// ```
    /// use fieldmanager_handlers::Resource;
    /// use fieldmanager_structural::crd::CustomResource;
    /// let versions = "[{name: v1, served: true, storage: true}]";
    /// let shop = CustomResource::from_value(&fieldmanager_testing::shop(versions))?;
    /// assert_eq!(Resource::custom(&shop, "v1")?.kind().to_string(), "example.com/v1, Kind=Shop");
    /// assert!(Resource::custom(&shop, "v2").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn custom(definition: &CustomResource, version: &str) -> Result<Self, ResourceError> {
        custom_resource(definition, version, true)
    }

    fn custom_by(
        definition: &CustomResource,
        version: &str,
        defaults: bool,
        convert: Option<&Arc<Convert>>,
    ) -> Result<Self, ResourceError> {
        let failed = |error: String| ResourceError::Definition {
            kind: definition.kind(version),
            message: error,
        };
        let declared = definition
            .version(version)
            .map_err(|error| failed(error.to_string()))?;

        // Managed fields may be of any version, so the types are those of all versions.
        let types =
            Types::from_custom_resource(definition).map_err(|error| failed(error.to_string()))?;
        let kind: Arc<Custom> =
            Arc::new(Custom::new(definition, version, defaults).map_err(failed)?);
        let gvk = definition.kind(version);

        let part = |subresource: Subresource| {
            let defaults = kind.clone();
            let mut manager = FieldManager::builder(gvk.clone())
                .types(types.clone())
                .subresource(subresource.segment())
                .last_entry_counts(true)
                .defaulter(move |object| defaults.applied(object));
            if let Some(convert) = convert {
                manager = manager.converter(By(convert.clone()));
            }

            // A request does not own what it cannot change at this subresource.
            let reset = definition.reset_fields(version, subresource.segment());
            for (version, fields) in reset.map_err(|error| failed(error.to_string()))? {
                manager = manager.reset_fields(version, fields);
            }

            let policy = Custom::policy(definition, version);
            Ok(Part {
                gvk: gvk.clone(),
                kind: kind.clone(),
                policy,
                manager: built(manager)?,
                patches: None,
            })
        };

        // Each version declares its own subresources.
        let status = if declared.status {
            Some(part(Subresource::Status)?)
        } else {
            None
        };
        let scale = match &declared.scale {
            Some(paths) => Some((scale_part()?, ScaleFields::custom(definition, paths))),
            None => None,
        };

        Ok(Resource {
            options: Options::default(),
            inner: Arc::new(Inner {
                plural: definition.names.plural.clone(),
                namespaced: definition.scope == Scope::Namespaced,
                object: part(Subresource::Object)?,
                status,
                ephemeral: None,
                resize: None,
                approval: None,
                finalize: None,
                scale,
                patch_types: &CUSTOM,
            }),
        })
    }

    /// Whether to answer as kube-apiserver where it answers worse: 500 if the object of an apply does not fit its type,
    /// where the handlers answer 400. Off by default.
    #[must_use]
    pub fn server_answers(mut self, on: bool) -> Self {
        self.options.server_answers = on;
        self
    }

    /// Whether unions have an effect: they are normalized before ownership is computed, objects of custom resources and
    /// the declarations in a `CustomResourceDefinition` are validated. On by default. kube-apiserver has no unions.
    ///
    /// ```
    /// use fieldmanager_handlers::{Request, Resource};
    /// use fieldmanager_structural::GroupVersionKind;
    /// use fieldmanager_structural::crd::CustomResource;
    /// use fieldmanager_value::Value;
    /// let schema = "{type: object, properties: {cash: {type: object}, card: {type: object}}, \
    ///     x-kubernetes-unions: [{fields-to-discriminateBy: {cash: Cash, card: Card}}]}";
    /// let versions = format!("[{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {schema}}}}}]");
    /// let shops = Resource::custom(&CustomResource::from_value(&fieldmanager_testing::shop(&versions))?, "v1")?;
    /// let body = br#"{"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "a"}, "cash": {}, "card": {}}"#;
    /// let request = Request::new("2026-01-31T12:00:00Z".parse()?).uid("7e1b");
    /// assert_eq!(shops.create(&request, None, body).unwrap_err().status.code, 422);
    /// assert!(shops.unions(false).create(&request, None, body).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn unions(mut self, on: bool) -> Self {
        if self.options.ignores_unions == on {
            self.inner = Arc::new(self.inner.with_unions(on));
            self.options.ignores_unions = !on;
        }
        self
    }

    /// Whether objects are validated. On by default.
    #[must_use]
    pub fn validation(mut self, on: bool) -> Self {
        self.options.skips_validation = !on;
        self
    }

    /// The kind.
    pub fn kind(&self) -> &GroupVersionKind {
        &self.inner.object.gvk
    }

    /// The name of the resource in paths, such as `deployments`.
    pub fn plural(&self) -> &str {
        &self.inner.plural
    }

    /// Whether objects are in namespaces.
    pub fn is_namespaced(&self) -> bool {
        self.inner.namespaced
    }

    /// The warning of each request to the version, also of those that read; `None` if it is not deprecated.
    ///
    /// ```
    /// use fieldmanager_handlers::Resource;
    /// use fieldmanager_structural::GroupVersionKind;
    /// let endpoints = Resource::builtin(&GroupVersionKind::new("", "v1", "Endpoints"))?;
    /// let warning = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";
    /// assert_eq!(endpoints.deprecation(), Some(warning));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn deprecation(&self) -> Option<&str> {
        self.inner.object.policy.deprecation.as_deref()
    }

    /// A stored object as a request reads it: at the version of the resource, with today's defaults.
    ///
    /// ```
    /// use fieldmanager_handlers::Resource;
    /// use fieldmanager_structural::crd::CustomResource;
    /// use fieldmanager_value::Value;
    /// let versions = "[{name: v1, served: true, storage: true}, {name: v2, served: true}]";
    /// let shop = CustomResource::from_value(&fieldmanager_testing::shop(versions))?;
    /// let stored = Value::from_yaml("{apiVersion: example.com/v1, kind: Shop, metadata: {name: corner}}")?;
    /// let read = Resource::custom(&shop, "v2")?.read(&stored);
    /// assert_eq!(read.get("apiVersion"), Some(&Value::from("example.com/v2")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(&self, stored: &Value) -> Value {
        self.inner.object.kind.read(stored)
    }

    /// The `Scale` of a stored object; `None` if the resource has no such subresource.
    pub fn scale(&self, stored: &Value) -> Option<Value> {
        let (_, fields) = self.inner.scale.as_ref()?;
        Some(fields.read(&self.read(stored)))
    }

    /// Begins a request that writes, up to the object that it makes: [`Pending`] has it for admission, and finishes the
    /// request. [`create`](Resource::create), [`update`](Resource::update) and [`patch`](Resource::patch) do both.
    ///
    /// # Errors
    ///
    /// [`Refused`] with the answer: 400, 404, 409 and 415, as the three have them.
    pub fn begin<'r>(
        &'r self,
        request: &'r Request<'r>,
        method: Method,
        live: Option<&'r Value>,
        body: &[u8],
    ) -> Result<Pending<'r>, Refused> {
        let body = Given::Text(body);
        Pending::begin(&self.inner, self.options, request, method, live, body)
    }

    /// An object of a request that admission changed, as the request would have it from a client: without what its type
    /// does not have, and with defaults.
    ///
    /// # Errors
    ///
    /// The text of the decoder, for an object that does not fit its type.
    pub fn decoded(&self, subresource: Subresource, object: &Value) -> Result<Value, String> {
        let part = self.inner.part(subresource).unwrap_or(&self.inner.object);
        let decoded = part.kind.decode(object, Origin::Json)?;
        Ok(part.kind.defaulted(&decoded.object))
    }

    /// An object with the defaults of its version, and with all fields that it has.
    pub fn defaulted(&self, object: &Value) -> Value {
        self.inner.object.kind.defaulted(object)
    }

    /// An object with what the apply configuration of a policy sets, read as its kind, with defaults. No manager owns it.
    ///
    /// # Errors
    ///
    /// The words of kube-apiserver, if the configuration does not fit the type, or sets a part that is atomic.
    pub fn merged(&self, object: &Value, configuration: &Value) -> Result<Value, String> {
        let part = &self.inner.object;
        let merged = merge_unowned_fields(&part.manager, object, configuration);
        let merged = merged.map_err(|error| format!("error applying patch: {error}"))?;
        // A custom resource keeps the fields that its schema does not have until it is stored.
        if part.policy.form == Form::Map {
            return Ok(part.kind.defaulted(&merged));
        }
        let decoded = part.kind.decode(&merged, Origin::Unstructured);
        let decoded = decoded.map_err(|error| {
            format!(
                "unable to convert unstructured object to {}: {error}",
                self.kind()
            )
        })?;
        Ok(part.kind.defaulted(&decoded.object))
    }

    /// The faults of an object that its type does not have, such as `unknown field "spec.foo"`.
    ///
    /// # Errors
    ///
    /// The text of the decoder, for an object that does not fit its type.
    pub fn unknown_fields(&self, object: &Value) -> Result<Vec<String>, String> {
        let decoded = self.inner.object.kind.decode(object, Origin::Json)?;
        Ok(decoded.unknown)
    }

    /// `POST`: creates an object. `live` is the object that has its name already, if there is one.
    ///
    /// # Errors
    ///
    /// [`Refused`] with the answer: 400 for a body that cannot be decoded, 409 if the object exists, 415, 422.
    pub fn create(
        &self,
        request: &Request<'_>,
        live: Option<&Value>,
        body: &[u8],
    ) -> Result<Outcome, Refused> {
        self.begin(request, Method::Create, live, body)?.finish()
    }

    /// The answer of [`create`](Self::create) to a valid object whose name `live` has: 409.
    pub fn exists(&self, live: &Value) -> Status {
        let target = Target {
            kind: self.kind(),
            plural: self.plural(),
            name: metadata::text(live, "name"),
        };
        exists(target, live)
    }

    /// `POST` of an object that is not stored: a review, a binding or an eviction. The object of the outcome is that of the
    /// body, with managed fields.
    ///
    /// # Errors
    ///
    /// [`Refused`] with the answer: 400 for a body that cannot be decoded, 415, 422.
    pub fn question(&self, request: &Request<'_>, body: &[u8]) -> Result<Outcome, Refused> {
        Write::ask(&self.inner, self.options, request, body)
    }

    /// `PUT`: replaces an object. Some kinds create an object that does not exist.
    ///
    /// # Errors
    ///
    /// [`Refused`] with the answer: 400 for a body that cannot be decoded or has another name, 404 if the object does not
    /// exist, 409 if a precondition does not hold, 415, 422.
    pub fn update(
        &self,
        request: &Request<'_>,
        live: Option<&Value>,
        body: &[u8],
    ) -> Result<Outcome, Refused> {
        self.begin(request, Method::Update, live, body)?.finish()
    }

    /// `PUT` of an object that needs no decoding, as the server sends it to itself.
    ///
    /// # Errors
    ///
    /// Those of [`update`](Self::update).
    pub fn update_to(
        &self,
        request: &Request<'_>,
        live: Option<&Value>,
        object: &Value,
    ) -> Result<Outcome, Refused> {
        let body = Given::Object(object);
        let method = Method::Update;
        Pending::begin(&self.inner, self.options, request, method, live, body)?.finish()
    }

    /// `PATCH` of any type, by the content type of the request. An apply creates an object that does not exist.
    ///
    /// # Errors
    ///
    /// [`Refused`] with the answer: 400, 404 if the object does not exist, 409 for conflicts and preconditions, 415, 422.
    pub fn patch(
        &self,
        request: &Request<'_>,
        live: Option<&Value>,
        body: &[u8],
    ) -> Result<Outcome, Refused> {
        self.begin(request, Method::Patch, live, body)?.finish()
    }
}

/// The path of the replicas of a stored custom resource that has a `Scale`, if the object has none: it cannot be read as
/// one, and a request that sets them is accepted.
pub fn missing_replicas(resource: &Resource, stored: &Value) -> Option<String> {
    let (_, fields) = resource.inner.scale.as_ref()?;
    let is_custom = resource.inner.object.policy.form == Form::Map;
    (is_custom && !fields.has_replicas(&resource.read(stored))).then(|| fields.replicas_path())
}

/// What a new object changes in the live one, and in the fields that each manager owns.
///
/// # Errors
///
/// Those of the field manager, for an object that does not fit its type.
pub fn difference(resource: &Resource, live: &Value, new: &Value) -> Result<Difference, Error> {
    compare_objects(&resource.inner.object.manager, live, new)
}

/// A custom resource whose objects something else converts to the versions at which managers own fields. Its error is the
/// text of a failed request.
///
/// # Errors
///
/// Those of [`custom`](Resource::custom).
pub fn converting_resource(
    definition: &CustomResource,
    version: &str,
    convert: Arc<Convert>,
) -> Result<Resource, ResourceError> {
    Resource::custom_by(definition, version, true, Some(&convert))
}

/// A custom resource whose objects get defaults or do not.
pub fn custom_resource(
    definition: &CustomResource,
    version: &str,
    defaults: bool,
) -> Result<Resource, ResourceError> {
    Resource::custom_by(definition, version, defaults, None)
}

/// A kind that is built into Kubernetes, whose objects get defaults or do not.
pub fn builtin_resource(
    kind: &GroupVersionKind,
    defaults: bool,
) -> Result<Resource, ResourceError> {
    let not_built_in = || ResourceError::NotBuiltIn { kind: kind.clone() };
    let facts = Builtin::of(kind, defaults).ok_or_else(not_built_in)?;
    let types = fieldmanager_openapi::builtin::types();
    // Each subresource has a field manager of its own: its entries name it, and it resets other fields.
    let part = |subresource: Subresource| {
        let manager = facts.field_manager(types.clone(), subresource);
        Ok(Part {
            gvk: kind.clone(),
            kind: Arc::new(facts),
            policy: facts.policy(),
            manager: built(manager)?,
            patches: fieldmanager_patch::builtin::types().for_kind(&kind.api_version(), &kind.kind),
        })
    };

    let resource = facts.resource();
    let has = |subresource: Subresource| {
        resource.is_some_and(|found| found.subresource(subresource.segment()).is_some())
    };
    let optional = |subresource: Subresource| {
        if has(subresource) {
            part(subresource).map(Some)
        } else {
            Ok(None)
        }
    };

    // A `Scale` is an object of another kind, so its field manager is the same for all resources.
    let scale = if has(Subresource::Scale) {
        Some((scale_part()?, ScaleFields::builtin(facts.versions())))
    } else {
        None
    };

    Ok(Resource {
        options: Options::default(),
        inner: Arc::new(Inner {
            plural: resource
                .map(|found| found.plural.clone())
                .unwrap_or_default(),
            namespaced: resource.is_some_and(|found| found.namespaced),
            object: part(Subresource::Object)?,
            status: optional(Subresource::Status)?,
            ephemeral: optional(Subresource::EphemeralContainers)?,
            resize: optional(Subresource::Resize)?,
            approval: optional(Subresource::Approval)?,
            finalize: optional(Subresource::Finalize)?,
            scale,
            patch_types: &BUILT_IN,
        }),
    })
}

/// The subresource `scale`, which is of the same kind for all resources.
fn scale_part() -> Result<Part, ResourceError> {
    let gvk = GroupVersionKind::from_api_version_kind(API_VERSION, "Scale");
    let facts =
        Builtin::of(&gvk, true).ok_or_else(|| ResourceError::NotBuiltIn { kind: gvk.clone() })?;
    let manager = facts.field_manager(fieldmanager_openapi::builtin::types(), Subresource::Scale);
    let patches = fieldmanager_patch::builtin::types().for_kind(API_VERSION, "Scale");
    Ok(Part {
        gvk,
        kind: Arc::new(facts),
        policy: facts.policy(),
        manager: built(manager)?,
        patches,
    })
}

fn built(manager: FieldManagerBuilder) -> Result<FieldManager, ResourceError> {
    manager.build().map_err(|error| ResourceError::Types {
        message: error.to_string(),
    })
}

impl ScaleFields {
    /// The parts that a definition names.
    fn custom(
        definition: &CustomResource,
        paths: &fieldmanager_structural::crd::ScalePaths,
    ) -> Self {
        // A definition has JSON paths, which begin with a period.
        let names = |path: &Str| -> Vec<Str> {
            path.strip_prefix('.')
                .unwrap_or(path)
                .split('.')
                .map(Str::from)
                .collect()
        };

        // Managed fields of another version may have the replicas elsewhere, or nowhere.
        let versions = definition.versions.iter().map(|version| {
            let path = version
                .scale
                .as_ref()
                .map(|scale| names(&scale.spec_replicas));
            (
                ApiVersion::from(definition.kind(&version.name).api_version()),
                path,
            )
        });

        ScaleFields {
            replicas: names(&paths.spec_replicas),
            observed: names(&paths.status_replicas),
            selector: paths.label_selector.as_ref().map(names),
            versions: versions.collect(),
        }
    }
}
