//! This program as a plugin of kubectl, which runs `kubectl-fieldmanager` for `kubectl fieldmanager`, and
//! `kubectl_complete-fieldmanager` to complete its arguments.

use std::path::Path;
use std::process::ExitCode;

use clap::Command;

use crate::output;

/// Whether the process was started by a name.
pub(crate) fn is_called(name: &str) -> bool {
    let program = std::env::args_os().next().unwrap_or_default();
    Path::new(&program)
        .file_stem()
        .is_some_and(|own| own == name)
}

/// The command as a plugin: its usage has the name of the plugin, and objects are those of the cluster, unless files are given.
pub(crate) fn as_plugin(command: Command) -> Command {
    let command = command.bin_name("kubectl fieldmanager");
    command.mut_subcommands(|sub| {
        if sub.get_arguments().any(|arg| arg.get_id() == "cluster") {
            sub.mut_arg("cluster", |arg| arg.default_value("true"))
        } else {
            sub
        }
    })
}

/// Prints what the last argument of the process may be, as kubectl reads it: a line each, and the directive not to complete files.
///
/// Behaviour: `SetupPluginCompletion` of `k8s.io/kubectl/pkg/cmd/plugin/plugin_completion.go`.
pub(crate) fn complete(command: &Command) -> ExitCode {
    let words = std::env::args_os().skip(1);
    let words: Vec<String> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let (last, before) = words
        .split_last()
        .map_or(("", &[][..]), |(last, before)| (last.as_str(), before));
    // Options before the command may have values, so any word may be its name.
    let called = before.iter().find_map(|word| command.find_subcommand(word));
    let at = called.unwrap_or(command);
    let options = at.get_arguments().chain(command.get_arguments());
    let options = options.filter_map(|option| Some(format!("--{}", option.get_long()?)));
    let shown = at.get_subcommands().filter(|sub| !sub.is_hide_set());
    let mut found: Vec<String> = shown.map(|sub| sub.get_name().to_owned()).collect();
    if last.starts_with('-') {
        found = options.collect();
    }
    found.retain(|word| word.starts_with(last));
    found.sort();
    found.dedup();
    // The directive of cobra for no files.
    found.push(":4".to_owned());

    // A reader that has closed the output needs no completions.
    let _ = output::print_lines(found);
    ExitCode::SUCCESS
}
