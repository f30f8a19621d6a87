//! The objects that a list or a watch covers.

use fieldmanager_value::Value;

use super::call::Call;
use super::failure::Failure;
use crate::facts::{SelectableField, unsupported_field_label};
use crate::selector::{FieldSelector, LabelSelector, SelectorError};

/// The objects that a list or a watch covers, within its collection.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    labels: LabelSelector,
    fields: FieldSelector,
    known: Vec<SelectableField>,
}

impl Selection {
    pub(super) fn of(call: &Call<'_>) -> Result<Self, Failure> {
        let refused = |error: SelectorError| Failure::bad_request(error.to_string());
        let labels = LabelSelector::parse(call.query.text("labelSelector")).map_err(refused)?;
        let fields = FieldSelector::parse(call.query.text("fieldSelector")).map_err(refused)?;
        let known = call.served.selectable_fields();
        let is_known = |label: &str| known.iter().any(|field| field.label == label);

        if let Some(label) = fields.labels().find(|label| !is_known(label)) {
            let message = if call.served.is_builtin() {
                unsupported_field_label(call.served.kind(), label)
            } else {
                format!("field label not supported: {label}")
            };
            return Err(Failure::bad_request(message));
        }

        // The path of one object selects it by its name.
        let is_other = |own| own != Some(call.name);
        if !call.name.is_empty() && !fields.is_empty() && is_other(fields.exact("metadata.name")) {
            let message = "fieldSelector metadata.name doesn't match requested name";
            return Err(Failure::bad_request(message));
        }
        let fields = if call.name.is_empty() {
            fields
        } else {
            fields.and_equals("metadata.name", call.name)
        };
        Ok(Selection {
            labels,
            fields,
            known,
        })
    }

    /// Whether this selects all objects.
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether an object, at the version of the resource, is selected.
    pub(crate) fn matches(&self, object: &Value) -> bool {
        let value = |label: &str| {
            self.known
                .iter()
                .find(|field| field.label == label)
                .map_or_else(Default::default, |field| field.value(object))
        };
        self.labels.matches(object) && self.fields.matches(|label| value(label))
    }
}
