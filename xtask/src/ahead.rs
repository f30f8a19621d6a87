//! Builds of later sections, made while the tests of earlier ones wait for what they test.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::comparison;
use crate::run::{Run, has, workspace};

/// Builds the programs that count instructions.
const BUILD_OF_KEY_OPERATIONS: &str = "cargo build -q -p fieldmanager-benches --release \
     --no-default-features --bin instructions --bin key-operation";

/// The builds under way.
pub(crate) struct Ahead(Option<Child>);

impl Ahead {
    /// Starts the builds that the wanted parts need, one after another, with what the processors have left.
    ///
    /// A section that comes to a build that has not ended waits for it, because cargo locks the folder of each profile, and
    /// makes one that failed again, which shows why. Without the program `nice`, every section makes its own.
    pub(crate) fn start(run: &Run) -> Self {
        let builds = builds(run);
        if builds.is_empty() || !has("nice") {
            return Self(None);
        }

        let mut command = Command::new("nice");
        command
            .args(["-n", "19", "sh", "-c", &builds.join("; ")])
            .current_dir(workspace())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // A group of its own, so that its end is the end of the compilers, too.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        Self(command.spawn().ok())
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        let Some(child) = &mut self.0 else {
            return;
        };
        if matches!(child.try_wait(), Ok(None)) {
            let group = format!("-{}", child.id());
            let _ = Command::new("kill").args(["--", &group]).status();
            let _ = child.wait();
        }
    }
}

/// The builds of the wanted parts, as commands of a shell.
fn builds(run: &Run) -> Vec<String> {
    let mut builds = Vec::new();
    if run.wants("comparison") {
        builds.extend(
            [
                "comparison/oracle",
                "comparison/kubectl/program",
                "comparison/clients/go",
            ]
            .map(|module| format!("(cd {module} && go vet ./...)")),
        );
        builds.push(comparison::BUILD.to_owned());
    }
    if run.wants("speed") {
        builds.push(BUILD_OF_KEY_OPERATIONS.to_owned());
    }
    if run.wants("fuzz") {
        builds.push(format!(
            "RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR={} cargo fuzz build",
            quoted(&run.target.join("fuzz"))
        ));
    }

    builds
}

/// A path as a word of a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}
