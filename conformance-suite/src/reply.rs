//! Answers in the names of a case.

use fieldmanager_harness::internal::Exchange;
use fieldmanager_value::{Map, Value};
use http::HeaderMap;

use crate::connection::{Answer, Connection, Message};
use crate::fault::{SHOWN, shortened};
use crate::names::Names;

/// An answer in the names of the case.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) code: u16,
    pub(crate) headers: HeaderMap,
    /// The body; null if it is not JSON.
    pub(crate) body: Value,
    /// The live object after a refused request, if it was read.
    pub(crate) live: Option<Value>,
    pub(crate) exchange: Exchange,
}

impl Reply {
    pub(crate) fn new(connection: &Connection, names: &Names, message: &Message, answer: Answer) -> Self {
        let text = names.to_case(&answer.text);
        let body = Value::from_json(&text).unwrap_or_default();
        let mut warnings = String::new();
        for warning in answer.headers.get_all("warning") {
            warnings.push_str(&format!(
                "Warning: {}\n",
                names.to_case(&String::from_utf8_lossy(warning.as_bytes()))
            ));
        }
        let shown = format!("{}\n{warnings}{}", answer.code, shortened(&without_fields(&body, &text)));
        let exchange = exchange(connection, names, message, shown);
        Reply { code: answer.code, headers: answer.headers, body, live: None, exchange }
    }

    pub(crate) fn is_refused(&self) -> bool {
        self.code >= 400
    }

    /// The object that expectations are about.
    pub(crate) fn object(&self) -> &Value {
        self.live.as_ref().unwrap_or(&self.body)
    }

    /// The message of a `Status`.
    pub(crate) fn message(&self) -> &str {
        self.body.get("message").and_then(Value::as_str).unwrap_or_default()
    }

    /// The texts of warnings.
    pub(crate) fn warnings(&self, names: &Names) -> Vec<String> {
        let text = |value: &http::HeaderValue| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            let quoted = value.split_once('"').and_then(|(_, rest)| rest.rsplit_once('"'));
            let text =
                quoted.map_or(value.clone(), |(text, _)| text.replace("\\\"", "\"").replace("\\\\", "\\"));
            names.to_case(&text)
        };
        self.headers.get_all("warning").iter().map(text).collect()
    }
}

/// A request in the names of the case, and a text of its answer.
pub(crate) fn exchange(
    connection: &Connection,
    names: &Names,
    message: &Message,
    answer: String,
) -> Exchange {
    let headers = message.headers.iter().map(|(name, value)| format!("{name}: {value}\n"));
    let body = if message.body.is_empty() { String::new() } else { names.to_case(&message.body) };
    let request = format!(
        "{} {}\n{}{}",
        message.method,
        names.to_case(&message.path),
        headers.collect::<String>(),
        shortened(&body)
    );
    Exchange { request, answer, curl: connection.curl(message) }
}

/// The body, for a reader: without managed fields if it would be too long with them.
fn without_fields(body: &Value, text: &str) -> String {
    if text.len() <= SHOWN || body.get("metadata").is_none() {
        return text.to_owned();
    }
    let Value::Map(map) = body else { return text.to_owned() };
    let mut map = map.clone();
    if let Some(Value::Map(metadata)) = map.get("metadata") {
        let kept: Map = metadata
            .iter()
            .filter(|(name, _)| *name != "managedFields")
            .map(|(n, v)| (n.clone(), v.clone()))
            .collect();
        map.insert("metadata", Value::Map(kept));
    }
    Value::Map(map).to_json()
}
