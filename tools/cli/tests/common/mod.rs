//! Runs the command.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot run the command must fail"
)]

pub(crate) mod browser;

use assert_cmd::cargo::cargo_bin_cmd;
use tempfile::TempDir;

/// The output of the command and its exit code.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs the command in the root of the repository, with a string as standard input.
pub(crate) fn run_with(arguments: &[&str], stdin: &str) -> Run {
    let mut command = cargo_bin_cmd!("fieldmanager");
    // The output is not a terminal, whatever the environment says about colours.
    command
        .env_remove("CLICOLOR_FORCE")
        .env_remove("COLUMNS")
        .current_dir("../..");
    let output = command
        .args(arguments)
        .write_stdin(stdin)
        .output()
        .expect("the command runs");
    let text = |bytes| String::from_utf8(bytes).expect("the output is UTF-8");
    let run = Run {
        code: output.status.code().expect("the command ends by itself"),
        out: text(output.stdout),
        err: text(output.stderr),
    };
    assert!(
        !run.out.contains('\x1b') && !run.err.contains('\x1b'),
        "no colours but to a terminal: {run:?}"
    );
    run
}

pub(crate) fn run(arguments: &[&str]) -> Run {
    run_with(arguments, "")
}

/// Runs the command with the arguments of one line, split at whitespace.
pub(crate) fn line(arguments: &str) -> Run {
    run(&arguments.split_whitespace().collect::<Vec<_>>())
}

/// The output and the exit code of a command on a terminal with the given number of columns.
pub(crate) fn at_width(columns: usize, arguments: &str) -> (i32, String) {
    let mut command = cargo_bin_cmd!("fieldmanager");
    command
        .env_remove("CLICOLOR_FORCE")
        .env("COLUMNS", columns.to_string())
        .current_dir("../..");
    let output = command
        .args(arguments.split_whitespace())
        .output()
        .expect("the command runs");
    (
        output.status.code().expect("the command ends by itself"),
        String::from_utf8(output.stdout).unwrap(),
    )
}

/// Compares a string, which ends with one newline, with a file in `tests/snapshots`. `INSTA_UPDATE=always` writes the
/// file instead.
#[track_caller]
pub(crate) fn snapshot(name: &str, string: &str) {
    assert!(
        string.ends_with('\n') && !string.ends_with("\n\n"),
        "{name}: {string:?}"
    );
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, string));
}

/// The standard output of a command that succeeds and prints nothing on standard error.
pub(crate) fn prints(arguments: &str) -> String {
    let run = line(arguments);
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{arguments}");
    run.out
}

/// The exit code and standard error of a command that fails and prints nothing on standard output.
pub(crate) fn fails(arguments: &str) -> (i32, String) {
    let run = line(arguments);
    assert_eq!(run.out, "", "{arguments}");
    (run.code, run.err)
}

/// A folder with files, which is removed when the value is dropped.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let folder = Folder(tempfile::tempdir().unwrap());
        for (name, text) in files {
            std::fs::write(folder.0.path().join(name), text).unwrap();
        }
        folder
    }

    pub(crate) fn path(&self) -> &std::path::Path {
        self.0.path()
    }

    /// Replaces `@` in arguments with the folder.
    pub(crate) fn line(&self, arguments: &str) -> String {
        arguments.replace('@', &self.path().display().to_string())
    }

    /// Replaces the folder in output with `@`.
    pub(crate) fn shortened(&self, text: &str) -> String {
        text.replace(&self.path().display().to_string(), "@")
    }
}
