//! What plugins, webhooks and closures make of requests.

mod lists;
#[cfg(feature = "net")]
mod services;

use std::collections::BTreeMap;
use std::sync::Arc;

use fieldmanager_admission::conversion::WebhookConverter;
use fieldmanager_admission::policies::{MutatingPolicies, ValidatingPolicies};
#[cfg(feature = "net")]
use fieldmanager_admission::webhooks::{HttpCaller, Uids, Webhooks};
use fieldmanager_admission::{Admission, plugins};
use fieldmanager_value::Value;

use crate::source::Source;
use crate::store::SharedStore;
pub(crate) use lists::Lists;
#[cfg(feature = "net")]
use services::{Addresses, FromPool, Services};

/// What takes part in admission, in the order in which it is asked, and what converts objects.
#[derive(Clone, Default)]
pub(crate) struct Participants {
    /// The names of plugins that do not run.
    disabled: Vec<String>,
    closures: Vec<Arc<dyn Admission>>,
    /// All of them. Quotas come last, since they charge for what is admitted.
    all: Arc<[Arc<dyn Admission>]>,
    /// What calls conversion webhooks; `None` if the server can call none.
    pub(crate) converter: Option<Arc<WebhookConverter>>,
    /// What converts the objects of a definition in place of its webhook, by the name of the definition.
    pub(crate) converters: BTreeMap<String, Arc<Convert>>,
    /// How webhooks are reached.
    #[cfg(feature = "net")]
    pub(crate) addresses: Addresses,
}

/// Makes an object have another `apiVersion`. The error is the text of an answer.
pub(crate) type Convert = dyn Fn(&Value, &str) -> Result<Value, String> + Send + Sync;

impl Participants {
    /// Keeps the plugins with the given names only.
    pub(crate) fn retain(&mut self, names: &[&str]) {
        let all = plugins::KNOWN.iter().filter(|name| !names.contains(name));
        self.disabled = all.map(|name| (*name).to_owned()).collect();
    }

    /// Adds a participant behind the plugins of kube-apiserver that change objects.
    pub(crate) fn add(&mut self, participant: Arc<dyn Admission>) {
        self.closures.push(participant);
    }

    /// All participants of a server, whose webhooks may be services of its store.
    pub(crate) fn of_server(mut self, store: &SharedStore, source: &Arc<dyn Source>) -> Self {
        let mut all: Vec<_> = plugins::all()
            .into_iter()
            .map(|(_, plugin)| plugin)
            .collect();
        let quota = all.pop();
        all.push(Arc::new(MutatingPolicies::default()));
        let policies: Arc<dyn Admission> = Arc::new(ValidatingPolicies::default());
        #[cfg(feature = "net")]
        {
            let services = Services {
                store: store.clone(),
                addresses: self.addresses.clone(),
            };
            let authorities = self.addresses.authorities.clone();
            let caller = Arc::new(HttpCaller::new(Arc::new(services), authorities));
            let source = source.clone();
            let uids: Uids = Arc::new(move || source.uid());

            // A conversion also serves watches, which are on no thread of the pool.
            let from_pool = Arc::new(FromPool(caller.clone()));
            let converter = WebhookConverter::new(caller, uids.clone());
            self.converter = Some(Arc::new(converter));
            all.push(Arc::new(Webhooks::mutating(
                from_pool.clone(),
                uids.clone(),
            )));
            all.push(policies);
            all.push(Arc::new(Webhooks::validating(from_pool, uids)));
        }
        #[cfg(not(feature = "net"))]
        {
            let _ = (store, source);
            all.push(policies);
        }

        let is_enabled =
            |one: &Arc<dyn Admission>| !self.disabled.iter().any(|name| name == one.name());
        let closures = self.closures.iter().cloned();
        let all = all.into_iter().filter(is_enabled).chain(closures);
        let quota = quota.into_iter().filter(is_enabled);
        self.all = all.chain(quota).collect();
        self
    }

    /// Whether quotas are enforced.
    pub(crate) fn has_quotas(&self) -> bool {
        self.all.iter().any(|one| one.name() == "ResourceQuota")
    }

    /// All of them, in order.
    pub(crate) fn all(&self) -> &[Arc<dyn Admission>] {
        &self.all
    }
}
