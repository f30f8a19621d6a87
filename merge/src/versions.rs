//! An object at several versions.

use std::collections::BTreeMap;

use fieldmanager_fieldpath::ApiVersion;
use fieldmanager_typed::TypedValue;

use crate::converter::{ConvertError, Converter, MAX_VERSIONS};

/// An object and its conversions. Each is computed at most once.
pub(crate) struct ObjectVersions<'o> {
    converter: &'o dyn Converter,
    own: &'o ApiVersion,
    /// The object at `own`.
    pub(crate) object: &'o TypedValue,
    converted: BTreeMap<ApiVersion, Option<TypedValue>>,
    /// The number of conversions to versions that exist.
    existing: usize,
}

impl<'o> ObjectVersions<'o> {
    /// An object that is at version `own`.
    pub(crate) fn new(
        converter: &'o dyn Converter,
        own: &'o ApiVersion,
        object: &'o TypedValue,
    ) -> Self {
        ObjectVersions {
            converter,
            own,
            object,
            converted: BTreeMap::new(),
            existing: 0,
        }
    }

    /// The object at a version; `None` if the version does not exist.
    pub(crate) fn at(&mut self, version: &ApiVersion) -> Result<Option<&TypedValue>, ConvertError> {
        if version == self.own {
            return Ok(Some(self.object));
        }
        if !self.converted.contains_key(version) {
            if self.existing >= MAX_VERSIONS {
                return Err(ConvertError::TooManyVersions {
                    limit: MAX_VERSIONS,
                });
            }
            let converted = optional(self.converter.convert(self.object, version))?;

            // A version that does not exist does not count towards the limit: its managers are dropped.
            self.existing += usize::from(converted.is_some());
            self.converted.insert(version.clone(), converted);
        }

        Ok(self.converted.get(version).and_then(Option::as_ref))
    }
}

/// The converted object; `None` if the version does not exist.
pub(crate) fn optional(
    converted: Result<TypedValue, ConvertError>,
) -> Result<Option<TypedValue>, ConvertError> {
    match converted {
        Ok(object) => Ok(Some(object)),
        Err(ConvertError::MissingVersion { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
