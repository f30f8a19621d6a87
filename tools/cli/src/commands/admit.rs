//! `admit`: what policies in CEL make of objects.

use std::collections::BTreeSet;
use std::process::ExitCode;

use fieldmanager_apiserver::{ApiServer, Collection};
use fieldmanager_handlers::internal::difference;
use fieldmanager_managedfields::internal::{Change, decode_lossy};
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::Value;
use serde_json::{Value as Json, json};

use crate::answers::catalogue::{Catalogue, DEFINITION};
use crate::answers::sources::{ObjectKey, SourceObject, Sources};
use crate::answers::trial::{TrialServer, body_of, text as text_of};
use crate::args::AdmitArgs;
use crate::error::Failure;
use crate::files::Files;
use crate::output::{self, Line, Style};
use crate::{difference, text};

/// The kinds of objects that are created before others are tried.
const FIRST: [&str; 2] = ["Namespace", DEFINITION];

/// How the names of the kinds of policies and of their bindings end.
const POLICIES: [&str; 2] = ["AdmissionPolicy", "AdmissionPolicyBinding"];

/// The parts of an object that differ between two servers.
const VARYING: [&str; 4] = [
    ".metadata.uid",
    ".metadata.resourceVersion",
    ".metadata.creationTimestamp",
    ".metadata.generation",
];

/// Prints the verdict on each object that is no policy, and what changed in it. Exits with 1 if one is refused.
pub(crate) fn run(args: &AdmitArgs, files: Files) -> Result<ExitCode, Failure> {
    let sources = Sources::new(&args.source.paths(), files)?;
    let live = Sources::new(&args.live, files)?;
    let mut trial = Trial::new(args)?;
    for source in [&sources, &live] {
        trial.create_all(source, true)?;
    }
    // Before there are policies, which would change or refuse what exists.
    trial.create_all(&live, false)?;

    let mut policies = Vec::new();
    sources.each(&[], |item| {
        policies.extend(Some(item?.object).filter(is_policy));
        Ok(())
    })?;
    trial.add_policies(&policies)?;

    let mut refused = false;
    sources.each(&[], |item| {
        let item = item?;
        if !is_policy(&item.object) && !is_first(&item.object) {
            refused |= trial.admit(&item)?;
        }
        Ok(())
    })?;
    Ok(ExitCode::from(u8::from(refused)))
}

/// Whether an object is a policy or a binding of one.
fn is_policy(object: &Value) -> bool {
    let kind = object.declared_kind().kind;
    POLICIES.iter().any(|end| kind.ends_with(end))
}

/// Whether an object is created before others are tried.
fn is_first(object: &Value) -> bool {
    FIRST.contains(&&*object.declared_kind().kind)
}

/// Two servers with the same objects, of which one has the policies.
struct Trial<'a> {
    args: &'a AdmitArgs,
    with: TrialServer,
    without: TrialServer,
    catalogue: Catalogue,
    /// The objects that exist.
    live: BTreeSet<String>,
}

impl<'a> Trial<'a> {
    fn new(args: &'a AdmitArgs) -> Result<Self, Failure> {
        // Equal uids and a clock that stands still leave fewer differences that are nobody's.
        let server = || {
            let server = ApiServer::for_test().collection(Collection::Stepped);
            TrialServer::start(server.build())
        };
        Ok(Trial {
            args,
            with: server()?,
            without: server()?,
            catalogue: Catalogue::default(),
            live: BTreeSet::new(),
        })
    }

    /// The path of the collection of an object, and its key. Its namespace is made.
    fn place(&mut self, item: &SourceObject) -> Result<(String, ObjectKey), Failure> {
        let (path, key) = self.with.place(&item.object, self.args.source.namespace());
        let Some(path) = path else {
            let unknown = self.catalogue.unknown(&item.object.declared_kind());
            return Err(Failure::input(&*item.file, unknown));
        };
        for server in [&self.with, &self.without] {
            server.wait(server.make_namespace(&path, &key))?;
        }
        Ok((path, key))
    }

    /// Creates the objects of files in both servers: those that others need, or all others.
    fn create_all(&mut self, source: &Sources, are_first: bool) -> Result<(), Failure> {
        let kinds = if are_first { &FIRST[..] } else { &[] };
        source.each(kinds, |item| {
            let item = item?;
            if is_first(&item.object) == are_first {
                self.create(&item)?;
            }
            Ok(())
        })
    }

    fn create(&mut self, item: &SourceObject) -> Result<(), Failure> {
        let (path, key) = self.place(item)?;
        self.catalogue.add(&item.object);
        for server in [&self.with, &self.without] {
            let reply = server.send("POST", &path, &item.object)?;
            // Every cluster has the namespace `default`.
            if reply.code >= 400 && reply.code != 409 {
                let message = format!("{key}: {}", text_of(&reply.body(), "message"));
                return Err(Failure::input(&*item.file, message));
            }
        }
        self.live.insert(format!("{path}/{}", key.name));
        Ok(())
    }

    /// Writes the policies. One that has no binding gets one.
    fn add_policies(&mut self, policies: &[Value]) -> Result<(), Failure> {
        let bound: BTreeSet<&str> = policies
            .iter()
            .filter_map(|object| object.get("spec")?.get("policyName")?.as_str())
            .collect();
        let mut all: Vec<Json> = policies.iter().map(body_of).collect::<Result<_, _>>()?;
        for policy in policies {
            let kind = policy.declared_kind();
            let name = policy.name().unwrap_or_default();
            if kind.kind.ends_with("Binding") || bound.contains(name) {
                continue;
            }
            let mut spec = json!({"policyName": name});
            if kind.kind.starts_with("Validating")
                && let Some(spec) = spec.as_object_mut()
            {
                spec.insert("validationActions".to_owned(), json!(["Deny"]));
            }
            all.push(json!({
                "apiVersion": kind.api_version().to_string(), "kind": format!("{}Binding", kind.kind),
                "metadata": {"name": name}, "spec": spec,
            }));
        }

        for policy in all {
            self.with.create(&policy)?;
        }
        Ok(())
    }

    /// Tries an object on both servers, and prints the verdict. True if it is refused.
    fn admit(&mut self, item: &SourceObject) -> Result<bool, Failure> {
        let (path, key) = self.place(item)?;
        let at = format!("{path}/{}", key.name);
        let query = format!("dryRun=All&fieldManager={}", self.args.manager);
        let (method, path) = if self.live.contains(&at) {
            ("PATCH", format!("{at}?{query}&force=true"))
        } else {
            ("POST", format!("{path}?{query}"))
        };
        let with = self.with.send(method, &path, &item.object)?;
        let without = self.without.send(method, &path, &item.object)?;

        // Without the policies the object may be refused too, by its kind: then nothing can be compared.
        let is_refused = with.code >= 400;
        let verdict = if is_refused {
            Style::Error
                .paint("refused ")
                .and(format!(" {key}: {}", text_of(&with.body(), "message")))
        } else {
            Style::Added.paint("admitted").and(format!(" {key}"))
        };
        let mut lines = vec![verdict];
        lines.extend(
            with.warnings
                .iter()
                .map(|warning| Style::Modified.paint("warning  ").and(warning)),
        );
        if !is_refused && without.code < 400 {
            lines.extend(self.changes(&without.body(), &with.body())?);
        }
        output::print_lines(lines)?;
        Ok(is_refused)
    }

    /// The fields that policies changed, with their owners.
    fn changes(&mut self, before: &Json, after: &Json) -> Result<Vec<Line>, Failure> {
        let read = |json: &Json| {
            Value::from_json(&json.to_string()).map_err(|error| Failure::Other(error.to_string()))
        };
        let (before, after) = (read(before)?, read(after)?);
        let kind = self.catalogue.kind(&after).map_err(Failure::Other)?;
        let found = difference(&kind.resource, &before, &after);
        let found = found.map_err(|error| Failure::Other(error.to_string()))?;
        // What a policy writes has no owner, unless the request has it as well.
        let owners = decode_lossy(after.managed_fields()).managed;

        let owners_of = |change: &Change| {
            let path: Vec<_> = change.path.iter().cloned().collect();
            let own = owners
                .entries()
                .into_iter()
                .filter(|entry| entry.fields.has(&path));
            let names: Vec<String> = own.map(|entry| text::identity(&entry.identity())).collect();
            if names.is_empty() {
                "no owner".to_owned()
            } else {
                names.join(", ")
            }
        };
        let varies = |change: &&Change| !VARYING.contains(&&*change.path.to_string());
        let changes = found.changes.iter().filter(varies);
        Ok(changes
            .map(|change| {
                let (style, line) = difference::field(change);
                Line::from("  ")
                    .and(style.paint(&line))
                    .and(Style::Faint.paint(&format!("  ({})", owners_of(change))))
            })
            .collect())
    }
}
