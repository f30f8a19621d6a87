//! The state of a write in progress.

use fieldmanager_managedfields::Status;

use crate::part::{Inner, Options, Part};
use crate::request::{FieldValidation, Request, Subresource};
use crate::status::Target;
use crate::warnings::Warnings;

/// A write in progress.
pub(crate) struct Write<'r> {
    pub(crate) resource: &'r Inner,
    pub(crate) part: &'r Part,
    pub(crate) options: Options,
    pub(crate) request: &'r Request<'r>,
    pub(crate) manager: String,
    pub(crate) warnings: Warnings,
}

impl<'r> Write<'r> {
    /// Warns of the faults of strict field validation, or refuses them.
    pub(crate) fn report_strict(
        &mut self,
        faults: &[String],
        refused: impl FnOnce(&[String]) -> Status,
    ) -> Result<(), Status> {
        match self.request.validation() {
            _ if faults.is_empty() => {}
            FieldValidation::Ignore => {}
            FieldValidation::Warn => faults.iter().for_each(|fault| self.warnings.add(fault)),
            FieldValidation::Strict => return Err(refused(faults)),
        }
        Ok(())
    }

    pub(crate) fn target<'t>(&'t self, name: &'t str) -> Target<'t> {
        Target {
            kind: &self.resource.object.gvk,
            plural: &self.resource.plural,
            name,
        }
    }

    /// The namespace that objects of the resource have.
    pub(crate) fn namespace(&self) -> &'r str {
        if self.resource.namespaced {
            self.request.namespace
        } else {
            ""
        }
    }

    /// The part of the object by whose rules it is written: a request for `scale` writes the whole object.
    pub(crate) fn strategy(&self) -> Subresource {
        match self.request.subresource {
            Subresource::Scale => Subresource::Object,
            other => other,
        }
    }
}
