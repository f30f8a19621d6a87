//! The operations of a JSON patch.

use fieldmanager_value::Value;

use super::OperationFault;
use super::pointer::Pointer;

/// The kind of an operation.
#[derive(Clone, Copy)]
pub(super) enum OperationVerb {
    Add,
    Remove,
    Replace,
    Move,
    Copy,
    Test,
}

/// One operation of a patch.
pub(super) struct Operation<'p> {
    pub(super) verb: OperationVerb,
    pub(super) path: Pointer<'p>,
    pub(super) from: Option<Pointer<'p>>,
    pub(super) value: Option<&'p Value>,
}

impl<'p> Operation<'p> {
    pub(super) fn read(operation: &'p Value) -> Result<Self, OperationFault> {
        let verb = match operation.get("op").and_then(Value::as_str) {
            Some("add") => OperationVerb::Add,
            Some("remove") => OperationVerb::Remove,
            Some("replace") => OperationVerb::Replace,
            Some("move") => OperationVerb::Move,
            Some("copy") => OperationVerb::Copy,
            Some("test") => OperationVerb::Test,
            other => {
                return Err(OperationFault::Kind {
                    found: other.unwrap_or("unknown").to_owned(),
                });
            }
        };

        let from = match verb {
            OperationVerb::Move | OperationVerb::Copy => Some(pointer(operation, "from")?),
            _ => None,
        };
        Ok(Operation {
            verb,
            path: pointer(operation, "path")?,
            from,
            value: operation.get("value"),
        })
    }
}

fn pointer<'p>(operation: &'p Value, name: &'static str) -> Result<Pointer<'p>, OperationFault> {
    match operation.get(name) {
        None | Some(Value::Null) => Err(OperationFault::NoMember { name }),
        Some(Value::String(text)) => Pointer::read(text),
        Some(other) => Err(OperationFault::MemberType {
            name,
            found: other.kind(),
        }),
    }
}
