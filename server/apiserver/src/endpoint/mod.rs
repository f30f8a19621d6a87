//! Requests as a program sees them: a verb, a resource, options and a body; no HTTP.

mod access;
mod actions;
mod admission;
mod aggregation;
mod answer;
mod binding;
mod call;
mod collect;
mod components;
mod conditions;
mod conversion;
mod core;
mod cursors;
mod definition;
mod delete;
mod deletion;
mod ending;
mod eviction;
mod failure;
mod flow_schemas;
mod inert;
mod lifecycle;
mod list;
mod paging;
mod quota;
mod read;
mod recounts;
mod review;
mod selection;
mod services;
mod siblings;
mod token;
mod type_check;
mod write;

pub(crate) use answer::{Answer, Content, Listed};
pub(crate) use call::{Call, Verb};
pub(crate) use collect::Deletions;
pub(crate) use core::{Core, Resources};
pub(crate) use failure::{Failure, check_deadline, logged};

impl Core {
    /// Answers a request to a resource.
    pub(crate) async fn answer(&self, call: &Call<'_>) -> Result<Answer, Failure> {
        let answer = self.answer_to(call).await;
        // The handlers add it to the answers of writes.
        let is_served = call.served.supports(call.subresource, call.verb.name());
        let is_write = matches!(call.verb, Verb::Create | Verb::Update | Verb::Patch);
        // What is not served has no warning, but of a custom resource. The path of a list answers what asks for a watch too.
        let warns = if is_served {
            !is_write
        } else {
            !call.served.is_builtin() || call.verb == Verb::Watch
        };
        match call.served.deprecation().filter(|_| warns) {
            Some(warning) => with_warning(answer, warning),
            None => answer,
        }
    }

    async fn answer_to(&self, call: &Call<'_>) -> Result<Answer, Failure> {
        if !call.served.supports(call.subresource, call.verb.name()) {
            return Err(self.unsupported(call));
        }
        if call.part().is_none() {
            return Box::pin(self.act(call)).await;
        }
        if call.served.description().is_some_and(|kind| kind.is_probed) {
            return self.components(call).await;
        }

        // What a write keeps while it waits is kilobytes, which each caller would move. On the heap it stays where it is.
        match call.verb {
            Verb::Get => self.get(call).await,
            Verb::List => self.list(call).await,
            Verb::Watch => self.watched(call),
            Verb::Create => Box::pin(self.create(call)).await,
            Verb::Update | Verb::Patch => Box::pin(self.change(call)).await,
            Verb::Delete => Box::pin(self.delete(call)).await,
            Verb::DeleteCollection => Box::pin(self.delete_collection(call)).await,
        }
    }

    fn unsupported(&self, call: &Call<'_>) -> Failure {
        let known = call.subresource.is_empty()
            || call.served.facts.subresource(call.subresource).is_some();
        if call.verb == Verb::Watch && call.served.supports(call.subresource, "list") {
            let resource = &*call.served.facts.plural;
            let message = format!("watch is not supported on resources of kind \"{resource}\"");
            Failure::about(405, "MethodNotAllowed", ("", resource, ""), message)
        } else if known {
            Failure::method_not_allowed()
        } else if call.served.is_builtin() {
            Failure::resource_not_found()
        } else {
            // The paths of custom resources are not fixed.
            Failure::not_found(call)
        }
    }
}

/// An answer or a failure with a warning in front of its others.
fn with_warning(mut answer: Result<Answer, Failure>, warning: &str) -> Result<Answer, Failure> {
    let warnings = match &mut answer {
        Ok(answer) => &mut answer.warnings,
        Err(failure) => &mut failure.warnings,
    };
    if !warnings.iter().any(|known| known == warning) {
        warnings.insert(0, warning.to_owned());
    }
    answer
}
