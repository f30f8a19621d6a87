//! The command in place of a server: recorded requests, given to the code by which the command answers them.

use fieldmanager_cli::internal::{Verb, answer, resource, stored};
use fieldmanager_handlers::{Request, Resource, Subresource};
use fieldmanager_managedfields::RequestOptions;
use fieldmanager_patch::PatchType;
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;
use serde_json::Value as Json;

use super::exchange::Exchange;
use super::in_process::InProcess;
use super::kinds::Catalog;
use super::recording::Recording;
use super::request::{Answer, Step};
use crate::Error;
use crate::json::{back, items, member, own, text};

/// What the requests of a recording had for answers of the command and of the server in this process.
#[derive(Debug, Default)]
pub struct CommandReport {
    /// The number of requests that both answered.
    pub compared: usize,
    /// The number of requests that the command cannot express: its files have no query, for instance.
    pub left_out: usize,
    /// The requests with different answers.
    pub differences: Vec<String>,
}

/// Gives every recorded request that the command can express to the code of the command, and to a server in this process.
///
/// # Errors
///
/// If the server cannot be started.
pub fn replay_by_command(recording: &Recording) -> Result<CommandReport, Error> {
    let mut server = InProcess::new(&recording.definitions)?;
    let definitions: Vec<Value> = recording.definitions.iter().map(own).collect();
    let mut report = CommandReport::default();
    for case in recording.requests.iter() {
        let kind = Catalog::get()?.of(case)?;
        for json in items(case, "steps") {
            let real = Answer::from_json(member(json, "answer"));
            let found = (member(case, "before"), member(case, "live"));
            let step = Step::new(json, kind);
            let exchange = Exchange::new(kind, step, text(case, "name"), found, &real)?;
            // The command cannot be judged by a request that it has no option or no file for.
            let Some(written) = Written::of(&exchange, &definitions) else {
                report.left_out += 1;
                continue;
            };

            report.compared += 1;
            let (ours, theirs) = (written.answer(&exchange), server.answer(&exchange)?.answer);
            let mut theirs = without_version(theirs.body);
            let mut ours = ours;
            // The command allocates nothing, so that addresses and ports are compared on neither side.
            if kind.kind == "Service" {
                remove_allocations(&mut ours);
                remove_allocations(&mut theirs);
            }

            if ours != theirs {
                let query = exchange.request.query.as_str();
                let request = format!(
                    "{} {}?{query}",
                    exchange.request.method, exchange.request.path
                );
                let sent = &exchange.sent;
                report.differences.push(format!(
                    "{request}\n  body {sent}\n  command {ours}\n  server {theirs}"
                ));
            }
        }
    }

    Ok(report)
}

/// A request as the command has it: files with objects, and options.
struct Written {
    resource: Resource,
    verb: Verb,
    subresource: Subresource,
    live: Value,
    given: Value,
    options: RequestOptions,
}

impl Written {
    /// The request of the command that is the same; `None` if there is none.
    fn of(exchange: &Exchange<'_>, definitions: &[Value]) -> Option<Self> {
        let Exchange {
            kind, step, sent, ..
        } = exchange;
        let live = exchange.found();
        // The command has no create: without a live object, it is an update.
        let verb = match step.verb {
            "create" if live.is_null() => Verb::Update,
            "update" if !live.is_null() => Verb::Update,
            "apply" => Verb::Apply,
            "merge" if !live.is_null() => Verb::Patch(PatchType::Merge),
            "json" if !live.is_null() => Verb::Patch(PatchType::Json),
            "strategic" if !live.is_null() => Verb::Patch(PatchType::Strategic),
            _ => return None,
        };

        let options = options(step.query, verb)?;

        // The objects determine the kind, its version, and the path.
        let typed = match verb {
            Verb::Patch(_) => live,
            _ => sent,
        };
        let is_of_kind = text(typed, "kind") == kind.kind
            && text(typed, "apiVersion") == kind.api_version(step.version);
        let named = if live.is_null() { sent } else { live };
        let path = named.pointer("/metadata/namespace").and_then(Json::as_str);
        let name = text(member(named, "metadata"), "name");
        let is_at_path = path.is_none_or(|namespace| namespace == "default")
            && (step.verb == "create" || exchange.request.path.split('/').any(|part| part == name));
        let is_file = !sent.is_null() && text(step.json, "type").is_empty();

        if !(is_of_kind && is_at_path && is_file) {
            return None;
        }

        let group_version_kind =
            GroupVersionKind::from_api_version_kind(&kind.api_version(step.version), &kind.kind);
        // Built-in kinds are a part of the command. kube-apiserver enforces no unions, so neither does the resource.
        let documents = kind.definition.as_ref().map(|_| definitions);
        let resource = resource(documents, &group_version_kind, true).ok()??;
        Some(Written {
            resource: resource.unions(false),
            verb,
            subresource: Subresource::of(step.sub)?,
            live: own(live),
            given: own(sent),
            options,
        })
    }

    /// The object or the `Status`, without the version that only a store gives.
    fn answer(&self, exchange: &Exchange<'_>) -> Json {
        let choices = &exchange.choices;
        let request = Request::new(choices.now)
            .subresource(self.subresource)
            .options(self.options.clone())
            .user_agent(&exchange.request.agent)
            .uid(&choices.uid)
            .name_suffix(&choices.suffix);
        let live = stored(&self.resource, &self.live);

        match answer(&self.resource, self.verb, &live, &self.given, request) {
            Ok(outcome) => without_version(back(outcome.answer())),
            Err(refused) => serde_json::to_value(&*refused.status).unwrap_or_default(),
        }
    }
}

/// The options of a query; `None` if the command has no such options.
fn options(query: &str, verb: Verb) -> Option<RequestOptions> {
    let mut options = RequestOptions::default();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        // The command gets values as they are, without the encoding of a query.
        options = match pair.split_once('=')? {
            (_, value) if value.contains(['%', '+']) => return None,
            ("fieldManager", name) => options.field_manager(name),
            ("force", value) if verb == Verb::Apply => options.force(Some(value.parse().ok()?)),
            _ => return None,
        };
    }
    Some(options)
}

/// Removes the addresses and ports of a Service, and the families of addresses, which a server allocates.
fn remove_allocations(service: &mut Json) {
    let Some(Json::Object(spec)) = service.get_mut("spec") else {
        return;
    };
    // The families of addresses follow from the addresses that are allocated.
    let allocated = [
        "clusterIP",
        "clusterIPs",
        "healthCheckNodePort",
        "ipFamilies",
        "ipFamilyPolicy",
    ];
    spec.retain(|name, _| !allocated.contains(&name.as_str()));
    let ports = spec.get_mut("ports").and_then(Json::as_array_mut);

    for port in ports.into_iter().flatten().filter_map(Json::as_object_mut) {
        port.remove("nodePort");
    }
}

fn without_version(mut object: Json) -> Json {
    if let Some(Json::Object(metadata)) = object.get_mut("metadata") {
        metadata.remove("resourceVersion");
    }
    object
}
