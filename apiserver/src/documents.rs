//! The documents that clients read first, for the resources of one moment.

use bytes::Bytes;
use fieldmanager_value::Value;

use crate::endpoint::Core;

/// The documents of one registry.
pub(crate) struct Documents;

impl Core {
    /// The documents for the resources of this moment.
    pub(crate) fn documents(&self) -> Documents {
        Documents
    }
}

impl Documents {
    pub(crate) fn paths(&self) -> Value { Value::Null }
    pub(crate) fn legacy_versions(&self) -> Value { Value::Null }
    pub(crate) fn groups(&self) -> Value { Value::Null }
    pub(crate) fn group(&self, _: &str) -> Option<Value> { None }
    pub(crate) fn group_version(&self, _: &str, _: &str) -> Option<Value> { None }
    pub(crate) fn aggregated(&self, _: bool) -> Value { Value::Null }
    pub(crate) fn openapi_v2(&self) -> Bytes { Bytes::new() }
    pub(crate) fn openapi_v2_protobuf(&self) -> Bytes { Bytes::new() }
    pub(crate) fn openapi_v3_index(&self) -> Bytes { Bytes::new() }
    pub(crate) fn openapi_v3(&self, _: &str) -> Option<Bytes> { None }
}
