//! The options of a deletion, and what they do to an object.

use std::sync::Arc;

use fieldmanager_access::User;
use fieldmanager_handlers::internal::read_delete_options;
use fieldmanager_managedfields::{Status, Time};
use fieldmanager_structural::{FieldError, FieldPath, GroupVersionKind};
use fieldmanager_value::{List, Value};

use super::{Answer, Call, Failure, with_warning};
use crate::collector::Propagation;
use crate::object::{
    FOREGROUND, ORPHAN, finalizers, has_items, is_terminating, map, metadata, text, with_field,
    with_metadata,
};
use crate::query::Query;
use crate::registry::Served;

/// 9999-12-31T23:59:59Z, the last time that an object can have.
const LAST_SECOND: i64 = 253_402_300_799;

/// The option that deletes an object only if it cannot be read.
const UNSAFE: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";

/// The options of a deletion.
#[derive(Clone, Debug, Default)]
pub(super) struct DeleteOptions {
    pub(super) grace: Option<i64>,
    pub(super) uid: Option<String>,
    pub(super) resource_version: Option<String>,
    pub(super) propagation: Option<Propagation>,
    /// `orphanDependents`; false makes the answer 202 while dependents remain.
    pub(super) orphan: Option<bool>,
    pub(super) dry_run: bool,
    /// Whether only an object that cannot be read is deleted.
    pub(super) is_unsafe: bool,
    /// Whether the object is one of a collection.
    pub(super) is_one_of_many: bool,
    /// Whose deletion it is, if admission is asked.
    pub(super) user: Option<Arc<User>>,
}

/// The effect of a deletion on one object.
pub(super) enum DeletionEffect {
    /// The object waits for finalizers or for its grace period.
    Mark(Value),
    /// The object waits already, and the request changes nothing.
    Nothing,
    /// The grace period is over at once: the object is marked, then it ends.
    End(Value),
    Remove,
}

impl DeleteOptions {
    pub(super) fn of_propagation(propagation: Propagation) -> Self {
        DeleteOptions {
            propagation: Some(propagation),
            ..DeleteOptions::default()
        }
    }

    /// The options of the body, or, without one, of the query.
    pub(super) fn of(call: &Call<'_>) -> Result<Self, Failure> {
        let options = if call.body.is_empty() {
            in_query(call.query)?
        } else {
            read_delete_options(call.content_type, call.body)?
        };
        Ok(DeleteOptions {
            user: Some(Arc::new(call.user.clone())),
            ..Self::read(&options)?
        })
    }

    /// The options as admission sees them: with the grace period of the object, if they are about one only.
    pub(super) fn object(&self, served: &Served, live: &Value) -> Value {
        let is_given = self.is_one_of_many || is_terminating(live);
        // Go fills in the grace period of the object before it asks, and forgets it for the next object of a collection.
        let own_grace = self.grace(served, live).filter(|_| !is_given);

        let preconditions = [
            ("uid", &self.uid),
            ("resourceVersion", &self.resource_version),
        ];
        let preconditions = preconditions.into_iter();
        let preconditions =
            preconditions.filter_map(|(name, text)| Some((name, text.as_deref()?.into())));
        let preconditions = map(preconditions);
        let has_preconditions = preconditions.as_map().is_some_and(|map| !map.is_empty());

        let policy = self.propagation.filter(|_| self.orphan.is_none());
        let policy = policy.map(|propagation| match propagation {
            Propagation::Background => "Background",
            Propagation::Foreground => "Foreground",
            Propagation::Orphan => "Orphan",
        });
        let dry_run = || Value::List(["All".into()].into_iter().collect());
        let fields = [
            ("kind", Some("DeleteOptions".into())),
            ("apiVersion", Some("meta.k8s.io/v1".into())),
            (
                "gracePeriodSeconds",
                own_grace.or(self.grace).map(Value::Int),
            ),
            ("preconditions", has_preconditions.then_some(preconditions)),
            ("orphanDependents", self.orphan.map(Value::from)),
            ("propagationPolicy", policy.map(Value::from)),
            ("dryRun", self.dry_run.then(dry_run)),
        ];
        map(fields
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?))))
    }

    pub(super) fn read(options: &Value) -> Result<Self, Failure> {
        let own = |name: &str| options.get(name).filter(|value| !value.is_null());
        let grace = own("gracePeriodSeconds").and_then(Value::as_i64);
        let orphan = own("orphanDependents").and_then(Value::as_bool);
        let policy = own("propagationPolicy").and_then(Value::as_str);

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
                let accepted = ["Foreground", "Background", "Orphan", "nil"];
                errors.push(FieldError::not_supported(
                    FieldPath::root("propagationPolicy"),
                    other,
                    &accepted,
                ));
                None
            }
        };

        // An unknown value is refused: a server that ignored it would delete the object.
        let dry_run = own("dryRun").and_then(Value::as_list).into_iter().flatten();
        let dry_run: Vec<&str> = dry_run.filter_map(Value::as_str).collect();
        if dry_run.iter().any(|value| *value != "All") {
            errors.push(FieldError::not_supported(
                FieldPath::root("dryRun"),
                dry_run.clone(),
                &["All"],
            ));
        }

        let is_unsafe = own(UNSAFE).and_then(Value::as_bool) == Some(true);
        if is_unsafe {
            errors.extend(beside_unsafe(options));
        }
        if !errors.is_empty() {
            return Err(invalid_options(&errors));
        }

        let precondition = |name: &str| {
            Some(text(own("preconditions")?, &[name]).to_owned()).filter(|text| !text.is_empty())
        };
        Ok(DeleteOptions {
            grace,
            uid: precondition("uid"),
            resource_version: precondition("resourceVersion"),
            propagation,
            orphan,
            dry_run: !dry_run.is_empty(),
            is_unsafe,
            is_one_of_many: false,
            user: None,
        })
    }

    /// The options of the deletion of each object of a collection.
    pub(super) fn of_collection(call: &Call<'_>) -> Result<Self, Failure> {
        let options = Self::of(call)?;
        if options.is_unsafe {
            let detail =
                "is not allowed with DELETECOLLECTION, try again after removing the option";
            return Err(invalid_options(&[unsafe_fault(detail)]));
        }
        Ok(DeleteOptions {
            is_one_of_many: true,
            ..options
        })
    }

    /// An answer with the warning about what happens to dependents by default.
    pub(super) fn warned(
        &self,
        call: &Call<'_>,
        answer: Result<Answer, Failure>,
    ) -> Result<Answer, Failure> {
        let description = call.served.description();
        match description.and_then(|kind| kind.deletion_warning) {
            Some(warning) if self.propagation.is_none() => with_warning(answer, warning),
            _ => answer,
        }
    }

    /// The preconditions.
    pub(super) fn check(&self, served: &Served, live: &Value) -> Result<(), Failure> {
        let failed = |what: &str, wanted: &str, found: &str, since: &str| {
            let name = text(live, &["metadata", "name"]);
            // The registry of namespaces has words of its own.
            let (kind, subject, reason) = if served.is(|kind| kind.is_namespace) {
                let reason = format!(
                    "Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}"
                );
                (&served.facts.plural, served.group_resource(), reason)
            } else {
                let reason = format!(
                    "the {what} in the precondition ({wanted}) does not match the {what} in record ({found}). The object \
                     might have been {since}"
                );
                (&served.facts.kind, served.group_kind(), reason)
            };
            let message = format!("Operation cannot be fulfilled on {subject} {name:?}: {reason}");
            // Events are those of the first group at both of their versions.
            let group = served.storage_group();
            Failure::about(409, "Conflict", (group, kind, name), message)
        };

        // The uid is compared first: another object of the name has another revision too.
        let own = text(live, &["metadata", "uid"]);
        if let Some(uid) = self.uid.as_deref().filter(|uid| *uid != own) {
            return Err(failed("UID", uid, own, "deleted and then recreated"));
        }
        let own = text(live, &["metadata", "resourceVersion"]);

        if let Some(version) = self
            .resource_version
            .as_deref()
            .filter(|version| *version != own)
        {
            return Err(failed("ResourceVersion", version, own, "modified"));
        }

        Ok(())
    }

    /// The effect of the deletion on an object.
    ///
    /// Behaviour: `BeforeDelete` of `k8s.io/apiserver/pkg/registry/rest`, and `Delete` of the generic registry.
    pub(super) fn effect(&self, served: &Served, live: &Value, now: Time) -> DeletionEffect {
        let finalizers: Vec<&str> = finalizers(live).collect();
        let wanted = self.finalizers(served, &finalizers);
        let changed = wanted != finalizers;
        let terminating = metadata(live, "deletionTimestamp")
            .and_then(Value::as_str)
            .and_then(|time| time.parse::<Time>().ok());
        let own_grace = own_grace(live);
        // The finalizer `kubernetes` is in the spec. The namespace controller removes it when the namespace has no
        // objects.
        let pending_namespace =
            served.is(|kind| kind.is_namespace) && has_items(live, &["spec", "finalizers"]);
        // The end of the period must be a time that an object can have.
        let grace = self
            .grace(served, live)
            .map(|grace| grace.min(LAST_SECOND - now.unix_seconds()));

        let mut object = live.clone();
        if changed {
            let list: List = wanted.iter().map(|name| Value::from(*name)).collect();
            object = with_metadata(
                &object,
                "finalizers",
                (!wanted.is_empty()).then(|| Value::List(list)),
            );
        }

        // A further deletion may shorten the grace period of a terminating object, change what happens to dependents,
        // or remove the object if nothing holds it.
        match terminating {
            Some(ends) if own_grace > 0 => {
                // A grace period can only become shorter, and its end is not before now.
                let given = self.grace.map(|grace| if grace < 0 { 1 } else { grace });
                let Some(shorter) = given.filter(|grace| *grace < own_grace) else {
                    return DeletionEffect::Nothing;
                };
                let end = ends.unix_seconds() - own_grace + shorter;
                let (end, shorter) = match now.unix_seconds() {
                    now if end < now => (now, shorter.min(1)),
                    _ => (end, shorter),
                };
                let marked = terminating_at(&object, end, shorter, false);
                return if shorter == 0 && wanted.is_empty() {
                    DeletionEffect::End(marked)
                } else {
                    DeletionEffect::Mark(marked)
                };
            }
            // The registry of namespaces reads the options of the first deletion alone.
            Some(_) if pending_namespace => return DeletionEffect::Nothing,
            Some(_) if changed && !wanted.is_empty() => return DeletionEffect::Mark(object),
            Some(_) if wanted.is_empty() => return DeletionEffect::Remove,
            Some(_) => return DeletionEffect::Nothing,
            None => {}
        }

        let has_grace = grace.is_some();
        let grace = grace.unwrap_or_default();
        // Nothing holds the object. Watchers of a kind with a grace period see it terminating before it is deleted.
        if grace == 0 && wanted.is_empty() && !pending_namespace {
            return if has_grace {
                DeletionEffect::End(terminating_at(&object, now.unix_seconds(), 0, true))
            } else {
                DeletionEffect::Remove
            };
        }

        // The generation of a namespace, which only a client sets, stays as it is.
        let mut object = terminating_at(
            &object,
            now.unix_seconds() + grace,
            grace,
            !pending_namespace,
        );
        // A namespace says that it terminates by its phase, and has no grace period.
        if pending_namespace {
            object = with_field(&object, "status", "phase", Value::from("Terminating"));
            object = with_metadata(&object, "deletionGracePeriodSeconds", None);
        }

        DeletionEffect::Mark(object)
    }

    /// The grace period of a kind that has one; `None` for other kinds.
    pub(super) fn grace(&self, served: &Served, live: &Value) -> Option<i64> {
        if !served.is(|kind| kind.has_grace_period) {
            return None;
        }
        let own = live
            .get("spec")
            .and_then(|spec| spec.get("terminationGracePeriodSeconds"))
            .and_then(Value::as_i64);
        let grace = self.grace.or(own).unwrap_or(30);
        // No kubelet has to stop a pod that is on no node or has ended, so it waits for nothing.
        let ended = ["Failed", "Succeeded"].contains(&text(live, &["status", "phase"]));

        let has_node = !text(live, &["spec", "nodeName"]).is_empty();
        if !has_node || ended {
            return Some(0);
        }
        Some(if grace < 0 { 1 } else { grace })
    }

    /// The finalizers after the request.
    ///
    /// Behaviour: `deletionFinalizersForGarbageCollection` of the generic registry.
    pub(super) fn finalizers<'v>(&self, served: &Served, own: &[&'v str]) -> Vec<&'v str> {
        let is_dependent = |name: &&str| [ORPHAN, FOREGROUND].contains(name);
        if served.is(|kind| kind.has_no_dependents) {
            return own
                .iter()
                .copied()
                .filter(|name| !is_dependent(name))
                .collect();
        }
        let default = if served.is(|kind| kind.keeps_dependents) {
            Propagation::Orphan
        } else {
            Propagation::Background
        };
        // A request without a policy keeps that of an earlier one, which the finalizers of the object tell.
        let propagation = match self.propagation {
            Some(propagation) => propagation,
            None if own.contains(&ORPHAN) => Propagation::Orphan,
            None if own.contains(&FOREGROUND) => Propagation::Foreground,
            None => default,
        };
        let mut wanted: Vec<&str> = own
            .iter()
            .copied()
            .filter(|name| !is_dependent(name))
            .collect();

        match propagation {
            Propagation::Orphan => wanted.push(ORPHAN),
            Propagation::Foreground => wanted.push(FOREGROUND),
            Propagation::Background => {}
        }

        // Equal finalizers keep their order, so that the request changes nothing.
        if wanted.len() == own.len() && own.iter().all(|name| wanted.contains(name)) {
            own.to_vec()
        } else {
            wanted
        }
    }
}

/// The grace period of a terminating object.
pub(super) fn own_grace(live: &Value) -> i64 {
    let grace = metadata(live, "deletionGracePeriodSeconds").and_then(Value::as_i64);
    grace.unwrap_or_default()
}

/// 422 about the options.
fn invalid_options(errors: &[FieldError]) -> Failure {
    let kind = GroupVersionKind::new("meta.k8s.io", "", "DeleteOptions");
    Status::invalid(&kind, "", errors).into()
}

fn unsafe_fault(detail: &str) -> FieldError {
    FieldError::invalid(FieldPath::root(UNSAFE), true, detail)
}

/// The faults of options beside the one for objects that cannot be read.
fn beside_unsafe(options: &Value) -> impl Iterator<Item = FieldError> {
    let names = [
        "propagationPolicy",
        "orphanDependents",
        "gracePeriodSeconds",
        "preconditions",
    ];
    let given = names
        .into_iter()
        .filter(|name| options.get(name).is_some_and(|value| !value.is_null()));
    given.map(|name| unsafe_fault(&format!("cannot be set together with .{name}")))
}

/// The options that a query has.
fn in_query(query: &Query) -> Result<Value, Failure> {
    let dry_run: List = query.all("dryRun").map(Value::from).collect();
    // An empty precondition is none.
    let preconditions = ["uid", "resourceVersion"].into_iter();
    let preconditions = preconditions.filter_map(|name| {
        let text = query.get(name).filter(|text| !text.is_empty())?;
        Some((name, text.into()))
    });
    let preconditions = map(preconditions);
    let has_preconditions = preconditions.as_map().is_some_and(|map| !map.is_empty());
    let fields = [
        (
            "gracePeriodSeconds",
            query.number("gracePeriodSeconds")?.map(Value::Int),
        ),
        (
            "orphanDependents",
            query.optional_flag("orphanDependents").map(Value::from),
        ),
        (
            "propagationPolicy",
            query.get("propagationPolicy").map(Value::from),
        ),
        ("dryRun", Some(Value::List(dry_run))),
        (UNSAFE, query.optional_flag(UNSAFE).map(Value::from)),
        ("preconditions", has_preconditions.then_some(preconditions)),
    ];
    Ok(map(fields
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))))
}

/// The object, terminating at a time.
fn terminating_at(object: &Value, ends: i64, grace: i64, raise_generation: bool) -> Value {
    let time = Time::from_unix_seconds(ends)
        .map(|time| Value::from(time.to_string().as_str()))
        .ok();
    let object = with_metadata(object, "deletionTimestamp", time);
    let object = with_metadata(
        &object,
        "deletionGracePeriodSeconds",
        Some(Value::Int(grace)),
    );
    let generation = metadata(&object, "generation").and_then(Value::as_i64);

    match generation.filter(|generation| raise_generation && *generation > 0) {
        Some(generation) => with_metadata(&object, "generation", Some(Value::Int(generation + 1))),
        None => object,
    }
}
