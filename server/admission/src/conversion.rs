//! Conversion webhooks of custom resources: `spec.conversion.strategy: Webhook`.

use std::sync::Arc;
use std::time::Duration;

use fieldmanager_structural::internal::{
    ObjectExt, go_type, json_kind, label_value, qualified_name,
};
use fieldmanager_structural::{FieldError, FieldPath, GroupVersionKind};
use fieldmanager_value::internal::go_format::quote;
use fieldmanager_value::{List, Map, Value};

use crate::webhooks::{Caller, ClientConfig, Uids, decode, map};

/// How long a call may take.
///
/// Behaviour: `setGlobalDefaults` of `k8s.io/apiserver/pkg/util/webhook/authentication.go`.
pub const TIMEOUT: Duration = Duration::from_secs(30);

/// The most bytes of all keys and values of annotations.
const MAX_ANNOTATION_BYTES: usize = 256 << 10;

const GROUP: &str = "apiextensions.k8s.io";

/// The fields of an answer that are checked.
const FIELDS: &str = "\
    response ConversionReview object v1.ConversionResponse
    response.uid ConversionResponse string types.UID
    response.convertedObjects ConversionResponse array []runtime.RawExtension
    response.result ConversionResponse object v1.Status
    response.result.status Status string string
    response.result.message Status string string";

/// What is wrong with a converted object.
enum ConversionFault {
    /// It is no object.
    Unreadable,
    /// It has another version or another kind.
    Kind,
    /// It is another object.
    Names,
    /// Its labels or annotations are not valid.
    Metadata,
}

/// The conversion webhook of a custom resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversionWebhook {
    /// Where it is.
    pub client: ClientConfig,
    /// The versions of reviews that it reads, the best one first.
    pub review_versions: Vec<String>,
}

impl ConversionWebhook {
    /// Reads `spec.conversion` of a CustomResourceDefinition; `None` if its strategy is not `Webhook`.
    ///
    /// # Errors
    ///
    /// It has no address. Definitions are validated, so this does not happen with a stored one.
    pub fn read(conversion: &Value) -> Option<Result<Self, String>> {
        let webhook = (conversion.string("strategy") == "Webhook").then_some(conversion)?;
        let webhook = webhook.get("webhook").unwrap_or(&Value::Null);
        let config = webhook.get("clientConfig").unwrap_or(&Value::Null);
        let versions = webhook
            .get("conversionReviewVersions")
            .and_then(Value::as_list);
        let versions = versions.into_iter().flatten().filter_map(Value::as_str);
        Some(ClientConfig::read(config).map(|mut client| {
            if client.ca_bundle.trim_ascii().is_empty() {
                client.ca_bundle.clear();
            }
            ConversionWebhook {
                client,
                review_versions: versions.map(str::to_owned).collect(),
            }
        }))
    }
}

/// Converts custom resources with webhooks.
pub struct WebhookConverter {
    caller: Arc<dyn Caller>,
    uids: Uids,
}

impl WebhookConverter {
    /// One that calls webhooks, with uids for its reviews.
    pub fn new(caller: Arc<dyn Caller>, uids: Uids) -> Self {
        WebhookConverter { caller, uids }
    }

    /// An object at another `apiVersion`. One that has it already, and one without fields, need no call.
    ///
    /// # Errors
    ///
    /// The failure in the words of kube-apiserver.
    ///
    /// Behaviour: `webhookConverter.Convert` of `k8s.io/apiextensions-apiserver/pkg/apiserver/conversion`.
    pub async fn convert(
        &self,
        webhook: &ConversionWebhook,
        object: &Value,
        api_version: &str,
    ) -> Result<Value, String> {
        // Most objects are stored at the version that is asked for.
        if object.api_version() == api_version {
            return Ok(object.clone());
        }
        if let Value::Map(fields) = object
            && fields.len() == 2
            && fields.contains("kind")
            && fields.contains("apiVersion")
        {
            let mut fields = fields.clone();
            fields.insert("apiVersion", api_version);
            return Ok(Value::Map(fields));
        }

        let kind = object.declared_kind();
        let sent = List::from_iter([object.clone()]);
        let answer = self.call(webhook, &kind, sent, api_version).await?;
        checked(object, answer.get(0).unwrap_or(&Value::Null), api_version)
    }

    /// Sends a review. Gives as many objects as were sent.
    async fn call(
        &self,
        webhook: &ConversionWebhook,
        kind: &GroupVersionKind,
        objects: List,
        api_version: &str,
    ) -> Result<List, String> {
        let known = |version: &&String| matches!(version.as_str(), "v1" | "v1beta1");
        let Some(version) = webhook.review_versions.iter().find(known) else {
            return Err("no supported conversion review versions".to_owned());
        };
        let (uid, count) = ((self.uids)(), objects.len());
        let request = [
            ("uid", uid.as_str().into()),
            ("desiredAPIVersion", api_version.into()),
            ("objects", Value::List(objects)),
        ];
        // kube-apiserver sends an empty response besides.
        let response = [
            ("uid", "".into()),
            ("convertedObjects", Value::Null),
            ("result", map([("metadata", map([]))])),
        ];
        let review = map([
            ("kind", "ConversionReview".into()),
            ("apiVersion", format!("{GROUP}/{version}").into()),
            ("request", map(request)),
            ("response", map(response)),
        ]);

        let failed = |text: String| format!("conversion webhook for {kind} failed: {text}");
        let body = review.to_json().into_bytes();
        let answer = self.caller.call(&webhook.client, body, TIMEOUT).await;
        let answer = answer.map_err(|error| failed(error.message()))?;
        let converted = read_answer(&answer, version, &uid).map_err(failed)?;
        if converted.len() != count {
            let found = converted.len();
            return Err(format!(
                "conversion webhook for {kind} returned {found} objects, expected {count}"
            ));
        }
        Ok(converted)
    }
}

/// The objects of an answer.
///
/// Behaviour: `getConvertedObjectsFromResponse` of `k8s.io/apiextensions-apiserver/pkg/apiserver/conversion`.
fn read_answer(body: &[u8], version: &str, uid: &str) -> Result<List, String> {
    let expected = GroupVersionKind::new(GROUP, version, "ConversionReview");
    let review = decode(body, &expected, FIELDS)?;
    let declared = review.declared_kind();
    // `v1beta1` webhooks need not repeat what they were sent.
    let is_checked = version == "v1";
    if is_checked && declared != expected {
        return Err(format!(
            "expected webhook response of {expected}, got {declared}"
        ));
    }
    let Some(response) = review.get("response").filter(|value| !value.is_null()) else {
        return Err("no response provided".to_owned());
    };
    let found = response.string("uid");
    if is_checked && found != uid {
        let (uid, found) = (quote(uid), quote(found));
        return Err(format!("expected response.uid={uid}, got {found}"));
    }

    let result = response.get("result").unwrap_or(&Value::Null);
    match (result.string("status"), result.string("message")) {
        ("Success", _) => {
            let objects = response.get("convertedObjects").and_then(Value::as_list);
            Ok(objects.cloned().unwrap_or_default())
        }
        (status, "") => Err(format!(
            "response.result.status was '{status}', not 'Success'"
        )),
        (_, message) => Err(message.to_owned()),
    }
}

/// What a webhook made of an object, with the metadata of the original.
///
/// # Errors
///
/// Why the webhook may not have made this of the object, in the words of kube-apiserver.
pub fn checked(object: &Value, item: &Value, api_version: &str) -> Result<Value, String> {
    let kind = object.declared_kind();
    restore(object, item, api_version).map_err(|(fault, error)| {
        let what = match fault {
            ConversionFault::Unreadable => return error,
            ConversionFault::Kind => "object at index 0",
            ConversionFault::Names => "object",
            ConversionFault::Metadata => "metadata",
        };
        format!("conversion webhook for {kind} returned invalid {what}: {error}")
    })
}

/// A converted object that is checked, with the metadata of the original.
///
/// Behaviour: `validateConvertedObject` of `k8s.io/apiextensions-apiserver/pkg/apiserver/conversion`.
fn restore(
    object: &Value,
    item: &Value,
    api_version: &str,
) -> Result<Value, (ConversionFault, String)> {
    let unreadable = match item {
        Value::Map(fields) if !fields.string("kind").is_empty() => String::new(),
        Value::Map(_) => format!("Object 'Kind' is missing in '{}'", item.to_json()),
        Value::Null => "unexpected end of JSON input".to_owned(),
        other => {
            let found = json_kind(other);
            format!(
                "json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
            )
        }
    };
    if !unreadable.is_empty() {
        return Err((ConversionFault::Unreadable, unreadable));
    }

    // A webhook changes the form of an object, never which object it is.
    let (expected, found) = (object.string("kind"), item.string("kind"));
    for (what, expected, found) in [
        ("groupVersion", api_version, item.api_version()),
        ("kind", expected, found),
    ] {
        if expected != found {
            let text = format!("invalid {what} (expected {expected}, received {found})");
            return Err((ConversionFault::Kind, text));
        }
    }
    for (field, name) in [("name", "name"), ("namespace", "namespace"), ("uid", "UID")] {
        let (expected, found) = (object.metadata_string(field), item.metadata_string(field));
        if expected != found {
            let text = format!("must have the same {name}: {expected} != {found}");
            return Err((ConversionFault::Names, text));
        }
    }
    restore_metadata(object, item).map_err(|error| (ConversionFault::Metadata, error))
}

/// A converted object with the metadata of the original, but for labels and annotations, which may change.
///
/// Behaviour: `restoreObjectMeta` of `k8s.io/apiextensions-apiserver/pkg/apiserver/conversion`.
fn restore_metadata(object: &Value, item: &Value) -> Result<Value, String> {
    let Some(found) = item.get("metadata") else {
        return Err("missing metadata in converted object".to_owned());
    };
    let Value::Map(found) = found else {
        let kind = go_type(found);
        return Err(format!(
            "invalid metadata of type {kind} in converted object"
        ));
    };

    // All else of the metadata belongs to the server, which ignores what a webhook made of it.
    let mut metadata = object.metadata().cloned().unwrap_or_default();
    for (field, path) in [("labels", "labels"), ("annotations", "annotation")] {
        let texts = match found.get(field) {
            None | Some(Value::Null) => {
                metadata.remove(field);
                continue;
            }
            Some(Value::Map(texts)) => texts,
            Some(other) => {
                let kind = go_type(other);
                return Err(format!(
                    "invalid metadata.{field} of type {kind} in converted object"
                ));
            }
        };
        if let Some((key, other)) = texts.iter().find(|(_, value)| value.as_str().is_none()) {
            let kind = go_type(other);
            return Err(format!(
                "metadata.{field}[{key}] must be a string, but is {kind} in converted object"
            ));
        }

        // Unchanged texts are not checked: an object with old faults must stay readable.
        if metadata.get(field).and_then(Value::as_map) != Some(texts) {
            check_texts(
                texts,
                field == "labels",
                &FieldPath::root("metadata").child(path),
            )?;
        }
        metadata.insert(field, Value::Map(texts.clone()));
    }

    let mut restored = item.as_map().cloned().unwrap_or_default();
    restored.insert("metadata", Value::Map(metadata));
    Ok(Value::Map(restored))
}

/// Checks the syntax of labels or annotations.
fn check_texts(texts: &Map, are_labels: bool, path: &FieldPath) -> Result<(), String> {
    let (mut errors, mut size) = (Vec::new(), 0);
    for (key, value) in texts {
        let value = value.as_str().unwrap_or_default();
        size += key.as_str().len() + value.len();
        let invalid = |text: &str, fault| FieldError::invalid(path.clone(), text, fault);
        let key = key.as_str();
        // Values of annotations are free, only their size in total is limited.
        if are_labels {
            errors.extend(
                qualified_name(key)
                    .into_iter()
                    .map(|fault| invalid(key, fault)),
            );
            errors.extend(
                label_value(value)
                    .into_iter()
                    .map(|fault| invalid(value, fault)),
            );
        } else {
            let faults = qualified_name(&key.to_lowercase());
            errors.extend(faults.into_iter().map(|fault| invalid(key, fault)));
        }
    }
    if !are_labels && size > MAX_ANNOTATION_BYTES {
        errors.push(FieldError::too_long(path.clone(), MAX_ANNOTATION_BYTES));
    }

    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    match texts.as_slice() {
        [] => Ok(()),
        [text] => Err(text.clone()),
        _ => Err(format!("[{}]", texts.join(", "))),
    }
}
