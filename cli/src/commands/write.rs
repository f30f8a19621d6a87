//! `apply` and `update`: the commands that change an object and who owns it.

use std::process::ExitCode;

use fieldmanager_fieldpath::ApiVersion;
use fieldmanager_merge::{Error, Force, Updater};
use fieldmanager_schema::Type;
use fieldmanager_typed::{Duplicates, TypedValue};
use fieldmanager_value::Value;

use crate::args::{ApplyArgs, WriteArgs};
use crate::error::Failure;
use crate::managed::{self, Identity, ManagedFields};
use crate::{files, output, types};

/// What both commands start from.
struct Input {
    live: TypedValue,
    managed: ManagedFields,
    given: Value,
    ty: Type,
    version: ApiVersion,
}

impl Input {
    fn read(args: &WriteArgs) -> Result<Self, Failure> {
        if args.manager.is_empty() {
            return Err(Failure::Usage("--manager: expected a name".into()));
        }
        let given = files::value(&args.file)?;
        let file = files::name(&args.file);
        if !matches!(given, Value::Map(_)) {
            let message = format!("expected an object, got {}", given.kind());
            return Err(Failure::input(file, message));
        }
        let mut live = match &args.live {
            Some(path) => files::value(path)?,
            None => Value::Null,
        };
        let live_file = args.live.as_deref().map(files::name).unwrap_or_default();
        let managed = ManagedFields::take_from(&mut live, &live_file)?;
        let ty = types::of(&args.of, &given)?;
        let version = match given.get("apiVersion") {
            Some(Value::String(version)) => version.clone(),
            // An object that has no versions is always at the same one.
            _ => "v1".into(),
        };
        if let Some(Value::String(live_version)) = live.get("apiVersion")
            && *live_version != version
        {
            let message = format!("apiVersion is `{live_version}`, expected `{version}` as in {file}");
            return Err(Failure::input(live_file, message));
        }
        Ok(Input {
            live: typed(live, &ty, Duplicates::Allow, &live_file)?,
            managed,
            given,
            ty,
            version: version.into(),
        })
    }
}

fn typed(value: Value, ty: &Type, duplicates: Duplicates, file: &str) -> Result<TypedValue, Failure> {
    TypedValue::new(value, ty.clone(), duplicates)
        .map_err(|errors| Failure::Invalid { file: file.into(), errors })
}

pub(crate) fn apply(args: &ApplyArgs) -> Result<ExitCode, Failure> {
    let write = &args.write;
    let mut input = Input::read(write)?;
    let file = files::name(&write.file);
    if managed::is_set(&input.given) {
        let message = "metadata.managedFields must not be set in a configuration: remove it";
        return Err(Failure::input(file, message));
    }
    let config = typed(input.given, &input.ty, Duplicates::Refuse, &file)?;
    let actor = Identity::applier(&write.manager);
    let force = if args.force { Force::Yes } else { Force::No };
    let applied = Updater::builder()
        .unions(write.unions)
        .build()
        .apply(&input.live, &config, &input.version, &input.managed.managers, &actor.name(), force)
        .map_err(|error| failure(error, &file))?;
    // As in the apiserver, an apply that changes nothing leaves the time alone.
    let time = write.time.filter(|_| applied.object.is_some());
    let object = applied.object.unwrap_or(input.live).into_value();
    input.managed.note(applied.managers, &actor, time);
    print(object, &input.managed, write)
}

pub(crate) fn update(args: &WriteArgs) -> Result<ExitCode, Failure> {
    let mut input = Input::read(args)?;
    let file = files::name(&args.file);
    // What the new object says of its owners does not count: the live object knows.
    ManagedFields::take_from(&mut input.given, &file)?;
    let new = typed(input.given, &input.ty, Duplicates::Allow, &file)?;
    let actor = Identity::updater(&args.manager, input.version.as_str());
    let updated = Updater::builder()
        .unions(args.unions)
        .build()
        .update(&input.live, &new, &input.version, &input.managed.managers, &actor.name())
        .map_err(|error| failure(error, &file))?;
    input.managed.note(updated.managers, &actor, args.time);
    print(updated.object.into_value(), &input.managed, args)
}

fn print(mut object: Value, managed: &ManagedFields, args: &WriteArgs) -> Result<ExitCode, Failure> {
    managed.put_into(&mut object);
    output::print(&object, args.output.output)?;
    Ok(ExitCode::SUCCESS)
}

fn failure(error: Error, file: &str) -> Failure {
    match error {
        Error::Conflicts(conflicts) => Failure::Conflicts(conflicts),
        other => Failure::input(file, other),
    }
}
