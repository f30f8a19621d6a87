//! Objects at the version of a request, where a webhook converts them.

use std::sync::Arc;

use fieldmanager_admission::conversion::{ConversionWebhook, WebhookConverter, checked};
use fieldmanager_handlers::Outcome;
use fieldmanager_handlers::custom::Decoder;
use fieldmanager_structural::crd::CustomResource;
use fieldmanager_value::Value;
use futures::future::BoxFuture;

use super::write::answer;
use super::{Answer, Call, Core, Failure};
use crate::object::text;
use crate::participants::Convert;
use crate::registry::{Definition, Served};
use crate::store::{Conversion, Converting, Entry, Key, Revision, SharedStore, StoreError};

/// The conversion of the objects of one definition.
struct OfDefinition {
    resource: CustomResource,
    decoder: Decoder,
    by: By,
}

enum By {
    Webhook(Result<(Arc<WebhookConverter>, ConversionWebhook), String>),
    Closure(Arc<Convert>),
}

impl OfDefinition {
    /// An error if the definition does not have a version.
    ///
    /// Behaviour: `crConverter.ConvertToVersion` of `k8s.io/apiextensions-apiserver/pkg/apiserver/conversion`.
    fn check_version(&self, preposition: &str, api_version: &str) -> Result<(), String> {
        let mut versions = self.resource.versions.iter();
        let group = &self.resource.group;
        if versions.any(|version| format!("{group}/{}", version.name) == api_version) {
            return Ok(());
        }
        Err(format!(
            "request to convert CR {preposition} an invalid group/version: {api_version}"
        ))
    }
}

impl Conversion for OfDefinition {
    fn convert<'a>(
        &'a self,
        object: Value,
        api_version: &'a str,
    ) -> BoxFuture<'a, Result<Value, String>> {
        Box::pin(async move {
            self.check_version("to", api_version)?;
            self.check_version("from", text(&object, &["apiVersion"]))?;
            match &self.by {
                By::Closure(convert) => {
                    let kind = &self.resource.names.kind;
                    let converted = convert(&object, api_version).map_err(|error| {
                        let from = text(&object, &["apiVersion"]);
                        format!("conversion webhook for {from}, Kind={kind} failed: {error}")
                    });
                    checked(&object, &converted?, api_version)
                }
                By::Webhook(webhook) => {
                    let (converter, webhook) = webhook.as_ref().map_err(String::clone)?;
                    converter.convert(webhook, &object, api_version).await
                }
            }
        })
    }

    fn stored(&self, object: &Value) -> Result<Value, String> {
        let read = self.decoder.stored(object);
        read.map_err(|error| error.to_string())
    }

    fn pruned(&self, object: &Value) -> Result<Value, String> {
        let pruned = self.decoder.pruned(object);
        pruned.map_err(|error| error.to_string())
    }
}

impl Core {
    /// The objects of a resource at its version.
    pub(crate) fn objects(&self, served: &Served) -> SharedStore {
        self.watched_objects(served, true)
    }

    /// The objects of a resource at its version, for a watch that compares them with earlier ones or does not.
    pub(crate) fn watched_objects(&self, served: &Served, compares: bool) -> SharedStore {
        match self.converting(served) {
            Some(converting) => Arc::new(Converting {
                compares,
                ..converting
            }),
            None => self.store.clone(),
        }
    }

    /// An entry of the store at the version of a resource.
    pub(super) async fn converted(&self, served: &Served, entry: &Entry) -> Result<Entry, Failure> {
        match self.converting(served) {
            Some(converting) => Ok(converting
                .entry(entry.clone())
                .await
                .map_err(StoreError::from)?),
            None => Ok(entry.clone()),
        }
    }

    /// An object at the version of a resource.
    pub(super) async fn object_at(&self, served: &Served, object: Value) -> Result<Value, Failure> {
        let version = served.kind().api_version().to_string();
        match self.converting(served) {
            Some(converting) if text(&object, &["apiVersion"]) != version => {
                let converted = converting.conversion.convert(object, &version).await;
                Ok(converted.map_err(StoreError::Conversion)?)
            }
            _ => Ok(object),
        }
    }

    /// An object that was written, with what webhooks made of it on its way to the store and back.
    pub(super) async fn read_back(
        &self,
        served: &Served,
        key: &Key,
        revision: Revision,
        object: Value,
    ) -> Result<Value, Failure> {
        if !served.converts_by_webhook() {
            return Ok(object);
        }
        let entry = self.objects(served).get(key, Some(revision)).await?.entry;
        Ok(entry.map_or(object, |entry| served.read(&entry)))
    }

    /// The answer to a write that is not made.
    pub(super) async fn tried(
        &self,
        call: &Call<'_>,
        mut outcome: Outcome,
    ) -> Result<Answer, Failure> {
        if let Some(converting) = self.converting(call.served) {
            outcome.object = converting.round_trip(outcome.object).await?;
        }
        Ok(answer(outcome))
    }

    /// What converts the objects of a definition, if it is not the change of `apiVersion` alone.
    pub(super) fn conversion_of(&self, definition: &Definition) -> Option<Arc<dyn Conversion>> {
        if !definition.resource.converts_by_webhook {
            return None;
        }
        let by = match self.participants.converters.get(&definition.name) {
            Some(closure) => By::Closure(closure.clone()),
            None => {
                let webhook = definition.object().get("spec")?.get("conversion")?;
                let webhook = ConversionWebhook::read(webhook)?;
                let converter = self.participants.converter.clone();
                let converter = converter.ok_or_else(|| "this server calls no webhooks".to_owned());
                By::Webhook(converter.and_then(|converter| Ok((converter, webhook?))))
            }
        };
        let resource = definition.resource.clone();
        let decoder = Decoder::new(&resource, &definition.storage_version()).ok()?;
        Some(Arc::new(OfDefinition {
            resource,
            decoder,
            by,
        }))
    }

    fn converting(&self, served: &Served) -> Option<Converting> {
        let definition = served.definition()?;
        let conversion = definition.conversion.clone()?;
        let storage = definition.resource.kind(&definition.storage_version());
        Some(Converting {
            store: self.store.clone(),
            version: served.kind().api_version().to_string(),
            storage: storage.api_version().to_string(),
            conversion,
            compares: true,
        })
    }
}
