//! `migrate`: gives the entries of managers to another one, in a file or in the objects of a cluster.

use std::process::ExitCode;

use fieldmanager_conformance_suite::internal::Message;
use fieldmanager_harness::internal::with_metadata;
use fieldmanager_managedfields::internal::{decode_lossy, owners_patch, selected_entries};
use fieldmanager_managedfields::{Entry, Identity, ManagedFields, Operation, Selector};
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::{Map, Value};

use crate::answers::cluster::{LiveCluster, LiveObject, refusal};
use crate::args::{MigrateArgs, OperationName};
use crate::error::Failure;
use crate::files::{self, Files};
use crate::output::{self, Style};
use crate::text;

/// How often a patch is made again for an object that has changed meanwhile.
const ATTEMPTS: usize = 5;

/// The owners of an object after the migration.
struct Migration {
    /// The entries that go.
    taken: Vec<Entry>,
    managed: ManagedFields,
}

/// Prints the object of a file with its new owners, or the patches of the objects of a cluster, and sends them on demand.
pub(crate) fn run(args: &MigrateArgs, files: Files) -> Result<ExitCode, Failure> {
    let Some(cluster) = LiveCluster::of_live(&args.live, args.file.is_some())? else {
        return in_file(args, files);
    };
    if args.live.is_empty() {
        let message = "which objects? TYPE/NAME, TYPE, or a category such as all";
        return Err(Failure::Usage(message.to_owned()));
    }
    let [mut migrated, mut left, mut failed] = [0; 3];
    cluster.each(&args.live, |live| {
        let name = live.key.to_string();
        match in_cluster(&cluster, args, live) {
            Ok(true) => migrated += 1,
            Ok(false) => left += 1,
            // One object that cannot be written is no reason to leave the others.
            Err(Failure::Refused(message)) => {
                failed += 1;
                output::err().line(
                    Style::Error
                        .paint("error:")
                        .and(format!(" {name}: {message}")),
                )?;
            }
            Err(other) => return Err(other),
        }
        Ok(())
    })?;

    let (done, how) = if args.write {
        ("migrated", "")
    } else {
        ("to migrate", ": --write sends the patches")
    };
    let sum = format!("{migrated} {done}, {left} without such entries, {failed} refused{how}");
    output::print_lines([sum])?;
    Ok(ExitCode::from(u8::from(failed > 0)))
}

fn in_file(args: &MigrateArgs, files: Files) -> Result<ExitCode, Failure> {
    let file = args.file.clone().unwrap_or_default();
    let object = files.object(&file)?;
    let fault = |error| Failure::input(files::name(&file), error);
    let migration = migrate(args, &object).map_err(fault)?;
    // The object would be unchanged, and the mistake would go unnoticed.
    let Some(migration) = migration else {
        let managed = decode_lossy(object.managed_fields()).managed;
        let known = managed.entries();
        let known = known.iter().map(|entry| text::identity(&entry.identity()));
        let known: Vec<String> = known.collect();
        return Err(fault(format!(
            "`{}` has no such entry, known entries are {}",
            names(args).join("`, `"),
            known.join(", ")
        )));
    };
    output::print(&migration.managed.set_in(&object), args.output.output)?;
    Ok(ExitCode::SUCCESS)
}

/// Shows the patch of an object, and sends it if it is to be written. The result is false for an object without such entries,
/// and for one that was removed meanwhile.
fn in_cluster(
    cluster: &LiveCluster,
    args: &MigrateArgs,
    mut live: LiveObject,
) -> Result<bool, Failure> {
    for _ in 0..ATTEMPTS {
        let migration = migrate(args, &live.object).map_err(Failure::Refused)?;
        let Some(migration) = migration else {
            return Ok(false);
        };
        let patch = patch(&live.object, &migration.managed);
        show(args, &live, &migration, &patch)?;
        if !args.write {
            return Ok(true);
        }
        if send(cluster, &live, &patch, "?dryRun=All&")? && send(cluster, &live, &patch, "?")? {
            return Ok(true);
        }

        // The object has changed after it was read, so its owners may be others.
        match cluster.get(&live.path)? {
            Some(object) => live.object = object,
            None => return Ok(false),
        }
    }

    let message = format!("it has changed {ATTEMPTS} times while it was migrated");
    Err(Failure::Refused(message))
}

/// Sends a patch. The result is false if the object has changed.
fn send(
    cluster: &LiveCluster,
    live: &LiveObject,
    patch: &Value,
    query: &str,
) -> Result<bool, Failure> {
    let path = format!("{}{query}fieldManager=fieldmanager", live.path);
    let mut message = Message::new("PATCH", path, patch.to_json());
    let media = "application/json-patch+json".to_owned();
    message.headers.push(("Content-Type".to_owned(), media));
    let answer = cluster.send(message).map_err(Failure::Other)?;
    match answer.code {
        409 => return Ok(false),
        200 if !query.contains("dryRun") => return Ok(true),
        200 => {}
        code => return Err(Failure::Refused(refusal(code, &live.path, &answer))),
    }

    // An admission plugin of the cluster may change other fields.
    let plain = |object: &Value| {
        with_metadata(object, [("managedFields", None), ("resourceVersion", None)])
    };
    let new = Value::from_json(&answer.text).unwrap_or_default();
    if plain(&new) == plain(&live.object) {
        Ok(true)
    } else {
        let message = "the cluster would change more than the owners, so nothing is written";
        Err(Failure::Refused(message.to_owned()))
    }
}

/// The patch of the owners, which is refused if the object has changed.
fn patch(object: &Value, managed: &ManagedFields) -> Value {
    // An empty list would leave the owners as they are.
    let none = || Value::from(vec![Value::Map(Map::new())]);
    owners_patch(object, managed.encode().unwrap_or_else(none))
}

fn show(
    args: &MigrateArgs,
    live: &LiveObject,
    migration: &Migration,
    patch: &Value,
) -> Result<(), Failure> {
    output::print_lines([Style::Strong.paint(&live.key.to_string())])?;
    // An applier that gets fields may remove them, which is why people migrate.
    let to = match &args.to {
        None => "lose this owner".to_owned(),
        Some(to) if args.to_applier => {
            format!("become those of `{to}`, whose next apply removes what it leaves out")
        }
        Some(to) => format!("become those of `{to}`"),
    };
    for entry in &migration.taken {
        let from = text::identity(&entry.identity());
        let count = entry.fields.leaves().len();
        output::print_lines([format!("  fields of {from} ({count}) {to}")])?;
    }
    output::out().json(&patch.to_json())
}

/// The managers whose entries go.
fn names(args: &MigrateArgs) -> Vec<&str> {
    let all = args.from.iter().chain(&args.dropped);
    all.map(String::as_str).collect()
}

/// The owners after the migration; `None` if it changes nothing.
fn migrate(args: &MigrateArgs, object: &Value) -> Result<Option<Migration>, String> {
    let fault = |error: &dyn std::fmt::Display| error.to_string();
    let before = ManagedFields::of_object(object).map_err(|error| fault(&error))?;
    let (mut managed, mut taken) = (before.clone(), Vec::new());
    // The entries of an applier belong to one subresource.
    let subresource = args
        .subresource
        .clone()
        .or_else(|| args.to_applier.then(String::new));
    for from in names(args) {
        let mut selector = Selector::manager(from);
        match args.operation {
            Some(OperationName::Apply) => selector = selector.operation(Operation::Apply),
            Some(OperationName::Update) => selector = selector.operation(Operation::Update),
            None => {}
        }
        if let Some(subresource) = &subresource {
            selector = selector.subresource(subresource.as_str());
        }

        taken.extend(selected_entries(&managed, &selector));
        managed = match &args.to {
            None => managed.without(&selector),
            Some(to) if args.to_applier => {
                let subresource = subresource.clone().unwrap_or_default();
                let to = Identity::new(to.as_str(), Operation::Apply, "", subresource);
                managed
                    .transfer(&selector, &to)
                    .map_err(|error| fault(&error))?
            }
            Some(to) => managed
                .rename(&selector, to.as_str())
                .map_err(|error| fault(&error))?,
        };
    }

    let is_one = args.file.is_some();
    Ok(
        (!taken.is_empty() && (is_one || managed != before))
            .then_some(Migration { taken, managed }),
    )
}
