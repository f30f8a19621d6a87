//! What mutations make: apply configurations and JSON patches.
//!
//! Behaviour: `ConvertToNative` and `CheckTypeNamesMatchFieldPathNames` of `k8s.io/apiserver/pkg/cel/mutation/dynamic`, and
//! the conversions of `github.com/google/cel-go/common/types` to protobuf values.

use std::fmt::Display;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fieldmanager_value::internal::go_format::quote;
use fieldmanager_value::internal::level;
use fieldmanager_value::{List, Map, Str, Value};

use crate::message::native_type;
use crate::time::seconds;
use crate::value::{Key, ListVal, MapVal, MessageVal, Val};

/// Why a value cannot be written as JSON.
const NO_JSON: &str =
    "JSONPath valueExpression evaluated to a type that could not marshal to JSON: ";

/// The greatest number that JavaScript has.
const SAFE: u64 = (1 << 53) - 1;

/// What a message becomes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NativeTarget {
    /// Values of Go.
    Configuration,
    /// A value of protobuf, whose numbers are floats.
    Patch,
}

/// Why a field of a message cannot be converted.
enum NativeFault {
    /// A map has a key that is not a string. The text is that of Go.
    Key(String),
    /// The value has a type of Go that JSON does not have.
    Type(&'static str),
    /// A number that JSON does not have.
    Number(f64),
}

impl NativeFault {
    fn text(self) -> String {
        match self {
            NativeFault::Key(text) => text,
            NativeFault::Type(found) => format!("proto: invalid type: {found}"),
            NativeFault::Number(number) => {
                let shown = match number {
                    f64::INFINITY => "+Inf",
                    f64::NEG_INFINITY => "-Inf",
                    _ => "NaN",
                };
                format!(
                    "json: error calling MarshalJSON for type *structpb.Value: proto: google.protobuf.Value.number_value: invalid {shown} value"
                )
            }
        }
    }
}

/// The configuration that an expression made, whose kind is not set.
///
/// # Errors
///
/// The words of kube-apiserver, for a value that has types at wrong places, or is not JSON.
pub(crate) fn configuration(value: &Val<'_>) -> Result<Value, String> {
    let Val::Message(message) = value else {
        let found = value.type_name();
        return Err(format!(
            "unsupported return type from ApplyConfiguration expression: {found}"
        ));
    };
    check_names(message)?;
    NativeTarget::Configuration
        .message(message)
        .map_err(|fault| match fault {
            NativeFault::Key(_) => "invalid return type: *dynamic.ObjectVal".to_owned(),
            other => format!(
                "error applying patch: failed to convert patch object to typed object: {}",
                other.text()
            ),
        })
}

/// The operations of a JSON patch that an expression made.
///
/// # Errors
///
/// The words of kube-apiserver.
///
/// Behaviour: `evaluatePatchExpression` of `k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch`.
pub(crate) fn operations(value: &Val<'_>) -> Result<Value, String> {
    const MISMATCH: &str = "type mismatch: JSONPatchType.expression should evaluate to array";
    let Val::List(list) = value else {
        return Err(MISMATCH.to_owned());
    };
    let operations = list.iter().map(|item| match item {
        Ok(Val::Message(message)) if message.is_patch() => operation(&message),
        _ => Err(format!("{MISMATCH} of JSONPatch")),
    });
    Ok(Value::List(operations.collect::<Result<List, String>>()?))
}

fn operation(message: &MessageVal<'_>) -> Result<Value, String> {
    let text = |name: &str| (Str::from(name), Value::from(message.text(name)));
    let from = Some("from").filter(|name| !message.text(name).is_empty());
    let texts = ["op", "path"].into_iter().chain(from);
    let mut fields: Map = texts.map(text).collect();
    if let Some(value) = message.fields.get("value") {
        if let Val::Message(object) = value
            && !object.is_patch()
        {
            check_names(object)?;
        }
        let json = json(value).map_err(|fault| format!("{NO_JSON}{fault}"))?;
        fields.insert("value", json);
    }
    Ok(Value::Map(fields))
}

/// Checks that each message has the type of the field that it is in.
fn check_names(root: &MessageVal<'_>) -> Result<(), String> {
    let mut path = vec![root.name.to_string()];
    let mut faults = Vec::new();
    check_message(root, &mut path, &mut faults);
    if faults.is_empty() {
        Ok(())
    } else {
        Err(format!("type mismatch: {}", faults.join("\n")))
    }
}

fn check_message(message: &MessageVal<'_>, path: &mut Vec<String>, faults: &mut Vec<String>) {
    let (found, expected) = (message.name.as_str(), path.join("."));
    if found != expected {
        faults.push(format!(
            "unexpected type name {}, expected {}, which matches field name path from root Object type",
            quote(found),
            quote(&expected)
        ));
    }
    for (name, value) in &message.fields {
        path.push(name.to_string());
        check(value, path, faults);
        path.pop();
    }
}

/// Lists and maps have no types of their own, so the messages in them have that of the field. As in Go, those in the sum
/// of two lists are not checked.
fn check(value: &Val<'_>, path: &mut Vec<String>, faults: &mut Vec<String>) {
    level(|| match value {
        Val::Message(message) if !message.is_patch() => check_message(message, path, faults),
        Val::List(ListVal::Made(items)) => {
            items.iter().for_each(|item| check(item, path, faults));
        }
        Val::Map(MapVal::Made(entries)) => {
            entries.values().for_each(|item| check(item, path, faults));
        }
        _ => {}
    });
}

impl NativeTarget {
    fn message(self, message: &MessageVal<'_>) -> Result<Value, NativeFault> {
        let fields = message.fields.iter().map(|(name, value)| {
            let value = self.field(value, false).map_err(|fault| match fault {
                NativeFault::Key(text) => {
                    NativeFault::Key(format!("fail to convert field {}: {text}", quote(name)))
                }
                other => other,
            });
            Ok((name.clone(), value?))
        });
        Ok(Value::Map(fields.collect::<Result<Map, _>>()?))
    }

    /// The value of a field. As in Go, lists and maps that the expression made are converted one level deep.
    /// A null is refused, but for one that an object has below what was taken from it.
    fn field(self, value: &Val<'_>, has_nulls: bool) -> Result<Value, NativeFault> {
        level(|| match value {
            Val::List(list) => {
                let is_made = matches!(list, ListVal::Made(_));
                let items = list.iter().map(|item| match item {
                    Ok(item) if is_made => self.member(&item),
                    Ok(item) => self.field(&item, has_nulls),
                    Err(_) => Err(NativeFault::Type("error")),
                });
                Ok(Value::List(items.collect::<Result<List, _>>()?))
            }

            Val::Map(map) => {
                let is_made = matches!(map, MapVal::Made(_));
                entries(map, |key, value| {
                    let Val::String(name) = key else {
                        return Err(NativeFault::Key(no_name(key)));
                    };
                    let value = if is_made {
                        self.member(value)
                    } else {
                        self.field(value, has_nulls)
                    };
                    Ok((name.clone(), value?))
                })
            }

            // A message with a key of another type is an error inside the value here.
            Val::Message(message) if !message.is_patch() => {
                self.message(message).map_err(|fault| match fault {
                    NativeFault::Key(_) => NativeFault::Type("*types.Err"),
                    other => other,
                })
            }
            Val::Null if has_nulls => Ok(Value::Null),
            other => self.scalar(other),
        })
    }

    /// An item of a list or a map that the expression made.
    fn member(self, value: &Val<'_>) -> Result<Value, NativeFault> {
        match value {
            Val::List(ListVal::Made(_)) | Val::Map(MapVal::Made(_)) => {
                Err(NativeFault::Type(native_type(value)))
            }
            Val::List(ListVal::Joined(items)) => level(|| {
                let items = items.iter().map(|item| self.member(item));
                Ok(Value::List(items.collect::<Result<List, _>>()?))
            }),
            Val::List(_) | Val::Map(_) => self.field(value, true),
            other => self.field(other, false),
        }
    }

    fn scalar(self, value: &Val<'_>) -> Result<Value, NativeFault> {
        #[expect(clippy::cast_precision_loss, reason = "as in Go")]
        match (value, self) {
            (Val::Bool(flag), _) => Ok(Value::Bool(*flag)),
            (Val::String(text), _) => Ok(Value::from(text)),
            (Val::Type(name), _) => Ok(Value::from(*name)),
            (Val::Int(number), NativeTarget::Configuration) => Ok(Value::Int(*number)),
            (Val::Double(number), NativeTarget::Configuration) => Ok(Value::Float(*number)),
            (Val::Int(number), NativeTarget::Patch) => float(*number as f64),
            (Val::Uint(number), NativeTarget::Patch) => float(*number as f64),
            (Val::Double(number), NativeTarget::Patch) => float(*number),
            (Val::Bytes(bytes), NativeTarget::Patch) => Ok(Value::from(STANDARD.encode(bytes))),
            (Val::Optional(None), _) => Ok(Value::Null),
            (Val::Optional(Some(value)), _) => self.member(value),
            (other, _) => Err(NativeFault::Type(native_type(other))),
        }
    }
}

/// The entries of a map.
fn entries<F>(
    map: &MapVal<'_>,
    mut entry: impl FnMut(&Val<'_>, &Val<'_>) -> Result<(Str, Value), F>,
) -> Result<Value, F> {
    let entries = map.entries();
    let found = entries.iter().map(|(key, value)| entry(key, value));
    Ok(Value::Map(found.collect::<Result<Map, F>>()?))
}

/// A key as Go formats it with `%q`.
fn quote_key(key: &Val<'_>) -> String {
    match Key::of(key) {
        Some(Key::Number(whole)) => {
            let character = u32::try_from(whole.number).ok().and_then(char::from_u32);
            let text = character.unwrap_or('\u{fffd}').to_string();
            let quoted = quote(&text);
            format!("'{}'", quoted.trim_matches('"'))
        }
        _ => format!("%!q({})", crate::display::shown(key)),
    }
}

/// A number of protobuf, which is an integer if it has no fraction.
fn float(number: f64) -> Result<Value, NativeFault> {
    const MOST: f64 = 9_223_372_036_854_775_807.0;
    if !number.is_finite() {
        return Err(NativeFault::Number(number));
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the number has no fraction"
    )]
    let whole = number as i64;
    if number.fract() == 0.0 && number.abs() < MOST {
        Ok(Value::Int(whole))
    } else {
        Ok(Value::Float(number))
    }
}

/// A value as JSON. Integers that a float does not have become texts.
fn json(value: &Val<'_>) -> Result<Value, String> {
    level(|| match value {
        Val::Null => Ok(Value::Null),
        Val::Bool(flag) => Ok(Value::Bool(*flag)),
        // JSON has no more exact integers.
        Val::Int(number) if number.unsigned_abs() > SAFE => Ok(Value::from(number.to_string())),
        Val::Int(number) => Ok(Value::Int(*number)),
        Val::Uint(number) => match i64::try_from(*number) {
            Ok(small) if *number <= SAFE => Ok(Value::Int(small)),
            _ => Ok(Value::from(number.to_string())),
        },
        Val::Double(number) => float(*number).map_err(NativeFault::text),

        Val::String(text) => Ok(Value::from(text)),
        Val::Bytes(bytes) => Ok(Value::from(STANDARD.encode(bytes))),
        Val::Duration(nanoseconds) => Ok(Value::from(seconds(*nanoseconds))),
        Val::Timestamp(time) => Ok(Value::from(time.to_string())),
        Val::Optional(Some(value)) => json(value),
        Val::Optional(None) => Err("optional.none() dereference".to_owned()),

        Val::List(list @ ListVal::Joined(_)) => json_items(list, json_of_item),
        Val::List(list) => json_items(list, json),
        Val::Map(map) => entries(map, |key, value| match key {
            Val::String(name) => Ok((name.clone(), json(value)?)),
            Val::Bool(_) => Err("type conversion error from bool to 'string'".to_owned()),
            other => {
                let found = other.type_name();
                Err(format!(
                    "unsupported type conversion from '{found}' to string"
                ))
            }
        }),

        Val::Message(message) if message.is_patch() => {
            Err("cannot convert to native type: *structpb.Value".to_owned())
        }
        Val::Message(message) => NativeTarget::Patch
            .message(message)
            .map_err(NativeFault::text),
        Val::Type(_) => Err("type conversion not supported for 'type'".to_owned()),
        other => {
            let found = other.go_type();
            let name = found.strip_prefix("cel.").unwrap_or(&found);
            Err(format!(
                "type conversion error from '{name}' to '*structpb.Value'"
            ))
        }
    })
}

fn json_items(
    list: &ListVal<'_>,
    json: impl Fn(&Val<'_>) -> Result<Value, String>,
) -> Result<Value, String> {
    let items = list.iter().map(|item| match item {
        Ok(item) => json(&item),
        Err(_) => Err("no such overload".to_owned()),
    });
    Ok(Value::List(items.collect::<Result<List, _>>()?))
}

/// An item of a sum of lists as JSON. Go makes values of its own of these items, which have no faults that messages have.
///
/// Behaviour: `concatList.Value` of `github.com/google/cel-go/common/types`.
fn json_of_item(value: &Val<'_>) -> Result<Value, String> {
    level(|| match value {
        Val::Message(message) if !message.is_patch() => {
            let fields = message.fields.iter();
            let fields =
                fields.map(|(name, value)| Ok((name.clone(), json_of_field(name, value)?)));
            Ok(Value::Map(fields.collect::<Result<Map, String>>()?))
        }
        Val::List(list @ ListVal::Joined(_)) => json_items(list, json_of_item),
        Val::Optional(Some(value)) => json_of_item(value),
        Val::Optional(None) => Ok(Value::Null),
        Val::Type(name) => Ok(Value::from(*name)),
        Val::Quantity(quantity) => no_value("*resource.Quantity", quantity),
        Val::Ip(address) => no_value("netip.Addr", address),
        Val::Cidr(address, bits) => no_value("netip.Prefix", &format!("{address}/{bits}")),
        Val::Semver(version) => no_value("semver.Version", version),
        other => json(other),
    })
}

/// The error of a value of a type of Go that has none in CEL.
fn no_value(of: &str, shown: &dyn Display) -> Result<Value, String> {
    Err(format!("unsupported conversion to ref.Val: ({of}){shown}"))
}

/// The field of a message in such an item.
fn json_of_field(field: &str, value: &Val<'_>) -> Result<Value, String> {
    level(|| match value {
        Val::List(list @ ListVal::Made(_)) => json_items(list, json_of_item),
        Val::List(list @ ListVal::Joined(_)) => json_items(list, |item| json_of_field(field, item)),
        Val::Map(map @ MapVal::Made(_)) => entries(map, |key, value| match key {
            Val::String(name) => Ok((name.clone(), json_of_item(value)?)),
            other => Err(format!(
                "fail to convert field {}: {}",
                quote(field),
                no_name(other)
            )),
        }),
        other => json_of_item(other),
    })
}

/// A key of a map that is no text.
fn no_name(key: &Val<'_>) -> String {
    let (shown, found) = (quote_key(key), key.go_type());
    format!("map key {shown} is of type {found}, not string")
}
