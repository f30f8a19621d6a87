//! The addresses of webhooks that are behind services.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use fieldmanager_admission::webhooks::{
    Authorities, CallError, Caller, ClientConfig, HttpCaller, Resolver,
};
use futures::future::BoxFuture;

use crate::object::text;
use crate::pool::{enter, remaining};
use crate::store::{Key, SharedStore};

/// How webhooks are reached.
#[derive(Clone, Default)]
pub(crate) struct Addresses {
    /// URLs in place of services, by `NAMESPACE/NAME`.
    pub(crate) services: BTreeMap<String, String>,
    /// Who is trusted if a configuration names nobody.
    pub(crate) authorities: Authorities,
}

/// The services of a store.
pub(super) struct Services {
    pub(super) store: SharedStore,
    pub(super) addresses: Addresses,
}

impl Resolver for Services {
    fn resolve<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
        port: u16,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let known = self.addresses.services.get(&format!("{namespace}/{name}"));
            if let Some(address) = known {
                return Ok(address.clone());
            }
            let missing = || format!("service {name:?} not found");
            let key = Key::new("", "services", Some(namespace), name).map_err(|_| missing())?;
            let read = self.store.get(&key, None).await;
            let entry = read.map_err(|error| error.to_string())?.entry;
            let service = entry.ok_or_else(missing)?.object;
            match text(&service, &["spec", "clusterIP"]) {
                "" | "None" => Err(format!("no cluster IP for service {name:?}")),
                address => Ok(format!("{address}:{port}")),
            }
        })
    }
}

/// Calls webhooks of admission from the pool, where a request has a deadline.
pub(super) struct FromPool(pub(super) Arc<HttpCaller>);

impl Caller for FromPool {
    fn call<'a>(
        &'a self,
        client: &'a ClientConfig,
        body: Vec<u8>,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Vec<u8>, CallError>> {
        Box::pin(async move {
            enter().await;
            let answer = self.0.call(client, body, timeout.min(remaining())).await;
            // The answer to a request that has no time left is that of its deadline, whatever its webhooks allow.
            if remaining().is_zero() {
                pending::<()>().await;
            }
            answer
        })
    }
}
