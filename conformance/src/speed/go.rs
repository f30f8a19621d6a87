//! The Go side, as a program that is asked cell by cell.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use super::Error;

/// The running program.
pub struct Go {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

const NAME: &str = "oracle-speed";

fn failed(message: impl ToString) -> Error {
    Error::Program { program: NAME.to_owned(), message: message.to_string() }
}

/// The folder for what is built and written: inside the target folder of Cargo.
pub(super) fn target() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root.join("..").join("target"), PathBuf::from)
        .join("conformance")
        .join("speed")
}

impl Go {
    /// Builds the program and starts it on the inputs of a folder.
    ///
    /// # Errors
    ///
    /// When Go is missing or does not build it.
    pub fn start(inputs: &Path) -> Result<Self, Error> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(NAME);
        let target = target();
        std::fs::create_dir_all(&target).map_err(failed)?;
        let program =
            target.canonicalize().map_err(failed)?.join(format!("{NAME}{}", env::consts::EXE_SUFFIX));
        let built =
            Command::new("go").args(["build", "-o"]).arg(&program).arg(".").current_dir(&folder).output();
        let built = built.map_err(|source| failed(format!("cannot run `go`: {source}")))?;
        if !built.status.success() {
            return Err(failed(String::from_utf8_lossy(&built.stderr).trim()));
        }
        let command = Command::new(&program).arg(inputs).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = command.map_err(failed)?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("no pipes"));
        };
        Ok(Go { child, input, output: BufReader::new(output) })
    }

    fn ask(&mut self, request: &Value) -> Result<Value, Error> {
        writeln!(self.input, "{request}").and_then(|()| self.input.flush()).map_err(failed)?;
        let mut line = String::new();
        self.output.read_line(&mut line).map_err(failed)?;
        let answer: Value = serde_json::from_str(&line).map_err(failed)?;
        match answer.get("error").and_then(Value::as_str) {
            Some(error) => Err(failed(format!("{request}: {error}"))),
            None => Ok(answer),
        }
    }

    /// Nanoseconds, allocations and allocated bytes of one run of a cell.
    pub(super) fn time(&mut self, cell: &str, millis: u64) -> Result<[f64; 3], Error> {
        let answer = self.ask(&json!({"cell": cell, "millis": millis}))?;
        Ok(["ns", "allocations", "bytes"]
            .map(|name| answer.get(name).and_then(Value::as_f64).unwrap_or_default()))
    }

    /// What a cell comes to.
    pub(super) fn output(&mut self, cell: &str) -> Result<Value, Error> {
        Ok(self.ask(&json!({"cell": cell, "output": true}))?.get("output").cloned().unwrap_or_default())
    }

    /// What things take on the heap.
    pub(super) fn memory(&mut self) -> Result<Value, Error> {
        Ok(self.ask(&json!({"memory": true}))?.get("memory").cloned().unwrap_or_default())
    }
}

impl Drop for Go {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
