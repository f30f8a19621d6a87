//! The options of a field manager, as the steps of a request use them.

use std::sync::Arc;

use fieldmanager_fieldpath::ApiVersion;
use fieldmanager_merge::{ConvertError, Updater};
use fieldmanager_openapi::GroupVersionKind;
use fieldmanager_schema::Type;
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_typed::{Duplicates, TypedValue};
use fieldmanager_value::{Str, Value};

use crate::convert::{ObjectConverter, Typing, at_version};
use crate::error::Error;
use crate::identity::{Identity, Operation};
use crate::managed_fields::{Decoded, decode_last, decode_lossy};
use crate::object::{described, kind_of, with_list};

/// Fills in the defaults of an object.
pub(crate) type Defaulter = Arc<dyn Fn(&Value) -> Value + Send + Sync>;

#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) kind: GroupVersionKind,
    pub(crate) version: ApiVersion,
    pub(crate) hub: ApiVersion,
    pub(crate) ty: Type,
    pub(crate) typing: Typing,
    pub(crate) subresource: Str,
    pub(crate) converter: Arc<dyn ObjectConverter>,
    pub(crate) defaulter: Option<Defaulter>,
    /// What an object counts as before it exists.
    pub(crate) empty: Value,
    pub(crate) updater: Updater,
    pub(crate) max_updaters: usize,
    pub(crate) recover: bool,
    pub(crate) last_entry_counts: bool,
}

impl Settings {
    /// Reads the entries of an object.
    pub(crate) fn decode(&self, list: Option<&Value>) -> Decoded {
        if self.last_entry_counts {
            decode_last(list)
        } else {
            decode_lossy(list)
        }
    }

    /// The identifier of the manager of a request.
    pub(crate) fn identifier(&self, manager: &str, operation: Operation) -> Str {
        let manager = if manager.is_empty() {
            "unknown"
        } else {
            manager
        };
        Identity::new(
            manager,
            operation,
            self.version.clone(),
            self.subresource.clone(),
        )
        .identifier()
    }

    /// Checks that a configuration is of the kind of the field manager, at its version.
    pub(crate) fn check_kind(&self, config: &Value) -> Result<(), Error> {
        let kind = kind_of(config);
        if kind == self.kind {
            Ok(())
        } else {
            Err(Error::ObjectType {
                found: kind.to_string(),
            })
        }
    }

    /// The live object without its managed fields. An object that does not exist yet has only `apiVersion` and `kind`.
    pub(crate) fn without_managed_fields(&self, live: &Value) -> Value {
        // Applying `managedFields: null` over null is a no-op.
        if live.managed_fields() == Some(&Value::Null) {
            return live.clone();
        }
        if !live.is_null() {
            return with_list(live, None);
        }
        self.empty.clone()
    }

    /// The object with its defaults.
    pub(crate) fn defaulted(&self, object: &Value) -> Value {
        self.defaulter
            .as_ref()
            .map_or_else(|| object.clone(), |defaulter| defaulter(object))
    }

    /// The object at the version of the field manager.
    pub(crate) fn to_request_version(
        &self,
        object: &Value,
        action: &'static str,
    ) -> Result<Value, Error> {
        at_version(&*self.converter, object, &self.version)
            .map_err(|source| convert_error(action, object, source))
    }

    /// The object at the hub version. `config` is the object in messages.
    pub(crate) fn to_hub_version(&self, object: &Value, config: &Value) -> Result<Value, Error> {
        at_version(&*self.converter, object, &self.hub)
            .map_err(|source| convert_error("convert to unversioned", config, source))
    }

    /// A value that was made from an object, converted back to the version of the object.
    pub(crate) fn back_to_own_version(
        &self,
        object: &Value,
        value: &Value,
    ) -> Result<Value, Error> {
        match object.get("apiVersion").and_then(Value::as_str) {
            Some(own) => at_version(&*self.converter, value, &own.into()).map_err(|source| {
                convert_error("convert new object back to its version", object, source)
            }),
            None => Ok(value.clone()),
        }
    }

    /// The object with the type of the kind that it declares. An undeclared version or kind is that of the field manager.
    pub(crate) fn typed(
        &self,
        object: &Value,
        action: &'static str,
        callers: bool,
        duplicates: Duplicates,
    ) -> Result<TypedValue, Error> {
        let declared = |name: &str, otherwise: &str| {
            let text = object
                .get(name)
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty());
            Str::from(text.unwrap_or(otherwise))
        };
        let kind = GroupVersionKind::from_api_version_kind(
            &declared("apiVersion", self.version.as_str()),
            &declared("kind", &self.kind.kind),
        );
        let ty = if kind == self.kind {
            self.ty.clone()
        } else {
            let fail = |source| Error::Kind {
                action,
                object: described(object),
                source,
            };
            self.typing.for_kind(&kind).map_err(fail)?
        };

        TypedValue::new(object.clone(), ty, duplicates).map_err(|source| Error::Invalid {
            action,
            object: described(object),
            callers,
            source,
        })
    }
}

fn convert_error(action: &'static str, object: &Value, source: ConvertError) -> Error {
    Error::Convert {
        action,
        object: described(object),
        source,
    }
}
