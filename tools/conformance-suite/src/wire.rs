//! Steps as requests.

use fieldmanager_harness::internal::{ManagedWrite, Request, Target, Verb, WriteVerb};
use fieldmanager_patch::PatchType;
use fieldmanager_value::{Str, Value};

use crate::connection::Message;
use crate::names::{NAMESPACE, Names, Variables};
use crate::resources::{Resources, root};

/// The object of a step, by the names of the case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ObjectName {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl ObjectName {
    /// The name of an object, with that of the step before where the object has none.
    pub(crate) fn of(object: &Value, before: &ObjectName) -> Self {
        let own = |path: &[&str]| {
            let value = path.iter().try_fold(object, |value, name| value.get(name));
            value
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
        };
        let kind = own(&["kind"]);

        // The name of an object of another kind says nothing about this one.
        let before = if kind.is_some() {
            &ObjectName::default()
        } else {
            before
        };
        let or = |found: Option<String>, before: &str| found.unwrap_or_else(|| before.to_owned());
        ObjectName {
            api_version: or(own(&["apiVersion"]), &before.api_version),
            kind: or(kind, &before.kind),
            namespace: or(own(&["metadata", "namespace"]), &before.namespace),
            name: or(own(&["metadata", "name"]), &before.name),
        }
    }

    /// Key of the object among those that a case has read.
    pub(crate) fn key(&self) -> String {
        // The same object has several versions, so only the group counts.
        let group = self
            .api_version
            .split_once('/')
            .map_or("", |(group, _)| group);
        let namespace = if self.namespace == NAMESPACE {
            ""
        } else {
            &self.namespace
        };
        format!("{group}/{}/{namespace}/{}", self.kind, self.name)
    }
}

/// How the strings of a case become those of requests.
pub(crate) struct Wire<'c> {
    pub(crate) names: &'c Names,
    pub(crate) variables: &'c Variables,
    pub(crate) resources: &'c Resources,
}

impl Wire<'_> {
    /// The path of an object, or of its collection.
    pub(crate) fn path(&self, object: &ObjectName, collection: bool) -> Result<String, String> {
        let ObjectName {
            api_version,
            kind,
            namespace,
            name,
        } = object;

        // The step may get these from the step before it, which the first step of a case does not have.
        if api_version.is_empty() || kind.is_empty() {
            return Err(
                "the step has no object: expected `apiVersion` and `kind`, here or in a step before".into()
            );
        }

        let resource = self.resources.find(api_version, kind)?;
        let mut path = root(&self.names.to_server(api_version));
        if resource.is_namespaced {
            // The namespace of the file stands for that of the case; another one is named as it is.
            let namespace = match namespace.as_str() {
                "" | NAMESPACE => self.names.namespace.clone(),
                other => self.names.to_server(other),
            };
            path.push_str(&format!("/namespaces/{}", encoded(&namespace)));
        }

        path.push('/');
        path.push_str(&resource.plural);
        if !collection {
            if name.is_empty() {
                return Err(
                    "the step has no object: expected `name`, here or in a step before".into(),
                );
            }
            path.push_str(&format!("/{}", encoded(&self.names.to_server(name))));
        }

        Ok(path)
    }

    pub(crate) fn body(&self, object: &Value) -> Result<String, String> {
        Ok(self
            .names
            .value_to_server(&self.variables.resolve(object)?)
            .to_json())
    }

    /// The object of a request.
    pub(crate) fn target(
        &self,
        target: &Target,
        body: Option<&Value>,
        before: &ObjectName,
    ) -> Result<ObjectName, String> {
        let nothing = Value::Null;
        // The target of the step takes precedence over its body, and the body over the step before.
        let by_body = ObjectName::of(
            body.filter(|body| body.as_map().is_some())
                .unwrap_or(&nothing),
            before,
        );
        let or = |own: &Option<Str>, other: String| match own {
            Some(own) => self.variables.text(own),
            None => Ok(other),
        };

        Ok(ObjectName {
            api_version: or(&target.api_version, by_body.api_version)?,
            kind: or(&target.kind, by_body.kind)?,
            namespace: or(&target.namespace, by_body.namespace)?,
            name: or(&target.name, by_body.name)?,
        })
    }

    /// A request, with its object; `None` if only its path is known.
    pub(crate) fn request(
        &self,
        request: &Request,
        before: &ObjectName,
    ) -> Result<(Message, Option<ObjectName>), String> {
        let mut body = request
            .body
            .as_ref()
            .map(|body| self.variables.resolve(body))
            .transpose()?;

        // Variables are resolved first, so that an edit can change an object that an earlier step saved.
        if let Some(edit) = &request.edit {
            let edit = self.variables.resolve(edit)?;
            let edited = fieldmanager_patch::json_patch::apply(&body.unwrap_or_default(), &edit);
            body = Some(edited.map_err(|error| format!("`edit`: {error}"))?);
        }

        let (mut path, object) = match &request.target.path {
            Some(path) => (self.names.path_to_server(&self.variables.text(path)?), None),
            None => {
                let object = self.target(&request.target, body.as_ref(), before)?;
                // A subresource such as `eviction` is created at the path of an object.
                let of_collection =
                    request.verb.is_of_collection() && request.target.subresource.is_none();
                (self.path(&object, of_collection)?, Some(object))
            }
        };
        if let Some(subresource) = &request.target.subresource {
            path.push('/');
            path.push_str(subresource);
        }

        let query = self.query(&request.query)?;
        if !query.is_empty() {
            path.push(if path.contains('?') { '&' } else { '?' });
            path.push_str(&query);
        }
        // A string is sent as it is, which allows a case to send invalid bodies.
        let body = match body {
            None => String::new(),
            Some(Value::String(text)) => self.names.text_to_server(&text),
            Some(value) => self.names.value_to_server(&value).to_json(),
        };
        let mut message = Message::new(
            request.method.as_deref().unwrap_or(request.verb.method()),
            path,
            body,
        );

        for (name, value) in &request.headers {
            message
                .headers
                .push((name.to_string(), self.variables.text(value)?));
        }
        Ok((message, object))
    }

    pub(crate) fn query(&self, parameters: &[(Str, Str)]) -> Result<String, String> {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in parameters {
            query.append_pair(name, &self.names.to_server(&self.variables.text(value)?));
        }
        Ok(query.finish())
    }
}

/// An apply or a patch of the library as a request. A patch is about the object of the step before.
pub(crate) fn request_of(write: &ManagedWrite, before: &ObjectName) -> Request {
    let (verb, content_type) = match write.verb {
        WriteVerb::Patch(how) => (Verb::Patch, how.content_type()),
        _ => (Verb::Apply, PatchType::Apply.content_type()),
    };
    // An apply has its object in the body, while a patch does not name one.
    let target = match verb {
        Verb::Patch => Target {
            api_version: Some(before.api_version.as_str().into()),
            kind: Some(before.kind.as_str().into()),
            name: Some(before.name.as_str().into()),
            namespace: Some(before.namespace.as_str().into()),
            ..Target::default()
        },
        _ => Target::default(),
    };

    let mut query = vec![("fieldManager".into(), write.manager.clone())];
    if write.verb == (WriteVerb::Apply { force: true }) {
        query.push(("force".into(), "true".into()));
    }
    Request {
        verb,
        method: None,
        target,
        query,
        headers: [("Content-Type".into(), content_type.into())].into(),
        body: Some(write.given.clone()),
        edit: None,
    }
}

/// A text as a segment of a path, or as a value of a query.
pub fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes())
        .collect::<String>()
        .replace('+', "%20")
}
