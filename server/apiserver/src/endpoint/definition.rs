//! The object of a definition: the names that it gets, its conditions and its end.

use std::collections::BTreeSet;

use fieldmanager_handlers::custom::has_valid_certificates;
use fieldmanager_handlers::internal::approval;
use fieldmanager_value::{List, Value};

use super::conditions::{self, condition, has_condition, since};
use crate::facts::ResourceFacts;
use crate::object::{
    finalizers, has_finalizer, has_items, is_terminating, map, text, with_field, with_metadata,
};
use crate::registry::Registry;
use crate::store::{InvalidKey, Key, Prefix};

/// The finalizer of definitions, which the server removes after it deleted their objects.
pub(super) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Whether a definition was deleted, and the server has to delete its objects or to see their end.
pub(super) fn is_ending(definition: &Value) -> bool {
    is_terminating(definition) && has_finalizer(definition, CLEANUP)
}

/// Whether nothing keeps a terminating definition any more.
pub(super) fn is_ended(definition: &Value) -> bool {
    is_terminating(definition) && !has_items(definition, &["metadata", "finalizers"])
}

pub(super) fn is_established(definition: &Value) -> bool {
    has_condition(definition, "Established")
}

pub(super) fn is_accepted(definition: &Value) -> bool {
    has_condition(definition, "NamesAccepted")
}

/// The definition as a request to delete it leaves it: it waits for the end of its objects.
///
/// Behaviour: `Delete` of `k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition`.
pub(super) fn deleted_definition(object: &Value, now: &str) -> Value {
    let mut object = with_metadata(object, "deletionTimestamp", Some(now.into()));
    if !has_finalizer(&object, CLEANUP) {
        let list: List = finalizers(&object)
            .chain([CLEANUP])
            .map(Value::from)
            .collect();
        object = with_metadata(&object, "finalizers", Some(Value::List(list)));
    }

    let message =
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    with_condition(
        &object,
        "Terminating",
        ("True", "InstanceDeletionPending", message),
        now,
    )
}

/// The names that a definition gets. The error is the reason and the message of the condition.
pub(super) fn accepted(object: &Value, registry: &Registry) -> Result<(), (&'static str, String)> {
    let own = text(object, &["metadata", "name"]);
    let group = text(object, &["spec", "group"]);
    let others = registry.all().filter(|served| {
        let definition = served.definition();
        served.facts.group == group && definition.is_none_or(|definition| definition.name != own)
    });
    let others: Vec<&ResourceFacts> = others.map(|served| &served.facts).collect();

    let is_used = |name: &str| {
        let used = |facts: &&ResourceFacts| {
            let names = [&facts.plural, &facts.singular].into_iter();
            names.chain(&facts.short_names).any(|used| *used == name)
        };
        others.iter().any(used)
    };
    let is_used_kind = |name: &str| {
        let used = |facts: &&ResourceFacts| facts.kind == name || facts.list_kind == name;
        others.iter().any(used)
    };

    let names = object.get("spec").and_then(|spec| spec.get("names"));
    let short = names.and_then(|names| names.get("shortNames")?.as_list());
    let short = short.into_iter().flatten().filter_map(Value::as_str);
    let of = |name: &str| vec![text(object, &["spec", "names", name])];
    // Of several conflicts, kube-apiserver reports the last.
    let mut found = Ok(());
    for (wanted, is_taken, reason) in [
        (
            of("plural"),
            &is_used as &dyn Fn(&str) -> bool,
            "PluralConflict",
        ),
        (of("singular"), &is_used, "SingularConflict"),
        (short.collect(), &is_used, "ShortNamesConflict"),
        (of("kind"), &is_used_kind, "KindConflict"),
        (of("listKind"), &is_used_kind, "ListKindConflict"),
    ] {
        let taken = wanted
            .into_iter()
            .filter(|name| !name.is_empty() && is_taken(name));
        let messages: BTreeSet<String> = taken
            .map(|name| format!("{name:?} is already in use"))
            .collect();
        if !messages.is_empty() {
            let several = messages.len() > 1;
            let message = messages.into_iter().collect::<Vec<_>>().join(", ");
            let message = if several {
                format!("[{message}]")
            } else {
                message
            };
            found = Err((reason, message));
        }
    }

    found
}

/// The definition with the conditions `NamesAccepted` and `Established`, that of an approval, and with the accepted names.
pub(super) fn with_conditions(
    object: &Value,
    accepted: &Result<(), (&'static str, String)>,
    now: &str,
) -> Value {
    let established = if has_valid_certificates(object) {
        let message = "the initial names have been accepted";
        ("True", "InitialNamesAccepted", message)
    } else {
        let message = "The conversion webhook CABundle is invalid";
        ("False", "InvalidCABundle", message)
    };
    let (named, established) = match accepted {
        Ok(()) => (("True", "NoConflicts", "no conflicts found"), established),
        Err((reason, message)) => (
            ("False", *reason, message.as_str()),
            ("False", "NotAccepted", "not all names are accepted"),
        ),
    };

    // Names that were accepted are not looked at again, and an established definition stays established when a change of
    // its names is refused.
    let wanted = object
        .get("spec")
        .and_then(|spec| spec.get("names"))
        .cloned();
    let has_names = wanted.as_ref()
        == object
            .get("status")
            .and_then(|status| status.get("acceptedNames"));
    let mut object = match approval(object) {
        Some((state, reason, message)) => {
            let name = "KubernetesAPIApprovalPolicyConformant";
            with_condition(object, name, (state, reason, &message), now)
        }
        None => object.clone(),
    };
    if !has_names {
        object = with_condition(&object, "NamesAccepted", named, now);
    }

    if !has_names || (is_accepted(&object) && !is_established(&object)) {
        // The condition is written again even if it stays, since a client may have taken its time away.
        let own = condition(&object, "Established")
            .filter(|own| text(own, &["status"]) == "True")
            .cloned();
        let state = own.as_ref().map_or(established, |own| {
            ("True", text(own, &["reason"]), text(own, &["message"]))
        });
        object = with_condition(&object, "Established", state, now);
    }
    match wanted {
        Some(names) if accepted.is_ok() => with_field(&object, "status", "acceptedNames", names),
        _ => object,
    }
}

/// The definition with a condition. An unchanged state keeps its time.
pub(super) fn with_condition(
    object: &Value,
    kind: &str,
    (state, reason, message): (&str, &str, &str),
    now: &str,
) -> Value {
    conditions::with_condition(object, kind, |old| {
        let time =
            since(old, state).filter(|time| time.as_str().is_some_and(|time| !time.is_empty()));
        map([
            ("type", kind.into()),
            ("status", state.into()),
            ("reason", reason.into()),
            ("message", message.into()),
            ("lastTransitionTime", time.unwrap_or_else(|| now.into())),
        ])
    })
}

const DEFINITIONS: [&str; 2] = ["apiextensions.k8s.io", "customresourcedefinitions"];

/// The key of a definition.
pub(super) fn definition_key(name: &str) -> Result<Key, InvalidKey> {
    let [group, resource] = DEFINITIONS;
    Key::new(group, resource, None, name)
}

/// Where definitions are stored.
pub(super) fn definitions() -> Prefix {
    let [group, resource] = DEFINITIONS;
    Prefix::builtin(group, resource)
}
