//! The live objects of a cluster, asked for one at a time, or by pages.

use std::cell::OnceCell;
use std::rc::Rc;

use fieldmanager_conformance_suite::internal::{
    Answer, CERTIFICATE_HINT, Message, TOO_LONG, encoded,
};
use fieldmanager_conformance_suite::{ConnectError, Connection, ServerOptions, Target};
use fieldmanager_openapi::GroupVersionKind;
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::{Map, Value};
use tokio::runtime::Runtime;

use super::served::{ServedResource, called, resources};
use super::sources::{ObjectKey, key};
use crate::args::{ClusterArgs, LiveArgs};
use crate::error::Failure;
use crate::output;

/// The client of the requests.
const AGENT: &str = concat!("fieldmanager/", env!("CARGO_PKG_VERSION"));

/// The objects of a page, and of one whose answer would be too long.
const PAGES: [usize; 3] = [100, 10, 1];

/// The pages without an object that a list may have in a row.
const MAX_EMPTY: usize = 10;

/// The documents of discovery that have all resources.
const DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                         application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

/// A cluster of a kubeconfig.
pub(crate) struct LiveCluster {
    runtime: Runtime,
    connection: Connection,
    namespace: String,
    served: OnceCell<Vec<ServedResource>>,
}

/// An object of a cluster.
pub(crate) struct LiveObject {
    pub(crate) key: ObjectKey,
    /// The path of requests to it.
    pub(crate) path: String,
    pub(crate) object: Value,
}

impl LiveCluster {
    /// Reads the kubeconfig, and makes a client, for which a plugin of the kubeconfig may be run.
    ///
    /// # Errors
    ///
    /// A fault of the kubeconfig or of its credentials, which the message does not have.
    fn connect(args: &ClusterArgs, namespace: Option<&str>) -> Result<Self, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let options = ServerOptions {
            kubeconfig: args.kubeconfig.clone(),
            context: args.context.clone(),
            ..ServerOptions::default()
        };
        let connected = runtime.block_on(async {
            let target = Target::read(&options).await?;
            let namespace = namespace.unwrap_or(target.namespace()).to_owned();
            Ok::<_, ConnectError>((target.connect()?, namespace))
        });

        let (connection, namespace) =
            connected.map_err(|error| Failure::Usage(without_hint(&error.to_string())))?;
        Ok(LiveCluster {
            runtime,
            connection,
            namespace,
            served: OnceCell::new(),
        })
    }

    /// The cluster that has the objects of a command; `None` if files have them.
    ///
    /// # Errors
    ///
    /// A fault of the kubeconfig, and arguments that name neither files nor a cluster.
    pub(crate) fn of(
        args: &ClusterArgs,
        namespace: Option<&str>,
        has_files: bool,
    ) -> Result<Option<Rc<Self>>, Failure> {
        match (has_files, args.is_wanted()) {
            (true, _) => Ok(None),
            (false, true) => LiveCluster::connect(args, namespace).map(|found| Some(Rc::new(found))),
            (false, false) => Err(Failure::Usage(
                "where are the live objects? --cluster, or -f SOURCE (of plan and why, --live SOURCE)".into(),
            )),
        }
    }

    /// As `of`, for the objects that arguments name.
    pub(crate) fn of_live(args: &LiveArgs, has_files: bool) -> Result<Option<Rc<Self>>, Failure> {
        LiveCluster::of(&args.cluster, args.namespace.as_deref(), has_files)
    }

    /// The namespace of objects that name none.
    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Sends a request.
    ///
    /// # Errors
    ///
    /// A message if there is no answer. A refusal is an answer.
    pub(crate) fn send(&self, mut message: Message) -> Result<Answer, String> {
        let agent = ("User-Agent".to_owned(), AGENT.to_owned());
        message.headers.push(agent);
        let sent = self.connection.send(&message);
        self.runtime
            .block_on(sent)
            .map_err(|error| without_hint(&error))
    }

    /// The document at a path; `None` if there is no such object.
    ///
    /// # Errors
    ///
    /// A message if the cluster refuses, or does not answer with an object.
    pub(crate) fn get(&self, path: &str) -> Result<Option<Value>, Failure> {
        self.document(Message::new("GET", path, String::new()))
    }

    fn document(&self, message: Message) -> Result<Option<Value>, Failure> {
        let path = message.path.clone();
        let answer = self.send(message);
        let answer = answer.map_err(|error| {
            let url = self.connection.url();
            Failure::Other(format!("{url}{path}: {error}"))
        })?;
        let document = Value::from_json(&answer.text).ok();
        match (answer.code, document) {
            (200, Some(document @ Value::Map(_))) => Ok(Some(document)),
            (404, Some(status)) if status.declared_kind().kind == "Status" => Ok(None),
            // A list whose token is too old: the answer is a page without objects, and has the token of the rest.
            (410, Some(status)) if !status.metadata_string("continue").is_empty() => {
                Ok(Some(status))
            }
            (code, _) => Err(Failure::Refused(refusal(code, &path, &answer))),
        }
    }

    /// All resources, read once.
    fn served(&self) -> Result<&[ServedResource], Failure> {
        if let Some(known) = self.served.get() {
            return Ok(known);
        }
        let mut found = Vec::new();
        for path in ["/api", "/apis"] {
            let mut message = Message::new("GET", path, String::new());
            message.headers = vec![("Accept".to_owned(), DISCOVERY.to_owned())];
            let document = self.document(message)?.unwrap_or_default();
            found.extend(resources(&document));
        }
        Ok(self.served.get_or_init(|| found))
    }

    /// The resource of a kind; `None` if it is not served.
    ///
    /// # Errors
    ///
    /// If the cluster does not answer.
    pub(crate) fn resource(
        &self,
        kind: &GroupVersionKind,
    ) -> Result<Option<&ServedResource>, Failure> {
        Ok(self.served()?.iter().find(|one| one.kind == *kind))
    }

    /// The definition of a kind.
    ///
    /// # Errors
    ///
    /// If the cluster does not answer.
    pub(crate) fn definition(&self, kind: &GroupVersionKind) -> Result<Option<Value>, Failure> {
        let Some(resource) = self.resource(kind)? else {
            return Ok(None);
        };
        let name = format!("{}.{}", resource.plural, kind.group);
        self.get(&format!(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{}",
            encoded(&name)
        ))
    }

    /// Calls a function with each object that arguments name; without names, with those of all types.
    ///
    /// # Errors
    ///
    /// A name that means nothing, a refusal of the cluster, and those of the function.
    pub(crate) fn each(
        &self,
        wanted: &LiveArgs,
        mut act: impl FnMut(LiveObject) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if wanted.is_empty() {
            return self.each_of("", wanted, &mut act);
        }
        for word in wanted.words()? {
            match word.split_once('/') {
                Some(_) => act(self.named(&word)?)?,
                None => self.each_of(&word, wanted, &mut act)?,
            }
        }
        Ok(())
    }

    /// The only object that arguments name.
    ///
    /// # Errors
    ///
    /// If they name none, or several.
    pub(crate) fn only(&self, wanted: &LiveArgs) -> Result<LiveObject, Failure> {
        match wanted.words()?.as_slice() {
            [word] if word.contains('/') => self.named(word),
            _ => Err(Failure::Usage(
                "expected one object of the cluster: TYPE/NAME, as deploy/web".into(),
            )),
        }
    }

    /// The object of `TYPE/NAME`.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub(crate) fn named(&self, word: &str) -> Result<LiveObject, Failure> {
        let parts = word
            .split_once('/')
            .filter(|(word, name)| !word.is_empty() && !name.is_empty());
        let Some((word, name)) = parts else {
            let message = format!("`{word}` is not an object: expected TYPE/NAME, as deploy/web");
            return Err(Failure::Usage(message));
        };
        let found = called(self.served()?, word);
        let resource = found.first().ok_or_else(|| unknown(word))?;
        let path = resource.path(&self.namespace, name);
        let object = self.get(&path)?.ok_or_else(|| {
            let place = if resource.is_namespaced {
                format!(" in namespace {}", self.namespace)
            } else {
                String::new()
            };
            Failure::Refused(format!("there is no {word}/{name}{place}"))
        })?;
        Ok(live(resource, path, object))
    }

    fn each_of(
        &self,
        word: &str,
        wanted: &LiveArgs,
        act: &mut impl FnMut(LiveObject) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let found = called(self.served()?, word);
        if found.is_empty() {
            return Err(unknown(word));
        }
        // Of several types, some may be forbidden.
        let is_one = found.len() == 1;
        for resource in found {
            // Objects without a namespace are in none of them.
            if !is_one && !resource.is_namespaced && !wanted.all_namespaces {
                continue;
            }
            match self.each_in(resource, wanted, act) {
                Err(Failure::Refused(message)) if !is_one => {
                    output::err().warning(&resource.plural, &message)?;
                }
                other => other?,
            }
        }
        Ok(())
    }

    /// Calls a function with each object of a resource, page by page.
    fn each_in(
        &self,
        resource: &ServedResource,
        wanted: &LiveArgs,
        act: &mut impl FnMut(LiveObject) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let namespace = if wanted.all_namespaces {
            ""
        } else {
            &self.namespace
        };
        let selector = wanted.selector.as_deref().map(encoded);
        let selector =
            selector.map_or_else(String::new, |labels| format!("&labelSelector={labels}"));
        let collection = resource.path(namespace, "");
        let mut sizes = PAGES.into_iter();
        let (mut limit, mut token, mut empty) = (sizes.next(), String::new(), 0);
        while let Some(size) = limit {
            let more = if token.is_empty() {
                String::new()
            } else {
                format!("&continue={}", encoded(&token))
            };
            let page = self.get(&format!("{collection}?limit={size}{selector}{more}"));
            // Large objects come in small pages.
            let page = match page {
                Err(Failure::Other(message)) if size > 1 && message.contains(TOO_LONG) => {
                    limit = sizes.next();
                    continue;
                }
                page => page?.unwrap_or_default(),
            };

            let items = page.get("items").and_then(Value::as_list);
            let is_empty = items.is_none_or(|items| items.iter().next().is_none());
            empty = if is_empty { empty + 1 } else { 0 };
            if empty > MAX_EMPTY {
                let message = format!("{collection}: {empty} pages of the list have no objects");
                return Err(Failure::Refused(message));
            }
            for item in items.into_iter().flatten() {
                // The items of a list leave out what the list says.
                let mut fields: Map = item.as_map().cloned().unwrap_or_default();
                fields.insert("apiVersion", resource.kind.api_version());
                fields.insert("kind", resource.kind.kind.clone());
                let object = Value::Map(fields);
                let path = resource.path(
                    object.metadata_string("namespace"),
                    object.metadata_string("name"),
                );
                act(live(resource, path, object))?;
            }
            token = page.metadata_string("continue").to_owned();
            if token.is_empty() {
                break;
            }
        }
        Ok(())
    }
}

fn live(resource: &ServedResource, path: String, object: Value) -> LiveObject {
    LiveObject {
        key: key(&object, resource.is_namespaced, ""),
        path,
        object,
    }
}

/// Why a cluster does not answer with an object.
pub(crate) fn refusal(code: u16, path: &str, answer: &Answer) -> String {
    let path = path.split('?').next().unwrap_or_default();
    match code {
        300..=399 => format!("{path}: the cluster redirects, which is not followed"),
        _ => format!("{path}: the cluster answers {code}: {}", answer.message()),
    }
}

fn unknown(word: &str) -> Failure {
    Failure::Usage(format!(
        "the cluster does not have a type `{word}`: `kubectl api-resources` lists them"
    ))
}

/// A message without options that only `conformance` has.
fn without_hint(message: &str) -> String {
    message.replace(CERTIFICATE_HINT, "")
}
