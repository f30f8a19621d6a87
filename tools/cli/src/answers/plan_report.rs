//! The report of `plan`: a line for each object, and what changes.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anstream::adapter::strip_str;
use fieldmanager_blame::html::Emphasis;
use fieldmanager_fieldpath::Set;
use fieldmanager_managedfields::{Identity, Time};
use fieldmanager_value::Value;
use maud::html;
use serde_json::{Value as Json, json};

use super::plan::{Fate, KeptBecause, KeptField, Planned};
use super::sources::ObjectKey;
use super::tool::Tool;
use crate::answer::unstored;
use crate::args::PlanFormat;
use crate::blame::PageObject;
use crate::error::Failure;
use crate::output::{self, Line, Progress, Style};
use crate::owners::Owned;
use crate::request::LATEST;
use crate::server::untimed;
use crate::{blame, conflict, difference, text};

/// What is planned, as it is printed.
pub(crate) struct PlanReport {
    format: PlanFormat,
    /// Whether each object is followed by its changes.
    has_details: bool,
    objects: Vec<Json>,
    page: Vec<PageObject>,
    fates: BTreeMap<Fate, usize>,
    kept: usize,
    progress: Progress,
}

/// Where an object is.
pub(crate) struct PlannedPlace<'a> {
    pub(crate) file: &'a str,
    pub(crate) line: usize,
    pub(crate) key: &'a ObjectKey,
}

impl PlanReport {
    pub(crate) fn new(format: PlanFormat, has_details: bool) -> Self {
        PlanReport {
            format,
            has_details,
            objects: Vec::new(),
            page: Vec::new(),
            fates: BTreeMap::new(),
            kept: 0,
            progress: Progress::new(),
        }
    }

    /// Adds what becomes of an object.
    pub(crate) fn add(
        &mut self,
        place: &PlannedPlace<'_>,
        planned: &Planned,
    ) -> Result<(), Failure> {
        *self.fates.entry(planned.fate).or_default() += 1;
        self.kept += planned.kept.len();
        // What stays as it is, and without old fields, is only counted.
        let is_only_counted = planned.fate == Fate::Unchanged && planned.kept.is_empty();
        self.progress.done(|| {
            match self.format {
                PlanFormat::Json => {
                    self.objects.push(document(place, planned));
                    return Ok(());
                }
                PlanFormat::Html if is_only_counted => return Ok(()),
                PlanFormat::Html => {
                    self.page.push(page_object(place, planned)?);
                    return Ok(());
                }
                PlanFormat::Text => {}
            }
            for warning in &planned.warnings {
                let file = format!("{}:{}", place.file, place.line);
                output::err().warning(&file, warning)?;
            }
            if is_only_counted {
                return Ok(());
            }

            output::print_lines([headline(place, planned)])?;
            if self.has_details {
                output::print_lines(details(planned))?;
            }
            Ok(())
        })
    }

    /// Ends the report. The exit code is 1 after a conflict or a refusal.
    pub(crate) fn finish(self, tool: &Tool) -> Result<ExitCode, Failure> {
        self.progress.end();
        let count = |fate: Fate| self.fates.get(&fate).copied().unwrap_or_default();
        let has_conflicts = count(Fate::Conflict) > 0;
        let code = ExitCode::from(u8::from(has_conflicts || count(Fate::Refused) > 0));
        let counts = self.fates.iter().map(|(fate, count)| (fate.name(), *count));
        if self.format == PlanFormat::Json {
            let counts: BTreeMap<&str, usize> = counts.collect();
            let summary = json!({"objects": self.objects, "counts": counts, "kept": self.kept});
            output::out().json(&format!("{summary:#}"))?;
            return Ok(code);
        }

        // A page has the ways out at its end, below all conflicts.
        if has_conflicts && self.format == PlanFormat::Text {
            output::print_lines(conflict::ways(tool.how_to_force))?;
            output::out().line(Line::default())?;
        }
        let counts: Vec<String> = counts
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        let kept = match self.kept {
            0 => String::new(),
            1 => "; 1 field is kept".to_owned(),
            kept => format!("; {kept} fields are kept"),
        };
        let counts = if counts.is_empty() {
            "no objects".to_owned()
        } else {
            counts.join(", ")
        };
        let summary = format!("{counts}{kept}");
        if self.format == PlanFormat::Html {
            let title = format!("What an apply by {} does", text::printable(&tool.manager));
            let header = html! {
                h1 { bdi { (title) } }
                p { (summary) }
            };
            let footer = html! {
                @if has_conflicts { p.about { (plain(&conflict::ways(tool.how_to_force))) } }
            };
            let page = blame::page_of(&title, [header, footer], self.page, latest()?, &[]);
            output::print_document(&page)?;
        } else {
            output::out().line(summary)?;
        }

        Ok(code)
    }
}

/// `changed  Deployment shop/web  2 fields change, 1 is kept`
fn headline(place: &PlannedPlace<'_>, planned: &Planned) -> Line {
    let style = match planned.fate {
        Fate::Created => Style::Added,
        Fate::Changed => Style::Modified,
        Fate::Conflict | Fate::Refused => Style::Error,
        Fate::Removed => Style::Removed,
        Fate::Unchanged => Style::Faint,
    };
    let count = |number: usize, one: &str, many: &str| match number {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{number} {many}")),
    };
    let difference = planned.difference.as_ref();
    let mut parts: Vec<String> = [
        count(
            planned.conflicts.as_ref().map_or(0, |all| all.len()),
            "conflict",
            "conflicts",
        ),
        count(
            difference.map_or(0, |found| found.changes.len()),
            "field changes",
            "fields change",
        ),
        count(planned.kept.len(), "field is kept", "fields are kept"),
    ]
    .into_iter()
    .flatten()
    .collect();
    // Without a change of values, the owners are the change.
    let has_owners_only =
        difference.is_some_and(|found| found.changes.is_empty() && !found.ownership.is_empty());
    if has_owners_only && planned.fate == Fate::Changed {
        parts.push("only owners change".to_owned());
    }
    if !planned.taken.is_empty() {
        parts.push(format!("takes over {}", names(&planned.taken)));
    }
    if !planned.message.is_empty() {
        parts.push(planned.message.clone());
    }

    let fate = style.paint(&text::padded(planned.fate.name(), 10));
    let name = fate.and(place.key.to_string());
    if parts.is_empty() {
        name
    } else {
        name.and(": ").and(parts.join(", "))
    }
}

fn names(identities: &[Identity]) -> String {
    let names: Vec<String> = identities.iter().map(text::identity).collect();
    names.join(", ")
}

/// The changes, the conflicts and the kept fields of an object, indented.
fn details(planned: &Planned) -> Vec<Line> {
    let mut lines = Vec::new();
    let room = output::room().map(|room| room.saturating_sub(2));
    if let Some(conflicts) = &planned.conflicts {
        lines.push(Style::Strong.paint("conflicts"));
        lines.extend(conflict::table(
            conflicts,
            output::width().saturating_sub(2),
        ));
    }
    let difference = planned
        .difference
        .as_ref()
        .filter(|_| planned.fate != Fate::Unchanged);
    lines.extend(
        difference
            .map(|found| difference::lines(found, room))
            .unwrap_or_default(),
    );
    if !planned.kept.is_empty() {
        let title = "kept, although the configuration does not have them";
        lines.push(Style::Strong.paint(title));
    }
    // Fields that stay for one reason are below it.
    for because in [
        KeptBecause::ClientSideApply,
        KeptBecause::OtherOwner,
        KeptBecause::NoOwner,
    ] {
        let kept = planned.kept.iter().filter(|kept| kept.because == because);
        let mut kept = kept.flat_map(|kept| kept_lines(kept, room)).peekable();
        if kept.peek().is_some() {
            let words = text::wrap(because.words(), room, 4).into_iter();
            lines.extend(words.map(|line| Line::from("  ").and(line)));
            lines.extend(kept);
        }
    }

    let indented = lines
        .into_iter()
        .map(|line| Line::from("  ").and(line).trimmed());
    indented.chain([Line::default()]).collect()
}

fn kept_lines(kept: &KeptField, room: Option<usize>) -> Vec<Line> {
    let value = text::shortened(&text::printable(&kept.value.to_json()), 40);
    let path = text::printable(&kept.path.to_string());
    let owners = match kept.owners.as_slice() {
        [] => String::new(),
        owners => format!(" ({})", names(owners)),
    };
    let parts = text::wrap(&format!("= {path}: {value}{owners}"), room, 6).into_iter();
    parts.map(|part| Line::from("    ").and(part)).collect()
}

/// Lines without colours.
fn plain(lines: &[Line]) -> String {
    let lines = lines.iter().map(Line::to_string);
    let lines = lines.map(|line| strip_str(&line).to_string());
    lines.collect::<Vec<_>>().join("\n")
}

/// The object afterwards, its owners, and what is said about it.
fn page_object(place: &PlannedPlace<'_>, planned: &Planned) -> Result<PageObject, Failure> {
    let warnings = planned.warnings.iter();
    let warnings = warnings.map(|warning| Line::from(format!("  warning: {warning}")));
    let about: Vec<Line> = warnings.chain(details(planned)).collect();
    let now = latest()?;
    let object = untimed(&Value::Null, &unstored(&Value::Null, &planned.new), now);
    let mut owned = Owned::new(object, now);
    // When the apply will take place is not known, so no entry has an age.
    for owner in &mut owned.owners {
        owner.entry.time = None;
    }
    let lines = match &owned.object {
        Value::Null => Vec::new(),
        object => fieldmanager_blame::lines(object, &owned.entries(), planned.ty.as_ref()),
    };

    let changes = planned.difference.iter().flat_map(|found| &found.changes);
    let changed = changes.map(|change| (change.path.to_string(), Emphasis::Changed));
    let conflicts = planned.conflicts.iter().flat_map(|all| all.iter());
    let refused = conflicts.map(|conflict| (conflict.path.to_string(), Emphasis::Refused));
    // The columns of the report are no columns here.
    let title = plain(&[headline(place, planned)]);
    Ok(PageObject {
        title: title.split_whitespace().collect::<Vec<_>>().join(" "),
        about: plain(&about).trim_end().to_owned(),
        emphasis: changed.chain(refused).collect(),
        owned,
        lines,
    })
}

/// The time of the changes.
fn latest() -> Result<Time, Failure> {
    let time = LATEST.parse::<Time>();
    time.map_err(|error| Failure::Other(error.to_string()))
}

/// An object of the report as JSON.
fn document(place: &PlannedPlace<'_>, planned: &Planned) -> Json {
    let value = |value: &Option<fieldmanager_value::Value>| json!(value);
    let paths = |set: &Set| -> Vec<String> { set.paths().map(|path| path.to_string()).collect() };
    let identity = |identity: &Identity| json!({"manager": identity.manager.as_str(), "operation": identity.operation.name(), "subresource": identity.subresource.as_str()});
    let difference = planned.difference.as_ref();
    let changes = difference.iter().flat_map(|found| &found.changes);
    let changes: Vec<Json> = changes
        .map(|change| json!({"path": change.path.to_string(), "before": value(&change.before), "after": value(&change.after)}))
        .collect();
    let ownership = difference.iter().flat_map(|found| &found.ownership);
    let ownership: Vec<Json> = ownership
        .map(|change| {
            json!({"owner": identity(&change.identity), "gained": paths(&change.gained), "lost": paths(&change.lost)})
        })
        .collect();

    // Owners are objects here, and text in the report for people.
    let conflicts = planned.conflicts.iter().flat_map(|all| all.iter());
    let conflicts: Vec<Json> = conflicts
        .map(|conflict| {
            let owner = conflict::identity(&conflict.manager);
            json!({
                "path": conflict.path.to_string(), "owner": owner.as_ref().map(identity),
                "live": value(&conflict.live), "wanted": value(&conflict.wanted),
            })
        })
        .collect();
    let kept: Vec<Json> = planned
        .kept
        .iter()
        .map(|kept| {
            let owners: Vec<Json> = kept.owners.iter().map(identity).collect();
            json!({"path": kept.path.to_string(), "value": kept.value, "owners": owners, "reason": kept.because.words()})
        })
        .collect();

    let ObjectKey {
        group,
        kind,
        namespace,
        name,
    } = place.key;
    json!({
        "file": place.file, "line": place.line,
        "group": group, "kind": kind, "namespace": namespace, "name": name,
        "fate": planned.fate.name(), "message": planned.message,
        "changes": changes, "ownership": ownership, "conflicts": conflicts, "kept": kept,
        "takesOver": planned.taken.iter().map(identity).collect::<Vec<_>>(), "warnings": planned.warnings,
    })
}
