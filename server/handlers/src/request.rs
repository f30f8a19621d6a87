//! The parts of a request: those that a client sends, and those that the server adds.

use fieldmanager_managedfields::{RequestOptions, Time};

/// The part of an object that a request is for.
///
/// ```
/// use fieldmanager_handlers::Subresource;
/// assert_eq!(Subresource::of("status"), Some(Subresource::Status));
/// assert_eq!(Subresource::of("log"), None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Subresource {
    /// The object itself.
    #[default]
    Object,
    /// `status`: the request changes the status only.
    Status,
    /// `scale`: the object of the request is a `Scale` of `autoscaling/v1`.
    Scale,
    /// `ephemeralcontainers` of a Pod.
    EphemeralContainers,
    /// `resize` of a Pod: the request changes the resources of its containers only.
    Resize,
    /// `approval` of a CertificateSigningRequest.
    Approval,
    /// `finalize` of a Namespace: the request changes the finalizers in the spec too.
    Finalize,
}

impl Subresource {
    /// The subresource of a segment of a path; an empty segment is the object itself. `None` if the handlers do not
    /// know it.
    pub fn of(segment: &str) -> Option<Self> {
        Some(match segment {
            "" => Subresource::Object,
            "status" => Subresource::Status,
            "scale" => Subresource::Scale,
            "ephemeralcontainers" => Subresource::EphemeralContainers,
            "resize" => Subresource::Resize,
            "approval" => Subresource::Approval,
            "finalize" => Subresource::Finalize,
            _ => return None,
        })
    }

    /// The segment of the path; empty for the object itself.
    pub fn segment(self) -> &'static str {
        match self {
            Subresource::Object => "",
            Subresource::Status => "status",
            Subresource::Scale => "scale",
            Subresource::EphemeralContainers => "ephemeralcontainers",
            Subresource::Resize => "resize",
            Subresource::Approval => "approval",
            Subresource::Finalize => "finalize",
        }
    }
}

/// How a request writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `POST`.
    Create,
    /// `PUT`.
    Update,
    /// `PATCH` of any type.
    Patch,
}

/// A request to create, update, patch or apply an object, apart from the body.
///
/// The clock and all identifiers come from the server that embeds the handlers: they have no randomness of their own.
///
/// ```
/// use fieldmanager_handlers::Request;
/// let now = "2026-01-31T12:00:00Z".parse()?;
/// let request = Request::new(now).name("web").namespace("shop").uid("7e1b").user_agent("kubectl/v1.37.1");
/// assert_eq!(request.manager_name(), "kubectl");
/// # Ok::<(), fieldmanager_managedfields::TimeError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
#[must_use = "a request does nothing until a resource gets it"]
pub struct Request<'a> {
    /// The part of the object.
    pub subresource: Subresource,
    /// The namespace of the path; empty for cluster-scoped objects.
    pub namespace: &'a str,
    /// The name of the path; empty if an object is created.
    pub name: &'a str,
    /// The header `Content-Type`. JSON by default. Objects to create or to update may be in YAML, and those of built-in
    /// kinds in `application/vnd.kubernetes.protobuf`.
    pub content_type: &'a str,
    /// The header `User-Agent`, from which the manager is named if the options do not name it.
    pub user_agent: &'a str,
    /// The query parameters.
    pub options: RequestOptions,
    /// The time of the request: that of managed fields, and of the creation.
    pub now: Time,
    /// The uid that an object gets if the request creates it.
    pub uid: &'a str,
    /// The end of a name that is generated from `metadata.generateName`: five random characters of `bcdfghjklmnpqrstvwxz2456789`.
    pub name_suffix: &'a str,
}

impl<'a> Request<'a> {
    /// A request at a time, with all other fields empty.
    pub fn new(now: Time) -> Self {
        Request {
            subresource: Subresource::Object,
            namespace: "",
            name: "",
            content_type: "",
            user_agent: "",
            options: RequestOptions::default(),
            now,
            uid: "",
            name_suffix: "",
        }
    }

    /// The part of the object, see [`subresource`](Self#structfield.subresource).
    pub fn subresource(mut self, subresource: Subresource) -> Self {
        self.subresource = subresource;
        self
    }

    /// The namespace of the path.
    pub fn namespace(mut self, namespace: &'a str) -> Self {
        self.namespace = namespace;
        self
    }

    /// The name of the path.
    pub fn name(mut self, name: &'a str) -> Self {
        self.name = name;
        self
    }

    /// The header `Content-Type`.
    pub fn content_type(mut self, content_type: &'a str) -> Self {
        self.content_type = content_type;
        self
    }

    /// The header `User-Agent`.
    pub fn user_agent(mut self, user_agent: &'a str) -> Self {
        self.user_agent = user_agent;
        self
    }

    /// The query parameters.
    pub fn options(mut self, options: RequestOptions) -> Self {
        self.options = options;
        self
    }

    /// The uid of an object that the request creates.
    pub fn uid(mut self, uid: &'a str) -> Self {
        self.uid = uid;
        self
    }

    /// The end of a generated name.
    pub fn name_suffix(mut self, suffix: &'a str) -> Self {
        self.name_suffix = suffix;
        self
    }

    /// The name of the manager: that of the options, or the first word of the user agent.
    pub fn manager_name(&self) -> String {
        fieldmanager_managedfields::manager_name(&self.options.field_manager, self.user_agent)
    }

    /// How unknown and duplicate fields are treated.
    pub(crate) fn validation(&self) -> FieldValidation {
        match self.options.field_validation.as_str() {
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            _ => FieldValidation::Warn,
        }
    }
}

/// How unknown and duplicate fields are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}
