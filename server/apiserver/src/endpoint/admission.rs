//! Admission: what plugins, webhooks and closures make of a request.

use std::sync::{Arc, LazyLock};

use fieldmanager_access::{Attributes, Decision, User};
use fieldmanager_admission::{
    AdmissionOperation, AdmissionPhase, AdmissionRequest, Admitted, Cluster, Denial, Equivalent,
    Observation, ResourceName, mutate, validate,
};
use fieldmanager_handlers::{Outcome, Pending, Subresource};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_structural::internal::ObjectExt;
use fieldmanager_value::Value;
use futures::future::BoxFuture;

use super::failure::internal;
use super::{Call, Core, Failure, Verb};
use crate::log::note;
use crate::object::{has_items, map, metadata, text, with, with_metadata};
use crate::query::Query;
use crate::registry::Served;
use crate::store::{Entry, Key};

/// The user of what the server itself writes.
static ITSELF: LazyLock<User> = LazyLock::new(|| {
    let groups = ["system:masters"];
    User::new("system:apiserver", &groups)
});

/// What a request is about, before there is an object.
pub(super) struct Subject<'a> {
    pub(super) served: &'a Served,
    pub(super) kind: &'a GroupVersionKind,
    pub(super) operation: AdmissionOperation,
    pub(super) subresource: &'a str,
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
    pub(super) user: &'a User,
    pub(super) dry_run: bool,
}

impl<'a> Subject<'a> {
    /// The subject of a request that writes. `kind` is that of its object.
    pub(super) fn of(call: &Call<'a>, kind: &'a GroupVersionKind, creates: bool) -> Self {
        Subject {
            served: call.served,
            kind,
            operation: if creates {
                AdmissionOperation::Create
            } else {
                AdmissionOperation::Update
            },
            subresource: call.subresource,
            namespace: call.namespace,
            name: call.name,
            user: call.user,
            dry_run: call.query.all("dryRun").next().is_some(),
        }
    }

    fn request(
        &self,
        options: &'a Value,
        old: Option<&'a Value>,
        object: Option<&'a Value>,
    ) -> AdmissionRequest<'a> {
        let facts = &self.served.facts;
        // A create may name its object in the body only.
        let name = match (self.name, object) {
            ("", Some(object)) => text(object, &["metadata", "name"]),
            (name, _) => name,
        };
        let is_namespace = self.served.is(|kind| kind.is_namespace);
        AdmissionRequest {
            operation: self.operation,
            kind: self.kind,
            group: &facts.group,
            version: &facts.version,
            resource: &facts.plural,
            subresource: self.subresource,
            namespace: if is_namespace { name } else { self.namespace },
            name,
            user: self.user,
            options,
            dry_run: self.dry_run,
            old,
            object,
        }
    }
}

impl Core {
    /// Lets the plugins and webhooks change the object of a request, or refuse it. Returns whether they changed it.
    pub(super) async fn mutate(
        &self,
        subject: &Subject<'_>,
        options: &Value,
        pending: &mut Pending<'_>,
    ) -> Result<bool, Failure> {
        let (old, object) = (pending.old(), Some(pending.object()));
        let made = self
            .run(AdmissionPhase::Mutate, subject, options, old, object)
            .await;
        let Admitted {
            object, warnings, ..
        } = made.map_err(|denial| refused(pending.warnings(), denial))?;
        let is_changed = object.is_some();
        match object {
            Some(object) => pending.admit(object, warnings),
            None => pending.warn(warnings),
        }
        Ok(is_changed)
    }

    /// Asks the plugins and webhooks whether they refuse the outcome of a request.
    pub(super) async fn validate(
        &self,
        subject: &Subject<'_>,
        options: &Value,
        old: Option<&Value>,
        outcome: &mut Outcome,
    ) -> Result<(), Failure> {
        // A new claim gets its phase when it is read.
        let shown = match old {
            None if &*subject.served.facts.plural == "persistentvolumeclaims" => {
                &with(outcome.validated(), "status", map([]))
            }
            _ => outcome.validated(),
        };
        let made = self
            .run(AdmissionPhase::Validate, subject, options, old, Some(shown))
            .await;
        let made = made.map_err(|denial| refused(&outcome.warnings, denial))?;
        add_warnings(&mut outcome.warnings, made.warnings);
        Ok(())
    }

    /// Both phases for an object that is not stored, such as a review, with a check between them.
    pub(super) async fn admit_question(
        &self,
        call: &Call<'_>,
        handlers: &fieldmanager_handlers::Resource,
        mut outcome: Outcome,
        check: impl FnOnce(&Value) -> Result<(), Failure>,
    ) -> Result<Outcome, Failure> {
        let subject = Subject::of(call, handlers.kind(), true);
        let options = write_options(call, true);
        let made = self
            .run(
                AdmissionPhase::Mutate,
                &subject,
                &options,
                None,
                Some(&outcome.object),
            )
            .await;
        let made = made.map_err(|denial| refused(&outcome.warnings, denial))?;
        add_warnings(&mut outcome.warnings, made.warnings);
        if let Some(object) = made.object {
            let decoded = handlers.decoded(Subresource::Object, &object);
            outcome.object = decoded.map_err(internal)?;
        }
        // The options of an eviction are dry if the request is.
        if let (Some(deletion), Some(dry_run)) =
            (outcome.object.get("deleteOptions"), options.get("dryRun"))
            && !has_items(deletion, &["dryRun"])
        {
            let deletion = with(deletion, "dryRun", dry_run.clone());
            outcome.object = with(&outcome.object, "deleteOptions", deletion);
        }
        check(&outcome.object).map_err(|failure| refused(&outcome.warnings, failure))?;
        self.validate(&subject, &options, None, &mut outcome)
            .await?;
        Ok(outcome)
    }

    /// Both phases of a deletion. Returns warnings.
    pub(super) async fn admit_deletion(
        &self,
        subject: &Subject<'_>,
        options: &Value,
        live: &Value,
    ) -> Result<Vec<String>, Failure> {
        let mut warnings = Vec::new();
        for phase in [AdmissionPhase::Mutate, AdmissionPhase::Validate] {
            let made = self.run(phase, subject, options, Some(live), None).await;
            add_warnings(&mut warnings, made?.warnings);
        }
        Ok(warnings)
    }

    /// Asks the participants one after the other, each with what those before it made of the object.
    async fn run(
        &self,
        phase: AdmissionPhase,
        subject: &Subject<'_>,
        options: &Value,
        old: Option<&Value>,
        object: Option<&Value>,
    ) -> Result<Admitted, Denial> {
        let request = subject.request(options, old, object);
        let all = self.participants.all();
        let answer = match phase {
            AdmissionPhase::Mutate => mutate(all, request, self).await,
            AdmissionPhase::Validate => validate(all, request, self).await,
        };
        let (mut effects, annotations) = match &answer {
            Ok(admitted) => (admitted.effects.clone(), &admitted.annotations),
            Err(denial) => {
                let refused = format!("{} refused the request", denial.by);
                (vec![refused], &denial.annotations)
            }
        };
        if !(effects.is_empty() && annotations.is_empty()) {
            note(|entry| {
                entry.admission.append(&mut effects);
                entry.annotate(annotations);
            });
        }
        answer
    }

    /// Writes the status of an object, as the server's own client does.
    pub(super) async fn put_status(
        &self,
        served: &Arc<Served>,
        object: &Value,
    ) -> Result<(), Failure> {
        let how = (Verb::Update, Query::default(), "application/json");
        self.write_status(served, how, object).await
    }

    /// Writes the status of an object with a method, parameters and a type of content.
    pub(super) async fn write_status(
        &self,
        served: &Arc<Served>,
        how: (Verb, Query, &str),
        object: &Value,
    ) -> Result<(), Failure> {
        let body = object.to_json();
        self.write_itself(served, how, "status", object, body.as_bytes())
            .await
    }

    /// Writes an object, or a subresource of it, as the server itself.
    pub(super) async fn write_itself(
        &self,
        served: &Arc<Served>,
        (verb, query, content_type): (Verb, Query, &str),
        subresource: &str,
        object: &Value,
        body: &[u8],
    ) -> Result<(), Failure> {
        let own = |name| text(object, &["metadata", name]);
        let call = Call {
            user: &ITSELF,
            served,
            verb,
            namespace: own("namespace"),
            name: own("name"),
            subresource,
            query: &query,
            content_type,
            user_agent: "kube-apiserver",
            body,
            stale: None,
        };
        self.change(&call).await.map(|_| ())
    }
}

impl Cluster for Core {
    fn observe(&self, observation: &Observation<'_>) {
        self.admission_metrics.observe(observation);
    }

    fn get<'a>(
        &'a self,
        (group, plural): ResourceName<'a>,
        namespace: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<Value>, Denial>> {
        Box::pin(async move {
            let registry = self.registry();
            let Some(served) = registry.stored_as(group, plural) else {
                return Ok(None);
            };
            let key = served.key(namespace, name).map_err(Failure::from)?;
            let read = self.objects(served).get(&key, None).await;
            let read = read.map_err(Failure::of_read)?;
            Ok(read.entry.map(|entry| served.read(&entry)))
        })
    }

    fn namespace_labels<'a>(
        &'a self,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<Value>, Denial>> {
        Box::pin(async move {
            let key = Key::new("", "namespaces", None, name).map_err(Failure::from)?;
            let read = self.store.get(&key, None).await;
            let found = read.map_err(Failure::of_read)?.entry;
            let labels = |entry: &Entry| metadata(&entry.object, "labels").cloned();
            Ok(found.map(|entry| labels(&entry).unwrap_or_default()))
        })
    }

    fn list<'a>(
        &'a self,
        (group, plural): ResourceName<'a>,
        namespace: &'a str,
    ) -> BoxFuture<'a, Result<Arc<Vec<Value>>, Denial>> {
        Box::pin(async move {
            if let Some(known) = self.lists.known((group, plural), namespace) {
                return Ok(known);
            }
            let registry = self.registry();
            match registry.stored_as(group, plural) {
                Some(served) => {
                    let objects = self.objects(served);
                    Ok(self.lists.list(&objects, served, namespace).await?)
                }
                None => Ok(Arc::default()),
            }
        })
    }

    fn update_status<'a>(
        &'a self,
        (group, plural): ResourceName<'a>,
        object: Value,
    ) -> BoxFuture<'a, Result<bool, Denial>> {
        Box::pin(async move {
            let registry = self.registry();
            let served = registry.stored_as(group, plural);
            let served = served.ok_or_else(Failure::resource_not_found)?;
            match self.put_status(served, &object).await {
                Ok(()) => Ok(true),
                Err(failure) if matches!(failure.status.code, 404 | 409) => Ok(false),
                Err(failure) => Err(failure.into()),
            }
        })
    }

    fn authorize<'a>(
        &'a self,
        question: Attributes<'a>,
    ) -> BoxFuture<'a, Result<Decision, Denial>> {
        Box::pin(async move { Ok(self.decide(&question).await?) })
    }

    fn equivalents(&self, request: &AdmissionRequest<'_>) -> Vec<Equivalent> {
        let registry = self.registry();
        let Some(served) = registry.get(request.group, request.version, request.resource) else {
            return Vec::new();
        };
        let others = registry.all_stored_as(served.storage_group(), &served.facts.plural);
        let others = others.iter().filter(|other| {
            other.kind() != served.kind() && other.supports_subresource(request.subresource)
        });
        let equivalents = others.map(|other| Equivalent {
            group: other.facts.group.to_string(),
            version: other.facts.version.to_string(),
            resource: other.facts.plural.to_string(),
            // The kind of a subresource, such as `Scale`, is the same for all versions.
            kind: if request.kind == served.kind() {
                other.kind().clone()
            } else {
                request.kind.clone()
            },
        });
        equivalents.collect()
    }

    fn resource_of(&self, kind: &GroupVersionKind) -> Option<(String, bool)> {
        let registry = self.registry();
        let served = registry.of_kind(kind)?;
        Some((served.facts.plural.to_string(), served.facts.namespaced))
    }

    fn convert<'a>(
        &'a self,
        object: Value,
        kind: &'a GroupVersionKind,
    ) -> BoxFuture<'a, Result<Value, Denial>> {
        Box::pin(async move {
            let registry = self.registry();
            let Some(served) = registry.of_kind(kind) else {
                return Ok(object);
            };
            let from = object.declared_kind();
            if !served.is_builtin() && from.group != kind.group {
                let to = kind.api_version().to_string();
                let text =
                    format!("{from} is unstructured and is not suitable for converting to {to:?}");
                return Err(Failure::new(500, "", text).into());
            }
            let has_generation = metadata(&object, "generation").is_some();
            let object = self.object_at(served, object).await?;
            // A custom resource keeps the fields that its schema does not have until it is stored.
            if !served.is_builtin() {
                return Ok(with(&object, "apiVersion", kind.api_version().to_string()));
            }
            let handlers = served.handlers().map_err(internal)?;
            // What is read has a generation, and what is created none.
            match handlers.read(&object) {
                read if has_generation => Ok(read),
                read => Ok(with_metadata(&read, "generation", None)),
            }
        })
    }

    fn merge(
        &self,
        kind: &GroupVersionKind,
        object: &Value,
        configuration: &Value,
    ) -> Result<Value, String> {
        let registry = self.registry();
        match registry.of_kind(kind) {
            Some(served) => served.handlers()?.merged(object, configuration),
            // The kind of a subresource, such as `Scale`.
            None => Err(format!(
                "error applying patch: failed to convert patch object to typed object: no corresponding type for {kind}"
            )),
        }
    }

    fn decoded_strictly(
        &self,
        request: &AdmissionRequest<'_>,
        kind: &GroupVersionKind,
        object: Value,
    ) -> Result<Value, Denial> {
        let registry = self.registry();
        if let Some(served) = registry.of_kind(kind)
            && served.is_builtin()
        {
            let fault = |cause: String| internal(cause.clone()).cause("", &cause, "");
            let handlers = served.handlers().map_err(internal)?;
            let unknown = handlers.unknown_fields(&object).map_err(fault)?;
            if !unknown.is_empty() {
                let cause = format!("strict decoding error: {}", unknown.join(", "));
                return Err(fault(cause).into());
            }
        }
        self.defaulted(request, kind, object)
    }

    fn defaulted(
        &self,
        request: &AdmissionRequest<'_>,
        kind: &GroupVersionKind,
        object: Value,
    ) -> Result<Value, Denial> {
        let registry = self.registry();
        let served = registry.of_kind(kind);
        let fault = |cause: String| internal(cause.clone()).cause("", &cause, "");
        let (found, version) = (text(&object, &["kind"]), text(&object, &["apiVersion"]));
        // The Scale of a custom resource is unstructured, as that itself.
        let owner =
            served.or_else(|| registry.get(request.group, request.version, request.resource));
        let is_builtin = owner.is_none_or(|owner| owner.is_builtin());
        if is_builtin && !found.is_empty() && found != kind.kind.as_str() {
            let scheme = "scheme \"pkg/runtime/scheme.go:111\"";
            let cause =
                format!("no kind {found:?} is registered for version {version:?} in {scheme}");
            return Err(fault(cause).into());
        }
        if !is_builtin && found.is_empty() {
            let text = object.to_json();
            return Err(fault(format!("Object 'Kind' is missing in '{text}'")).into());
        }
        // Scales and other bodies of actions are no resources.
        let Some(served) = served else {
            return Ok(object);
        };
        let handlers = served.handlers().map_err(internal)?;
        let decoded = handlers.decoded(Subresource::Object, &object);
        let decoded = decoded.map_err(fault)?;
        // A custom resource keeps the fields that its schema does not have until it is stored.
        if served.is_builtin() {
            Ok(decoded)
        } else {
            Ok(handlers.defaulted(&object))
        }
    }
}

/// The options of a request that writes, as admission sees them: those of the operation, whatever method the client used.
pub(super) fn write_options(call: &Call<'_>, creates: bool) -> Value {
    let kind = if creates {
        "CreateOptions"
    } else {
        "UpdateOptions"
    };
    let dry_run = call.query.all("dryRun").map(Value::from);
    let given = ["fieldManager", "fieldValidation"].map(|name| (name, call.query.text(name)));
    let given = given.into_iter().filter(|(_, text)| !text.is_empty());
    let given = given.map(|(name, text)| (name, Value::from(text)));
    let options = map([
        ("kind", kind.into()),
        ("apiVersion", "meta.k8s.io/v1".into()),
    ]
    .into_iter()
    .chain(given));
    match dry_run.collect::<fieldmanager_value::List>() {
        list if list.is_empty() => options,
        list => with(&options, "dryRun", Value::List(list)),
    }
}

/// Adds the warnings that are not among those before.
pub(super) fn add_warnings(warnings: &mut Vec<String>, more: Vec<String>) {
    for warning in more {
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
}

/// The failure of a request, with the warnings that it had before.
pub(super) fn refused(warnings: &[String], reason: impl Into<Failure>) -> Failure {
    let mut failure = reason.into();
    let own = std::mem::replace(&mut failure.warnings, warnings.to_vec());
    add_warnings(&mut failure.warnings, own);
    failure
}
