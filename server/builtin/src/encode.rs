//! JSON as Go writes a value of a type: fields in the order of their declaration.

use fieldmanager_value::Value;
use fieldmanager_value::internal::{Escape, level, write_string};

use crate::types::{Form, TypeId, Types};

/// Writes a value that [`decode`](crate::decode::decode) returned for the type.
pub(crate) fn encode(types: &Types, id: TypeId, value: &Value) -> String {
    let mut out = String::new();
    write(types, id, value, &mut out);
    out
}

fn write(types: &Types, id: TypeId, value: &Value, out: &mut String) {
    match (types.get(id).map(|ty| &ty.form), value) {
        (Some(Form::Pointer(to)), _) => write(types, *to, value, out),
        (Some(Form::Slice(of)), Value::List(items)) => level(|| {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(types, *of, item, out);
            }
            out.push(']');
        }),
        (Some(Form::Map(_, of)), Value::Map(entries)) => level(|| {
            let entries = entries
                .iter()
                .map(|(key, value)| (key.as_str(), *of, value));
            write_object(types, entries, out);
        }),
        (Some(Form::Struct(shape)), Value::Map(entries)) => level(|| {
            let declared = shape.order.iter().filter_map(|at| shape.fields.get(*at));
            let fields = declared.filter_map(|field| {
                Some((field.name.as_str(), field.ty, entries.get(&field.name)?))
            });
            write_object(types, fields, out);
        }),
        (_, Value::String(text)) => write_string(out, text, Escape::Go),
        _ => out.push_str(&value.to_json()),
    }
}

fn write_object<'v>(
    types: &Types,
    fields: impl Iterator<Item = (&'v str, TypeId, &'v Value)>,
    out: &mut String,
) {
    out.push('{');
    for (at, (name, ty, value)) in fields.enumerate() {
        if at > 0 {
            out.push(',');
        }
        write_string(out, name, Escape::Go);
        out.push(':');
        write(types, ty, value, out);
    }
    out.push('}');
}
