//! The requests to etcd.

use std::future::Future;
use std::time::Duration;

use etcd_client::{
    Certificate, CompactionOptions, Compare, CompareOp, ConnectOptions, Error, GetOptions,
    GetResponse, Identity, KvClient, ResponseHeader, TlsOptions, Txn, TxnOp, TxnOpResponse,
    WatchClient, WatchOptions, WatchStream,
};
use fieldmanager_value::Value;

use super::convert::{entry, revision, unavailable};
use super::tls::EtcdTls;
use crate::store::objects::{Objects, Stored};
use crate::store::{Entry, Key, List, Page, Prefix, Read, Result, Revision, StoreError, Write};

/// How long one request may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// The number of objects that one request reads.
const CHUNK: i64 = 1000;
/// The largest answer of etcd that is accepted, in bytes: a chunk of the largest objects.
const LARGEST_ANSWER: usize = 2 << 30;
/// The default limit of etcd for one request (`--max-request-bytes`), in bytes.
const LARGEST_REQUEST: usize = 3 << 19;

/// A client of etcd. Clones share its connections.
#[derive(Clone)]
pub(super) struct Client {
    kv: KvClient,
    watch: WatchClient,
}

impl Client {
    pub(super) async fn connect(endpoints: &[String], tls: &EtcdTls) -> Result<Self> {
        let mut options = ConnectOptions::new()
            .with_connect_timeout(Duration::from_secs(3))
            .with_keep_alive(Duration::from_secs(5), Duration::from_secs(5))
            // A server of etcd that lost its cluster would keep a watch open without events.
            .with_require_leader(true);

        if endpoints
            .iter()
            .any(|endpoint| endpoint.starts_with("https:"))
        {
            let mut certificates = TlsOptions::new();
            if let Some(authority) = &tls.authority {
                certificates = certificates.ca_certificate(Certificate::from_pem(authority));
            }
            if let Some((certificate, key)) = &tls.identity {
                certificates = certificates.identity(Identity::from_pem(certificate, key));
            }
            options = options.with_tls(certificates);
        }

        let client = etcd_client::Client::connect(endpoints, Some(options))
            .await
            .map_err(unavailable)?;
        Ok(Client {
            kv: client.kv_client().max_decoding_message_size(LARGEST_ANSWER),
            watch: client
                .watch_client()
                .max_decoding_message_size(LARGEST_ANSWER),
        })
    }

    /// The current revision.
    pub(super) async fn revision(&self) -> Result<Revision> {
        // Any answer has it. That about one key, which no object has, costs the same however many objects there are.
        let found = self
            .range(Prefix::all().as_str(), GetOptions::new(), None)
            .await?;
        Ok(header_revision(found.header()))
    }

    /// Reads one object, at a revision or the current one.
    pub(super) async fn get(&self, key: &Key, at: Option<Revision>) -> Result<Read> {
        let found = self
            .range(key.as_str(), at_revision(GetOptions::new(), at), at)
            .await?;
        Ok(Read {
            entry: found.kvs().first().and_then(entry),
            revision: header_revision(found.header()),
        })
    }

    /// Reads all objects at the current revision.
    pub(super) async fn all(&self) -> Result<(Objects, Revision)> {
        let at = self.revision().await?;
        let page = self
            .list(&List::new(Prefix::all()), at, |_, _| None)
            .await?;
        let stored = page.entries.into_iter().map(Stored::of);
        Ok((stored.collect(), at))
    }

    /// Reads a page at a revision. `known` returns objects that need not be decoded.
    pub(super) async fn list(
        &self,
        list: &List,
        at: Revision,
        known: impl Fn(&Key, Revision) -> Option<Value>,
    ) -> Result<Page> {
        let prefix = list.prefix.as_str();
        // All keys of a prefix are below that prefix with the character after the slash.
        let end = match prefix.strip_suffix('/') {
            Some(prefix) => format!("{prefix}0"),
            None => format!("{prefix}\0"),
        };
        let mut start = match &list.after {
            Some(after) if after.as_str() >= prefix => format!("{after}\0"),
            _ => prefix.to_owned(),
        };
        let limit = list.limit.unwrap_or(usize::MAX);
        let mut entries = Vec::new();

        loop {
            let left = i64::try_from(limit - entries.len())
                .unwrap_or(i64::MAX)
                .min(CHUNK);
            let options = at_revision(GetOptions::new().with_range(end.clone()), Some(at));
            // A limit of 0 asks for the number of objects alone, and etcd would take it for no limit.
            let options = match left {
                0 => options.with_count_only(),
                left => options.with_limit(left),
            };
            let found = if start < end {
                Some(self.range(&start, options, Some(at)).await?)
            } else {
                None
            };

            let kvs = found.as_ref().map_or(&[][..], GetResponse::kvs);
            for kv in kvs {
                let key = kv.key_str().ok().and_then(|key| key.parse().ok());
                let object = key
                    .as_ref()
                    .and_then(|key| known(key, revision(kv.mod_revision())));
                match (key, object) {
                    (Some(key), Some(object)) => {
                        entries.push(Entry {
                            key,
                            object,
                            revision: revision(kv.mod_revision()),
                        });
                    }
                    _ => entries.extend(entry(kv)),
                }
            }

            // etcd counts from the start of the range, and not from the prefix, so what it returned is subtracted.
            let count = found.as_ref().map_or(0, GetResponse::count);
            let remaining = u64::try_from(count)
                .unwrap_or_default()
                .saturating_sub(kvs.len() as u64);
            match kvs.last() {
                Some(last) if remaining > 0 && entries.len() < limit => {
                    start = format!("{}\0", String::from_utf8_lossy(last.key()));
                }
                _ => {
                    let next = entries
                        .last()
                        .filter(|_| remaining > 0)
                        .map(|last| last.key.clone());
                    return Ok(Page {
                        entries,
                        revision: at,
                        next,
                        remaining,
                    });
                }
            }
        }
    }

    /// Writes an object if the stored one is the expected one.
    pub(super) async fn write(&self, key: &Key, write: Write) -> Result<Revision> {
        let path = key.as_str();
        let (before, object) = write.parts();
        let expected = before.map_or(0, |before| i64::try_from(before.get()).unwrap_or(i64::MAX));
        let json = object.as_ref().map(Value::to_json);
        let size = json.as_ref().map_or(0, String::len);
        let change = match json {
            Some(json) => TxnOp::put(path, json, None),
            None => TxnOp::delete(path, None),
        };
        // The object of a conflict is read in the same transaction, so that it is the one that was in the way.
        let transaction = Txn::new()
            .when([Compare::mod_revision(path, CompareOp::Equal, expected)])
            .and_then([change])
            .or_else([TxnOp::get(path, None)]);

        let answer = match patiently(self.kv.clone().txn(transaction)).await {
            Ok(answer) => answer,
            Err(Failed::Etcd(error))
                if says(&error, &["request is too large", "larger than max"]) =>
            {
                return Err(StoreError::TooLarge {
                    key: key.clone(),
                    size,
                    limit: LARGEST_REQUEST,
                });
            }
            Err(Failed::Etcd(error)) if says(&error, &["database space exceeded"]) => {
                // The transaction that exceeds the space fails although etcd makes it.
                let stored = self.get(key, None).await?.entry;
                let made = stored.filter(|stored| Some(stored.revision) != before);
                return match made.filter(|made| Some(&made.object) == object.as_ref()) {
                    Some(made) => Ok(made.revision),
                    None => Err(StoreError::Full(error.to_string())),
                };
            }
            Err(error) => return Err(unavailable(error)),
        };

        if answer.succeeded() {
            return Ok(header_revision(answer.header()));
        }
        let found = answer
            .op_responses()
            .into_iter()
            .find_map(|response| match response {
                TxnOpResponse::Get(mut found) => found.take_kvs().into_iter().next(),
                _ => None,
            });

        // A value of another program is no object. Its key is taken, and no later attempt succeeds.
        match found.map(|kv| entry(&kv)) {
            Some(None) => Err(unavailable(Failed::Foreign(path.to_owned()))),
            current => Err(StoreError::Conflict {
                key: key.clone(),
                current: current.flatten(),
            }),
        }
    }

    /// Forgets the history of etcd before a revision.
    pub(super) async fn compact(&self, oldest: Revision) -> Result<()> {
        let number = i64::try_from(oldest.get()).unwrap_or(i64::MAX);
        match patiently(
            self.kv
                .clone()
                .compact(number, Some(CompactionOptions::new())),
        )
        .await
        {
            Ok(_) => Ok(()),
            // It is older than the oldest revision.
            Err(Failed::Etcd(error)) if says(&error, &["has been compacted"]) => Ok(()),
            Err(Failed::Etcd(error)) if says(&error, &["is a future revision"]) => {
                Err(StoreError::Future {
                    requested: oldest,
                    current: self.revision().await?,
                })
            }
            Err(error) => Err(unavailable(error)),
        }
    }

    /// The events of all objects from a revision on.
    pub(super) async fn watch(&self, from: Revision) -> Result<WatchStream> {
        let from = i64::try_from(from.get()).unwrap_or(i64::MAX);
        let options = WatchOptions::new().with_prefix().with_start_revision(from);
        patiently(
            self.watch
                .clone()
                .watch(Prefix::all().as_str(), Some(options)),
        )
        .await
        .map_err(unavailable)
    }

    async fn range(
        &self,
        start: &str,
        options: GetOptions,
        at: Option<Revision>,
    ) -> Result<GetResponse> {
        match patiently(self.kv.clone().get(start, Some(options))).await {
            Ok(found) => Ok(found),
            Err(Failed::Etcd(error)) if at.is_some() && says(&error, &["has been compacted"]) => {
                let requested = at.unwrap_or(Revision::FIRST);
                Err(StoreError::Compacted {
                    requested,
                    oldest: requested.next(),
                })
            }
            Err(Failed::Etcd(error)) if at.is_some() && says(&error, &["is a future revision"]) => {
                let requested = at.unwrap_or(Revision::FIRST);
                let current = Box::pin(self.revision()).await?;
                Err(StoreError::Future { requested, current })
            }
            Err(error) => Err(unavailable(error)),
        }
    }
}

/// Why a request got no answer.
#[derive(Debug, thiserror::Error)]
enum Failed {
    #[error("etcd: {0}")]
    Etcd(Error),
    #[error("etcd did not answer within {} s", PATIENCE.as_secs())]
    Late,
    #[error("{0} of etcd has a value that is no JSON object: another program wrote it")]
    Foreign(String),
}

async fn patiently<T>(request: impl Future<Output = Result<T, Error>>) -> Result<T, Failed> {
    match tokio::time::timeout(PATIENCE, request).await {
        Ok(answer) => answer.map_err(Failed::Etcd),
        Err(_) => Err(Failed::Late),
    }
}

/// Reports whether the message of an error of etcd contains one of some parts: the codes of several errors are the same.
fn says(error: &Error, parts: &[&str]) -> bool {
    matches!(error, Error::GRpcStatus(status) if parts.iter().any(|part| status.message().contains(part)))
}

fn at_revision(options: GetOptions, at: Option<Revision>) -> GetOptions {
    match at {
        Some(at) => options.with_revision(i64::try_from(at.get()).unwrap_or(i64::MAX)),
        None => options,
    }
}

fn header_revision(header: Option<&ResponseHeader>) -> Revision {
    revision(header.map_or(1, ResponseHeader::revision))
}
