//! Objects of built-in kinds that Go writes as protobuf, read by the library, and written again.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use fieldmanager_builtin::{from_protobuf, to_protobuf};
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

/// Compares what the library reads from the bytes that Go wrote with what Go reads from them, and what it writes with the bytes.
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
    if !same_value(reference, member(&candidate, "object")) {
        out.difference = Some(Difference::of("object", reference, &candidate));
        return Ok(out);
    }

    // JSON has neither pointers to the zero time nor bytes that are set and empty, and this library no greater integers.
    let lost = [
        "0001-01-01T00:00:00",
        "9223372036854775808",
        r#""certificate":"""#,
        r#""caBundle":"""#,
    ];
    let case = case.to_string();
    if lost.iter().any(|text| case.contains(text)) {
        out.tally
            .count("requests by op", "protobuf: with a part that is lost");
        return Ok(out);
    }
    // What was read is written as Go wrote it.
    let written = caught(|| write(&bytes));
    let reference = json!({"protobuf": member(answer, "protobuf")});
    if written != reference {
        out.difference = Some(Difference::of("bytes", &reference, &written));
    }
    Ok(out)
}

fn write(bytes: &[u8]) -> Value {
    let object = from_protobuf(bytes, &GroupVersionKind::default());
    let written = object.ok().as_ref().and_then(to_protobuf);
    json!({"protobuf": written.map(|bytes| BASE64_STANDARD.encode(bytes))})
}

fn read(bytes: &[u8]) -> Value {
    match from_protobuf(bytes, &GroupVersionKind::default()) {
        Ok(object) => json!({"object": back(&object)}),
        Err(error) => json!({"error": error.to_string()}),
    }
}
