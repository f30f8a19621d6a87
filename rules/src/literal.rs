//! Constants of expressions.

use cel::common::ast::LiteralValue;
use fieldmanager_value::Str;

use crate::value::Val;

/// A constant.
#[derive(Clone, Debug)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Str),
    Bytes(Vec<u8>),
}

impl Literal {
    /// A constant that was parsed.
    pub(crate) fn of(literal: &LiteralValue) -> Self {
        match literal {
            LiteralValue::Null => Literal::Null,
            LiteralValue::Boolean(flag) => Literal::Bool(*flag.inner()),
            LiteralValue::Int(number) => Literal::Int(*number.inner()),
            LiteralValue::UInt(number) => Literal::Uint(*number.inner()),
            LiteralValue::Double(number) => Literal::Double(*number.inner()),
            LiteralValue::String(text) => Literal::String(text.inner().into()),
            LiteralValue::Bytes(bytes) => Literal::Bytes(bytes.inner().to_vec()),
        }
    }

    pub(crate) fn value<'a>(&self) -> Val<'a> {
        match self {
            Literal::Null => Val::Null,
            Literal::Bool(flag) => Val::Bool(*flag),
            Literal::Int(number) => Val::Int(*number),
            Literal::Uint(number) => Val::Uint(*number),
            Literal::Double(number) => Val::Double(*number),
            Literal::String(text) => Val::String(text.clone()),
            Literal::Bytes(bytes) => Val::Bytes(bytes.as_slice().into()),
        }
    }
}
