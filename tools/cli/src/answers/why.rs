//! Why a field has its value: who owns it, what an apply does to it and why, and the ways out.

use fieldmanager_fieldpath::{Path, PathElement, Set};
use fieldmanager_harness::internal::find_path;
use fieldmanager_managedfields::internal::decode_lossy;
use fieldmanager_managedfields::{Entry, Operation};
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::Value;

use super::plan::{Fate, KeptBecause, Planned, plan};
use super::tool::Tool;
use super::ways::{
    Hold, Question, Way, conflict_ways, hand_over, kept_ways, no_owner_ways, other_owner_ways,
    shown,
};
use crate::text;

/// The answer to a question.
pub(crate) struct FieldAnswer {
    pub(crate) paragraph: String,
    pub(crate) owners: Vec<(Entry, Hold)>,
    pub(crate) ways: Vec<Way>,
}

/// How a set holds a field.
fn hold(fields: &Set, path: &Path) -> Option<Hold> {
    let mut set = fields;
    let mut left = path.iter().count();
    for element in path.iter() {
        let node = set.get(element)?;
        left = left.saturating_sub(1);
        let is_leaf = node.is_member() && node.children().is_empty();
        match (left, node.is_member()) {
            (0, true) => return Some(Hold::Itself),
            (0, false) => return Some(Hold::Parts),
            _ if is_leaf => return Some(Hold::AsWhole),
            _ => set = node.children(),
        }
    }
    None
}

/// Answers a question.
///
/// # Errors
///
/// A message if neither the live object nor the configuration has the field.
pub(crate) fn why(question: &Question<'_>) -> Result<FieldAnswer, String> {
    let Question { live, path, .. } = question;
    let entries = decode_lossy(live.managed_fields()).managed.entries();
    let holders = entries.into_iter().filter_map(|entry| {
        let hold = hold(&entry.fields, path)?;
        Some((entry, hold))
    });
    let owners: Vec<(Entry, Hold)> = holders.collect();
    let at = |object: &Value| find_path(object, path).cloned();
    let value = at(live);
    let configured = question.apply.and_then(|(_, config)| at(config));
    if value.is_none() && configured.is_none() {
        let who = if question.apply.is_some() {
            "neither the live object nor the configuration has"
        } else {
            "the live object does not have"
        };
        return Err(format!("{who} `{path}`"));
    }

    // Without a configuration, the question is who owns the field.
    let mut sentences = vec![owned(path, value.as_ref(), &owners)];
    let mut ways = Vec::new();
    if let Some((tool, config)) = question.apply {
        let tool = tool.of(live);
        let planned = plan(question.kind, &tool, live, config);
        let after = at(&planned.new);
        let elsewhere = planned.conflicts.iter().flat_map(|all| all.iter());
        let elsewhere: Vec<String> = elsewhere
            .filter(|conflict| !touch(&conflict.path, path))
            .map(|conflict| format!("`{}`", conflict.path))
            .collect();
        let effect = effect(
            question,
            &tool,
            &planned,
            &owners,
            [value.as_ref(), configured.as_ref(), after.as_ref()],
        );
        sentences.push(effect.0);
        if !elsewhere.is_empty() {
            sentences.push(format!(
                "Until its conflicts about {} are resolved, the apply is refused as a whole.",
                elsewhere.join(", ")
            ));
        }
        ways = effect.1;
    }

    Ok(FieldAnswer {
        paragraph: sentences.join(" "),
        owners,
        ways,
    })
}

/// ``kube-controller-manager` owns it by an update of the subresource scale, at least since ..`
fn described(entry: &Entry, hold: Hold) -> String {
    let part = match entry.subresource.as_str() {
        "" => String::new(),
        subresource => format!(" of the subresource {subresource}"),
    };
    let how = match entry.operation {
        Operation::Apply => "by an apply",
        Operation::Update => "by an update",
    };
    let since = entry
        .time
        .map_or_else(String::new, |time| format!(", at least since {time}"));
    format!("`{}` {} {how}{part}{since}", entry.manager, hold.words())
}

/// The sentences about the owners of a field.
fn owned(path: &Path, value: Option<&Value>, owners: &[(Entry, Hold)]) -> String {
    let has = match value {
        Some(value) => format!("`{path}` is {}.", shown(Some(value))),
        None => return format!("The live object does not have `{path}`."),
    };
    let own: Vec<String> = owners
        .iter()
        .map(|(entry, hold)| described(entry, *hold))
        .collect();

    match own.as_slice() {
        [] => format!(
            "{has} No manager owns it: it is a default, a webhook or the server itself made it, or its owner was removed from metadata.managedFields."
        ),
        own => format!("{has} {}.", own.join("; ")),
    }
}

/// What the apply does to the field and why, and the ways out.
fn effect(
    question: &Question<'_>,
    tool: &Tool,
    planned: &Planned,
    owners: &[(Entry, Hold)],
    [value, configured, after]: [Option<&Value>; 3],
) -> (String, Vec<Way>) {
    let Question { path, .. } = question;
    let who = format!("an apply by `{}`", tool.manager);
    let mut conflicts = planned.conflicts.iter().flat_map(|all| all.iter());

    if planned.fate == Fate::Refused {
        return (
            format!(
                "Here {who} is refused: {}.",
                planned.message.replace('\n', "; ")
            ),
            Vec::new(),
        );
    }
    if let Some(conflict) = conflicts.find(|conflict| touch(&conflict.path, path)) {
        let text = format!(
            "Here {who} is refused: the configuration wants {} for `{}`, which has another owner, and a value that differs from the live one is a conflict.",
            shown(conflict.wanted.as_ref()),
            conflict.path
        );
        return (text, conflict_ways(question, tool, &conflict.path));
    }
    // Who owned the field before, and does not any more.
    let elements: Vec<PathElement> = path.iter().cloned().collect();
    let ownership = planned.difference.iter().flat_map(|found| &found.ownership);
    let losers = ownership.filter(|change| change.lost.has(&elements));
    let losers: Vec<String> = losers
        .map(|change| text::identity(&change.identity))
        .collect();
    let from = match losers.as_slice() {
        [] => String::new(),
        losers => format!(", takes it from {}", losers.join(", ")),
    };
    if let (Some(wanted), Some(found)) = (configured, value) {
        let text = if wanted == found || after == value {
            format!(
                "The configuration has the same value, so {who} changes nothing here; `{}` is an owner afterwards.",
                tool.manager
            )
        } else {
            format!(
                "Here {who} sets it to {}{from}, and `{}` is an owner afterwards.",
                shown(after),
                tool.manager
            )
        };
        return (text, Vec::new());
    }
    if configured.is_some() {
        return (
            format!("Here {who} sets it to {}.", shown(after)),
            Vec::new(),
        );
    }

    left_out(question, tool, planned, owners, after)
}

/// What the apply does to a field that the configuration does not have.
fn left_out(
    question: &Question<'_>,
    tool: &Tool,
    planned: &Planned,
    owners: &[(Entry, Hold)],
    after: Option<&Value>,
) -> (String, Vec<Way>) {
    let manager = &tool.manager;
    let who = format!("an apply by `{manager}`");
    let is_own = |entry: &Entry| {
        entry.operation == Operation::Apply && entry.manager == **manager
            || planned.taken.contains(&entry.identity())
    };
    let was_own = owners.iter().any(|(entry, _)| is_own(entry));
    let kept = planned
        .kept
        .iter()
        .find(|kept| touch(&kept.path, question.path));
    let without = "The configuration does not have it";

    // A takeover is why a field can go that somebody else made.
    let by = match planned.taken.as_slice() {
        [] => String::new(),
        taken => {
            let names: Vec<String> = taken.iter().map(text::identity).collect();
            format!(
                ", after `{manager}` has taken over the fields of {}",
                names.join(", ")
            )
        }
    };
    match (kept, after) {
        (_, None) => (
            format!("{without}, and nobody else owns it{by}, so {who} removes it."),
            Vec::new(),
        ),
        (Some(kept), _) if was_own && kept.because == KeptBecause::OtherOwner => {
            let text = format!(
                "{without} any more, so {who} gives up `{manager}`'s share, and the field stays with its other owner."
            );
            (text, kept_ways(question, tool, kept))
        }
        (Some(kept), _) => {
            let text = format!(
                "{without}, and {who} leaves it as it is, because {}.",
                kept.because.words()
            );
            (text, kept_ways(question, tool, kept))
        }
        (None, _) if was_own => {
            let text = format!(
                "{without}, and nobody else owns it{by}, so {who} removes it, and the server sets the default {} again.",
                shown(after)
            );
            (text, vec![hand_over(question)])
        }
        (None, _) => {
            let text = format!(
                "{without}, and {who} removes only what `{manager}` itself applied before."
            );
            let ways = if owners.is_empty() {
                no_owner_ways(question, tool)
            } else {
                other_owner_ways(question, tool, owners)
            };
            (text, ways)
        }
    }
}

/// Whether one path is at or below the other.
fn touch(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}
