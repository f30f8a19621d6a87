//! Why a field has its value: who owns it, what an apply does to it and why, and the ways out.

use fieldmanager_fieldpath::{Path, PathElement, Set};
use fieldmanager_harness::internal::find_path;
use fieldmanager_managedfields::{Entry, ManagedFields, Operation};
use fieldmanager_schema::Type;
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::{Map, Value};

use super::catalogue::Kind;
use super::plan::{Fate, Kept, KeptBecause, Planned, plan};
use super::tool::Tool;
use crate::text;

/// How an entry owns a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// The field itself.
    Itself,
    /// With a list or map around it, which has one owner as a whole.
    AsWhole,
    /// Fields below it.
    Parts,
}

impl Hold {
    /// In words, with the field as the object.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Hold::Itself => "owns it",
            Hold::AsWhole => "owns the list or map around it as a whole",
            Hold::Parts => "owns fields below it",
        }
    }
}

/// A field that a question is about.
pub(crate) struct Question<'a> {
    pub(crate) kind: &'a Kind,
    pub(crate) live: &'a Value,
    pub(crate) path: &'a Path,
    /// Who applies what, if the question says so.
    pub(crate) apply: Option<(&'a Tool, &'a Value)>,
    /// The file of the configuration, for commands.
    pub(crate) source: String,
}

/// A way out: what it does, and the command that does it.
pub(crate) struct Way {
    pub(crate) name: &'static str,
    pub(crate) effect: String,
    pub(crate) command: Option<String>,
}

/// The answer to a question.
pub(crate) struct Answer {
    pub(crate) paragraph: String,
    pub(crate) owners: Vec<(Entry, Hold)>,
    pub(crate) ways: Vec<Way>,
}

/// The path that a person means: a JSON pointer, or a path whose names are those of an object where it has them, so that
/// they may have dots, as in `.metadata.labels.app.kubernetes.io/name`.
///
/// # Errors
///
/// A message if the text is no path.
pub(crate) fn path_of(text: &str, objects: &[&Value]) -> Result<Path, String> {
    if let Some(pointer) = text.strip_prefix('/') {
        let parts = pointer.split('/').map(|part| match part.parse() {
            Ok(index) => PathElement::Index(index),
            Err(_) => PathElement::Field(part.replace("~1", "/").replace("~0", "~").into()),
        });
        return Ok(parts.collect());
    }
    let dotted = if text.starts_with(['.', '[']) {
        text.to_owned()
    } else {
        format!(".{text}")
    };
    let parsed: Result<Path, _> = dotted.parse();
    let known = |path: &Path| {
        objects
            .iter()
            .any(|object| find_path(object, path).is_some())
    };
    if !parsed.as_ref().is_ok_and(known)
        && let Some(path) = objects.iter().find_map(|object| along(&dotted, object))
    {
        return Ok(path);
    }
    parsed.map_err(|error| format!("`{text}` is not a path: {error}"))
}

/// The path along the names of an object; `None` where it has no such name.
fn along(text: &str, object: &Value) -> Option<Path> {
    let mut elements: Vec<PathElement> = Vec::new();
    let (mut rest, mut value) = (text, object);
    while !rest.is_empty() {
        let (element, length) = match (rest.strip_prefix('.'), value) {
            (Some(names), Value::Map(fields)) => {
                let ends = |name: &str| {
                    names
                        .strip_prefix(name)
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
                };
                let name = fields
                    .iter()
                    .map(|(name, _)| name)
                    .filter(|name| ends(name.as_str()))
                    .max_by_key(|name| name.len())?;
                (PathElement::Field(name.clone()), name.len() + 1)
            }
            (None, _) => {
                let end = rest.find(']')? + 1;
                let path: Path = rest.get(..end)?.parse().ok()?;
                (path.iter().next()?.clone(), end)
            }
            _ => return None,
        };
        let path: Path = std::iter::once(element.clone()).collect();
        value = find_path(value, &path)?;
        elements.push(element);
        rest = rest.get(length..)?;
    }
    Some(elements.into_iter().collect())
}

/// A path in which the items of associative lists have their keys in place of indices.
pub(crate) fn keyed(path: &Path, object: &Value, ty: Option<&Type>) -> Path {
    let mut elements: Vec<PathElement> = Vec::new();
    let mut value = Some(object);
    let mut atom = ty.map(Type::atom);
    for element in path.iter() {
        let list = atom
            .and_then(|atom| atom.list.as_ref())
            .filter(|list| !list.atomic);
        let item = match element {
            PathElement::Index(index) => usize::try_from(*index)
                .ok()
                .and_then(|index| value?.as_list()?.get(index)),
            _ => None,
        };
        let key = list.zip(item).map(|(list, item)| {
            let named = list.keys.iter();
            let named = named.filter_map(|key| {
                Some((
                    key.name.clone(),
                    item.get(&key.name).or(key.default.as_ref())?.clone(),
                ))
            });
            let key: Map = named.collect();
            if list.keys.is_empty() {
                PathElement::Value(item.clone())
            } else {
                PathElement::Key(key)
            }
        });
        let element = key.unwrap_or_else(|| element.clone());

        let id = atom.and_then(|atom| match &element {
            PathElement::Field(name) => atom.map.as_ref()?.type_of(name),
            _ => atom.list.as_ref().map(|list| list.element),
        });
        atom = ty.zip(id).map(|(ty, id)| ty.schema().atom(id));
        elements.push(element);
        let so_far: Path = elements.iter().cloned().collect();
        value = find_path(object, &so_far);
    }

    elements.into_iter().collect()
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
pub(crate) fn why(question: &Question<'_>) -> Result<Answer, String> {
    let Question { live, path, .. } = question;
    let entries = ManagedFields::decode_lossy(live.managed_fields())
        .managed
        .entries();
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

    Ok(Answer {
        paragraph: sentences.join(" "),
        owners,
        ways,
    })
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(
        || "absent".to_owned(),
        |value| text::shortened(&value.to_json(), 60),
    )
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
            format!("Now {who} is refused: {}.", planned.message),
            Vec::new(),
        );
    }
    if let Some(conflict) = conflicts.find(|conflict| touch(&conflict.path, path)) {
        let text = format!(
            "Here {who} is refused: the configuration wants {} for `{}`, which has another owner, and a value that differs from the live one is a conflict.",
            shown(conflict.wanted.as_ref()),
            conflict.path
        );
        return (text, conflict_ways(question, tool));
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

/// Keeps a value that its only owner gives up.
fn hand_over(question: &Question<'_>) -> Way {
    let value = find_path(question.live, question.path);
    Way {
        name: "hand over",
        effect: format!(
            "before the field goes from the configuration, whoever shall own it sets it to {}: an autoscaler does when it scales, a person by an apply of this field alone under another manager",
            shown(value)
        ),
        command: None,
    }
}

/// `deployments.apps web -n shop`
fn target(question: &Question<'_>) -> String {
    let kind = question.kind.resource.kind();
    let group = if kind.group.is_empty() {
        String::new()
    } else {
        format!(".{}", kind.group)
    };
    let namespace = match question.live.metadata_string("namespace") {
        "" => String::new(),
        namespace => format!(" -n {}", quoted(namespace)),
    };
    let name = quoted(question.live.metadata_string("name"));
    format!(
        "{}{group} {name}{namespace}",
        question.kind.resource.plural()
    )
}

/// A word of a shell.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// The command that applies the configuration.
fn apply_command(question: &Question<'_>, tool: &Tool, more: &str) -> String {
    let (manager, source) = (quoted(&tool.manager), quoted(&question.source));
    format!("kubectl apply --server-side --field-manager {manager}{more} -f {source}")
}

fn conflict_ways(question: &Question<'_>, tool: &Tool) -> Vec<Way> {
    let value = find_path(question.live, question.path);
    vec![
        Way {
            name: "take",
            effect: format!(
                "its owner loses the field, and gets the conflict when it applies again ({})",
                tool.how_to_force
            ),
            command: Some(apply_command(question, tool, " --force-conflicts")),
        },
        Way {
            name: "leave",
            effect: format!(
                "remove `{}` from the configuration: the field keeps its value and its owner",
                question.path
            ),
            command: None,
        },
        Way {
            name: "share",
            effect: format!(
                "set it to {} in the configuration: both own it, and each can give it up",
                shown(value)
            ),
            command: None,
        },
    ]
}

/// The ways to be rid of a field that stays.
fn kept_ways(question: &Question<'_>, tool: &Tool, kept: &Kept) -> Vec<Way> {
    match kept.because {
        KeptBecause::ClientSideApply => client_side_ways(question, tool, kept),
        KeptBecause::NoOwner => no_owner_ways(question, tool),
        KeptBecause::OtherOwner => {
            let holders = ManagedFields::decode_lossy(question.live.managed_fields())
                .managed
                .entries();
            let owners: Vec<(Entry, Hold)> = holders
                .into_iter()
                .filter(|entry| kept.owners.contains(&entry.identity()))
                .map(|entry| (entry, Hold::Itself))
                .collect();
            other_owner_ways(question, tool, &owners)
        }
    }
}

fn leave() -> Way {
    Way {
        name: "leave",
        effect: "nothing breaks: the field stays until its owner or a patch removes it".to_owned(),
        command: None,
    }
}

/// Removes the field, whoever owns it.
fn remove(question: &Question<'_>) -> Option<Way> {
    let pointer = pointer(question.live, question.path)?;
    let patch = serde_json::json!([{"op": "remove", "path": pointer}]).to_string();
    Some(Way {
        name: "remove",
        effect:
            "the field is removed once; an owner that applies or updates it again brings it back"
                .to_owned(),
        command: Some(format!(
            "kubectl patch {} --type json -p {}",
            target(question),
            quoted(&patch)
        )),
    })
}

fn client_side_ways(question: &Question<'_>, tool: &Tool, kept: &Kept) -> Vec<Way> {
    let target = target(question);
    let mut names: Vec<&str> = kept
        .owners
        .iter()
        .map(|owner| owner.manager.as_str())
        .collect();
    names.dedup();
    let from: Vec<String> = names
        .iter()
        .map(|name| format!("--csa-manager {}", quoted(name)))
        .collect();
    let migrate = format!(
        "kubectl get {target} -o yaml --show-managed-fields |\n  fieldmanager upgrade-csa {} --manager {} --patch -o json -f - |\n  kubectl patch {target} --type json --patch-file /dev/stdin",
        from.join(" "),
        quoted(&tool.manager)
    );
    let apply = apply_command(question, tool, "");
    // An object without owners has its first one once it is applied to.
    let live = ManagedFields::decode_lossy(question.live.managed_fields()).managed;
    let first = if live.is_empty() {
        format!("{apply}\n")
    } else {
        String::new()
    };
    let migrate = Way {
        name: "migrate",
        effect: format!(
            "the fields of {} become `{}`'s, and its next apply removes this one",
            names.join(" and "),
            tool.manager
        ),
        command: Some(format!("{first}{migrate}\n{apply}")),
    };
    [Some(migrate), remove(question), Some(leave())]
        .into_iter()
        .flatten()
        .collect()
}

fn no_owner_ways(question: &Question<'_>, tool: &Tool) -> Vec<Way> {
    let take = Way {
        name: "take",
        effect: format!(
            "apply once with the field in the configuration, which makes `{}` its owner, and then without it",
            tool.manager
        ),
        command: None,
    };
    [Some(take), remove(question), Some(leave())]
        .into_iter()
        .flatten()
        .collect()
}

fn other_owner_ways(question: &Question<'_>, tool: &Tool, owners: &[(Entry, Hold)]) -> Vec<Way> {
    let target = target(question);
    let others = owners
        .iter()
        .map(|(entry, _)| entry)
        .filter(|entry| entry.manager != *tool.manager && entry.subresource.is_empty());
    let mut ways: Vec<Way> = others
        .map(|entry| {
            let (from, to) = (quoted(&entry.manager), quoted(&tool.manager));
            Way {
                name: "migrate",
                effect: format!("only if `{}` does not act any more: its fields become `{}`'s, and the next apply removes those that the configuration lacks", entry.manager, tool.manager),
                command: Some(format!(
                    "kubectl get {target} -o yaml --show-managed-fields |\n  fieldmanager migrate --from {from} --to {to} --operation {} --subresource '' --to-applier -f - |\n  kubectl replace -f -\n{}",
                    entry.operation,
                    apply_command(question, tool, "")
                )),
            }
        })
        .collect();
    ways.extend(remove(question));
    ways.push(leave());
    ways
}

/// The JSON pointer of a field; `None` if the object does not have it.
fn pointer(object: &Value, path: &Path) -> Option<String> {
    let mut pointer = String::new();
    let mut value = object;
    for element in path.iter() {
        let (name, next) = match element {
            PathElement::Field(name) => {
                (name.replace('~', "~0").replace('/', "~1"), value.get(name)?)
            }
            other => {
                let single: Path = std::iter::once(other.clone()).collect();
                let found = find_path(value, &single)?;
                let index = value
                    .as_list()?
                    .iter()
                    .position(|item| item.ptr_eq(found))?;
                (index.to_string(), found)
            }
        };
        pointer = format!("{pointer}/{name}");
        value = next;
    }
    Some(pointer)
}
