//! `owners`: the managers of many objects, and the fields that several of them own.

use std::collections::BTreeMap;
use std::process::ExitCode;

use comfy_table::{CellAlignment, Table, presets};
use fieldmanager_fieldpath::{Path, Set};
use fieldmanager_managedfields::Entry;
use fieldmanager_managedfields::internal::decode_lossy;
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::Value;
use serde_json::json;

use crate::answers::cluster::LiveCluster;
use crate::answers::sources::{Sources, key};
use crate::args::{OwnersArgs, ReportFormat};
use crate::error::Failure;
use crate::files::Files;
use crate::output::{self, Line, Style};
use crate::text;

/// What is known about all objects.
#[derive(Default)]
struct OwnersReport {
    objects: usize,
    /// Objects and fields, by manager, operation and subresource.
    managers: BTreeMap<[String; 3], [usize; 2]>,
    shared: Vec<SharedField>,
}

/// A field that several managers own.
struct SharedField {
    object: String,
    path: Path,
    owners: Vec<String>,
}

/// Prints the managers, and the fields that several of them own.
pub(crate) fn run(args: &OwnersArgs, files: Files) -> Result<ExitCode, Failure> {
    let mut report = OwnersReport::default();
    match LiveCluster::of_live(&args.live, !args.files.is_empty())? {
        Some(cluster) => cluster.each(&args.live, |live| {
            report.add(&live.key.to_string(), &live.object);
            Ok(())
        })?,
        None => Sources::new(&args.files, files)?.each(&[], |item| {
            let item = item?;
            let name = key(&item.object, true, "").to_string();
            report.add(&name, &item.object);
            Ok(())
        })?,
    }

    if args.output == ReportFormat::Json {
        output::out().json(&format!("{:#}", report.document()))?;
    } else {
        output::print_lines(report.lines())?;
    }
    Ok(ExitCode::SUCCESS)
}

impl OwnersReport {
    fn add(&mut self, name: &str, object: &Value) {
        self.objects += 1;
        let entries = decode_lossy(object.managed_fields()).managed.entries();
        let (mut once, mut twice) = (Set::new(), Set::new());
        for entry in &entries {
            let fields = entry.fields.leaves();
            let [objects, owned] = self.managers.entry(identity(entry)).or_default();
            *objects += 1;
            *owned += fields.len();
            twice = twice.union(&once.intersection(&fields));
            once = once.union(&fields);
        }

        for path in twice.paths() {
            let elements: Vec<_> = path.iter().cloned().collect();
            let owners = entries.iter().filter(|entry| entry.fields.has(&elements));
            let owners = owners.map(|entry| text::identity(&entry.identity()));
            self.shared.push(SharedField {
                object: name.to_owned(),
                owners: owners.collect(),
                path,
            });
        }
    }

    fn lines(&self) -> Vec<Line> {
        // Names of managers are those of clients, and so untrusted.
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(["MANAGER", "OPERATION", "SUBRESOURCE", "OBJECTS", "FIELDS"]);
        for (identity, counts) in &self.managers {
            let cells = identity.iter().map(|cell| text::printable(cell));
            table.add_row(cells.chain(counts.iter().map(usize::to_string)));
        }
        for column in table.column_iter_mut().skip(3) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let mut lines: Vec<Line> = table.trim_fmt().lines().map(Line::from).collect();

        if !self.shared.is_empty() {
            lines.extend([
                Line::default(),
                Style::Strong.paint("fields of several managers"),
            ]);
        }
        for field in &self.shared {
            let owners = field.owners.join(", ");
            let line = format!("  {} {}: {owners}", field.object, field.path);
            lines.extend(
                text::wrap(&line, output::room(), 4)
                    .into_iter()
                    .map(Line::from),
            );
        }
        lines.push(Line::default());
        lines.push(Line::from(format!(
            "{} managers of {} objects, {} fields of several managers",
            self.managers.len(),
            self.objects,
            self.shared.len()
        )));
        lines
    }

    fn document(&self) -> serde_json::Value {
        let managers = self.managers.iter();
        let managers = managers.map(|([manager, operation, subresource], [objects, fields])| {
            json!({
                "manager": manager, "operation": operation, "subresource": subresource,
                "objects": objects, "fields": fields,
            })
        });
        let shared = self.shared.iter().map(|field| {
            json!({"object": field.object, "path": field.path.to_string(), "owners": field.owners})
        });
        json!({
            "objects": self.objects,
            "managers": managers.collect::<Vec<_>>(),
            "shared": shared.collect::<Vec<_>>(),
        })
    }
}

fn identity(entry: &Entry) -> [String; 3] {
    [
        entry.manager.to_string(),
        entry.operation.to_string(),
        entry.subresource.to_string(),
    ]
}
