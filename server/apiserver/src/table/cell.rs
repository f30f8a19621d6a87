//! The cells of a row.

use std::fmt;

use fieldmanager_value::Value;

use super::object::Object;

/// How a cell is made of an object.
#[derive(Clone, Copy)]
pub(super) enum Cell {
    Name,
    Age,
    /// A string at a path; empty if it is absent.
    Text(&'static str),
    /// A string at a path, or another one if it is absent.
    TextOr(&'static str, &'static str),
    /// A number at a path; 0 if it is absent.
    Number(&'static str),
    /// A boolean at a path; false if it is absent.
    Flag(&'static str),
    /// The number of items or members at a path.
    Count(&'static str),
    /// A value that needs code.
    Call(fn(&Object<'_>) -> Value),
    /// Several cells that need code.
    Cells(fn(&Object<'_>) -> Vec<Value>),
}

impl Cell {
    pub(super) fn write(&self, object: &Object<'_>, out: &mut Vec<Value>) {
        out.push(match self {
            Cell::Name => object.text("metadata.name").into(),
            Cell::Age => object.age().into(),
            Cell::Text(path) => object.text(path).into(),
            Cell::TextOr(path, absent) => match object.get(path) {
                Some(value) => value.clone(),
                None => Value::from(*absent),
            },
            Cell::Number(path) => object.number(path).into(),
            Cell::Flag(path) => object.flag(path, false).into(),
            Cell::Count(path) => count(object, path),
            Cell::Call(call) => call(object),
            Cell::Cells(call) => {
                out.extend(call(object));
                return;
            }
        });
    }
}

impl fmt::Debug for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cell")
    }
}

pub(super) fn count(object: &Object<'_>, path: &str) -> Value {
    i64::try_from(object.count(path)).unwrap_or(i64::MAX).into()
}

/// The first items of a list, and how many more there are.
pub(super) fn with_more(list: &[String], max: usize) -> String {
    let shown: Vec<&str> = list.iter().take(max).map(String::as_str).collect();
    let shown = shown.join(",");
    match list.len().checked_sub(max) {
        Some(more) if more > 0 => format!("{shown} + {more} more..."),
        _ if shown.is_empty() => "<unset>".to_owned(),
        _ => shown,
    }
}
