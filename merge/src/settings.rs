//! The options of an updater, as the steps of an operation use them.

use std::sync::Arc;

use fieldmanager_fieldpath::{ApiVersion, Filter, Set};
use fieldmanager_typed::internal::filter_comparison;
use fieldmanager_typed::{Comparison, TypedValue};

use crate::converter::{Converter, SameVersion};
use crate::error::{Error, Stage};

#[derive(Clone)]
pub(crate) struct Settings {
    /// `None` if the object is the same at every version.
    pub(crate) converter: Option<Arc<dyn Converter>>,
    pub(crate) filters: Vec<(ApiVersion, Filter)>,
    pub(crate) return_input_on_noop: bool,
    pub(crate) unions: bool,
}

impl Settings {
    pub(crate) fn converter(&self) -> &dyn Converter {
        self.converter.as_deref().unwrap_or(&SameVersion)
    }

    pub(crate) fn filter(&self, version: &ApiVersion) -> Option<&Filter> {
        let found = self.filters.iter().find(|(known, _)| known == version);
        found.map(|(_, filter)| filter)
    }

    /// The fields of a set that are tracked at a version.
    pub(crate) fn tracked(&self, set: Set, version: &ApiVersion) -> Set {
        match self.filter(version) {
            Some(filter) => filter.apply(&set),
            None => set,
        }
    }

    /// The tracked fields that differ between two objects at a version.
    pub(crate) fn compare(
        &self,
        old: &TypedValue,
        new: &TypedValue,
        version: &ApiVersion,
    ) -> Result<Comparison, Error> {
        let comparison = old.compare(new).map_err(|source| Error::Typed {
            stage: Stage::Compare,
            source,
        })?;
        Ok(match self.filter(version) {
            Some(filter) => filter_comparison(&comparison, filter),
            None => comparison,
        })
    }
}
