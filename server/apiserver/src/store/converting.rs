//! A store whose objects are read and written at one version, and converted by a webhook where they are stored at another.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use fieldmanager_value::Value;
use futures::future::BoxFuture;
use futures::{FutureExt, Stream, StreamExt};

use super::{
    BoxWatch, Entry, Event, Key, List, Page, Prefix, Read, Result, Revision, SharedStore, Store,
    StoreError, Watch, Write,
};

/// What converts objects.
pub(crate) trait Conversion: Send + Sync {
    /// Objects at another `apiVersion`, in their order. The error is the text of an answer.
    fn convert<'a>(
        &'a self,
        objects: Vec<Value>,
        api_version: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Value>, String>>;
}

/// The objects of one resource at one version.
#[derive(Clone)]
pub(crate) struct Converting {
    pub(crate) store: SharedStore,
    pub(crate) conversion: Arc<dyn Conversion>,
    /// The `apiVersion` at which objects are read.
    pub(crate) version: String,
    /// That at which they are stored.
    pub(crate) storage: String,
}

impl Converting {
    async fn convert(&self, objects: Vec<Value>, version: &str) -> Result<Vec<Value>> {
        let is_at =
            |object: &Value| object.get("apiVersion").and_then(Value::as_str) == Some(version);
        if objects.iter().all(is_at) {
            return Ok(objects);
        }
        let converted = self.conversion.convert(objects, version).await;
        converted.map_err(StoreError::Conversion)
    }

    /// Entries as they are read.
    pub(crate) async fn read(&self, entries: Vec<Entry>) -> Result<Vec<Entry>> {
        let objects = entries.iter().map(|entry| entry.object.clone()).collect();
        let converted = self.convert(objects, &self.version).await?.into_iter();
        let converted = entries.into_iter().zip(converted);
        Ok(converted
            .map(|(entry, object)| Entry { object, ..entry })
            .collect())
    }

    /// An object as it is read.
    pub(crate) async fn object(&self, object: Value) -> Result<Value> {
        let converted = self.convert(vec![object], &self.version).await?;
        Ok(converted.into_iter().next().unwrap_or_default())
    }

    async fn read_one(&self, entry: Option<Entry>) -> Result<Option<Entry>> {
        Ok(self.read(entry.into_iter().collect()).await?.pop())
    }

    /// An event whose objects are at the version. Both are converted by one call.
    async fn event(self, event: Event) -> Result<Event> {
        let previous = event.previous.as_ref().map(|entry| entry.object.clone());
        let has_object = event.object.is_some();
        let objects = event.object.into_iter().chain(previous).collect();
        let mut converted = self.convert(objects, &self.version).await?.into_iter();
        let object = if has_object { converted.next() } else { None };
        let previous = event.previous.map(|entry| Entry {
            object: converted.next().unwrap_or_default(),
            ..entry
        });
        Ok(Event {
            object,
            previous,
            ..event
        })
    }
}

impl Store for Converting {
    fn revision(&self) -> BoxFuture<'_, Result<Revision>> {
        self.store.revision()
    }

    fn get<'a>(&'a self, key: &'a Key, at: Option<Revision>) -> BoxFuture<'a, Result<Read>> {
        Box::pin(async move {
            let read = self.store.get(key, at).await?;
            let entry = self.read_one(read.entry).await?;
            Ok(Read { entry, ..read })
        })
    }

    fn list(&self, list: List) -> BoxFuture<'_, Result<Page>> {
        Box::pin(async move {
            let page = self.store.list(list).await?;
            let entries = self.read(page.entries).await?;
            Ok(Page { entries, ..page })
        })
    }

    fn write<'a>(&'a self, key: &'a Key, mut write: Write) -> BoxFuture<'a, Result<Revision>> {
        Box::pin(async move {
            if let Write::Create(object) | Write::Update { object, .. } = &mut write {
                let converted = self.convert(vec![object.clone()], &self.storage).await?;
                *object = converted.into_iter().next().unwrap_or_default();
            }
            match self.store.write(key, write).await {
                Err(StoreError::Conflict { key, current }) => {
                    let current = self.read_one(current).await?;
                    Err(StoreError::Conflict { key, current })
                }
                written => written,
            }
        })
    }

    fn watch(&self, prefix: Prefix, after: Revision) -> BoxFuture<'_, Result<BoxWatch>> {
        Box::pin(async move {
            let inner = self.store.watch(prefix, after).await?;
            let watch: BoxWatch = Box::pin(ConvertingWatch {
                inner,
                converting: self.clone(),
                pending: None,
                progress: after,
            });
            Ok(watch)
        })
    }

    fn compact(&self, oldest: Revision) -> BoxFuture<'_, Result<()>> {
        self.store.compact(oldest)
    }

    fn is_shared(&self) -> bool {
        self.store.is_shared()
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        self.store.close()
    }
}

/// A watch whose events are converted one after the other.
struct ConvertingWatch {
    inner: BoxWatch,
    converting: Converting,
    /// The event that is converted at the moment.
    pending: Option<BoxFuture<'static, Result<Event>>>,
    /// The revision of a bookmark before that event.
    progress: Revision,
}

impl Stream for ConvertingWatch {
    type Item = Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(pending) = &mut self.pending {
                let event = ready!(pending.poll_unpin(context));
                self.pending = None;
                return Poll::Ready(Some(event));
            }
            self.progress = self.inner.as_mut().progress();
            match ready!(self.inner.poll_next_unpin(context)) {
                Some(Ok(event)) => {
                    let converting = self.converting.clone();
                    self.pending = Some(Box::pin(converting.event(event)));
                }
                ended => return Poll::Ready(ended),
            }
        }
    }
}

impl Watch for ConvertingWatch {
    fn progress(mut self: Pin<&mut Self>) -> Revision {
        if self.pending.is_none() {
            self.progress = self.inner.as_mut().progress();
        }
        self.progress
    }
}
