//! A store whose objects are read and written at one version, and converted by a webhook where they are stored at another.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use fieldmanager_value::Value;
use futures::future::BoxFuture;
use futures::{FutureExt, Stream, StreamExt, stream};

use super::{
    BoxWatch, Entry, Event, Key, List, Page, Prefix, Read, Result, Revision, SharedStore, Store,
    StoreError, Undecodable, Watch, Write,
};

/// How many objects of a list are converted at once.
const AT_ONCE: usize = 8;

/// The number of faults at which a list is given up.
///
/// Behaviour: `maxCorruptObjErrsToAggregate` of `k8s.io/apiserver/pkg/storage/etcd3`.
pub(crate) const MAX_FAULTS: usize = 100;

/// What converts objects.
pub(crate) trait Conversion: Send + Sync {
    /// An object at another `apiVersion`. The error is the text of an answer.
    fn convert<'a>(
        &'a self,
        object: Value,
        api_version: &'a str,
    ) -> BoxFuture<'a, Result<Value, String>>;

    /// A stored object with the defaults of its version.
    fn stored(&self, object: &Value) -> Result<Value, String>;

    /// A converted object with the fields that its version has.
    fn pruned(&self, object: &Value) -> Result<Value, String>;
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
    /// Whether a watch needs what an object was before a change.
    pub(crate) compares: bool,
}

impl Converting {
    async fn convert(&self, object: Value, version: &str) -> Result<Value, String> {
        let is_at_version = object.get("apiVersion").and_then(Value::as_str) == Some(version);
        let converted = if is_at_version {
            object
        } else {
            self.conversion.convert(object, version).await?
        };
        self.conversion.pruned(&converted)
    }

    async fn read(&self, object: &Value) -> Result<Value, String> {
        let stored = self.conversion.stored(object)?;
        self.convert(stored, &self.version).await
    }

    /// An object as it is read after it was stored.
    pub(crate) async fn round_trip(&self, object: Value) -> Result<Value> {
        let stored = self.convert(object, &self.storage).await;
        let stored = stored.map_err(StoreError::Conversion)?;
        self.read(&stored).await.map_err(StoreError::Conversion)
    }

    /// An entry as it is read.
    pub(crate) async fn entry(&self, entry: Entry) -> Result<Entry, Undecodable> {
        match self.read(&entry.object).await {
            Ok(object) => Ok(Entry { object, ..entry }),
            Err(text) => Err(Undecodable {
                key: entry.key,
                revision: entry.revision,
                text,
            }),
        }
    }

    async fn some_entry(&self, entry: Option<Entry>) -> Result<Option<Entry>> {
        match entry {
            Some(entry) => Ok(Some(self.entry(entry).await?)),
            None => Ok(None),
        }
    }

    /// Entries as they are read, in their order.
    async fn entries(&self, entries: Vec<Entry>) -> Result<Vec<Entry>> {
        let read = stream::iter(entries).map(|entry| self.entry(entry));
        let mut read = pin!(read.buffered(AT_ONCE));
        let (mut entries, mut faults) = (Vec::new(), Vec::new());
        while let Some(entry) = read.next().await {
            match entry {
                Ok(entry) => entries.push(entry),
                Err(fault) => faults.push(fault),
            }
            if faults.len() == MAX_FAULTS {
                break;
            }
        }
        if faults.is_empty() {
            Ok(entries)
        } else {
            Err(StoreError::Undecodable(faults))
        }
    }

    /// An event whose objects are at the version.
    async fn event(self, mut event: Event) -> Result<Event> {
        let needs_previous = self.compares || event.object.is_none();
        if let Some(object) = event.object {
            let entry = Entry {
                key: event.key.clone(),
                object,
                revision: event.revision,
            };
            event.object = Some(self.entry(entry).await?.object);
        }
        if needs_previous {
            event.previous = self.some_entry(event.previous).await?;
        }
        Ok(event)
    }
}

impl Store for Converting {
    fn revision(&self) -> BoxFuture<'_, Result<Revision>> {
        self.store.revision()
    }

    fn get<'a>(&'a self, key: &'a Key, at: Option<Revision>) -> BoxFuture<'a, Result<Read>> {
        Box::pin(async move {
            let read = self.store.get(key, at).await?;
            let entry = self.some_entry(read.entry).await?;
            Ok(Read { entry, ..read })
        })
    }

    fn list(&self, list: List) -> BoxFuture<'_, Result<Page>> {
        Box::pin(async move {
            let page = self.store.list(list).await?;
            let entries = self.entries(page.entries).await?;
            Ok(Page { entries, ..page })
        })
    }

    fn write<'a>(&'a self, key: &'a Key, mut write: Write) -> BoxFuture<'a, Result<Revision>> {
        Box::pin(async move {
            if let Write::Create(object) | Write::Update { object, .. } = &mut write {
                let converted = self.convert(std::mem::take(object), &self.storage).await;
                *object = converted.map_err(StoreError::Conversion)?;
            }
            // As in kube-apiserver, an object that is stored as it is to be stored is not written.
            if let Write::Update { expected, object } = &write
                && let Some(stored) = self.store.get(key, None).await?.entry
                && (stored.revision, &stored.object) == (*expected, object)
            {
                return Ok(*expected);
            }
            match self.store.write(key, write).await {
                Err(StoreError::Conflict { key, current }) => {
                    let current = self.some_entry(current).await?;
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
