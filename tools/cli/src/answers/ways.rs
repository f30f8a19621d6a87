//! The ways out of a situation: what each does, and the command that does it.

use fieldmanager_fieldpath::{Path, PathElement};
use fieldmanager_harness::internal::find_path;
use fieldmanager_managedfields::Entry;
use fieldmanager_managedfields::internal::decode_lossy;
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::Value;

use super::catalogue::ServedKind;
use super::plan::{KeptBecause, KeptField};
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
    pub(crate) kind: &'a ServedKind,
    pub(crate) live: &'a Value,
    pub(crate) path: &'a Path,
    /// Who applies what, if the question says so.
    pub(crate) apply: Option<(&'a Tool, &'a Value)>,
    /// The file of the configuration, for commands.
    pub(crate) source: String,
    /// Whether a cluster has the live object, so that a command can write to it.
    pub(crate) is_in_cluster: bool,
}

/// A way out: what it does, and the command that does it.
pub(crate) struct Way {
    pub(crate) name: &'static str,
    pub(crate) effect: String,
    pub(crate) command: Option<String>,
}

/// A value as sentences show it.
pub(crate) fn shown(value: Option<&Value>) -> String {
    value.map_or_else(
        || "absent".to_owned(),
        |value| text::shortened(&value.to_json(), 60),
    )
}

/// Keeps a value that its only owner gives up.
pub(crate) fn hand_over(question: &Question<'_>) -> Way {
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
    if !tool.by_kubectl {
        return format!("# then `{}` applies as always", tool.manager);
    }
    let (manager, source) = (quoted(&tool.manager), quoted(&question.source));
    format!("kubectl apply --server-side --field-manager {manager}{more} -f {source}")
}

/// The ways out of a conflict about a field.
pub(crate) fn conflict_ways(question: &Question<'_>, tool: &Tool, path: &Path) -> Vec<Way> {
    let value = find_path(question.live, path);
    let force = apply_command(question, tool, " --force-conflicts");
    vec![
        Way {
            name: "take",
            effect: format!(
                "{}: its owner loses the field, and may take it again",
                tool.how_to_force
            ),
            command: tool.by_kubectl.then_some(force),
        },
        Way {
            name: "leave",
            effect: format!(
                "remove `{path}` from the configuration: the field keeps its value and its owner"
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
pub(crate) fn kept_ways(question: &Question<'_>, tool: &Tool, kept: &KeptField) -> Vec<Way> {
    match kept.because {
        KeptBecause::ClientSideApply => client_side_ways(question, tool, kept),
        KeptBecause::NoOwner => no_owner_ways(question, tool),
        KeptBecause::OtherOwner => {
            let holders = decode_lossy(question.live.managed_fields())
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

/// The way of doing nothing.
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

/// The ways for a field that only updates of clients made.
fn client_side_ways(question: &Question<'_>, tool: &Tool, kept: &KeptField) -> Vec<Way> {
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
    let live = decode_lossy(question.live.managed_fields()).managed;
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

/// The ways for a field without owner.
pub(crate) fn no_owner_ways(question: &Question<'_>, tool: &Tool) -> Vec<Way> {
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

/// The ways for a field of other owners.
pub(crate) fn other_owner_ways(
    question: &Question<'_>,
    tool: &Tool,
    owners: &[(Entry, Hold)],
) -> Vec<Way> {
    let target = target(question);
    let others = owners
        .iter()
        .map(|(entry, _)| entry)
        .filter(|entry| entry.manager != *tool.manager && entry.subresource.is_empty());
    let mut ways: Vec<Way> = others
        .map(|entry| {
            let (from, to) = (quoted(&entry.manager), quoted(&tool.manager));
            let how = format!(
                "--from {from} --to {to} --operation {} --subresource '' --to-applier",
                entry.operation
            );
            let migrate = if question.is_in_cluster {
                format!("fieldmanager migrate {target} {how} --cluster --write")
            } else {
                format!(
                    "kubectl get {target} -o yaml --show-managed-fields |\n  fieldmanager migrate {how} -f - |\n  kubectl replace -f -"
                )
            };
            Way {
                name: "migrate",
                effect: format!("only if `{}` does not act any more: its fields become `{}`'s, and the next apply removes those that the configuration lacks", entry.manager, tool.manager),
                command: Some(format!("{migrate}\n{}", apply_command(question, tool, ""))),
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
