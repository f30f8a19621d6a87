//! The Go side, a program that measures one cell per request.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::error::Error;

/// The program.
pub(crate) struct Go {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// The folder for files that the comparison builds and writes, in the target folder of Cargo.
pub(crate) fn target() -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    target
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"))
        .join("speed")
}

impl Go {
    /// Builds and starts the program on the inputs of a folder.
    pub(crate) fn start(inputs: &Path) -> Result<Self, Error> {
        let program = target()
            .canonicalize()
            .map_err(Error::go)?
            .join("oracle-speed");
        let mut build = Command::new("go");
        build.args(["build", "-o"]).arg(&program).arg(".");
        let built = build
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("oracle"))
            .output();
        let built = built.map_err(Error::go)?;
        if !built.status.success() {
            return Err(Error::go(String::from_utf8_lossy(&built.stderr)));
        }
        let mut command = Command::new(program);
        let command = command
            .arg(inputs)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().map_err(Error::go)?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(input), Some(output)) => Ok(Go {
                child,
                input,
                output: BufReader::new(output),
            }),
            _ => Err(Error::go("no pipes")),
        }
    }

    fn ask(&mut self, request: &Value) -> Result<Value, Error> {
        let mut answer = String::new();
        writeln!(self.input, "{request}").map_err(Error::go)?;
        self.output.read_line(&mut answer).map_err(Error::go)?;
        let answer: Value = serde_json::from_str(&answer).map_err(Error::go)?;
        match answer.get("error").and_then(Value::as_str) {
            Some(error) => Err(Error::go(format!("{request}: {error}"))),
            None => Ok(answer),
        }
    }

    /// The nanoseconds of one run of a cell.
    pub(crate) fn time(&mut self, cell: &str, millis: u64) -> Result<f64, Error> {
        let answer = self.ask(&json!({"cell": cell, "millis": millis}))?;
        Ok(answer.get("ns").and_then(Value::as_f64).unwrap_or_default())
    }

    /// The result of a cell.
    pub(crate) fn output(&mut self, cell: &str) -> Result<Value, Error> {
        Ok(self
            .ask(&json!({"cell": cell, "output": true}))?
            .get("output")
            .cloned()
            .unwrap_or_default())
    }

    /// The size of objects and sets on the heap.
    pub(crate) fn memory(&mut self) -> Result<Value, Error> {
        Ok(self
            .ask(&json!({"memory": true}))?
            .get("memory")
            .cloned()
            .unwrap_or_default())
    }
}

impl Drop for Go {
    fn drop(&mut self) {
        // The program ends with its input; if it hangs, it is not needed again.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
