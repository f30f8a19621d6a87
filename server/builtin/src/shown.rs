//! Values in messages: Go writes those of internal types with the Go names of the fields, in their order, and with the
//! fields that are not set.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use fieldmanager_structural::{FieldError, FieldErrorKind, FieldPath};
use fieldmanager_value::Value;
use fieldmanager_value::internal::{Escape, embedded, write_json};
use serde::Deserialize;

/// How the types of messages are written. The program `cmd/internal` writes the table.
#[derive(Debug, Default, Deserialize)]
struct Shown {
    roots: BTreeMap<String, usize>,
    types: Vec<Form>,
}

/// How a type is written.
#[derive(Debug, Deserialize)]
enum Form {
    /// A scalar, and what Go writes if nothing is set.
    #[serde(rename = "l")]
    Leaf(serde_json::Value),
    #[serde(rename = "p")]
    Pointer(usize),
    #[serde(rename = "s")]
    Slice(usize),
    #[serde(rename = "m")]
    Map(usize),
    #[serde(rename = "o")]
    Struct(Vec<Field>),
}

/// The name in messages, the path of the value, the type, and whether an absent value is left out.
#[derive(Debug, Deserialize)]
struct Field(String, String, usize, bool);

fn shown() -> &'static Shown {
    static SHOWN: LazyLock<Shown> = LazyLock::new(|| {
        embedded(
            "internal types",
            serde_json::from_str(include_str!("data/internal.json")),
        )
    });
    &SHOWN
}

/// The JSON of a value of an internal type.
pub(crate) fn json(ty: &str, value: Option<&Value>) -> String {
    written(ty, value, None)
}

/// The JSON of a value of an internal type, with one line for each scalar.
pub(crate) fn pretty_json(ty: &str, value: Option<&Value>) -> String {
    written(ty, value, Some(0))
}

/// An error that shows JSON as the invalid value.
pub(crate) fn invalid(path: FieldPath, json: &str, detail: &str) -> FieldError {
    FieldError {
        path,
        kind: FieldErrorKind::Invalid,
        value: None,
        detail: format!("{json}: {detail}"),
    }
}

fn written(ty: &str, value: Option<&Value>, indent: Option<usize>) -> String {
    let mut writer = Writer {
        types: &shown().types,
        out: String::new(),
    };
    if let Some(id) = shown().roots.get(ty) {
        writer.value(*id, value, indent);
    }
    writer.out
}

struct Writer {
    types: &'static [Form],
    out: String,
}

impl Writer {
    /// Writes a value. The types are not recursive, so the table bounds the depth.
    fn value(&mut self, id: usize, value: Option<&Value>, indent: Option<usize>) {
        // Null and an absent field are the same in a struct of Go.
        let value = value.filter(|value| !value.is_null());

        match (self.types.get(id), value) {
            (Some(Form::Struct(fields)), _) => {
                let mut entries = Entries::new('{', indent);
                for Field(name, path, ty, omits) in fields {
                    let found = path
                        .split('.')
                        .try_fold(value.unwrap_or(&Value::Null), |value, name| value.get(name));
                    if found.is_some_and(|found| !found.is_null()) || !omits {
                        entries.next(&mut self.out);
                        self.name(name, indent);
                        self.value(*ty, found, entries.below());
                    }
                }
                entries.end('}', &mut self.out);
            }
            (Some(Form::Pointer(of)), Some(value)) => self.value(*of, Some(value), indent),
            (Some(Form::Slice(of)), Some(Value::List(items))) => {
                let mut entries = Entries::new('[', indent);
                for item in items {
                    entries.next(&mut self.out);
                    self.value(*of, Some(item), entries.below());
                }
                entries.end(']', &mut self.out);
            }
            (Some(Form::Map(of)), Some(Value::Map(map))) => {
                let mut entries = Entries::new('{', indent);
                for (key, value) in map {
                    entries.next(&mut self.out);
                    self.name(key, indent);
                    self.value(*of, Some(value), entries.below());
                }
                entries.end('}', &mut self.out);
            }
            (_, Some(value)) => write_json(value, &mut self.out, Escape::Go),
            (Some(Form::Leaf(zero)), None) => self.out.push_str(&zero.to_string()),
            (_, None) => self.out.push_str("null"),
        }
    }

    fn name(&mut self, name: &str, indent: Option<usize>) {
        write_json(&Value::from(name), &mut self.out, Escape::Go);
        self.out.push_str(if indent.is_some() { ": " } else { ":" });
    }
}

/// The entries of a list or map that is written.
struct Entries {
    open: char,
    indent: Option<usize>,
    is_empty: bool,
}

impl Entries {
    fn new(open: char, indent: Option<usize>) -> Self {
        Entries {
            open,
            indent,
            is_empty: true,
        }
    }

    fn below(&self) -> Option<usize> {
        self.indent.map(|indent| indent + 1)
    }

    fn next(&mut self, out: &mut String) {
        out.push(if self.is_empty { self.open } else { ',' });
        self.is_empty = false;
        self.line(self.below(), out);
    }

    fn end(&self, close: char, out: &mut String) {
        if self.is_empty {
            out.push(self.open);
        } else {
            self.line(self.indent, out);
        }
        out.push(close);
    }

    fn line(&self, indent: Option<usize>, out: &mut String) {
        if let Some(indent) = indent {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_go_names_and_the_order_of_internal_types() {
        let strategy = Value::from_yaml("{type: X, rollingUpdate: {maxSurge: 10%}}").unwrap();
        assert_eq!(
            json("DeploymentStrategy", Some(&strategy)),
            r#"{"Type":"X","RollingUpdate":{"MaxUnavailable":0,"MaxSurge":"10%"}}"#
        );
        assert_eq!(
            json("DeploymentStrategy", None),
            r#"{"Type":"","RollingUpdate":null}"#
        );
        let template = Value::from_yaml("{metadata: {name: a, labels: {b: c}}}").unwrap();
        assert!(
            json("PodTemplateSpec", Some(&template))
                .starts_with(r#"{"name":"a","labels":{"b":"c"},"Spec":{"Volumes":null,"#)
        );
    }

    #[test]
    fn pretty_values_have_a_line_for_each_scalar() {
        let ips = Value::from_yaml("[{ip: 10.0.0.1}]").unwrap();
        assert_eq!(
            pretty_json("PodIPs", Some(&ips)),
            "[\n {\n  \"IP\": \"10.0.0.1\"\n }\n]"
        );
        assert_eq!(
            pretty_json("PodIPs", Some(&Value::from(Vec::<Value>::new()))),
            "[]"
        );
    }
}
