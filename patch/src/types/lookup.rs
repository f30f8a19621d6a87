//! Looking up a field.

use super::model::{PatchRule, PatchSchema, RawRule, RuleSource, SchemaNode};
use super::{openapi, table};
use crate::Fault;

impl<'t> PatchSchema<'t> {
    /// The strategies of a field that is a map, and the type of that map.
    ///
    /// # Errors
    ///
    /// [`Fault::UnknownField`] if the schema has no such field or is none of a struct, [`Fault::Schema`] if it is
    /// at fault itself.
    ///
    /// Behaviour: `LookupPatchMetadataForStruct` in `k8s.io/apimachinery/pkg/util/strategicpatch/meta.go`.
    pub(crate) fn map_field(self, name: &str) -> Result<(PatchRule<'t>, PatchSchema<'t>), Fault> {
        let (rule, below) = self.look_up(name, false)?;
        Ok((rule.read()?, below))
    }

    /// The strategies of a field that is a list, and the type of its items.
    ///
    /// # Errors
    ///
    /// As of [`map_field`](Self::map_field).
    ///
    /// Behaviour: `LookupPatchMetadataForSlice` in `k8s.io/apimachinery/pkg/util/strategicpatch/meta.go`.
    pub(crate) fn list_field(self, name: &str) -> Result<(PatchRule<'t>, PatchSchema<'t>), Fault> {
        let (rule, below) = self.look_up(name, true)?;
        Ok((rule.read()?, below))
    }

    pub(crate) fn look_up(
        self,
        name: &str,
        list: bool,
    ) -> Result<(RawRule<'t>, PatchSchema<'t>), Fault> {
        let SchemaNode::At(types, at) = self.node else {
            return Ok((RawRule::default(), PatchSchema::free()));
        };
        match types.0.form {
            RuleSource::V3 => openapi::version_3(types, at, name, list),
            RuleSource::V2 => openapi::version_2(types, at, name, list),
            RuleSource::Table => Ok(table::look_up(types, at, name)),
        }
    }
}
