//! Imports definitions.

use std::collections::BTreeSet;

use fieldmanager_schema::internal::resolve_definitions;
use fieldmanager_value::{Str, Value};

use super::convert::Converter;
use super::fault::Fault;
use super::imported::{ImportError, Imported};
use super::keys;
use super::options::Importer;
use crate::types::types_of;

impl Importer {}

/// Imports definitions by name, in any order.
///
/// # Errors
///
/// [`ImportError`] with every fault, unless [`keep_good`](Importer::keep_good) is set; then this never fails.
///
/// ```
/// use fieldmanager_openapi::internal::import_definitions;
/// use fieldmanager_openapi::Importer;
/// use fieldmanager_value::{Str, Value};
/// let definitions = [(Str::from("a"), Value::from_yaml("{type: object, x-kubernetes-map-type: odd}")?)];
/// let error = import_definitions(&Importer::new(), definitions.iter().map(|(n, v)| (n, v))).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "definition `a`: .x-kubernetes-map-type: unknown map type `odd`: atomic and granular are accepted",
/// );
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
pub fn import_definitions<'v>(
    importer: &Importer,
    definitions: impl IntoIterator<Item = (&'v Str, &'v Value)>,
) -> Result<Imported, ImportError> {
    let mut sorted: Vec<(&Str, &Value)> = definitions.into_iter().collect();
    sorted.sort_by(|a, b| a.0.cmp(b.0));
    let mut dropped: BTreeSet<Str> = BTreeSet::new();
    let mut faults: Vec<Fault> = Vec::new();
    // A definition that refers to a dropped one has a fault too, so the import is repeated with fewer definitions.
    loop {
        let mut converter = Converter::new(importer, &sorted, &dropped);
        let mut types = converter.all(&sorted);
        let found = std::mem::take(&mut converter.faults);
        let found = if found.is_empty() {
            converter.warnings.extend(keys::drop_unknown(&mut types));
            match resolve_definitions(types) {
                Ok(schema) => {
                    let types = types_of(schema, converter.kinds);
                    let Converter {
                        warnings, unions, ..
                    } = converter;
                    return Ok(Imported {
                        types,
                        warnings,
                        unions,
                        faults,
                    });
                }
                Err(error) => error.faults().iter().map(Fault::from_schema).collect(),
            }
        } else {
            found
        };

        let bad: Vec<Str> = found
            .iter()
            .map(|fault| Str::from(fault.definition.as_str()))
            .collect();
        faults.extend(found);

        // Every round drops another definition; a fault without a definition ends the loop.
        if !importer.keep_good
            || !bad
                .iter()
                .fold(false, |more, name| dropped.insert(name.clone()) | more)
        {
            return Err(ImportError(faults));
        }
    }
}
