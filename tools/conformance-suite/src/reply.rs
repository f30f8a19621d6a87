//! Answers in the names of a case.

use fieldmanager_harness::internal::{
    ConflictAt, Exchange, ExpectedEntry, Observed, ObservedAnswer, ObservedRefusal, with_metadata,
};
use fieldmanager_managedfields::{Entry, ManagedFields};
use fieldmanager_value::Value;
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
    pub(crate) fn new(
        connection: &Connection,
        names: &Names,
        message: &Message,
        answer: Answer,
    ) -> Self {
        let text = names.to_case(&answer.text);
        let body = Value::from_json(&text).unwrap_or_default();
        let mut warnings = String::new();
        for warning in answer.headers.get_all("warning") {
            warnings.push_str(&format!(
                "Warning: {}\n",
                names.to_case(&String::from_utf8_lossy(warning.as_bytes()))
            ));
        }

        let shown = format!(
            "{}\n{warnings}{}",
            answer.code,
            shortened(&without_fields(&body, &text))
        );
        let exchange = exchange(connection, names, message, shown);
        Reply {
            code: answer.code,
            headers: answer.headers,
            body,
            live: None,
            exchange,
        }
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
        self.body
            .get("message")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// The answer for the judge, without managers. `before` is the object in the answer before.
    pub(crate) fn observed<'o>(&'o self, names: &Names, before: Option<&'o Value>) -> Observed<'o> {
        let text =
            |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let headers = self.headers.iter();
        Observed {
            refusal: self.is_refused().then(|| ObservedRefusal {
                message: self.message().to_owned(),
                conflicts: conflicts(&self.body),
            }),
            object: Some(self.object().clone()),
            answer: Some(ObservedAnswer {
                code: self.code,
                headers: headers
                    .map(|(name, value)| (name.as_str().to_owned(), text(value)))
                    .collect(),
                warnings: self.warnings(names),
                body: &self.body,
                before,
            }),
            ..Observed::default()
        }
    }

    /// The texts of warnings.
    fn warnings(&self, names: &Names) -> Vec<String> {
        let text = |value: &http::HeaderValue| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            let quoted = value
                .split_once('"')
                .and_then(|(_, rest)| rest.rsplit_once('"'));
            let text = quoted.map_or(value.clone(), |(text, _)| {
                text.replace("\\\"", "\"").replace("\\\\", "\\")
            });
            names.to_case(&text)
        };

        self.headers.get_all("warning").iter().map(text).collect()
    }
}

/// The entries of the managed fields of an object.
pub(crate) fn entries(object: &Value) -> Result<Vec<ExpectedEntry>, String> {
    let managed = ManagedFields::of_object(object).map_err(|error| error.to_string())?;
    let entry = |entry: Entry| ExpectedEntry {
        manager: entry.manager.to_string().as_str().into(),
        operation: entry.operation.to_string().as_str().into(),
        api_version: entry.api_version.as_str().into(),
        subresource: entry.subresource.to_string().as_str().into(),
        fields: Some(entry.fields),
    };
    Ok(managed.entries().into_iter().map(entry).collect())
}

/// The conflicts of a `Status`: causes that name a manager and a field.
fn conflicts(status: &Value) -> Vec<ConflictAt> {
    let causes = status
        .get("details")
        .and_then(|details| details.get("causes"))
        .and_then(Value::as_list);
    let conflict = |cause: &Value| {
        let text = |name: &str| cause.get(name).and_then(Value::as_str);
        if text("reason") != Some("FieldManagerConflict") {
            return None;
        }
        let quoted = text("message")?.strip_prefix("conflict with \"")?;
        Some(ConflictAt {
            manager: quoted.split('"').next()?.to_owned(),
            path: text("field").unwrap_or_default().to_owned(),
        })
    };

    causes.into_iter().flatten().filter_map(conflict).collect()
}

/// A request in the names of the case, and a text of its answer.
pub(crate) fn exchange(
    connection: &Connection,
    names: &Names,
    message: &Message,
    answer: String,
) -> Exchange {
    let headers = message
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\n"));
    let body = if message.body.is_empty() {
        String::new()
    } else {
        names.to_case(&message.body)
    };
    let request = format!(
        "{} {}\n{}{}",
        message.method,
        names.to_case(&message.path),
        headers.collect::<String>(),
        shortened(&body)
    );

    Exchange {
        request,
        answer,
        curl: connection.curl(message),
    }
}

/// The body, for a reader: without managed fields if it would be too long with them.
fn without_fields(body: &Value, text: &str) -> String {
    if text.len() <= SHOWN || body.get("metadata").is_none() {
        return text.to_owned();
    }
    with_metadata(body, [("managedFields", None)]).to_json()
}
