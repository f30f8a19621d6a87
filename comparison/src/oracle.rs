//! The Go implementation, as a program that answers requests line by line.

use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;

use serde_json::{Value, json};

use crate::{Error, files};

/// Builds an oracle in the target folder of Cargo. A repeated build uses Go's cache. The packages below `server` are in
/// a Go module of their own.
///
/// # Errors
///
/// If Go is not installed, or the oracle does not build.
pub fn build(package: &str) -> Result<PathBuf, Error> {
    let name = format!(
        "oracle-{}{}",
        package.replace('/', "-"),
        env::consts::EXE_SUFFIX
    );
    let program = target()?.join(name);
    let (folder, package) = match package.strip_prefix("server/") {
        Some(package) => (files::folder("oracle/server"), package),
        None => (files::folder("oracle"), package),
    };
    // A relative path of a package needs its leading dot.
    let mut command = Command::new("go");
    command
        .args(["build", "-o"])
        .arg(&program)
        .arg(Path::new(".").join(package))
        .current_dir(&folder);

    let output = command.output().map_err(Error::GoMissing)?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Error::OracleBuild { folder, message });
    }
    Ok(program)
}

/// The folder of built programs, in the target folder of Cargo.
pub(crate) fn target() -> Result<PathBuf, Error> {
    let target =
        env::var_os("CARGO_TARGET_DIR").map_or_else(|| files::folder("../target"), PathBuf::from);
    let target = target.join("conformance");
    let failed = Error::file(&target);
    std::fs::create_dir_all(&target).map_err(failed)?;
    target.canonicalize().map_err(failed)
}

/// The reference: answers requests in JSON.
pub trait Oracle {
    /// Answers the requests in their order.
    ///
    /// # Errors
    ///
    /// If the oracle cannot be reached, or answers with something other than JSON.
    fn run(&mut self, requests: &[Value]) -> Result<Vec<Value>, Error>;

    /// The distinct answers to a request that is asked `times` times.
    ///
    /// # Errors
    ///
    /// As for [`Oracle::run`].
    fn variants(&mut self, request: &Value, times: usize) -> Result<Vec<Value>, Error>;
}

/// A program that reads requests as lines and answers each with a line.
///
/// An oracle is such a program; any engine that supports the same protocol can replace the library.
pub struct CoProcess {
    program: PathBuf,
    arguments: Vec<String>,
    running: Option<Running>,
}

struct Running {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl CoProcess {
    /// Creates the process, which starts with the first request.
    pub fn new(program: impl Into<PathBuf>, arguments: Vec<String>) -> Self {
        Self {
            program: program.into(),
            arguments,
            running: None,
        }
    }

    fn start(&mut self) -> Result<&mut Running, Error> {
        if self.running.is_none() {
            let start = |source| Error::Start {
                program: self.program.display().to_string(),
                source,
            };
            let mut child = Command::new(&self.program)
                .args(&self.arguments)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .map_err(start)?;
            let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
                return Err(start(io::Error::other("no pipes")));
            };

            self.running = Some(Running {
                child,
                input,
                output: BufReader::with_capacity(1 << 20, output),
            });
        }

        self.running.as_mut().ok_or(Error::Worker)
    }

    /// Sends all lines and reads the same number of answers, concurrently, since either pipe may fill up before the
    /// other side is done.
    fn exchange(&mut self, lines: &[Value]) -> Result<Vec<Value>, Error> {
        let program = self.program.display().to_string();
        let running = self.start()?;
        let Running { input, output, .. } = running;
        let connection = |source| Error::Connection {
            program: program.clone(),
            source,
        };

        thread::scope(|scope| {
            let writer = scope.spawn(move || {
                let mut input = io::BufWriter::with_capacity(1 << 16, input);
                for line in lines {
                    serde_json::to_writer(&mut input, line)?;
                    input.write_all(b"\n")?;
                }
                input.flush()
            });
            let mut answers = Vec::with_capacity(lines.len());
            let mut broken = None;
            let mut text = String::new();

            for _ in lines {
                text.clear();
                let length = output.read_line(&mut text).map_err(connection)?;
                if length == 0 {
                    return Err(connection(io::ErrorKind::UnexpectedEof.into()));
                }

                match serde_json::from_str(&text) {
                    Ok(answer) => answers.push(answer),
                    // Reads the rest; otherwise the program and the writer would wait for each other forever.
                    Err(source) => {
                        broken.get_or_insert_with(|| Error::Answer {
                            program: program.clone(),
                            line: text.trim().chars().take(200).collect(),
                            source,
                        });
                    }
                }
            }

            if let Some(error) = broken {
                return Err(error);
            }
            writer
                .join()
                .map_err(|_| Error::Worker)?
                .map_err(connection)?;

            Ok(answers)
        })
    }

    fn stop(&mut self) {
        if let Some(mut running) = self.running.take() {
            drop(running.input);
            // The program may hang instead of ending; it is not needed again.
            let _ = running.child.kill();
            let _ = running.child.wait();
        }
    }
}

impl Oracle for CoProcess {
    // A request that ends the program, such as a stack overflow in Go, is answered with a panic at its first step; the
    // others still get their answers.
    fn run(&mut self, requests: &[Value]) -> Result<Vec<Value>, Error> {
        match self.exchange(requests) {
            Ok(answers) => return Ok(answers),
            Err(Error::Connection { .. }) => self.stop(),
            Err(other) => return Err(other),
        }

        // One request at a time shows which of them ends the program.
        let mut answers = Vec::with_capacity(requests.len());
        for request in requests {
            match self.exchange(std::slice::from_ref(request)) {
                Ok(mut answer) => answers.append(&mut answer),
                Err(Error::Connection { .. }) => {
                    self.stop();
                    answers.push(json!({"results": [{"panic": "the program ended"}]}));
                }
                Err(other) => return Err(other),
            }
        }

        Ok(answers)
    }

    fn variants(&mut self, request: &Value, times: usize) -> Result<Vec<Value>, Error> {
        let mut repeated = request.clone();
        if let Some(members) = repeated.as_object_mut() {
            members.insert("repeat".to_owned(), json!(times));
        }
        let mut answer = self.run(&[repeated])?.pop().unwrap_or_default();
        let mut out: Vec<Value> = answer
            .get_mut("answer")
            .map(Value::take)
            .into_iter()
            .collect();
        if let Some(Value::Array(variants)) = answer.get_mut("variants").map(Value::take) {
            out.extend(variants);
        }

        Ok(out)
    }
}

impl Drop for CoProcess {
    fn drop(&mut self) {
        self.stop();
    }
}
