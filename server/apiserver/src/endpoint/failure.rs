//! Answers to requests that failed.

use fieldmanager_admission::Denial;
use fieldmanager_handlers::Refused;
use fieldmanager_managedfields::{Cause, Details, Status};

use fieldmanager_value::Value;
use fieldmanager_value::internal::proceed;

use super::call::Call;
use crate::object::{to_value, with_field};
use crate::pool::TIMED_OUT;
use crate::registry::Served;
use crate::store::{Entry, InvalidKey, MAX_FAULTS, StoreError};

/// The size of a message that the client of etcd sends, in bytes.
const LARGEST_MESSAGE: usize = 2 << 20;

/// The answer to a request that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: Box<Status>,
    /// The `Status` of the answer, if a webhook made it with reasons and details of its own.
    pub(crate) own: Option<Box<Value>>,
    pub(crate) warnings: Vec<String>,
    /// Whether admission refused the request.
    pub(crate) is_denied: bool,
    /// The answer is the message as plain text, as for paths that do not exist.
    pub(crate) is_text: bool,
    /// The token of a page that the client can read instead; empty if there is none.
    pub(crate) next: String,
    /// The seconds after which the client may try again; 0 if it need not.
    pub(crate) retry_after: u32,
}

impl Failure {
    /// The failure with what is wrong with the fields of the body, which was read before.
    pub(super) fn with_warnings_of_fields(mut self, warnings: Vec<String>) -> Self {
        let is_of_field = |warning: &String| {
            warning.starts_with("unknown field") || warning.starts_with("duplicate field")
        };
        self.warnings = warnings.into_iter().filter(is_of_field).collect();
        self
    }

    /// A failure without details.
    pub(crate) fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Status::failure(code, reason, message.into(), None).into()
    }

    /// 400.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Failure::new(400, "BadRequest", message)
    }

    /// The `Status` of the answer.
    pub(crate) fn body(&self) -> Value {
        let mut body = match &self.own {
            Some(own) => (**own).clone(),
            None => to_value(&self.status),
        };
        if !self.next.is_empty() {
            body = with_field(&body, "metadata", "continue", self.next.as_str().into());
        }
        if self.retry_after > 0 {
            body = with_field(
                &body,
                "details",
                "retryAfterSeconds",
                i64::from(self.retry_after).into(),
            );
        }

        body
    }

    /// 404 in plain text: the path names nothing.
    pub(crate) fn path_not_found() -> Self {
        Failure {
            is_text: true,
            ..Failure::new(404, "NotFound", "404 page not found\n")
        }
    }

    /// 404: a served group has no such version, resource or subresource.
    pub(crate) fn resource_not_found() -> Self {
        let message = "the server could not find the requested resource";
        let details = Some(Details::default());
        Status::failure(404, "NotFound", message.to_owned(), details).into()
    }

    /// 504: the request did not end before its deadline.
    pub(crate) fn timed_out() -> Self {
        let details = Some(Details::default());
        Status::failure(504, "Timeout", TIMED_OUT.to_owned(), details).into()
    }

    /// 405.
    pub(crate) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        let details = Some(Details::default());
        Status::failure(405, "MethodNotAllowed", message.to_owned(), details).into()
    }

    /// A failure with an object in its details.
    pub(crate) fn about(
        code: u16,
        reason: &'static str,
        object: (&str, &str, &str),
        message: String,
    ) -> Self {
        Status::about(code, reason, object, message).into()
    }

    /// A failure about the object of a request. The message gets the resource and the quoted name.
    pub(crate) fn of_object(
        code: u16,
        reason: &'static str,
        call: &Call<'_>,
        message: impl FnOnce(&str, &str) -> String,
    ) -> Self {
        let facts = &call.served.facts;
        let message = message(&call.served.group_resource(), &format!("{:?}", call.name));
        Failure::about(
            code,
            reason,
            (&facts.group, &facts.plural, call.name),
            message,
        )
    }

    /// The failure of a create whose object has a `generateName`, with or without a name: the client may try again.
    pub(super) fn of_generated_name(mut self) -> Self {
        let more = ", the server was not able to generate a unique name for the object";
        self.status.message.push_str(more);
        Failure {
            retry_after: 1,
            ..self
        }
    }

    /// 404: the object of a request does not exist.
    pub(crate) fn not_found(call: &Call<'_>) -> Self {
        Failure::of_object(404, "NotFound", call, |resource, name| {
            format!("{resource} {name} not found")
        })
    }

    /// The failure of a read of one object.
    pub(super) fn of_read(error: StoreError) -> Self {
        let StoreError::Undecodable(faults) = &error else {
            return error.into();
        };
        let texts = faults.iter().map(|fault| {
            let key = fault.key.as_str();
            fault.corrupt(key.strip_prefix("/registry").unwrap_or(key))
        });
        let text = texts.take(1).collect::<String>();
        internal(text.clone()).cause("", &text, "")
    }

    /// The failure of a read of many objects of a resource.
    ///
    /// Behaviour: `aggregatedStorageError` of `k8s.io/apiserver/pkg/storage/etcd3`.
    pub(super) fn of_list(error: StoreError, served: &Served) -> Self {
        let StoreError::Undecodable(faults) = &error else {
            return error.into();
        };
        let texts = faults.iter().map(|fault| {
            let key = fault.key.as_str();
            (key, fault.corrupt(key))
        });
        let more = match faults.len() {
            0 | 1 => String::new(),
            all => format!(" (and {} more)", all - 1),
        };
        let first = texts.clone().map(|(_, text)| text).next();
        let message = format!(
            "failed to read one or more {} from the storage: {}{more}",
            served.group_resource(),
            first.unwrap_or_default()
        );
        let about = (&*served.facts.group, &*served.facts.plural, "list");
        let failure = Failure::about(500, "StorageReadError", about, message);
        let failure = texts.fold(failure, |failure, (key, text)| {
            failure.cause("UnexpectedServerResponse", &text, key)
        });
        if faults.len() < MAX_FAULTS {
            return failure;
        }
        let text = "too many errors, the list is truncated";
        failure.cause("FieldValueTooMany", text, "")
    }

    /// The failure with a cause.
    pub(crate) fn cause(mut self, reason: &str, message: &str, field: &str) -> Self {
        let details = self.status.details.get_or_insert_default();
        details.causes.push(Cause::new(reason, message, field));
        self
    }
}

/// An error if the work of this thread was stopped, so that results made meanwhile are incomplete.
pub(crate) fn check_deadline() -> Result<(), Failure> {
    if proceed(1) {
        Ok(())
    } else {
        Err(Failure::timed_out())
    }
}

/// 500: a fault of the server.
pub(super) fn internal(message: String) -> Failure {
    Failure::new(
        500,
        "InternalError",
        format!("Internal error occurred: {message}"),
    )
}

/// The code and the reason of an answer in the log. Success has the given code.
pub(crate) fn logged<T>(
    answer: &Result<T, Failure>,
    success: impl Fn(&T) -> u16,
) -> (u16, &'static str) {
    match answer {
        Ok(answer) => (success(answer), ""),
        Err(failure) => (failure.status.code, failure.status.reason),
    }
}

/// The words of etcd, or of its client, for an object of a size.
fn too_large(size: usize) -> String {
    if size > LARGEST_MESSAGE {
        format!(
            "rpc error: code = ResourceExhausted desc = trying to send message larger than max ({size} vs. {LARGEST_MESSAGE})"
        )
    } else {
        "etcdserver: request is too large".to_owned()
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Compacted { .. } => Failure::new(
                410,
                "Expired",
                "The resourceVersion for the provided list is too old.",
            ),
            StoreError::Future { requested, current } => {
                let message =
                    format!("Too large resource version: {requested}, current: {current}");
                let failure = Failure::new(504, "Timeout", format!("Timeout: {message}"));
                let failure =
                    failure.cause("ResourceVersionTooLarge", "Too large resource version", "");
                Failure {
                    retry_after: 1,
                    ..failure
                }
            }
            StoreError::TooLarge { size, .. } => Failure::new(500, "", too_large(size)),
            StoreError::Conversion(_) | StoreError::Undecodable(_) => {
                Failure::new(500, "", error.to_string())
            }
            StoreError::Full(_) => Failure::new(507, "InternalError", error.to_string()),
            StoreError::Closed | StoreError::Unavailable(_) => {
                Failure::new(503, "ServiceUnavailable", error.to_string())
            }
            error => Failure::new(500, "InternalError", error.to_string()),
        }
    }
}

impl From<InvalidKey> for Failure {
    fn from(error: InvalidKey) -> Self {
        Failure::bad_request(error.to_string())
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        Failure {
            warnings: refused.warnings,
            ..Failure::from(*refused.status)
        }
    }
}

impl From<Denial> for Failure {
    fn from(denial: Denial) -> Self {
        Failure {
            own: denial.body.map(Box::new),
            is_denied: true,
            warnings: denial.warnings,
            retry_after: denial.retry_after,
            ..Failure::from(*denial.status)
        }
    }
}

/// The failure of a question that a participant of admission asked.
impl From<Failure> for Denial {
    fn from(failure: Failure) -> Self {
        Denial {
            warnings: failure.warnings,
            ..Denial::from(*failure.status)
        }
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Failure {
            status: Box::new(status),
            own: None,
            warnings: Vec::new(),
            is_denied: false,
            is_text: false,
            next: String::new(),
            retry_after: 0,
        }
    }
}

/// Why a write did not take place.
pub(crate) enum Unwritten {
    /// Another write was first; this is the object now.
    Overtaken(Option<Entry>),
    Failed(Failure),
}

/// Repeats a write as long as another write is first, each time on the object of the moment. `None` if there is none.
pub(super) async fn until_written<T, W>(
    mut entry: Option<Entry>,
    write: impl Fn(Entry) -> W,
) -> Result<Option<T>, Failure>
where
    W: Future<Output = Result<T, Unwritten>>,
{
    while let Some(current) = entry {
        match write(current).await {
            Ok(written) => return Ok(Some(written)),
            Err(Unwritten::Overtaken(newer)) => entry = newer,
            Err(Unwritten::Failed(failure)) => return Err(failure),
        }
    }
    Ok(None)
}

impl From<Failure> for Unwritten {
    fn from(failure: Failure) -> Self {
        Unwritten::Failed(failure)
    }
}

impl From<StoreError> for Unwritten {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Conflict { current, .. } => Unwritten::Overtaken(current),
            error => Unwritten::Failed(error.into()),
        }
    }
}
