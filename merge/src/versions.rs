//! One object at several versions, converted once each.

use fieldmanager_fieldpath::ApiVersion;
use fieldmanager_typed::TypedValue;

use crate::converter::{ConvertError, Converter};

/// An object and its conversions.
pub(crate) struct Versions<'o> {
    converter: &'o dyn Converter,
    own: &'o ApiVersion,
    object: TypedValue,
    converted: Vec<(ApiVersion, Option<TypedValue>)>,
}

impl<'o> Versions<'o> {
    /// An object that is at version `own`.
    pub(crate) fn new(converter: &'o dyn Converter, own: &'o ApiVersion, object: TypedValue) -> Self {
        Versions { converter, own, object, converted: Vec::new() }
    }

    /// The object at a version; none if there is no such version.
    pub(crate) fn at(&mut self, version: &ApiVersion) -> Result<Option<TypedValue>, ConvertError> {
        if version == self.own {
            return Ok(Some(self.object.clone()));
        }
        if let Some((_, known)) = self.converted.iter().find(|(known, _)| known == version) {
            return Ok(known.clone());
        }
        let converted = optional(self.converter.convert(&self.object, version))?;
        self.converted.push((version.clone(), converted.clone()));
        Ok(converted)
    }
}

/// A conversion whose version may be missing.
pub(crate) fn optional(
    converted: Result<TypedValue, ConvertError>,
) -> Result<Option<TypedValue>, ConvertError> {
    match converted {
        Ok(object) => Ok(Some(object)),
        Err(ConvertError::MissingVersion { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
