//! A request of the command to write an object.

use std::path::Path;

use fieldmanager_managedfields::{RequestKind, RequestOptions, Time, manager_name};
use fieldmanager_value::Value;

use crate::answer::Verb;
use crate::args::RequestArgs;
use crate::error::Failure;

/// The time of a request without a time: the latest of all, so that no entry is later.
pub(crate) const LATEST: &str = "9999-12-31T23:59:59Z";

/// A request to write an object.
pub(crate) struct Request<'a> {
    pub(crate) verb: Verb,
    pub(crate) args: &'a RequestArgs,
    pub(crate) user_agent: &'a str,
    pub(crate) unions: bool,
    /// The name of the type; by default the object determines it.
    pub(crate) type_name: Option<&'a str>,
    /// The live object; null if there is none.
    pub(crate) live: Value,
    pub(crate) live_file: Option<&'a Path>,
    /// The configuration, the new object, or the patch.
    pub(crate) given: Value,
    pub(crate) file: &'a Path,
}

impl<'a> Request<'a> {
    /// The object that has the kind: a patch may have none.
    pub(crate) fn object(&self) -> &Value {
        if self.is_patch() {
            &self.live
        } else {
            &self.given
        }
    }

    /// The name of the manager.
    pub(crate) fn manager(&self) -> String {
        manager_name(&self.args.manager, self.user_agent)
    }

    /// The parameters of the request.
    pub(crate) fn options(&self, force: bool) -> RequestOptions {
        let force = (self.verb == Verb::Apply).then_some(force);
        RequestOptions::default()
            .field_manager(&*self.args.manager)
            .force(force)
    }

    /// Checks the parameters as an API server does.
    pub(crate) fn check_options(&self) -> Result<(), Failure> {
        let kind = match self.verb {
            Verb::Apply => RequestKind::Apply,
            Verb::Update => RequestKind::Update,
            Verb::Patch(_) => RequestKind::Patch,
        };
        self.options(false).validate(kind).map_err(|invalid| {
            if self.args.wants_status() {
                Failure::Status(Box::new(invalid.status()))
            } else if self.args.manager.is_empty() {
                Failure::Usage(format!("{invalid} (--manager NAME)"))
            } else {
                Failure::Usage(invalid.to_string())
            }
        })
    }

    pub(crate) fn is_patch(&self) -> bool {
        matches!(self.verb, Verb::Patch(_))
    }

    pub(crate) fn now(&self) -> Result<Time, Failure> {
        let latest = || {
            LATEST
                .parse()
                .map_err(|error: fieldmanager_managedfields::TimeError| error.to_string())
        };
        self.args
            .time
            .map_or_else(latest, Ok)
            .map_err(Failure::Other)
    }
}

/// A message with the remedy for a configuration that has managed fields.
pub(crate) fn strip_hint(message: &str) -> String {
    match message {
        "metadata.managedFields must be nil" => {
            format!("{message} in a configuration: `fieldmanager strip` removes it")
        }
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_is_later_than_that_of_a_request_without_a_time() {
        let latest: Time = LATEST.parse().unwrap_or_else(|error| panic!("{error}"));
        assert!(Time::from_unix_seconds(latest.unix_seconds() + 1).is_err());
    }
}
