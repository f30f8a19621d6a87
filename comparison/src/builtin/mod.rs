//! Objects of built-in kinds: decoded into their Go types, converted between versions, read from protobuf, and what
//! registries make of them.

mod decode;
mod defaults;
mod generate;
mod protobuf;

use std::marker::PhantomData;

use serde_json::Value;

use crate::oracle::Oracle;
use crate::shrink::Cut;
use crate::{Error, Judged, Suite, Verdict};

pub use decode::Decode;
pub use defaults::Defaults;
pub use protobuf::Protobuf;

/// A suite whose cases have one answer each, which can be recorded.
pub trait BuiltInSuite {
    /// The name of the subcommand and of the folder in the corpus.
    const NAME: &'static str;
    /// The package of the oracle in the Go module.
    const ORACLE: &'static str;

    /// The case of a seed.
    fn generate(seed: u64) -> Value;

    /// Compares the answer of Go to a case with that of the library.
    ///
    /// # Errors
    ///
    /// If Go did not answer.
    fn judge(case: &Value, reference: &Value) -> Result<Verdict, Error>;

    /// Cases that are run besides the generated ones, with their names.
    fn documents() -> Vec<(String, Value)> {
        Vec::new()
    }

    /// Whether a smaller case could still be generated.
    fn is_sound(_: &Value) -> bool {
        true
    }

    /// The parts of a case that the shrinker may cut.
    fn cuts() -> Vec<Cut> {
        vec![Cut::tree("/object"), Cut::tree("/old")]
    }
}

/// The suite `B`.
pub struct BuiltIn<B>(PhantomData<B>);

impl<B> Default for BuiltIn<B> {
    fn default() -> Self {
        BuiltIn(PhantomData)
    }
}

impl<B: BuiltInSuite> Suite for BuiltIn<B> {
    const NAME: &'static str = B::NAME;
    const ORACLE: &'static str = B::ORACLE;
    const REPEATS: usize = 0;

    fn generate(&self, seed: u64) -> Value {
        B::generate(seed)
    }

    fn compare(&mut self, _: &mut dyn Oracle, case: &Value, answers: &[Value]) -> Judged {
        B::judge(case, answers.first().unwrap_or(&Value::Null))
    }

    fn cuts(&self, _: &Value) -> Vec<Cut> {
        B::cuts()
    }

    fn is_sound(&self, case: &Value) -> bool {
        B::is_sound(case)
    }

    fn documents(&self) -> Result<Vec<(String, Value)>, Error> {
        Ok(B::documents())
    }
}
