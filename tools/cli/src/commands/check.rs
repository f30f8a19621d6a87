//! `check`: what an API server would say to the objects of sources.

use std::collections::HashSet;
use std::process::ExitCode;

use fieldmanager_apiserver::testing::{Reply, TestServer};
use fieldmanager_apiserver::{ApiServer, Collection};
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::Value;
use serde_json::{Value as Json, json};
use tokio::runtime::Runtime;

use crate::answers::catalogue::{Catalogue, DEFINITION};
use crate::answers::report::{ObjectVerdict, Report, VerdictFault, VerdictKind};
use crate::answers::sources::{SourceObject, Sources, Unreadable, key};
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

/// The query of a request that is only tried.
const TRY: &str = "dryRun=All&fieldValidation=Strict&fieldManager=fieldmanager";

/// Prints the answers to the creation of each object. Exits with 1 if one is refused.
pub(crate) fn run(args: &VerdictArgs, files: Files) -> Result<ExitCode, Failure> {
    let sources = Sources::new(&args.source.paths(), files)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let server = ApiServer::builder()
        .unions(args.unions)
        .page(false)
        .collection(Collection::Stepped);
    let server = runtime.block_on(server.build());
    let server = server.map_err(|error| Failure::Other(error.to_string()))?;
    let mut checker = Checker {
        args,
        runtime,
        server: server.into(),
        catalogue: Catalogue::default(),
        namespaces: HashSet::new(),
    };

    let mut report = Report::new(args.output, sources.len());
    for step in 0..=STEPS.len() {
        let kinds = STEPS.get(step).copied().unwrap_or_default();
        sources.each(kinds, |item| match item {
            Ok(item) if step_of(&item.object) == step => {
                let verdict = checker.judge(&item, step < STEPS.len())?;
                report.add(verdict)
            }
            // Faulty documents are met in the last step, which reads all.
            Err(fault) if step == STEPS.len() => report.add(unreadable(fault)),
            _ => Ok(()),
        })?;
    }

    report.finish()
}

/// The index of the step in which an object is created; that behind all steps if it is only tried.
fn step_of(object: &Value) -> usize {
    let kind = object.declared_kind().kind;
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

/// A server in this process, and what it has.
struct Checker<'a> {
    args: &'a VerdictArgs,
    runtime: Runtime,
    server: TestServer,
    catalogue: Catalogue,
    /// The namespaces that exist.
    namespaces: HashSet<String>,
}

impl Checker<'_> {
    /// The verdict on an object, which is created if others may need it.
    fn judge(
        &mut self,
        item: &SourceObject<'_>,
        others_need_it: bool,
    ) -> Result<ObjectVerdict, Failure> {
        let object = &item.object;
        let kind = object.declared_kind();
        let version = kind.api_version();
        let namespace = &self.args.source.namespace;
        let named = key(object, true, namespace);
        let path = self
            .server
            .path(&version, &kind.kind, &format!("{}/", named.namespace));
        let path = path.map(|path| path.trim_end_matches('/').to_owned());

        let is_namespaced = path
            .as_ref()
            .is_ok_and(|path| path.contains("/namespaces/"));
        let key = key(object, is_namespaced, namespace);
        let mut verdict = ObjectVerdict {
            file: item.file.to_owned(),
            line: item.line(""),
            api_version: version.to_string(),
            object: Some(key.clone()),
            ..ObjectVerdict::default()
        };
        let Ok(path) = path else {
            verdict.kind = VerdictKind::Unknown;
            if !self.args.ignore_unknown_kinds {
                verdict.message = self.catalogue.unknown(&kind);
                verdict.kind = VerdictKind::Refused;
            }
            return Ok(verdict);
        };

        // Whoever applies to a namespace has one: the sources of a chart leave it out.
        if is_namespaced && self.namespaces.insert(key.namespace.clone()) {
            let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": key.namespace}});
            self.send("POST", "/api/v1/namespaces", &body)?;
        }

        let body =
            serde_json::to_value(object).map_err(|error| Failure::Other(error.to_string()))?;
        let mut reply = self.send("POST", &format!("{path}?{TRY}"), &body)?;
        // What every cluster has, such as the namespace `default`, is applied to.
        if reason(&reply) == "AlreadyExists" {
            let path = format!("{path}/{}?{TRY}&force=true", key.name);
            reply = self.send("PATCH", &path, &body)?;
        }
        if reply.code < 400 && others_need_it {
            self.send("POST", &path, &body)?;
            self.catalogue.add(object);
        }
        self.conclude(&mut verdict, item, reply);

        Ok(verdict)
    }

    /// Enters what the server answered.
    fn conclude(&mut self, verdict: &mut ObjectVerdict, item: &SourceObject<'_>, reply: Reply) {
        verdict.code = reply.code;
        verdict.warnings.clone_from(&reply.warnings);
        if reply.code < 400 {
            verdict.kind = VerdictKind::Accepted;
            return;
        }
        verdict.kind = VerdictKind::Refused;
        verdict.reason = reason(&reply).to_owned();
        verdict.message = text(&reply.body, "message").to_owned();

        let causes = reply
            .body
            .pointer("/details/causes")
            .and_then(Json::as_array);
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
        let faults = faults.into_iter().map(|(path, message)| {
            let is_unknown = message == "unknown field";
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
    }

    fn send(&self, method: &str, path: &str, body: &Json) -> Result<Reply, Failure> {
        let media = match method {
            "PATCH" => "application/apply-patch+yaml",
            _ => "application/json",
        };
        let sent = self.server.send(method, path, media, body);
        self.runtime
            .block_on(sent)
            .map_err(|error| Failure::Other(error.message))
    }
}

fn text<'j>(json: &'j Json, name: &str) -> &'j str {
    json.get(name).and_then(Json::as_str).unwrap_or_default()
}

fn reason(reply: &Reply) -> &str {
    text(&reply.body, "reason")
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
