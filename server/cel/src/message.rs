//! The messages of mutations: `Object` with all types below it, and `JSONPatch`.
//!
//! Behaviour: packages `k8s.io/apiserver/pkg/cel/mutation` and `mutation/dynamic`.

use std::collections::BTreeMap;
use std::sync::Arc;

use fieldmanager_value::Str;

use crate::check::types::{STRING, Type};
use crate::equality;
use crate::meter::Meter;
use crate::value::{Fault, MessageVal, Outcome, Val, fault};

const OBJECT: &str = "Object";
const PATCH: &str = "JSONPatch";

/// The fields of a patch that are strings.
const TEXTS: [&str; 3] = ["op", "path", "from"];

/// The name of a type, as it is written; `None` if there is no such type.
pub(crate) fn type_name(written: &str) -> Option<&str> {
    let name = written.strip_prefix('.').unwrap_or(written);
    let is_object = || name.split('.').next() == Some(OBJECT);
    (name == PATCH || is_object()).then_some(name)
}

/// The type of a field; `None` if the type does not have it.
pub(crate) fn field_type<'s>(type_name: &str, field: &str) -> Option<Type<'s>> {
    match field {
        _ if type_name != PATCH => Some(Type::Dyn),
        "value" => Some(Type::Dyn),
        text => TEXTS.contains(&text).then_some(STRING),
    }
}

impl<'a> MessageVal<'a> {
    /// A value with these fields.
    pub(crate) fn make(name: &Str, fields: BTreeMap<Str, Val<'a>>) -> Outcome<'a> {
        let is_wrong = |(field, value): &(&Str, &Val<'_>)| {
            TEXTS.contains(&field.as_str()) && !matches!(value, Val::String(_))
        };
        if name.as_str() == PATCH
            && let Some((field, value)) = fields.iter().find(is_wrong)
        {
            let found = native_type(value);
            return fault(format!(
                "unexpected type {found} for JSONPatchType '{field}' field"
            ));
        }
        let name = name.clone();
        Ok(Val::Message(Arc::new(MessageVal { name, fields })))
    }

    pub(crate) fn is_patch(&self) -> bool {
        self.name.as_str() == PATCH
    }

    /// What the types of all such values have in common, as the name of their type.
    pub(crate) fn family(&self) -> &'static str {
        if self.is_patch() { PATCH } else { OBJECT }
    }

    /// A text of a patch; empty if it has none.
    pub(crate) fn text(&self, field: &str) -> &str {
        match self.fields.get(field) {
            Some(Val::String(text)) => text.as_str(),
            _ => "",
        }
    }

    /// A field; `None` if it is absent and may be. One that is absent is null, or empty in a patch.
    pub(crate) fn select(
        &self,
        key: &Val<'_>,
        may_be_absent: bool,
    ) -> Result<Option<Val<'a>>, Fault> {
        let Val::String(name) = key else {
            return fault("no such overload");
        };
        let is_text = self.is_patch() && TEXTS.contains(&name.as_str());
        let found = self.fields.get(name.as_str()).cloned();
        // An empty text of a patch is like an absent one.
        let found = found.filter(|_| !is_text || !self.text(name).is_empty());
        let absent = if is_text { Val::text("") } else { Val::Null };
        Ok(found.or_else(|| (!may_be_absent).then_some(absent)))
    }

    pub(crate) fn is_equal(
        &self,
        other: &MessageVal<'a>,
        meter: &mut Meter,
    ) -> Result<bool, Fault> {
        if self.name != other.name || !self.fields.keys().eq(other.fields.keys()) {
            return Ok(false);
        }
        for (a, b) in self.fields.values().zip(other.fields.values()) {
            if !equality::equals(a, b, meter)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The type of Go that holds a value.
pub(crate) fn native_type(value: &Val<'_>) -> &'static str {
    match value {
        Val::Null => "structpb.NullValue",
        Val::Bool(_) => "bool",
        Val::Int(_) => "int64",
        Val::Uint(_) => "uint64",
        Val::Double(_) => "float64",
        Val::String(_) => "string",
        Val::Bytes(_) => "[]uint8",
        Val::Duration(_) => "time.Duration",
        Val::Timestamp(_) => "time.Time",
        Val::List(_) => "[]ref.Val",
        Val::Map(_) => "map[ref.Val]ref.Val",
        Val::Message(message) if message.is_patch() => "*mutation.JSONPatchVal",
        Val::Quantity(_) => "*resource.Quantity",
        Val::Optional(Some(value)) => native_type(value),
        _ => "map[string]interface {}",
    }
}
