//! Commands that use or change the managed fields of one object: `extract`, `upgrade-csa` and `strip`.

use std::process::ExitCode;

use fieldmanager_managedfields::internal::decode_lossy;
use fieldmanager_managedfields::{
    CsaUpgrade, ExtractForm, ExtractRequest, Operation, StripOptions, extract as extract_from,
    strip_for_apply,
};
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::{List, Value};

use crate::args::{CsaArgs, ExtractArgs, Format, StripArgs};
use crate::error::Failure;
use crate::files::{self, Files};
use crate::{alone, output, text, types};

fn print(object: &Value, format: Format) -> Result<ExitCode, Failure> {
    output::print(object, format)?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn extract(args: &ExtractArgs, files: Files) -> Result<ExitCode, Failure> {
    let object = files.object(&args.file)?;
    let ty = types::of(&args.of, &object, &args.file, files)?;
    // Go returns only the fields that the manager owns, which is no configuration without the name.
    let form = if args.as_go {
        ExtractForm::AsGo
    } else {
        ExtractForm::Reapply
    };
    let request = ExtractRequest::new(&object, &ty, &args.manager)
        .subresource(&args.subresource)
        .form(form);
    let found = extract_from(request).map_err(|error| {
        let file = files::name(&args.file);
        alone::with_files(error, &args.manager, file.clone(), file)
    })?;

    // A manager without an entry most often has another name or subresource, so the message lists those that have one.
    let Some(config) = found else {
        return Err(Failure::input(
            files::name(&args.file),
            nothing_applied(&object, args),
        ));
    };
    print(&config, args.output.output)
}

/// The message for a manager that has applied nothing. It lists the managers that have.
fn nothing_applied(object: &Value, args: &ExtractArgs) -> String {
    let managed = decode_lossy(object.managed_fields()).managed;
    let appliers: Vec<String> = managed
        .entries()
        .iter()
        .filter(|entry| entry.operation == Operation::Apply)
        .map(|entry| text::identity(&entry.identity()))
        .collect();
    let known = if appliers.is_empty() {
        "no manager has".to_owned()
    } else {
        format!("managers that have: {}", appliers.join(", "))
    };

    let to = match args.subresource.as_str() {
        "" => String::new(),
        subresource => format!(" to {subresource}"),
    };
    format!("`{}` has applied nothing{to}, {known}", args.manager)
}

pub(crate) fn upgrade_csa(args: &CsaArgs, files: Files) -> Result<ExitCode, Failure> {
    let object = files.object(&args.file)?;
    let upgrade = CsaUpgrade::new(
        args.csa_managers.iter().map(String::as_str),
        args.manager.as_str(),
    )
    .subresource(args.subresource.as_str())
    .unite_versions(args.unite_versions);
    let fault = |error| Failure::input(files::name(&args.file), error);
    let result = if args.patch {
        upgrade
            .patch(&object)
            .map_err(fault)?
            .unwrap_or_else(|| Value::List(List::default()))
    } else {
        upgrade.upgrade(&object).map_err(fault)?
    };

    print(&result, args.output.output)
}

pub(crate) fn strip(args: &StripArgs, files: Files) -> Result<ExitCode, Failure> {
    let options = StripOptions::default()
        .status(!args.keep_status)
        .last_applied(!args.keep_last_applied);
    print(
        &strip_for_apply(&files.object(&args.file)?, options),
        args.output.output,
    )
}
