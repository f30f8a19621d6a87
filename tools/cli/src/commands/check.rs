//! `check`: what an API server would say to the objects of sources.

use std::collections::HashSet;
use std::process::ExitCode;

use fieldmanager_apiserver::testing::Reply;
use fieldmanager_apiserver::{ApiServer, Collection};
use fieldmanager_structural::internal::ObjectExt as _;
use serde_json::Value as Json;

use crate::answers::catalogue::{Catalogue, DEFINITION};
use crate::answers::report::{ObjectVerdict, Report, VerdictFault, VerdictKind};
use crate::answers::sources::{SourceObject, Sources, Unreadable, may_have, said_kind};
use crate::answers::trial::{TrialServer, body_of, text};
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
        sources.each_of(is_wanted, |item| match item {
            Ok(item) => {
                let of = said(item.text());
                let of = of.unwrap_or_else(|| step_of(&item.object.declared_kind().kind));
                if of == step {
                    let verdict = checker.judge(&item, step < STEPS.len())?;
                    report.add(verdict)?;
                }
                Ok(())
            }
            Err(fault) if faults.insert((fault.file.clone(), fault.line)) => {
                report.add(unreadable(fault))
            }
            Err(_) => Ok(()),
        })?;
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
    /// The verdict on an object, which is created if others may need it.
    fn judge(
        &mut self,
        item: &SourceObject<'_>,
        others_need_it: bool,
    ) -> Result<ObjectVerdict, Failure> {
        let object = &item.object;
        let kind = object.declared_kind();
        let (path, key) = self.server.place(object, self.args.source.namespace());
        let mut verdict = ObjectVerdict {
            file: item.file.to_owned(),
            line: item.line(""),
            api_version: kind.api_version().to_string(),
            object: Some(key.clone()),
            ..ObjectVerdict::default()
        };
        let Some(path) = path else {
            verdict.kind = VerdictKind::Unknown;
            if !self.args.ignore_unknown_kinds {
                verdict.message = self.catalogue.unknown(&kind);
                verdict.kind = VerdictKind::Refused;
            }
            return Ok(verdict);
        };

        self.server.make_namespace(&path, &key)?;
        let body = body_of(object)?;
        let query = if others_need_it { STRICT } else { TRY };
        let create = format!("{path}?{query}");
        let mut reply = self.server.send("POST", &create, &body)?;
        // What every cluster has, such as the namespace `default`, is applied to.
        if reason(&reply) == "AlreadyExists" {
            let path = format!("{path}/{}?{TRY}&force=true", key.name);
            reply = self.server.send("PATCH", &path, &body)?;
        }
        if reply.code < 400 && others_need_it {
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
