//! The Go side, as a program that is asked cell by cell.

use std::path::Path;

use serde_json::{Value, json};

use super::Error;
use crate::oracle::CoProcess;
use crate::program;

/// The program.
pub struct Go(CoProcess);

const NAME: &str = "oracle-speed";

impl Go {
    /// Builds the program, to be run on the inputs of a folder.
    ///
    /// # Errors
    ///
    /// When Go is missing or does not build it.
    pub fn start(inputs: &Path) -> Result<Self, Error> {
        let program = program::oracle(None, NAME)?;
        Ok(Go(CoProcess::new(program, vec![inputs.display().to_string()])))
    }

    fn ask(&mut self, request: &Value) -> Result<Value, Error> {
        let answer = self.0.exchange(std::slice::from_ref(request))?.pop().unwrap_or_default();
        match answer.get("error").and_then(Value::as_str) {
            Some(error) => {
                Err(Error::Program { program: NAME.to_owned(), message: format!("{request}: {error}") })
            }
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
