//! `DELETE` of objects and of collections.

use fieldmanager_handlers::internal::Media;
use fieldmanager_managedfields::{Status, Time};
use fieldmanager_structural::{FieldError, FieldPath, GroupVersionKind};
use fieldmanager_value::{List, Value};

use super::failure::Unwritten;
use super::lifecycle::deleted_definition;
use super::{Answer, Call, Content, Core, Failure, with_warning};
use crate::collector::Propagation;
use crate::object::{
    FOREGROUND, ORPHAN, at_revision, finalizers, has_items, is_terminating, map, metadata, text, with,
    with_field, with_metadata,
};
use crate::query::Query;
use crate::registry::Served;
use crate::store::{Entry, Write};

/// The kinds whose deletion answers with the object instead of a `Status`.
const RETURNED: [(&str, &[&str]); 4] = [
    (
        "",
        &[
            "Pod",
            "Service",
            "ServiceAccount",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "Namespace",
            "ResourceQuota",
            "PodTemplate",
        ],
    ),
    (
        "resource.k8s.io",
        &["DeviceClass", "DeviceTaintRule", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"],
    ),
    (
        "storage.k8s.io",
        &["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"],
    ),
    ("certificates.k8s.io", &[]),
];

/// The warning of a deletion of Jobs that does not say what happens to their Pods.
const ORPHANED_PODS: &str = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove \
                             them or set propagationPolicy=Orphan to suppress this warning";

/// The namespaces that cannot be deleted.
const PERMANENT: [&str; 3] = ["default", "kube-system", "kube-public"];

/// 9999-12-31T23:59:59Z, the last time that an object can have.
const LAST_SECOND: i64 = 253_402_300_799;

/// The options of a deletion.
#[derive(Clone, Debug, Default)]
struct Options {
    grace: Option<i64>,
    uid: Option<String>,
    resource_version: Option<String>,
    propagation: Option<Propagation>,
    /// `orphanDependents: false`, which makes the answer 202 while dependents remain.
    is_cascading: bool,
    dry_run: bool,
}

/// The effect of a deletion on one object.
enum Step {
    /// The object waits for finalizers or for its grace period.
    Mark(Value),
    /// The object waits already, and the request changes nothing.
    Nothing,
    /// The grace period is over at once: the object is marked, then it ends.
    End(Value),
    Remove,
}

/// The outcome of a deletion.
enum Progress {
    /// The object waits for finalizers or for its grace period.
    Waits,
    /// The object no longer exists.
    Removed,
}

impl Core {
    pub(super) async fn delete(&self, call: &Call<'_>) -> Result<Answer, Failure> {
        let options = Options::of(call)?;
        options.warned(call, self.delete_named(call, &options).await)
    }

    /// Deletes the object of a request with `DeleteOptions` that are a part of its body.
    pub(super) async fn delete_by(&self, call: &Call<'_>, options: &Value) -> Result<Answer, Failure> {
        self.delete_named(call, &Options::read(options, call.query)?).await
    }

    async fn delete_named(&self, call: &Call<'_>, options: &Options) -> Result<Answer, Failure> {
        let key = call.served.key(call.namespace, call.name)?;
        let mut entry = self.store.get(&key, None).await?.entry;
        loop {
            let Some(live) = &entry else { return Err(Failure::not_found(call)) };
            match self.delete_entry(call.served, live, options).await {
                Err(Unwritten::Overtaken(current)) => entry = current,
                Err(Unwritten::Failed(failure)) => return Err(failure),
                Ok(answer) => return Ok(answer),
            }
        }
    }

    /// Deletes one stored object, or marks it as terminating, and does what follows from that.
    async fn delete_entry(
        &self,
        served: &Served,
        entry: &Entry,
        options: &Options,
    ) -> Result<Answer, Unwritten> {
        let (answer, progress) = self.delete_object(served, entry, options).await?;
        match progress {
            _ if options.dry_run => {}
            Progress::Waits => self.marked(served, &entry.key).await?,
            Progress::Removed => self.removed(served, &entry.object).await?,
        }
        Ok(answer)
    }

    /// Deletes one stored object, or marks it as terminating, and nothing else.
    async fn delete_object(
        &self,
        served: &Served,
        entry: &Entry,
        options: &Options,
    ) -> Result<(Answer, Progress), Unwritten> {
        let live = served.read(entry);
        options.check(served, &live)?;
        let is_namespace = served.kind().kind == "Namespace" && served.facts.group.is_empty();
        let name = text(&live, &["metadata", "name"]);
        if is_namespace && PERMANENT.contains(&name) {
            return Err(forbidden_namespace(name).into());
        }

        // What happens to the object.
        let now = self.source.now();
        let step = match served.is_definition() && !is_terminating(&live) {
            true => Step::Mark(deleted_definition(&live, &now.to_string())),
            false => options.step(served, &live, now),
        };
        let progress = match step {
            // The consequences of an earlier deletion may have failed.
            Step::Mark(_) | Step::Nothing => Progress::Waits,
            Step::End(_) | Step::Remove => Progress::Removed,
        };
        let is_accepted = options.is_cascading && !options.dry_run && matches!(step, Step::Mark(_));
        let code = if is_accepted { 202 } else { 200 };

        // The object after it.
        let (key, expected) = (&entry.key, entry.revision);
        let update = |object: &Value| Write::Update { expected, object: served.to_stored(object) };
        let object = match step {
            Step::Mark(marked) if options.dry_run => marked,
            _ if options.dry_run => live.clone(),
            Step::Nothing => live.clone(),
            Step::Mark(marked) => at_revision(&marked, self.store.write(key, update(&marked)).await?),
            Step::End(marked) => {
                let expected = self.store.write(key, update(&marked)).await?;
                at_revision(&marked, self.store.write(key, Write::Delete { expected }).await?)
            }
            Step::Remove => at_revision(&live, self.store.write(key, Write::Delete { expected }).await?),
        };
        let content = match progress {
            Progress::Removed if !is_returned(served) => Content::Status(deleted(served, &live)),
            _ => Content::Object(object),
        };
        Ok((Answer { code, warnings: Vec::new(), content }, progress))
    }

    pub(super) async fn delete_collection(&self, call: &Call<'_>) -> Result<Answer, Failure> {
        let options = Options::of(call)?;
        let deleted = self.delete_selected(call, &options).await;
        options.warned(call, deleted)
    }

    async fn delete_selected(&self, call: &Call<'_>, options: &Options) -> Result<Answer, Failure> {
        let (entries, revision) = self.selected(call).await?;
        let mut items = Vec::new();
        for entry in entries {
            let mut current = Some(entry);
            while let Some(live) = current.take() {
                match self.delete_entry(call.served, &live, options).await {
                    Ok(_) => items.push(call.served.read(&live)),
                    Err(Unwritten::Overtaken(newer)) => current = newer,
                    Err(Unwritten::Failed(failure)) => return Err(failure),
                }
            }
        }
        let listed = super::Listed { items, revision, next: String::new(), remaining: None };
        Ok(Answer { code: 200, warnings: Vec::new(), content: Content::List(listed) })
    }

    /// Deletes an object that is at the revision of the entry, as a request with this propagation policy does.
    pub(crate) async fn collect(
        &self,
        served: &Served,
        entry: &Entry,
        propagation: Propagation,
    ) -> Result<(), Unwritten> {
        let options = Options { propagation: Some(propagation), ..Options::default() };
        self.delete_entry(served, entry, &options).await.map(|_| ())
    }

    /// Deletes an object of a definition that ends. The caller looks whether it was the last one.
    pub(super) async fn delete_instance(&self, served: &Served, entry: Entry) -> Result<(), Failure> {
        let options = Options { propagation: Some(Propagation::Background), ..Options::default() };
        let mut current = Some(entry);
        while let Some(entry) = current {
            current = match self.delete_object(served, &entry, &options).await {
                Err(Unwritten::Overtaken(newer)) => newer,
                Err(Unwritten::Failed(failure)) => return Err(failure),
                Ok(_) => None,
            };
        }
        Ok(())
    }
}

impl Options {
    /// The options of the body, or else of the query.
    fn of(call: &Call<'_>) -> Result<Self, Failure> {
        let kind = GroupVersionKind::new("meta.k8s.io", "v1", "DeleteOptions");
        let body = if call.body.is_empty() { Value::Null } else { read_body(call, &kind)? };
        Self::read(&body, call.query)
    }

    fn read(body: &Value, query: &Query) -> Result<Self, Failure> {
        // A field of the body precedes a parameter of the query.
        let own = |name: &str| body.get(name).filter(|value| !value.is_null());
        let grace = match own("gracePeriodSeconds") {
            Some(value) => value.as_i64(),
            None => query.number("gracePeriodSeconds")?,
        };
        let orphan =
            own("orphanDependents").and_then(Value::as_bool).or(query.optional_flag("orphanDependents"));
        let policy = own("propagationPolicy").and_then(Value::as_str).or(query.get("propagationPolicy"));

        // The policy is named, or an old client says whether dependents are orphans.
        let mut errors = Vec::new();
        if policy.is_some() && orphan.is_some() {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            errors.push(FieldError::invalid(
                FieldPath::root("propagationPolicy"),
                policy.unwrap_or_default(),
                detail,
            ));
        }
        let propagation = match (policy, orphan) {
            (Some("Background"), _) => Some(Propagation::Background),
            (Some("Foreground"), _) => Some(Propagation::Foreground),
            (Some("Orphan"), _) | (None, Some(true)) => Some(Propagation::Orphan),
            (None, Some(false)) => Some(Propagation::Background),
            (None, None) => None,
            (Some(other), _) => {
                let accepted = ["Background", "Foreground", "Orphan"];
                errors.push(FieldError::not_supported(
                    FieldPath::root("propagationPolicy"),
                    other,
                    &accepted,
                ));
                None
            }
        };

        let dry_run: Vec<&str> = match own("dryRun").and_then(Value::as_list) {
            Some(list) => list.iter().filter_map(Value::as_str).collect(),
            None => query.all("dryRun").collect(),
        };
        if dry_run.iter().any(|value| *value != "All") {
            errors.push(FieldError::not_supported(FieldPath::root("dryRun"), dry_run.clone(), &["All"]));
        }
        if !errors.is_empty() {
            let kind = GroupVersionKind::new("meta.k8s.io", "", "DeleteOptions");
            return Err(Status::invalid(&kind, "", &errors).into());
        }

        let precondition = |name: &str| {
            Some(text(own("preconditions")?, &[name]).to_owned()).filter(|text| !text.is_empty())
        };
        Ok(Options {
            grace,
            uid: precondition("uid"),
            resource_version: precondition("resourceVersion"),
            propagation,
            is_cascading: orphan == Some(false),
            dry_run: !dry_run.is_empty(),
        })
    }

    /// An answer with the warning about what happens to dependents by default.
    fn warned(&self, call: &Call<'_>, answer: Result<Answer, Failure>) -> Result<Answer, Failure> {
        let facts = &call.served.facts;
        let is_job = call.served.is_builtin() && facts.group == "batch" && facts.kind == "Job";
        match is_job && self.propagation.is_none() {
            true => with_warning(answer, ORPHANED_PODS),
            false => answer,
        }
    }

    /// The preconditions.
    fn check(&self, served: &Served, live: &Value) -> Result<(), Failure> {
        let failed = |what: &str, wanted: &str, found: &str, since: &str| {
            let name = text(live, &["metadata", "name"]);
            let message = format!(
                "Operation cannot be fulfilled on {} {name:?}: the {what} in the precondition ({wanted}) does not match \
                 the {what} in record ({found}). The object might have been {since}",
                served.group_kind(),
            );
            Failure::about(409, "Conflict", (&served.facts.group, &served.facts.kind, name), message)
        };
        let own = text(live, &["metadata", "uid"]);
        if let Some(uid) = self.uid.as_deref().filter(|uid| *uid != own) {
            return Err(failed("UID", uid, own, "deleted and then recreated"));
        }
        let own = text(live, &["metadata", "resourceVersion"]);
        if let Some(version) = self.resource_version.as_deref().filter(|version| *version != own) {
            return Err(failed("ResourceVersion", version, own, "modified"));
        }
        Ok(())
    }

    /// The effect of the deletion on an object.
    ///
    /// Behaviour: `BeforeDelete` of `k8s.io/apiserver/pkg/registry/rest`, and `Delete` of the generic registry.
    fn step(&self, served: &Served, live: &Value, now: Time) -> Step {
        let finalizers: Vec<&str> = finalizers(live).collect();
        let wanted = self.finalizers(served, &finalizers);
        let changed = wanted != finalizers;
        let terminating = metadata(live, "deletionTimestamp")
            .and_then(Value::as_str)
            .and_then(|time| time.parse::<Time>().ok());
        let own_grace =
            metadata(live, "deletionGracePeriodSeconds").and_then(Value::as_i64).unwrap_or_default();
        let pending_namespace = served.is_builtin()
            && served.kind().kind == "Namespace"
            && has_items(live, &["spec", "finalizers"]);
        let grace = self.grace(served, live).map(|grace| grace.min(LAST_SECOND - now.unix_seconds()));

        let mut object = live.clone();
        if changed {
            let list: List = wanted.iter().map(|name| Value::from(*name)).collect();
            object = with_metadata(&object, "finalizers", (!wanted.is_empty()).then(|| Value::List(list)));
        }
        match terminating {
            Some(ends) if own_grace > 0 => {
                // A grace period can only become shorter.
                let Some(shorter) = grace.filter(|grace| *grace < own_grace) else { return Step::Nothing };
                let begun = ends.unix_seconds() - own_grace;
                let marked = terminating_at(&object, begun + shorter, shorter, false);
                return if shorter == 0 && wanted.is_empty() {
                    Step::End(marked)
                } else {
                    Step::Mark(marked)
                };
            }
            Some(_) if changed && !wanted.is_empty() => return Step::Mark(object),
            Some(_) if wanted.is_empty() && !pending_namespace => return Step::Remove,
            Some(_) => return Step::Nothing,
            None => {}
        }
        let has_grace = grace.is_some();
        let grace = grace.unwrap_or_default();
        if grace == 0 && wanted.is_empty() && !pending_namespace {
            return match has_grace {
                true => Step::End(terminating_at(&object, now.unix_seconds(), 0, true)),
                false => Step::Remove,
            };
        }
        // The generation of a namespace, which only a client sets, stays as it is.
        let mut object = terminating_at(&object, now.unix_seconds() + grace, grace, !pending_namespace);
        if pending_namespace {
            object = with_field(&object, "status", "phase", Value::from("Terminating"));
            object = with_metadata(&object, "deletionGracePeriodSeconds", None);
        }
        Step::Mark(object)
    }

    /// The grace period of a kind that has one; `None` for other kinds.
    fn grace(&self, served: &Served, live: &Value) -> Option<i64> {
        if !(served.is_builtin() && served.facts.group.is_empty() && served.kind().kind == "Pod") {
            return None;
        }
        let own = live
            .get("spec")
            .and_then(|spec| spec.get("terminationGracePeriodSeconds"))
            .and_then(Value::as_i64);
        let grace = self.grace.or(own).unwrap_or(30);
        let ended = ["Failed", "Succeeded"].contains(&text(live, &["status", "phase"]));
        Some(match text(live, &["spec", "nodeName"]).is_empty() || ended {
            true => 0,
            false if grace < 0 => 1,
            false => grace,
        })
    }

    /// The finalizers after the request.
    ///
    /// Behaviour: `deletionFinalizersForGarbageCollection` of the generic registry.
    fn finalizers<'v>(&self, served: &Served, own: &[&'v str]) -> Vec<&'v str> {
        let default = if orphans_by_default(served) { Propagation::Orphan } else { Propagation::Background };
        let propagation = match self.propagation {
            Some(propagation) => propagation,
            None if own.contains(&ORPHAN) => Propagation::Orphan,
            None if own.contains(&FOREGROUND) => Propagation::Foreground,
            None => default,
        };
        let mut wanted: Vec<&str> =
            own.iter().copied().filter(|name| ![ORPHAN, FOREGROUND].contains(name)).collect();
        match propagation {
            Propagation::Orphan => wanted.push(ORPHAN),
            Propagation::Foreground => wanted.push(FOREGROUND),
            Propagation::Background => {}
        }
        if wanted.len() == own.len() && own.iter().all(|name| wanted.contains(name)) {
            own.to_vec()
        } else {
            wanted
        }
    }
}

/// Whether the answer to a deletion is the object.
fn is_returned(served: &Served) -> bool {
    let is_own = |(group, kinds): &(&str, &[&str])| {
        served.facts.group == **group && kinds.contains(&served.facts.kind.as_str())
    };
    served.is_builtin() && RETURNED.iter().any(is_own)
}

/// Whether the dependents of a kind remain unless the request says otherwise.
fn orphans_by_default(served: &Served) -> bool {
    let kind = (served.facts.group.as_str(), served.facts.kind.as_str());
    served.is_builtin() && [("", "ReplicationController"), ("batch", "Job")].contains(&kind)
}

/// The object, terminating at a time.
fn terminating_at(object: &Value, ends: i64, grace: i64, raise_generation: bool) -> Value {
    let time = Time::from_unix_seconds(ends).map(|time| Value::from(time.to_string().as_str())).ok();
    let object = with_metadata(object, "deletionTimestamp", time);
    let object = with_metadata(&object, "deletionGracePeriodSeconds", Some(Value::Int(grace)));
    let generation = metadata(&object, "generation").and_then(Value::as_i64);
    match generation.filter(|generation| raise_generation && *generation > 0) {
        Some(generation) => with_metadata(&object, "generation", Some(Value::Int(generation + 1))),
        None => object,
    }
}

/// A body that is not an object to store: the options of a deletion, a review, a binding. In protobuf, a body that names no
/// kind has the given one.
pub(super) fn read_body(call: &Call<'_>, kind: &GroupVersionKind) -> Result<Value, Failure> {
    let malformed = |message: String| Failure::new(400, "BadRequest", message);
    let text = || std::str::from_utf8(call.body).map_err(|error| malformed(error.to_string()));
    match Media::of(call.content_type, true)? {
        Media::Json => Value::from_json(text()?).map_err(|error| malformed(error.to_string())),
        Media::Yaml => Value::from_yaml(text()?).map_err(|error| malformed(error.to_string())),
        Media::Protobuf => {
            fieldmanager_builtin::from_protobuf(call.body, kind).map_err(|error| malformed(error.to_string()))
        }
    }
}

fn forbidden_namespace(name: &str) -> Failure {
    let message = format!("namespaces {name:?} is forbidden: this namespace may not be deleted");
    Failure::about(403, "Forbidden", ("", "namespaces", name), message)
}

/// A `Status` of success.
pub(super) fn success() -> Value {
    map([
        ("kind", "Status".into()),
        ("apiVersion", "v1".into()),
        ("metadata", map([])),
        ("status", "Success".into()),
    ])
}

/// The answer to a deletion that is complete.
fn deleted(served: &Served, object: &Value) -> Value {
    let details = [
        ("name", text(object, &["metadata", "name"])),
        ("group", served.facts.group.as_str()),
        ("kind", served.facts.plural.as_str()),
        ("uid", text(object, &["metadata", "uid"])),
    ];
    let details = details.into_iter().filter(|(_, text)| !text.is_empty());
    with(&success(), "details", map(details.map(|(name, text)| (name, text.into()))))
}
