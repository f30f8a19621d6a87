//! Objects of built-in kinds that Go writes as protobuf, read by the library.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use fieldmanager_builtin::from_protobuf;
use fieldmanager_structural::GroupVersionKind;
use serde_json::{Value, json};

use super::decode::count_kind;
use super::{BuiltInSuite, generate};
use crate::json::{back, member, same_value, text};
use crate::suite::caught;
use crate::{Difference, Error, Verdict};

/// The suite.
pub struct Protobuf;

impl BuiltInSuite for Protobuf {
    const NAME: &'static str = "protobuf";
    const ORACLE: &'static str = "server/cmd/decode";

    fn generate(seed: u64) -> Value {
        generate::protobuf(seed)
    }

    fn judge(case: &Value, answer: &Value) -> Result<Verdict, Error> {
        judge(case, answer)
    }
}

/// Compares what the library reads from the bytes that Go wrote with what Go reads from them.
fn judge(case: &Value, answer: &Value) -> Result<Verdict, Error> {
    if answer.get("panic").is_some() {
        return Err(Error::Request(format!("{case}: {answer}")));
    }
    let mut out = Verdict::default();
    count_kind(&mut out, case);
    // Where Go writes no protobuf, there is nothing to read.
    let Some(reference) = answer.get("object") else {
        out.tally.count("requests by op", "protobuf: not written");
        return Ok(out);
    };

    out.tally.count("requests by op", "protobuf: written");
    let bytes = BASE64_STANDARD.decode(text(answer, "protobuf"));
    let bytes = bytes.map_err(|error| Error::Request(format!("{case}: {error}")))?;
    let candidate = caught(|| read(&bytes));
    let is_same = same_value(reference, member(&candidate, "object"));
    out.difference = (!is_same).then(|| Difference::of("object", reference, &candidate));
    Ok(out)
}

fn read(bytes: &[u8]) -> Value {
    match from_protobuf(bytes, &GroupVersionKind::default()) {
        Ok(object) => json!({"object": back(&object)}),
        Err(error) => json!({"error": error.to_string()}),
    }
}
