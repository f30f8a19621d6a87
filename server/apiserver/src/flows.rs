//! Which flow schema a request matches. No request waits for others because of it.
//!
//! Behaviour: `k8s.io/apiserver/pkg/util/flowcontrol`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use fieldmanager_access::{Attributes, User};
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::Value;
use http::{HeaderMap, HeaderValue};

use crate::object::text;

pub(crate) const GROUP: &str = "flowcontrol.apiserver.k8s.io";

/// The resource of flow schemas: its group and its name.
pub(crate) const SCHEMAS: (&str, &str) = (GROUP, "flowschemas");

/// The resource of priority levels.
pub(crate) const LEVELS: (&str, &str) = (GROUP, "prioritylevelconfigurations");

/// What stands for everything in a list of a rule.
const ALL: &str = "*";

/// The subresources whose requests last as long as their client wants, and have no priority. Watches have one.
const LONG_RUNNING: [&str; 5] = ["attach", "exec", "log", "portforward", "proxy"];

/// How a request is classified: the uids of its flow schema and of its priority level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flow {
    schema: HeaderValue,
    level: HeaderValue,
}

impl Flow {
    /// Adds the headers of an answer.
    pub(crate) fn note(self, headers: &mut HeaderMap) {
        headers.insert("x-kubernetes-pf-flowschema-uid", self.schema);
        headers.insert("x-kubernetes-pf-prioritylevel-uid", self.level);
    }
}

/// The flow schemas that requests match, as long as neither they nor the priority levels are written.
#[derive(Default)]
pub(crate) struct KnownFlows(Mutex<Option<FlowsOf>>);

struct FlowsOf {
    schemas: Arc<Vec<Value>>,
    levels: Arc<Vec<Value>>,
    flows: Arc<FlowSchemas>,
}

impl KnownFlows {
    /// The flow schemas of these objects.
    pub(crate) fn of(&self, schemas: Arc<Vec<Value>>, levels: Arc<Vec<Value>>) -> Arc<FlowSchemas> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Lists are replaced as a whole, so equal pointers are equal objects.
        let is_current = |known: &&FlowsOf| {
            Arc::ptr_eq(&known.schemas, &schemas) && Arc::ptr_eq(&known.levels, &levels)
        };
        if let Some(known) = known.as_ref().filter(is_current) {
            return known.flows.clone();
        }
        let flows = Arc::new(FlowSchemas::new(&schemas, &levels));
        *known = Some(FlowsOf {
            schemas,
            levels,
            flows: flows.clone(),
        });
        flows
    }
}

/// Flow schemas in the order in which they are asked, with the values of headers.
pub(crate) struct FlowSchemas(Vec<FlowSchema>);

struct FlowSchema {
    flow: Flow,
    rules: Vec<FlowRule>,
}

/// Whose requests to what are in a flow.
struct FlowRule {
    subjects: Vec<FlowSubject>,
    resources: Vec<ResourceRule>,
    paths: Vec<PathRule>,
}

enum FlowSubject {
    User(String),
    /// All service accounts of a namespace.
    UserPrefix(String),
    Group(String),
}

struct ResourceRule {
    verbs: Vec<String>,
    groups: Vec<String>,
    resources: Vec<String>,
    namespaces: Vec<String>,
    has_cluster_scope: bool,
}

struct PathRule {
    verbs: Vec<String>,
    paths: Vec<String>,
}

impl FlowSchemas {
    /// Reads flow schemas. One whose priority level does not exist has no effect.
    pub(crate) fn new(schemas: &[Value], levels: &[Value]) -> Self {
        let uid = |object: &Value| HeaderValue::from_str(object.uid().unwrap_or_default()).ok();
        let levels: HashMap<&str, HeaderValue> = levels
            .iter()
            .filter_map(|level| Some((level.name()?, uid(level)?)))
            .collect();
        let read = |schema: &Value| {
            Some(FlowSchema {
                flow: Flow {
                    schema: uid(schema)?,
                    level: levels.get(level_of(schema))?.clone(),
                },
                rules: schema
                    .get("spec")?
                    .items("rules")
                    .map(FlowRule::read)
                    .collect(),
            })
        };

        let precedence = |schema: &Value| schema.get("spec")?.get("matchingPrecedence")?.as_i64();
        let mut ordered: Vec<&Value> = schemas.iter().collect();
        ordered.sort_by_key(|schema| (precedence(schema), schema.name()));
        FlowSchemas(ordered.into_iter().filter_map(read).collect())
    }

    /// The flow of a request: that of the first schema which it matches.
    pub(crate) fn flow(&self, request: &Attributes<'_>) -> Option<Flow> {
        let found = self.0.iter().find(|schema| schema.matches(request));
        found.map(|schema| schema.flow.clone())
    }
}

impl FlowSchema {
    fn matches(&self, request: &Attributes<'_>) -> bool {
        self.rules.iter().any(|rule| rule.matches(request))
    }
}

impl FlowRule {
    fn read(rule: &Value) -> Self {
        FlowRule {
            subjects: rule.items("subjects").map(FlowSubject::read).collect(),
            resources: rule
                .items("resourceRules")
                .map(|rule| ResourceRule {
                    verbs: rule.strings("verbs"),
                    groups: rule.strings("apiGroups"),
                    resources: rule.strings("resources"),
                    namespaces: rule.strings("namespaces"),
                    has_cluster_scope: rule.get("clusterScope") == Some(&Value::Bool(true)),
                })
                .collect(),
            paths: rule
                .items("nonResourceRules")
                .map(|rule| PathRule {
                    verbs: rule.strings("verbs"),
                    paths: rule.strings("nonResourceURLs"),
                })
                .collect(),
        }
    }

    fn matches(&self, request: &Attributes<'_>) -> bool {
        if !self.subjects.iter().any(|one| one.is(request.user)) {
            return false;
        }
        match request.path {
            Some(path) => self.paths.iter().any(|rule| rule.matches(request, path)),
            None => self.resources.iter().any(|rule| rule.matches(request)),
        }
    }
}

impl FlowSubject {
    fn read(subject: &Value) -> Self {
        let account = |name| text(subject, &["serviceAccount", name]);
        match text(subject, &["kind"]) {
            "User" => FlowSubject::User(text(subject, &["user", "name"]).to_owned()),
            "Group" => FlowSubject::Group(text(subject, &["group", "name"]).to_owned()),
            _ => {
                let prefix = format!("system:serviceaccount:{}:", account("namespace"));
                match account("name") {
                    ALL => FlowSubject::UserPrefix(prefix),
                    name => FlowSubject::User(prefix + name),
                }
            }
        }
    }

    fn is(&self, user: &User) -> bool {
        match self {
            FlowSubject::User(name) => name == ALL || *name == user.name,
            FlowSubject::UserPrefix(prefix) => user.name.starts_with(prefix),
            FlowSubject::Group(name) => name == ALL || user.groups.contains(name),
        }
    }
}

impl ResourceRule {
    fn matches(&self, request: &Attributes<'_>) -> bool {
        let is_resource = |rule: &String| {
            let rest = rule.strip_prefix(request.resource);
            let subresource = rest.and_then(|rest| rest.strip_prefix('/'));
            match request.subresource {
                _ if rule == ALL => true,
                "" => rest == Some(""),
                asked => subresource == Some(asked),
            }
        };
        has(&self.verbs, request.verb)
            && self.resources.iter().any(is_resource)
            && has(&self.groups, request.group)
            && match request.namespace {
                "" => self.has_cluster_scope,
                namespace => has(&self.namespaces, namespace),
            }
    }
}

impl PathRule {
    fn matches(&self, request: &Attributes<'_>, path: &str) -> bool {
        // A path stands for those below it too.
        let covers = |rule: &String| {
            let prefix = rule.strip_suffix(ALL).unwrap_or(rule);
            let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
            let rest = path.strip_prefix(prefix);
            rule == ALL || rule == path || rest.is_some_and(|rest| rest.starts_with('/'))
        };
        has(&self.verbs, request.verb) && self.paths.iter().any(covers)
    }
}

/// Whether a request has a priority. One to a resource has its subresource.
pub(crate) fn has_flow(request: &Attributes<'_>) -> bool {
    !LONG_RUNNING.contains(&request.subresource)
}

/// The name of the priority level of a flow schema.
pub(crate) fn level_of(schema: &Value) -> &str {
    text(schema, &["spec", "priorityLevelConfiguration", "name"])
}

/// Whether a list has a string, or the one that stands for everything.
fn has(list: &[String], text: &str) -> bool {
    list.iter().any(|item| item == ALL || item == text)
}

#[cfg(test)]
mod tests;
