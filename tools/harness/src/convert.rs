//! Converts between the versions of an object, as a scenario declares.

use std::collections::BTreeMap;

use fieldmanager_fieldpath::ApiVersion;
use fieldmanager_merge::{ConvertError, Converter};
use fieldmanager_typed::{Duplicates, TypedValue};
use fieldmanager_value::{MAX_DEPTH, Map, Str, Value};

use crate::scenario::Conversion;
use crate::types::Types;

/// Converts between the versions of one scenario.
#[derive(Clone, Debug)]
pub(crate) struct Versions {
    pub(crate) types: Types,
    pub(crate) conversion: Option<Conversion>,
}

impl Versions {
    /// The fields of one version that have another name at the other.
    fn renames(&self, from: &ApiVersion, to: &ApiVersion) -> BTreeMap<&Str, &Str> {
        let renames = self
            .conversion
            .iter()
            .flat_map(|conversion| &conversion.renames);
        renames
            .filter_map(|names| Some((names.get(from)?, names.get(to)?)))
            .collect()
    }
}

impl Converter for Versions {
    fn convert(
        &self,
        object: &TypedValue,
        version: &ApiVersion,
    ) -> Result<TypedValue, ConvertError> {
        let failed = |message: String| ConvertError::Failed {
            version: version.clone(),
            message,
        };
        let served = self
            .conversion
            .as_ref()
            .and_then(|conversion| conversion.served.as_ref());

        if served.is_some_and(|served| !served.contains(version)) {
            return Err(ConvertError::MissingVersion {
                version: version.clone(),
            });
        }

        let ty = self
            .types
            .at(version)
            .map_err(|error| failed(error.message))?;
        if ty == *object.ty() {
            return Ok(object.clone());
        }

        let names = match self.types.version_of(object.ty()) {
            Some(from) => self.renames(from, version),
            None => BTreeMap::new(),
        };
        let value = if names.is_empty() {
            object.value().clone()
        } else {
            rename(object.value(), &names, MAX_DEPTH)
                .ok_or_else(|| failed(format!("nesting is deeper than {MAX_DEPTH} levels")))?
        };

        // Duplicates that an update added must not make the object impossible to convert.
        TypedValue::new(value, ty, Duplicates::Allow).map_err(|errors| failed(errors.to_string()))
    }
}

/// The value with fields renamed at any depth; `None` if it is too deep. A renamed field replaces an existing field
/// with the new name.
fn rename(value: &Value, names: &BTreeMap<&Str, &Str>, depth: usize) -> Option<Value> {
    match value {
        Value::Map(map) => {
            let depth = depth.checked_sub(1)?;
            let mut out = Map::new();
            let mut renamed = Vec::new();
            for (name, item) in map {
                let item = rename(item, names, depth)?;
                match names.get(name) {
                    Some(to) => renamed.push((*to, item)),
                    None => {
                        out.insert(name, item);
                    }
                }
            }

            for (name, item) in renamed {
                out.insert(name, item);
            }
            Some(Value::Map(out))
        }
        Value::List(list) => {
            let depth = depth.checked_sub(1)?;
            let items: Option<Vec<_>> =
                list.iter().map(|item| rename(item, names, depth)).collect();
            items.map(Value::from)
        }
        scalar => Some(scalar.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_renamed_at_any_depth() {
        let value = Value::from_yaml("{a: 1, b: [{a: {a: 2}}], c: a}").unwrap();
        let (a, x, c) = (Str::from("a"), Str::from("x"), Str::from("c"));
        let check = |names: &[(&Str, &Str)], expected: &str| {
            let names = names.iter().copied().collect();
            assert_eq!(
                rename(&value, &names, MAX_DEPTH).unwrap().to_json(),
                expected
            );
        };
        check(&[(&a, &x)], r#"{"b":[{"x":{"x":2}}],"c":"a","x":1}"#);
        check(&[(&a, &c)], r#"{"b":[{"c":{"c":2}}],"c":1}"#);
        check(
            &[(&a, &c), (&c, &a)],
            r#"{"a":"a","b":[{"c":{"c":2}}],"c":1}"#,
        );
        assert!(rename(&value, &BTreeMap::new(), 2).is_none());
    }
}
