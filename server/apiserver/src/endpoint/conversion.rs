//! Objects at the version of a request, where a webhook converts them.

use std::sync::Arc;

use fieldmanager_admission::conversion::{ConversionWebhook, Converter};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;
use futures::future::BoxFuture;

use super::{Core, Failure};
use crate::participants::Convert;
use crate::registry::Served;
use crate::store::{Conversion, Converting, Entry, SharedStore};

/// The conversion of the objects of one definition.
struct OfDefinition {
    kind: GroupVersionKind,
    by: By,
}

enum By {
    Webhook(Arc<Converter>, Result<ConversionWebhook, String>),
    Closure(Arc<Convert>),
}

impl Conversion for OfDefinition {
    fn convert<'a>(
        &'a self,
        objects: Vec<Value>,
        api_version: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Value>, String>> {
        Box::pin(async move {
            match &self.by {
                By::Closure(convert) => {
                    let convert = |object: &Value| convert(object, api_version);
                    objects.iter().map(convert).collect()
                }
                By::Webhook(converter, webhook) => {
                    let webhook = webhook.as_ref().map_err(String::clone)?;
                    if let [object] = objects.as_slice() {
                        let converted = converter.convert(webhook, object, api_version).await?;
                        return Ok(vec![converted]);
                    }
                    converter
                        .convert_list(webhook, &self.kind, &objects, api_version)
                        .await
                }
            }
        })
    }
}

impl Core {
    /// The objects of a resource at its version.
    pub(crate) fn objects(&self, served: &Served) -> SharedStore {
        match self.converting(served) {
            Some(converting) => Arc::new(converting),
            None => self.store.clone(),
        }
    }

    /// An entry of the store at the version of a resource.
    pub(super) async fn converted(&self, served: &Served, entry: &Entry) -> Result<Entry, Failure> {
        match self.converting(served) {
            Some(converting) => {
                let read = converting.read(vec![entry.clone()]).await?.pop();
                Ok(read.unwrap_or_else(|| entry.clone()))
            }
            None => Ok(entry.clone()),
        }
    }

    /// An object at the version of a resource.
    pub(super) async fn object_at(&self, served: &Served, object: Value) -> Result<Value, Failure> {
        match self.converting(served) {
            Some(converting) => Ok(converting.object(object).await?),
            None => Ok(object),
        }
    }

    fn converting(&self, served: &Served) -> Option<Converting> {
        let definition = served.definition()?;
        if !definition.resource.converts_by_webhook {
            return None;
        }
        let storage = definition.resource.kind(&definition.storage_version());
        let by = match self.participants.converters.get(&definition.name) {
            Some(closure) => By::Closure(closure.clone()),
            None => {
                let conversion = definition.object().get("spec")?.get("conversion")?;
                By::Webhook(
                    self.participants.converter.clone()?,
                    ConversionWebhook::read(conversion)?,
                )
            }
        };
        let kind = served.kind().clone();
        Some(Converting {
            store: self.store.clone(),
            version: kind.api_version().to_string(),
            storage: storage.api_version().to_string(),
            conversion: Arc::new(OfDefinition { kind, by }),
        })
    }
}
