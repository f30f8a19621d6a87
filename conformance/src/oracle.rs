//! The Go implementation, as a program that answers scenarios line by line.

use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;

use serde_json::{Value, json};

use crate::{Error, Implementation};

/// A program that reads scenarios as lines and answers each with a line.
///
/// The oracle is one; any engine that speaks the same protocol can stand in.
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
    /// A program that will be started when it is first asked.
    pub fn new(program: impl Into<PathBuf>, arguments: Vec<String>) -> Self {
        Self { program: program.into(), arguments, running: None }
    }

    /// Every result that the program can give for a scenario, found by asking
    /// `times` times. Only the oracle understands the question.
    ///
    /// # Errors
    ///
    /// As for [`Implementation::run`].
    pub fn variants(&mut self, scenario: &Value, times: usize) -> Result<Vec<Value>, Error> {
        let answers = self.exchange(&[json!({"repeat": times, "scenario": scenario})])?;
        let Some(answer) = answers.into_iter().next() else {
            return Ok(Vec::new());
        };
        let mut out = Vec::new();
        for variant in answer.get("variants").and_then(Value::as_array).into_iter().flatten() {
            out.push(json!({ "results": variant }));
        }
        out.push(answer);
        Ok(out)
    }

    fn start(&mut self) -> Result<&mut Running, Error> {
        if self.running.is_none() {
            let start = |source| Error::Start { program: self.program.display().to_string(), source };
            let mut child = Command::new(&self.program)
                .args(&self.arguments)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .map_err(start)?;
            let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
                return Err(start(io::Error::other("no pipes")));
            };
            self.running = Some(Running { child, input, output: BufReader::with_capacity(1 << 20, output) });
        }
        self.running.as_mut().ok_or(Error::Worker)
    }

    /// Sends all lines and reads as many; both at once, since either pipe may
    /// fill up before the other side is done.
    ///
    /// # Errors
    ///
    /// When the program cannot be started, ends, or answers with something
    /// other than JSON.
    pub fn exchange(&mut self, lines: &[Value]) -> Result<Vec<Value>, Error> {
        let program = self.program.display().to_string();
        let running = self.start()?;
        let Running { input, output, .. } = running;
        let connection = |source| Error::Connection { program: program.clone(), source };
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
                    // The rest is still read, or the program and the writer
                    // would wait for each other for ever.
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
            writer.join().map_err(|_| Error::Worker)?.map_err(connection)?;
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

impl Implementation for CoProcess {
    /// A scenario that ends the program, which Go does on a stack overflow, is
    /// answered with a panic at its first step; the others still get theirs.
    fn run(&mut self, scenarios: &[Value]) -> Result<Vec<Value>, Error> {
        match self.exchange(scenarios) {
            Ok(answers) => return Ok(answers),
            Err(Error::Connection { .. }) => self.stop(),
            Err(other) => return Err(other),
        }
        let mut answers = Vec::with_capacity(scenarios.len());
        for scenario in scenarios {
            match self.exchange(std::slice::from_ref(scenario)) {
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
}

impl Drop for CoProcess {
    fn drop(&mut self) {
        self.stop();
    }
}
