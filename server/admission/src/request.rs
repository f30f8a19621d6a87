//! A request as admission sees it.

use fieldmanager_access::User;
use fieldmanager_cel::AccessQuestion;
use fieldmanager_managedfields::Status;
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::{Map, Value};

use crate::Denial;

/// What a request does with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AdmissionOperation {
    /// The request makes an object, or asks something with one.
    Create,
    /// The request changes an object.
    Update,
    /// The request ends an object.
    Delete,
    /// The request connects to an object, such as to the proxy of a service.
    Connect,
}

impl AdmissionOperation {
    /// The name in reviews and rules.
    ///
    /// ```
    /// assert_eq!(fieldmanager_admission::AdmissionOperation::Create.name(), "CREATE");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            AdmissionOperation::Create => "CREATE",
            AdmissionOperation::Update => "UPDATE",
            AdmissionOperation::Delete => "DELETE",
            AdmissionOperation::Connect => "CONNECT",
        }
    }
}

/// A request as admission sees it, with the object that it makes.
///
/// Behaviour: `Attributes` of `k8s.io/apiserver/pkg/admission`.
#[derive(Clone, Copy, Debug)]
pub struct AdmissionRequest<'a> {
    /// What the request does.
    pub operation: AdmissionOperation,
    /// The kind of its object: `Scale` of `autoscaling/v1` if the subresource is `scale`.
    pub kind: &'a GroupVersionKind,
    /// The group of the resource; empty for the first one.
    pub group: &'a str,
    /// The version of the path.
    pub version: &'a str,
    /// The resource, such as `deployments`.
    pub resource: &'a str,
    /// The subresource; empty for the object itself.
    pub subresource: &'a str,
    /// The namespace; empty for objects without one. That of a Namespace is its own name.
    pub namespace: &'a str,
    /// The name of the object; empty if it is generated, or if a collection is deleted.
    pub name: &'a str,
    /// Who sends the request.
    pub user: &'a User,
    /// The options: an object of the kind `CreateOptions`, `UpdateOptions`, `PatchOptions` or `DeleteOptions` of
    /// `meta.k8s.io/v1`.
    pub options: &'a Value,
    /// Whether nothing is stored.
    pub dry_run: bool,
    /// The object before the request; `None` if there is none.
    pub old: Option<&'a Value>,
    /// The object that the request makes; `None` if it deletes one.
    pub object: Option<&'a Value>,
}

impl<'a> AdmissionRequest<'a> {
    /// The group, the version and the name of the resource.
    pub(crate) fn resource_names(&self) -> [&'a str; 3] {
        [self.group, self.version, self.resource]
    }

    /// What reviews and expressions call the request, without its objects, as one for a kind and a resource: a group, a
    /// version and a name.
    ///
    /// Behaviour: `CreateV1AdmissionReview` of `k8s.io/apiserver/pkg/admission/plugin/webhook/request`, and
    /// `CreateAdmissionRequest` of `k8s.io/apiserver/pkg/admission/plugin/cel`.
    pub(crate) fn describe(&self, kind: &GroupVersionKind, resource: [&str; 3]) -> Map {
        let named = |of: &GroupVersionKind| {
            let parts = [
                ("group", &of.group),
                ("version", &of.version),
                ("kind", &of.kind),
            ];
            map(parts.map(|(name, text)| (name, text.as_str().into())))
        };
        let resource_named = |parts: [&str; 3]| {
            let names = ["group", "version", "resource"];
            map(names.into_iter().zip(parts.map(Value::from)))
        };
        let text = |name, text: &str| (!text.is_empty()).then(|| (name, Value::from(text)));

        // The objects may be converted: `kind` is that of the objects, `requestKind` what the client sent.
        let fields = [
            Some(("kind", named(kind))),
            Some(("resource", resource_named(resource))),
            text("subResource", self.subresource),
            Some(("requestKind", named(self.kind))),
            Some(("requestResource", resource_named(self.resource_names()))),
            text("requestSubResource", self.subresource),
            text("name", self.name),
            text("namespace", self.namespace),
            Some(("operation", self.operation.name().into())),
            Some(("userInfo", self.user.into())),
            Some(("dryRun", self.dry_run.into())),
            Some(("options", self.options.clone())),
        ];
        fields.into_iter().flatten().collect()
    }

    /// Whether the request is for a resource of a group, apart from its subresources.
    pub fn is_of(&self, group: &str, resource: &str) -> bool {
        self.subresource.is_empty() && (self.group, self.resource) == (group, resource)
    }

    /// A field of the object, or `null`.
    pub fn field(&self, path: &[&str]) -> &'a Value {
        field(self.object, path)
    }

    /// A field of the object before the request, or `null`.
    pub fn old_field(&self, path: &[&str]) -> &'a Value {
        field(self.old, path)
    }

    /// The refusal of a plugin: 403, with the resource and the name of the object in front of the reason.
    ///
    /// Behaviour: `NewForbidden` of `k8s.io/apiserver/pkg/admission`.
    pub fn forbidden(&self, reason: &str) -> Denial {
        self.refused(403, "Forbidden", &format!("forbidden: {reason}"))
    }

    /// A refusal with the resource and the name of the object in front of `is` and the text.
    pub fn refused(&self, code: u16, reason: &'static str, text: &str) -> Denial {
        let resource = match self.group {
            "" => self.resource.to_owned(),
            group => format!("{}.{group}", self.resource),
        };
        let own = |name: &str| self.field(&["metadata", name]).as_str().unwrap_or_default();
        let name = match (self.name, own("name"), own("generateName")) {
            ("", "", "") => "Unknown",
            ("", "", generated) => generated,
            ("", name, _) | (name, ..) => name,
        };

        let message = format!("{resource} {name:?} is {text}");
        let about = (self.group, self.resource, name);
        Status::about(code, reason, about, message).into()
    }
}

/// The question of an authorizer that is about the objects of the request.
pub fn access_question(request: &AdmissionRequest) -> AccessQuestion {
    AccessQuestion {
        group: request.group.to_owned(),
        resource: request.resource.to_owned(),
        subresource: request.subresource.to_owned(),
        namespace: request.namespace.to_owned(),
        name: request.name.to_owned(),
        ..AccessQuestion::default()
    }
}

/// What expressions see of the request: as reviews have it, with members that are always empty.
pub fn describe_for_expressions(
    request: &AdmissionRequest,
    kind: &GroupVersionKind,
    resource: [&str; 3],
) -> Value {
    let mut out = request.describe(kind, resource);
    out.insert("uid", "");
    out.insert("object", Value::Null);
    out.insert("oldObject", Value::Null);
    Value::Map(out)
}

/// A map of its fields.
pub(crate) fn map<'k>(fields: impl IntoIterator<Item = (&'k str, Value)>) -> Value {
    Value::Map(fields.into_iter().collect::<Map>())
}

/// A value below another one; `null` if there is none.
pub(crate) fn field<'v>(object: Option<&'v Value>, path: &[&str]) -> &'v Value {
    static NULL: Value = Value::Null;
    let found =
        object.and_then(|object| path.iter().try_fold(object, |value, name| value.get(name)));
    found.unwrap_or(&NULL)
}
