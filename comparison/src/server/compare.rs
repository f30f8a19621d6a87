//! Compares the answer of the library, or of a server, with that of the real server.

use serde_json::{Value as Json, json};

use super::kinds::Kind;
use super::pointer::set_pointer;
use super::request::{Answer, Step};
use crate::json::{entries_mut, items, member, same_value, text};
use crate::suite::Difference;

/// The first difference between two answers; `None` if they agree. `written` is whether the request changed the stored object,
/// `None` if it is unknown.
pub(super) fn difference(
    kind: &Kind,
    step: &Step<'_>,
    live: &Json,
    real: &Answer,
    ours: &Answer,
    written: Option<bool>,
) -> Option<Difference> {
    let source = if kind.definition.is_some() {
        "custom"
    } else {
        "built-in"
    };
    let place = format!("{source}, {}", verb(step));

    // The code comes first: answers with different codes have no common form to compare.
    if real.code != ours.code {
        let (code, own, reason) = (real.code, ours.code, reason(real, ours));
        let label = format!("{code} -> {own}, {place}: {reason}");
        return found("code", &label, real.to_json(), ours.to_json());
    }
    if !real.is_success() && !same_value(&real.body, &ours.body) {
        let reason = reason(real, ours);
        let label = format!("{source}, {} {}: {reason}", real.code, verb(step));
        return found("status", &label, real.body.clone(), ours.body.clone());
    }

    let of_object = || in_object(kind, &place, real, ours);
    let of_store = || in_store(step, &place, live, real, written?);
    // Warnings come last, since a difference in the object usually brings others.
    let of_warnings = || in_warnings(source, real, ours);
    if real.is_success() {
        of_object().or_else(of_store).or_else(of_warnings)
    } else {
        of_warnings()
    }
}

fn found(what: &str, label: &str, reference: Json, candidate: Json) -> Option<Difference> {
    Some(Difference {
        label: format!("{what}: {label}"),
        ..Difference::of(what, &reference, &candidate)
    })
}

/// A difference of the objects in two answers.
fn in_object(kind: &Kind, place: &str, real: &Answer, ours: &Answer) -> Option<Difference> {
    let (reference, candidate) = (normalized(&real.body), normalized(&ours.body));
    let path = first_path(&reference, &candidate)?;
    let (what, of) = if path.starts_with(".metadata.managedFields") {
        ("managed", "")
    } else {
        ("object", kind.kind.as_str())
    };
    let label = format!("{place}: {of} {path}");
    found(what, &label, reference, candidate)
}

/// A request that only one side has stored.
fn in_store(
    step: &Step<'_>,
    place: &str,
    live: &Json,
    real: &Answer,
    written: bool,
) -> Option<Difference> {
    // The real server raises the version with each write, so an equal one says that nothing was stored. A dry run
    // stores nothing in any case.
    let stored = version_of(live) != version_of(&real.body);
    if stored == written || live.is_null() || step.is_dry_run() || step.sub == "scale" {
        return None;
    }
    let how = if stored { "written" } else { "not written" };
    let label = format!("{place}: {how}");
    found("write", &label, json!(stored), json!(written))
}

fn in_warnings(source: &str, real: &Answer, ours: &Answer) -> Option<Difference> {
    if real.warnings == ours.warnings {
        return None;
    }
    let lacks = |all: &[String], warning: &String| !all.contains(warning);
    let mut missing = real.warnings.iter();
    let mut extra = ours.warnings.iter();
    let label = match (
        missing.find(|warning| lacks(&ours.warnings, warning)),
        extra.find(|warning| lacks(&real.warnings, warning)),
    ) {
        (Some(missing), _) => format!("without {}", shape(missing)),
        (None, Some(extra)) => format!("with {}", shape(extra)),
        _ => "order".to_owned(),
    };

    let label = format!("{source}, {label}");
    found(
        "warnings",
        &label,
        json!(real.warnings),
        json!(ours.warnings),
    )
}

fn verb(step: &Step<'_>) -> String {
    let sub = if step.sub.is_empty() {
        String::new()
    } else {
        format!(" {}", step.sub)
    };
    format!("{}{sub}", step.verb)
}

/// What makes two refusals different, without names and numbers.
fn reason(real: &Answer, ours: &Answer) -> String {
    let causes = |answer: &Answer| items(member(&answer.body, "details"), "causes").to_vec();
    let (theirs, our) = (causes(real), causes(ours));
    let described = |cause: &Json| {
        format!(
            "{} {}",
            shape(text(cause, "field")),
            shape(text(cause, "message"))
        )
    };

    // Two causes about one field are one fault in different words.
    if let Some(cause) = theirs.iter().find(|cause| !our.contains(cause)) {
        let other = our
            .iter()
            .find(|other| text(other, "field") == text(cause, "field"));
        return match other {
            Some(other) => {
                let shapes = shapes(text(cause, "message"), text(other, "message"));
                format!("cause {} {shapes}", shape(text(cause, "field")))
            }
            None => format!("missing cause {}", described(cause)),
        };
    }

    if let Some(cause) = our.iter().find(|cause| !theirs.contains(cause)) {
        return format!("extra cause {}", described(cause));
    }
    let message = |answer: &Answer| match &answer.body {
        Json::String(text) => text.clone(),
        _ if answer.is_success() => "success".to_owned(),
        body => format!("{} {}", text(body, "reason"), text(body, "message")),
    };

    shapes(&message(real), &message(ours))
}

/// The longest part of a message in a label.
const SHAPE: usize = 170;

/// A message without what differs from case to case: quoted strings and numbers.
fn shape(message: &str) -> String {
    // Differences are counted by their labels, so that those of one cause must have one label.
    let mut out = String::new();
    let mut quoted = false;
    let mut chars = message.chars().peekable();
    while let Some(next) = chars.next() {
        match next {
            '\\' if quoted => {
                chars.next();
            }
            '"' => {
                quoted = !quoted;
                if quoted {
                    out.push_str("\"…\"");
                }
            }
            _ if quoted => {}
            '0'..='9' => {
                out.push('#');
                while chars.next_if(char::is_ascii_digit).is_some() {}
            }
            '\n' => out.push('/'),
            other => out.push(other),
        }

        if out.len() > SHAPE {
            out.push('…');
            break;
        }
    }

    out
}

/// Two messages of a label: their shapes, or the place at which they differ if those are equal.
fn shapes(real: &str, ours: &str) -> String {
    let (left, right) = (shape(real), shape(ours));
    if left != right {
        return format!("{left} | {right}");
    }
    // Equal shapes hide the difference, which is in a quoted part or in a number.
    let same = real
        .chars()
        .zip(ours.chars())
        .take_while(|(left, right)| left == right)
        .count();
    let place = |message: &str| -> String {
        let place: String = message
            .chars()
            .skip(same.saturating_sub(20))
            .take(60)
            .collect();
        place.replace('\n', "/")
    };

    format!("{left}: at `{}` | `{}`", place(real), place(ours))
}

pub(super) fn version_of(object: &Json) -> &str {
    text(member(object, "metadata"), "resourceVersion")
}

/// An answer with its managed fields in one order.
pub(super) fn normalized(body: &Json) -> Json {
    let mut out = body.clone();
    if let Some(entries) = entries_mut(&mut out) {
        let key = |entry: &Json| {
            ["manager", "operation", "apiVersion", "subresource", "time"]
                .map(|name| text(entry, name).to_owned())
        };
        entries.sort_by_key(key);
    }
    out
}

/// Takes over the addresses and ports of a Service that each server allocates. `is_chosen` is whether the server chose the
/// value at a place, where the real one has another.
pub(super) fn take_allocations(
    service: &mut Json,
    real: &Json,
    is_chosen: impl Fn(&str, &Json, &Json) -> bool,
) {
    // A Service may have `None`, or an address that the client chose, in place of an allocated one.
    let is_address =
        |value: &Json| value.is_u64() || value.as_str().is_some_and(|ip| ip.starts_with("10.96."));
    for place in allocations(service) {
        if let (Some(ours), Some(theirs)) = (service.pointer(&place), real.pointer(&place))
            && is_address(ours)
            && is_address(theirs)
            && is_chosen(&place, ours, theirs)
        {
            set_pointer(service, &place, theirs);
        }
    }
}

/// The places of addresses and ports in a Service.
pub(super) fn allocations(service: &Json) -> Vec<String> {
    let ports = items(member(service, "spec"), "ports").len();
    let ports = (0..ports).map(|at| format!("/spec/ports/{at}/nodePort"));
    ["clusterIP", "clusterIPs/0", "healthCheckNodePort"]
        .map(|name| format!("/spec/{name}"))
        .into_iter()
        .chain(ports)
        .collect()
}

/// The path of the first difference, without the positions of items.
fn first_path(left: &Json, right: &Json) -> Option<String> {
    if same_value(left, right) {
        return None;
    }
    // The path is a label by which differences are counted, so it has no positions.
    match (left, right) {
        (Json::Object(a), Json::Object(b)) => {
            let names = a
                .keys()
                .chain(b.keys().filter(|name| !a.contains_key(*name)));
            for name in names {
                match (a.get(name), b.get(name)) {
                    (Some(left), Some(right)) => {
                        if let Some(path) = first_path(left, right) {
                            return Some(format!(".{name}{path}"));
                        }
                    }
                    (Some(_), None) => return Some(format!(".{name} is missing")),
                    _ => return Some(format!(".{name} is extra")),
                }
            }

            None
        }
        (Json::Array(a), Json::Array(b)) => {
            let below = a
                .iter()
                .zip(b)
                .find_map(|(left, right)| first_path(left, right));
            below
                .map(|path| format!("[]{path}"))
                .or_else(|| Some("[] has another length".to_owned()))
        }
        _ => Some(" differs".to_owned()),
    }
}
