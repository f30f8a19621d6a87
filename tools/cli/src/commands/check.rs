//! `check`: what an API server would say to the objects of sources.

use std::collections::{BTreeMap, HashSet};
use std::process::ExitCode;

use fieldmanager_apiserver::testing::Reply;
use fieldmanager_apiserver::{ApiServer, Collection};
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::Value;
use futures::future::join_all;
use serde_json::Value as Json;

use crate::answers::catalogue::{Catalogue, DEFINITION};
use crate::answers::report::{ObjectVerdict, Report, VerdictFault, VerdictKind};
use crate::answers::sources::{SourceObject, Sources, Unreadable, may_have, said_kind};
use crate::answers::trial::{TrialServer, text};
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

/// The number of objects about which the server is asked together: with one processor more would cost memory alone.
const TOGETHER: usize = 4;

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
    let mut checker = Checker {
        args,
        server: TrialServer::start(server.build())?,
        catalogue: Catalogue::default(),
    };

    let mut report = Report::new(args.output, sources.len());
    let mut faults = HashSet::new();
    for step in 0..=STEPS.len() {
        // Most documents say their kind, and are read once.
        let kinds = STEPS.get(step).copied().unwrap_or_default();
        let said = |text: &str| said_kind(text).map(step_of);
        let is_wanted = |text: &str| said(text).map_or(may_have(text, kinds), |of| of == step);
        let mut batch = Vec::new();
        sources.each_ahead(is_wanted, |item| match item {
            Ok(item) => {
                let of = said(item.text());
                let of = of.unwrap_or_else(|| step_of(&item.object.declared_kind().kind));
                if of == step {
                    batch.push(item);
                }
                if batch.len() < TOGETHER {
                    return Ok(());
                }
                checker.judge_all(&mut batch, step, &mut report)
            }
            Err(fault) if faults.insert((fault.file.clone(), fault.line)) => {
                checker.judge_all(&mut batch, step, &mut report)?;
                report.add(unreadable(fault))
            }
            Err(_) => Ok(()),
        })?;
        checker.judge_all(&mut batch, step, &mut report)?;
    }

    report.finish()
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

/// A server in this process, and what it has.
struct Checker<'a> {
    args: &'a VerdictArgs,
    server: TrialServer,
    catalogue: Catalogue,
}

impl Checker<'_> {
    /// Reports the verdicts on objects, which are created if others may need them.
    fn judge_all(
        &mut self,
        items: &mut Vec<SourceObject>,
        step: usize,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let asked = items.iter().map(|item| self.place(item));
        let asked = asked.collect::<Result<Vec<_>, _>>()?;
        let others_need_them = step < STEPS.len();

        // What is created depends on what exists, except for definitions with different names. What is only tried depends on
        // nothing that is tried beside it.
        let mut chains: Vec<Vec<(usize, &str, &SourceObject)>> = Vec::new();
        for (index, (item, (_, path))) in items.iter().zip(&asked).enumerate() {
            let Some(path) = path else { continue };
            let depends = |(_, _, earlier): &(usize, &str, &SourceObject)| match STEPS.get(step) {
                Some([DEFINITION]) => have_common_names(&item.object, &earlier.object),
                Some(_) => true,
                None => false,
            };
            let (mut own, others): (Vec<_>, Vec<_>) = chains
                .into_iter()
                .partition(|chain| chain.iter().any(depends));
            own.push(vec![(index, path.as_str(), item)]);
            chains = others;
            chains.push(own.concat());
        }
        let server = &self.server;
        let answers = join_all(chains.iter().map(|chain| async move {
            let mut answers = Vec::new();
            for (index, path, item) in chain {
                answers.push((*index, ask(server, path, item, others_need_them).await));
            }
            answers
        }));
        let mut replies: BTreeMap<usize, _> = server.wait(answers).into_iter().flatten().collect();

        for (index, (item, (mut verdict, _))) in items.iter().zip(asked).enumerate() {
            if let Some(reply) = replies.remove(&index).transpose()? {
                if reply.code < 400 && others_need_them {
                    self.catalogue.add(&item.object);
                }
                self.conclude(&mut verdict, item, &reply);
            }
            report.add(verdict)?;
        }
        items.clear();
        Ok(())
    }

    /// The verdict on an object before anybody is asked, and the path of its collection: `None` if its kind is unknown.
    fn place(&mut self, item: &SourceObject) -> Result<(ObjectVerdict, Option<String>), Failure> {
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
            Some(path) => self.server.make_namespace(path, &key)?,
            None if self.args.ignore_unknown_kinds => verdict.kind = VerdictKind::Unknown,
            None => {
                verdict.message = self.catalogue.unknown(&kind);
                verdict.kind = VerdictKind::Refused;
            }
        }
        Ok((verdict, path))
    }

    /// Enters what the server answered.
    fn conclude(&mut self, verdict: &mut ObjectVerdict, item: &SourceObject, reply: &Reply) {
        verdict.code = reply.code;
        verdict.warnings.clone_from(&reply.warnings);
        if reply.code < 400 {
            verdict.kind = VerdictKind::Accepted;
            return;
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
}

/// The answer to the creation of an object in a collection, which is only tried unless others need it.
async fn ask(
    server: &TrialServer,
    path: &str,
    item: &SourceObject,
    others_need_it: bool,
) -> Result<Reply, Failure> {
    let query = if others_need_it { STRICT } else { TRY };
    let create = format!("{path}?{query}");
    let reply = server.request("POST", &create, &item.object).await?;
    if reply.code != 409 || text(&reply.body(), "reason") != "AlreadyExists" {
        return Ok(reply);
    }

    // What every cluster has, such as the namespace `default`, is applied to.
    let name = item.object.metadata_string("name");
    let path = format!("{path}/{name}?{TRY}&force=true");
    server.request("PATCH", &path, &item.object).await
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
