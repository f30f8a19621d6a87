//! `GET` of one object.

use fieldmanager_handlers::Subresource;
use fieldmanager_handlers::internal::missing_replicas;

use super::failure::internal;
use super::{Answer, Call, Core, Failure};
use crate::store::Revision;

impl Core {
    pub(super) async fn get(&self, call: &Call<'_>) -> Result<Answer, Failure> {
        if call.query.flag("export") {
            let message = "the export parameter, deprecated since v1.14, is no longer supported";
            return Err(Failure::bad_request(message));
        }
        let key = call.served.key(call.namespace, call.name)?;
        let wanted = wanted_revision(call).map_err(|fault| Failure::new(500, "", fault))?;
        let objects = self.objects(call.served);
        let read = objects.get(&key, call.stale).await;
        let read = read.map_err(Failure::of_read)?;
        if let Some(wanted) = wanted.filter(|wanted| *wanted > read.revision) {
            return Err(too_large(wanted, read.revision));
        }

        let entry = read.entry.ok_or_else(|| Failure::not_found(call))?;
        let object = match call.part() {
            Some(Subresource::Scale) => {
                let handlers = call.served.handlers().map_err(internal)?;
                let live = call.served.live(&entry);
                if let Some(path) = missing_replicas(handlers, &live) {
                    let message = format!("the spec replicas field {path:?} does not exist");
                    return Err(internal(message.clone()).cause("", &message, ""));
                }
                handlers.scale(&live).ok_or_else(Failure::path_not_found)?
            }
            _ => call.served.read(&entry),
        };

        Ok(Answer::object(200, object))
    }
}

/// The `resourceVersion` of a read; `None` if any version will do. The error has the words of Go.
pub(super) fn wanted_revision(call: &Call<'_>) -> Result<Option<Revision>, String> {
    let text = call.query.text("resourceVersion");
    if text.is_empty() {
        return Ok(None);
    }
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    let fault = match text.parse() {
        Ok(revision) if is_number => return Ok(Revision::new(revision)),
        _ if is_number => "value out of range",
        _ => "invalid syntax",
    };
    Err(format!(
        "resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: {fault}"
    ))
}

/// 504: the store has not reached the version that a read asks for.
pub(super) fn too_large(requested: Revision, current: Revision) -> Failure {
    crate::store::StoreError::Future { requested, current }.into()
}
