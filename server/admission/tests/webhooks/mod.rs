//! Webhooks, compared with what kube-apiserver did.

mod conversion;
#[cfg(feature = "net")]
mod net;
mod recorded;
mod unrecorded;

use std::io::Read;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fieldmanager_admission::webhooks::{CallError, Caller, ClientConfig, Uids};
use fieldmanager_value::Value;
use flate2::read::GzDecoder;
use futures::future::BoxFuture;

/// A line of the recordings for each case.
pub(crate) fn recordings() -> Vec<Value> {
    let packed = include_bytes!("../data/webhooks.jsonl.gz");
    let mut text = String::new();
    GzDecoder::new(&packed[..])
        .read_to_string(&mut text)
        .unwrap();
    text.lines()
        .map(|line| Value::from_json(line).unwrap())
        .collect()
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(future)
}

/// `uid-0`, `uid-1` and so on.
pub(crate) fn uids() -> Uids {
    let next = AtomicUsize::new(0);
    Arc::new(move || format!("uid-{}", next.fetch_add(1, Ordering::Relaxed)))
}

pub(crate) fn at<'v>(value: &'v Value, path: &str) -> &'v Value {
    static NULL: Value = Value::Null;
    let mut fields = path.split('.');
    fields
        .try_fold(value, |value, field| value.get(field))
        .unwrap_or(&NULL)
}

pub(crate) fn text<'v>(value: &'v Value, path: &str) -> &'v str {
    at(value, path).as_str().unwrap_or_default()
}

pub(crate) fn list(value: &Value, path: &str) -> Vec<Value> {
    let list = at(value, path).as_list();
    list.into_iter().flatten().cloned().collect()
}

/// Answers as the webhooks of a recording did, and notes what it was sent.
pub(crate) struct Replay {
    /// The calls that are left.
    pub(crate) calls: Mutex<Vec<Value>>,
    /// What went wrong if there is no such call.
    pub(crate) failure: String,
    /// What a call was sent in place of what was recorded: the recorded uid and that of now.
    pub(crate) uids: Mutex<Vec<(String, String)>>,
    /// Reviews that differ from the recorded ones.
    pub(crate) differences: Mutex<Vec<String>>,
}

impl Replay {
    pub(crate) fn new(calls: Vec<Value>, failure: &str) -> Arc<Self> {
        Arc::new(Replay {
            calls: Mutex::new(calls),
            failure: failure.to_owned(),
            uids: Mutex::default(),
            differences: Mutex::default(),
        })
    }

    fn answer(&self, url: &str, body: &[u8]) -> Result<Vec<u8>, CallError> {
        if url.contains("observer") {
            let review = Value::from_json_slice(body).unwrap();
            let uid = text(&review, "request.uid");
            let answer = format!(
                r#"{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{{"uid":"{uid}","allowed":true}}}}"#
            );
            return Ok(answer.into_bytes());
        }

        let mut calls = self.calls.lock().unwrap();
        let found = calls
            .iter()
            .position(|call| url.ends_with(text(call, "url")));
        let Some(found) = found else {
            return Err(CallError::Failed(self.failure.clone()));
        };
        let call = calls.remove(found);
        let (sent, recorded) = (Value::from_json_slice(body).unwrap(), at(&call, "sent"));
        let uids = (text(recorded, "request.uid"), text(&sent, "request.uid"));
        let sent_text = sent.to_json();
        let expected = recorded.to_json().replace(uids.0, uids.1);
        if sent_text != expected {
            let difference = format!("sent     {sent_text}\nrecorded {expected}");
            self.differences.lock().unwrap().push(difference);
        }

        let answer = text(&call, "answer.body").replace(uids.0, uids.1);
        let kind = text(&call, "answer.type");
        let code = at(&call, "answer.code").as_i64();
        let uids = (uids.0.to_owned(), uids.1.to_owned());
        self.uids.lock().unwrap().push(uids);
        match code {
            None => Err(CallError::Failed(self.failure.clone())),
            Some(code @ 200..=206) if answer.is_empty() => Err(CallError::Failed(format!(
                "0-length response with status code: {code} and content type: {kind}"
            ))),
            Some(200..=206) => Ok(answer.into_bytes()),
            Some(code) => Err(CallError::Status {
                code: u16::try_from(code).unwrap(),
                body: answer.into_bytes(),
                is_text: kind.starts_with("text/"),
            }),
        }
    }
}

impl Caller for Replay {
    fn call<'a>(
        &'a self,
        client: &'a ClientConfig,
        body: Vec<u8>,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Vec<u8>, CallError>> {
        Box::pin(async move { self.answer(&client.url(timeout), &body) })
    }
}
