//! Requests of a test.

use bytes::Bytes;
use fieldmanager_structural::GroupVersionKind;
use http::{HeaderName, Request, header};
use http_body_util::{BodyExt, Full};
use serde::Serialize;
use serde_json::Value as Json;
use tower::ServiceExt;

use super::TestServer;
use crate::access::admin;

/// The user agent, and so the manager of requests without another.
const AGENT: &str = "test";

/// The namespace of objects whose metadata names none.
const NAMESPACE: &str = "default";

/// An answer of a server.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Reply {
    /// The code of the answer.
    pub code: u16,
    /// The texts of the `Warning` headers.
    pub warnings: Vec<String>,
    bytes: Bytes,
}

impl Reply {
    /// The body, read anew each time; null if it is no JSON.
    pub fn body(&self) -> Json {
        serde_json::from_slice(&self.bytes).unwrap_or_default()
    }
}

/// The error of a request that was refused: a `Status`.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{code} {reason}: {message}")]
#[non_exhaustive]
pub struct Refusal {
    /// The code of the answer; 0 if the answer was lost.
    pub code: u16,
    /// The reason, such as `Conflict`.
    pub reason: String,
    /// The message for people.
    pub message: String,
    /// The whole body.
    pub body: Json,
}

impl Refusal {
    fn new(code: u16, reason: &str, message: String) -> Self {
        Refusal {
            code,
            reason: reason.to_owned(),
            message,
            body: Json::Null,
        }
    }
}

/// Objects are in the namespace `default` unless their metadata names another one; a name may be `NAMESPACE/NAME`. The
/// error is always a [`Refusal`]. Requests are those of the administrator, unless the server is that of a
/// [user](TestServer::client_as).
impl TestServer {
    /// Creates an object.
    ///
    /// # Errors
    ///
    /// [`Refusal`].
    pub async fn create(&self, object: impl Serialize) -> Result<Json, Refusal> {
        self.create_as(AGENT, object).await
    }

    /// Creates an object as a manager.
    ///
    /// # Errors
    ///
    /// [`Refusal`].
    pub async fn create_as(&self, manager: &str, object: impl Serialize) -> Result<Json, Refusal> {
        let object = json(object)?;
        let (path, _) = self.path_of(&object)?;
        let path = format!("{path}?fieldManager={}", encoded(manager));
        self.done("POST", &path, "application/json", &object).await
    }

    /// Applies a configuration as a manager.
    ///
    /// # Errors
    ///
    /// [`Refusal`]; of conflicts, with the code 409.
    pub async fn apply(&self, manager: &str, config: impl Serialize) -> Result<Json, Refusal> {
        self.apply_with(manager, config, "").await
    }

    /// Applies a configuration as a manager, and takes the fields of others.
    ///
    /// # Errors
    ///
    /// [`Refusal`].
    pub async fn force_apply(
        &self,
        manager: &str,
        config: impl Serialize,
    ) -> Result<Json, Refusal> {
        self.apply_with(manager, config, "&force=true").await
    }

    async fn apply_with(
        &self,
        manager: &str,
        config: impl Serialize,
        options: &str,
    ) -> Result<Json, Refusal> {
        let config = json(config)?;
        let (path, name) = self.path_of(&config)?;
        let path = format!("{path}/{name}?fieldManager={}{options}", encoded(manager));
        self.done("PATCH", &path, "application/apply-patch+yaml", &config)
            .await
    }

    /// Replaces an object as a manager.
    ///
    /// # Errors
    ///
    /// [`Refusal`].
    pub async fn update(&self, manager: &str, object: impl Serialize) -> Result<Json, Refusal> {
        let object = json(object)?;
        let (path, name) = self.path_of(&object)?;
        let path = format!("{path}/{name}?fieldManager={}", encoded(manager));
        self.done("PUT", &path, "application/json", &object).await
    }

    /// Changes an object by a JSON merge patch as a manager.
    ///
    /// # Errors
    ///
    /// [`Refusal`].
    pub async fn patch(
        &self,
        manager: &str,
        api_version: &str,
        kind: &str,
        name: &str,
        patch: impl Serialize,
    ) -> Result<Json, Refusal> {
        let path = self.path(api_version, kind, name)?;
        self.patch_at(&path, manager, "application/merge-patch+json", patch)
            .await
    }

    /// Changes the object at a path by a patch of any type, which the content type names, as a manager.
    ///
    /// # Errors
    ///
    /// [`Refusal`].
    pub async fn patch_at(
        &self,
        path: &str,
        manager: &str,
        content_type: &str,
        patch: impl Serialize,
    ) -> Result<Json, Refusal> {
        let path = format!("{path}?fieldManager={}", encoded(manager));
        self.done("PATCH", &path, content_type, &json(patch)?).await
    }

    /// Reads an object.
    ///
    /// # Errors
    ///
    /// [`Refusal`].
    pub async fn get(&self, api_version: &str, kind: &str, name: &str) -> Result<Json, Refusal> {
        let path = self.path(api_version, kind, name)?;
        self.done("GET", &path, "application/json", &Json::Null)
            .await
    }

    /// Reads the objects of a kind, in all namespaces.
    ///
    /// # Errors
    ///
    /// [`Refusal`].
    pub async fn list(&self, api_version: &str, kind: &str) -> Result<Vec<Json>, Refusal> {
        let path = self.collection(api_version, kind, None)?;
        let mut list = self
            .done("GET", &path, "application/json", &Json::Null)
            .await?;
        match list.get_mut("items").map(Json::take) {
            Some(Json::Array(items)) => Ok(items),
            _ => Ok(Vec::new()),
        }
    }

    /// Deletes an object.
    ///
    /// # Errors
    ///
    /// [`Refusal`].
    pub async fn delete(&self, api_version: &str, kind: &str, name: &str) -> Result<Json, Refusal> {
        let path = self.path(api_version, kind, name)?;
        self.done("DELETE", &path, "application/json", &Json::Null)
            .await
    }

    /// Sends any request, such as one to a subresource. A null body is an empty one.
    ///
    /// # Errors
    ///
    /// [`Refusal`] with the code 0 if the answer was lost, or if the path is no URI.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        content_type: &str,
        body: &impl Serialize,
    ) -> Result<Reply, Refusal> {
        let body = serde_json::to_string(body);
        let body = body.map_err(|error| Refusal::new(0, "", error.to_string()))?;
        let body = if body == "null" { String::new() } else { body };
        let headers = [(header::CONTENT_TYPE, content_type)];
        self.send_text(method, path, &headers, body).await
    }

    /// Sends a request with headers and a text, such as a manifest in YAML.
    ///
    /// # Errors
    ///
    /// [`Refusal`] with the code 0 if the answer was lost, or if the path is no URI or a header none.
    pub async fn send_text(
        &self,
        method: &str,
        path: &str,
        headers: &[(HeaderName, &str)],
        body: String,
    ) -> Result<Reply, Refusal> {
        let builder = Request::builder().method(method).uri(path);
        let builder = builder.header(header::USER_AGENT, AGENT);
        let request = headers
            .iter()
            .fold(builder, |builder, (name, value)| {
                builder.header(name, *value)
            })
            .body(Full::<Bytes>::from(body))
            .map_err(|error| Refusal::new(0, "", error.to_string()))?;

        // The requests of the test itself are the administrator's.
        let mut server = self.service();
        server.user = server.user.or_else(|| Some(admin()));
        let response = server
            .oneshot(request)
            .await
            .unwrap_or_else(|never| match never {});
        let code = response.status().as_u16();
        let headers = response.headers().get_all(header::WARNING).iter();
        let texts = headers.filter_map(|header| {
            let quoted = std::str::from_utf8(header.as_bytes()).ok()?;
            let text = quoted.strip_prefix("299 - \"")?.strip_suffix('"')?;
            Some(text.replace("\\\"", "\"").replace("\\\\", "\\"))
        });
        let warnings = texts.collect();
        let body = response.into_body().collect().await;
        let body = body.map_err(|error| Refusal::new(0, "", error.to_string()))?;

        Ok(Reply {
            code,
            warnings,
            bytes: body.to_bytes(),
        })
    }

    async fn done(
        &self,
        method: &str,
        path: &str,
        content_type: &str,
        body: &Json,
    ) -> Result<Json, Refusal> {
        let reply = self.send(method, path, content_type, body).await?;
        let (code, body) = (reply.code, reply.body());
        if code < 400 {
            return Ok(body);
        }
        let text = |name: &str| {
            body.get(name)
                .and_then(Json::as_str)
                .unwrap_or_default()
                .to_owned()
        };

        Err(Refusal {
            code,
            reason: text("reason"),
            message: text("message"),
            body,
        })
    }

    /// The path of a collection.
    fn collection(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
    ) -> Result<String, Refusal> {
        let registry = self.core.registry();
        let kind = GroupVersionKind::from_api_version_kind(api_version, kind);
        let served = registry.of_kind(&kind);
        let served = served.ok_or_else(|| {
            Refusal::new(404, "NotFound", format!("the kind {kind} is not served"))
        })?;
        let (path, plural) = (served.facts.path(), &served.facts.plural);

        Ok(match namespace.filter(|_| served.facts.namespaced) {
            Some(namespace) => format!("/{path}/namespaces/{}/{plural}", encoded(namespace)),
            None => format!("/{path}/{plural}"),
        })
    }

    /// The path of the collection of an object, and its name.
    fn path_of(&self, object: &Json) -> Result<(String, String), Refusal> {
        let metadata = |name: &str| {
            object
                .get("metadata")
                .and_then(|metadata| metadata.get(name)?.as_str())
        };
        let text = |name: &str| object.get(name).and_then(Json::as_str).unwrap_or_default();
        let namespace = metadata("namespace").unwrap_or(NAMESPACE);
        let path = self.collection(text("apiVersion"), text("kind"), Some(namespace))?;
        Ok((path, encoded(metadata("name").unwrap_or_default())))
    }

    /// The path of an object, for [`send`](Self::send).
    ///
    /// # Errors
    ///
    /// [`Refusal`] if the kind is not served.
    pub fn path(&self, api_version: &str, kind: &str, name: &str) -> Result<String, Refusal> {
        let (namespace, name) = name.split_once('/').unwrap_or((NAMESPACE, name));
        let path = self.collection(api_version, kind, Some(namespace))?;
        Ok(format!("{path}/{}", encoded(name)))
    }
}

fn json(object: impl Serialize) -> Result<Json, Refusal> {
    serde_json::to_value(object).map_err(|error| Refusal::new(0, "", error.to_string()))
}

fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes())
        .collect::<String>()
        .replace('+', "%20")
}
