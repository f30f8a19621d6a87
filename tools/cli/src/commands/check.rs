//! `check`: what an API server would say to the objects of sources.

use std::collections::{HashMap, HashSet};
use std::mem::ManuallyDrop;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;

use fieldmanager_apiserver::testing::{Reply, TestServer};
use fieldmanager_apiserver::{ApiServer, Collection};
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::Value;
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use serde_json::Value as Json;
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinHandle};

use crate::answers::catalogue::{Catalogue, DEFINITION};
use crate::answers::report::{ObjectVerdict, Report, VerdictFault, VerdictKind};
use crate::answers::sources::{
    FoundObject, ObjectKey, SourceObject, Sources, Unreadable, may_have, said_kind,
};
use crate::answers::trial::{TrialServer, request, request_verdict, text};
use crate::args::VerdictArgs;
use crate::error::Failure;
use crate::files::Files;

/// The kinds of objects that others need, in the order in which they are created. All others are only tried.
const STEPS: [&[&str]; 3] = [
    &["Namespace"],
    &[DEFINITION],
    &[
        "PriorityClass",
        "RuntimeClass",
        "StorageClass",
        "IngressClass",
        "ServiceAccount",
        "LimitRange",
        "ValidatingAdmissionPolicy",
        "MutatingAdmissionPolicy",
    ],
];

/// The number of objects about which the server is asked at the same time. Each may be a definition of some MB.
const TOGETHER: usize = 4;

/// The path of definitions.
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// The message of a fault of strict decoding.
const UNKNOWN: &str = "unknown field";

/// The query of a request that is only tried.
const TRY: &str = "dryRun=All&fieldValidation=Strict&fieldManager=fieldmanager";

/// The query of a request that is carried out.
const STRICT: &str = "fieldValidation=Strict&fieldManager=fieldmanager";

/// Prints the answers to the creation of each object. Exits with 1 if one is refused.
pub(crate) fn run(args: &VerdictArgs, files: Files) -> Result<ExitCode, Failure> {
    let sources = Sources::new(&args.source.paths(), files)?;
    let server = ApiServer::builder()
        .unions(args.unions)
        .page(false)
        .collection(Collection::Stepped);
    // The process ends with the command. To free all objects before took a twentieth of its time.
    let server = ManuallyDrop::new(TrialServer::start(server.build())?);
    let mut checker = Checker {
        args,
        server: &server,
        catalogue: Catalogue::default(),
        report: Report::new(args.output, sources.len()),
        faults: HashSet::new(),
        found: 0,
        created: HashSet::new(),
    };

    // What the first step finds in a file says which of the others need it.
    let mut found: Vec<AtomicU8> = Vec::new();
    found.resize_with(sources.len(), AtomicU8::default);
    for step in 0..=STEPS.len() {
        let has_some = |file: usize| {
            let steps = found
                .get(file)
                .map_or(0, |of_file| of_file.load(Ordering::Relaxed));
            step == 0 || steps & (1 << step) != 0
        };
        let is_wanted = |file: usize, text: &str| {
            let steps = steps_of(text);
            if let Some(of_file) = found.get(file) {
                of_file.fetch_or(steps, Ordering::Relaxed);
            }
            steps & (1 << step) != 0
        };
        thread::scope(|scope| {
            let next = sources.read_ahead(scope, has_some, is_wanted);
            server.wait(checker.judge_all(next, step))
        })?;
    }

    checker.report.finish()
}

/// The steps of the objects that a document may have, each a bit. Most documents say their kind, and are read once.
fn steps_of(text: &str) -> u8 {
    if let Some(kind) = said_kind(text) {
        return 1 << step_of(kind);
    }
    let may_be = |step: &usize| may_have(text, STEPS.get(*step).copied().unwrap_or_default());
    let steps = (0..=STEPS.len()).filter(may_be);
    steps.fold(0, |steps, step| steps | 1 << step)
}

/// The index of the step in which objects of a kind are created; that behind all steps if they are only tried.
fn step_of(kind: &str) -> usize {
    // A binding is to its policy what the policy is to others.
    let kind = kind
        .strip_suffix("PolicyBinding")
        .map_or(kind.to_string(), |of| format!("{of}Policy"));
    let found = STEPS
        .iter()
        .position(|kinds| kinds.contains(&kind.as_str()));
    found.unwrap_or(STEPS.len())
}

/// The verdict on a document that is no object.
fn unreadable(fault: Unreadable) -> ObjectVerdict {
    ObjectVerdict {
        file: fault.file,
        line: fault.line,
        kind: VerdictKind::Unreadable,
        message: fault.message,
        ..ObjectVerdict::default()
    }
}

/// A server in this process, what it has, and what it said.
struct Checker<'a> {
    args: &'a VerdictArgs,
    server: &'a TrialServer,
    catalogue: Catalogue,
    report: Report,
    /// The documents that are no objects, which each step meets.
    faults: HashSet<(String, usize)>,
    /// The number of objects and faults that were found.
    found: usize,
    /// The objects that the server accepted.
    created: HashSet<ObjectKey>,
}

/// An object about which the server is asked, and what is known before the answer.
struct AskedObject {
    number: usize,
    item: SourceObject,
    verdict: ObjectVerdict,
    /// `None` if the kind is unknown.
    reply: Option<Reply>,
}

/// A task that asks.
type Asking = JoinHandle<Result<AskedObject, Failure>>;

impl Checker<'_> {
    /// Reports the verdicts on the objects of a step. The server is asked about several at a time.
    async fn judge_all(
        &mut self,
        mut next: mpsc::Receiver<Result<FoundObject, Failure>>,
        step: usize,
    ) -> Result<(), Failure> {
        let mut asked = FuturesUnordered::new();
        // The objects that are asked about, for the ones behind them.
        let mut open: HashMap<usize, Value> = HashMap::new();
        loop {
            tokio::select! {
                Some(done) = asked.next() => {
                    open.remove(&self.conclude(done).await?);
                }
                found = next.recv(), if asked.len() < TOGETHER => {
                    let Some(found) = found.transpose()? else { break };
                    let item = match found {
                        Ok(item) if step_of_item(&item) == step => item,
                        Ok(_) => continue,
                        Err(fault) => {
                            self.add_fault(fault)?;
                            continue;
                        }
                    };

                    if open.values().any(|other| depends(step, &item.object, other)) {
                        self.conclude_all(&mut asked).await?;
                        open.clear();
                    }
                    let number = self.number();
                    open.insert(number, item.object.clone());
                    asked.push(self.start(number, item, step).await?);
                }
            }
        }

        self.conclude_all(&mut asked).await
    }

    /// Waits for all answers, and reports the verdicts.
    async fn conclude_all(&mut self, asked: &mut FuturesUnordered<Asking>) -> Result<(), Failure> {
        while let Some(done) = asked.next().await {
            self.conclude(done).await?;
        }
        Ok(())
    }

    /// The number of an object or a fault, in the order in which they are found.
    fn number(&mut self) -> usize {
        self.found += 1;
        self.found - 1
    }

    /// Reports a document that is no object, once.
    fn add_fault(&mut self, fault: Unreadable) -> Result<(), Failure> {
        if !self.faults.insert((fault.file.clone(), fault.line)) {
            return Ok(());
        }
        let number = self.number();
        self.report.add(number, unreadable(fault))
    }

    /// Starts the task that asks about an object. The object is created if others may need it.
    async fn start(
        &self,
        number: usize,
        item: SourceObject,
        step: usize,
    ) -> Result<Asking, Failure> {
        let object = &item.object;
        let kind = object.declared_kind();
        let (path, key) = self.server.place(object, self.args.source.namespace());
        let mut verdict = ObjectVerdict {
            file: item.file.to_string(),
            line: item.line(""),
            api_version: kind.api_version().to_string(),
            object: Some(key.clone()),
            ..ObjectVerdict::default()
        };

        match &path {
            Some(path) => self.server.make_namespace(path, &key).await?,
            None if self.args.ignore_unknown_kinds => verdict.kind = VerdictKind::Unknown,
            None => {
                verdict.message = self.catalogue.unknown(&kind);
                verdict.kind = VerdictKind::Refused;
            }
        }
        let server = self.server.server();
        let exists = step < STEPS.len() && self.created.contains(&key);
        // A future that is not polled keeps its locks of the server, and the next request could wait for them without end.
        // The runtime always polls a task.
        Ok(tokio::spawn(async move {
            let reply = match path {
                Some(path) => Some(ask(&server, &path, &item.object, step, exists).await?),
                None => None,
            };
            Ok(AskedObject {
                number,
                item,
                verdict,
                reply,
            })
        }))
    }

    /// Reports the verdict on an object. Returns its number.
    async fn conclude(
        &mut self,
        asked: Result<Result<AskedObject, Failure>, JoinError>,
    ) -> Result<usize, Failure> {
        let asked = asked.map_err(|error| Failure::Other(error.to_string()))?;
        let AskedObject {
            number,
            item,
            mut verdict,
            reply,
        } = asked?;
        if let Some(reply) = reply {
            self.enter(&mut verdict, &item, &reply).await?;
        }
        if verdict.code == 201 {
            self.created.extend(verdict.object.clone());
        }
        self.report.add(number, verdict)?;
        Ok(number)
    }

    /// Enters the answer of the server into a verdict.
    async fn enter(
        &mut self,
        verdict: &mut ObjectVerdict,
        item: &SourceObject,
        reply: &Reply,
    ) -> Result<(), Failure> {
        verdict.code = reply.code;
        verdict.warnings.clone_from(&reply.warnings);
        if reply.code < 400 {
            verdict.kind = VerdictKind::Accepted;
            return Ok(());
        }
        let body = reply.body();
        verdict.kind = VerdictKind::Refused;
        text(&body, "reason").clone_into(&mut verdict.reason);
        verdict.message = text(&body, "message").to_owned();

        let causes = body.pointer("/details/causes").and_then(Json::as_array);
        let causes = causes.into_iter().flatten();
        let mut faults: Vec<(String, String)> = causes
            .map(|cause| {
                (
                    text(cause, "field").to_owned(),
                    text(cause, "message").to_owned(),
                )
            })
            .collect();
        // The faults of strict decoding are in the message only.
        if faults.is_empty() {
            faults = strict_faults(&verdict.message);
        }
        if faults.iter().any(|(_, message)| message == UNKNOWN) {
            self.learn(&item.object).await?;
        }
        let faults = faults.into_iter().map(|(path, message)| {
            let is_unknown = message == UNKNOWN;
            let nearest = is_unknown.then(|| self.catalogue.nearest(&item.object, &path));
            VerdictFault {
                line: item.line(&path),
                path,
                message,
                nearest: nearest.unwrap_or_default(),
            }
        });
        verdict.faults = faults.collect();
        verdict.faults.sort_by_key(|fault| fault.line);
        Ok(())
    }

    /// Finds the definition of the kind of an object on the server. All of them would be as much memory as the server has.
    async fn learn(&mut self, object: &Value) -> Result<(), Failure> {
        let kind = object.declared_kind();
        let (path, _) = self.server.place(object, "");
        let plural = path.as_deref().and_then(|path| path.rsplit('/').next());
        let Some(plural) = plural.filter(|_| self.catalogue.definition(&kind).is_none()) else {
            return Ok(());
        };

        let path = format!("{DEFINITIONS}/{plural}.{}", kind.group);
        let reply = request(&self.server.server(), "GET", &path, &Json::Null).await?;
        if reply.code == 200 {
            let definition: Result<Value, _> = serde_json::from_value(reply.body());
            self.catalogue.add(&definition.unwrap_or_default());
        }
        Ok(())
    }
}

/// The answer to the creation of an object in a collection, which is only tried unless others need it. What `exists` is applied
/// to, as is what every cluster has, such as the namespace `default`.
async fn ask(
    server: &TestServer,
    path: &str,
    object: &Value,
    step: usize,
    exists: bool,
) -> Result<Reply, Failure> {
    let name = object.metadata_string("name");
    let apply = format!("{path}/{name}?{TRY}&force=true");
    if exists {
        // The words of a refusal are those of a creation, if that has any.
        let reply = request_verdict(server, "PATCH", &apply, object).await?;
        if reply.code < 400 {
            return Ok(reply);
        }
    }

    let query = if step < STEPS.len() { STRICT } else { TRY };
    let create = format!("{path}?{query}");
    let reply = request_verdict(server, "POST", &create, object).await?;
    if reply.code != 409 || text(&reply.body(), "reason") != "AlreadyExists" {
        return Ok(reply);
    }
    request_verdict(server, "PATCH", &apply, object).await
}

/// The step of an object.
fn step_of_item(item: &SourceObject) -> usize {
    match said_kind(item.text()) {
        Some(kind) => step_of(kind),
        None => step_of(&item.object.declared_kind().kind),
    }
}

/// Whether what a server says about an object depends on one that it is asked about at the same time: what is created depends
/// on what exists, except for definitions with different names. What is only tried depends on nothing that is tried.
fn depends(step: usize, object: &Value, other: &Value) -> bool {
    match STEPS.get(step) {
        Some([DEFINITION]) => have_common_names(object, other),
        Some(_) => true,
        None => false,
    }
}

/// Whether two definitions want the same name, so that which of them gets it depends on their order.
fn have_common_names(a: &Value, b: &Value) -> bool {
    let [a, b] = [a, b].map(|definition| {
        let names = definition.get("spec").and_then(|spec| spec.get("names"));
        let names = names.and_then(Value::as_map).into_iter().flatten();
        let names = names.filter(|(name, _)| *name != "categories");
        let texts = names.flat_map(|(_, names)| match names {
            Value::List(names) => names.iter().collect(),
            name => vec![name],
        });
        let texts: HashSet<&str> = texts.filter_map(Value::as_str).collect();
        texts
    });
    !a.is_disjoint(&b)
}

/// The paths and the words of the faults in a message of strict decoding, such as `unknown field "spec.replcas"`.
fn strict_faults(message: &str) -> Vec<(String, String)> {
    let mut faults = Vec::new();
    let mut rest = message;
    while let Some((before, after)) = rest.split_once(" field \"") {
        let Some((path, after)) = after.split_once('"') else {
            break;
        };
        let word = before.rsplit(' ').next().unwrap_or_default();
        if matches!(word, "unknown" | "duplicate") {
            faults.push((path.to_owned(), format!("{word} field")));
        }
        rest = after;
    }

    faults
}
