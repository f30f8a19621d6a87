//! An apply: the merge of a configuration, and the answers to one that cannot be merged.

use fieldmanager_managedfields::{ApplyRequest, ConvertError, Error, Status};
use fieldmanager_structural::internal::json_kind;
use fieldmanager_value::{Map, Value};

use crate::body::{self, Body};
use crate::edited::Edited;
use crate::metadata;
use crate::outcome::Refused;
use crate::part::Part;
use crate::state::Write;

impl Write<'_> {
    /// The object of an apply.
    pub(crate) fn apply(&mut self, live: &Value, config: Body<'_>) -> Result<Edited, Refused> {
        let Body {
            value: config,
            duplicates,
            ..
        } = config;

        // An empty document is an object without a kind.
        let config = if config.is_null() {
            Value::Map(Map::new())
        } else {
            config
        };

        // The message is that of Go's decoder, which reads the patch as a map before the field manager sees it.
        if config.as_map().is_none() {
            let found = json_kind(&config);
            let message = format!(
                "error decoding patch: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into \
                 Go value of type map[string]interface {{}}"
            );
            return Err(Status::bad_request(message).into());
        }

        let Part { kind, manager, .. } = self.part;
        let request = ApplyRequest::new(live, &config)
            .manager(&self.request.options.field_manager)
            .force_if(self.request.options.force.unwrap_or(false))
            .at(self.request.now);
        let applied = manager
            .apply(request)
            .map_err(|error| self.apply_refused(&error))?;

        // The schema has no formats: a malformed quantity or time passes the merge and fails in the conversion to its
        // Go type.
        if let Some(fault) = kind.malformed(&config) {
            return Err(self.unconvertible(&config, &fault).into());
        }

        // The schema refuses unknown fields of a configuration, so only fields that occur again are left for strict
        // validation.
        self.report_strict(&duplicates, |faults| {
            let faults = body::yaml_faults(faults);
            Status::bad_request(format!(
                "error strict decoding patch: error converting YAML to JSON: {faults}"
            ))
        })?;
        let unseen = kind.unseen(&config, &applied.object, &[live, &config]);
        let object = self.check_patched(live, &applied.object)?;

        Ok(Edited {
            object,
            unseen,
            keeps_live: !applied.is_merged,
        })
    }

    /// The answer to an apply that the field manager refuses.
    fn apply_refused(&self, error: &Error) -> Refused {
        let status = error.status();
        let is_unexpected = match error {
            Error::Invalid { .. }
            | Error::Merge(_)
            | Error::Convert { .. }
            | Error::Entry(_)
            | Error::NotAnObject { .. } => true,
            _ => status.code == 500,
        };
        // kube-apiserver answers 500 for errors that are not a `Status` themselves, also if the configuration is at
        // fault.
        let message = match error {
            Error::Merge(fieldmanager_merge::Error::Convert(ConvertError::Failed {
                message,
                ..
            })) if self.part.policy.converts_by_webhook => message.clone(),
            _ => status.message.clone(),
        };
        let status = if self.options.server_answers && is_unexpected {
            Status::failure(500, "", message, None)
        } else {
            status
        };

        Refused {
            conflicts: error.conflicts().cloned(),
            ..status.into()
        }
    }

    /// The answer to an apply of malformed values.
    fn unconvertible(&self, config: &Value, fault: &str) -> Status {
        let (namespace, name) = (
            metadata::text(config, "namespace"),
            metadata::text(config, "name"),
        );
        let kind = &self.part.gvk;
        let message = format!(
            "failed to convert new object ({namespace}/{name}; {kind}) to proper version: unable to convert \
             unstructured object to {kind}: {fault}"
        );

        if self.options.server_answers {
            Status::failure(500, "", message, None)
        } else {
            Status::bad_request(message)
        }
    }
}
