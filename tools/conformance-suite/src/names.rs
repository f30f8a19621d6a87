//! The names of a case and those that it has on the server.
//!
//! A case has the namespace `default` and the groups of its definitions. On the server, it has a namespace and groups of
//! its own, so that cases and runs do not meet. Requests are translated to these names, and answers back.

use std::collections::BTreeMap;

use fieldmanager_fieldpath::Set;
use fieldmanager_harness::internal::{Expect, ExpectedError};
use fieldmanager_value::{Map, Str, Value};

/// The namespace of a case in its file.
pub(crate) const NAMESPACE: &str = "default";

/// The largest string that a variable may become.
const LONGEST: usize = 8 << 20;

/// The variable with a name that no other case or run has, for objects outside namespaces.
const UNIQUE: &str = "${unique}";

/// The variable with the name of the namespace on the server, for selectors. Answers have the name in the file.
const OWN_NAMESPACE: &str = "${namespace}";

/// The names of one case.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// The namespace on the server.
    pub(crate) namespace: String,
    /// Groups in the file, each with the group on the server.
    pub(crate) groups: Vec<(String, String)>,
}

impl Names {
    fn unique(&self) -> String {
        format!("{}-unique", self.namespace)
    }

    /// A string of a request.
    pub(crate) fn to_server(&self, text: &str) -> String {
        let text = text.replace(UNIQUE, &self.unique());
        let text = text.replace(OWN_NAMESPACE, &self.namespace);
        self.groups.iter().fold(text, |text, (own, on_server)| {
            replace_word(&text, own, on_server)
        })
    }

    /// The text of an answer.
    pub(crate) fn to_case(&self, text: &str) -> String {
        let text = match self.namespace.as_str() {
            // Definitions have no namespace.
            "" => text.to_owned(),
            namespace => text
                .replace(&self.unique(), UNIQUE)
                .replace(namespace, NAMESPACE),
        };
        self.groups
            .iter()
            .fold(text, |text, (own, on_server)| text.replace(on_server, own))
    }

    /// A path of a file.
    pub(crate) fn path_to_server(&self, path: &str) -> String {
        let path = self.to_server(path);
        let (own, on_server) = (
            format!("/namespaces/{NAMESPACE}"),
            format!("/namespaces/{}", self.namespace),
        );

        // The name must be a whole segment, since another namespace may begin with it.
        match path.split_once(&own) {
            Some((before, after)) if after.is_empty() || after.starts_with(['/', '?']) => {
                format!("{before}{on_server}{after}")
            }
            _ => path,
        }
    }

    /// A body that is a string: its namespaces are those of YAML and JSON.
    pub(crate) fn text_to_server(&self, text: &str) -> String {
        let mut text = self.to_server(text);
        for before in ["namespace: ", "\"namespace\": \"", "\"namespace\":\""] {
            text = text.replace(
                &format!("{before}{NAMESPACE}"),
                &format!("{before}{}", self.namespace),
            );
        }
        text
    }

    /// A body.
    pub(crate) fn value_to_server(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::from(self.to_server(text).as_str()),
            Value::List(list) => {
                Value::List(list.iter().map(|item| self.value_to_server(item)).collect())
            }
            Value::Map(map) => {
                let entry = |(name, value): (&Str, &Value)| {
                    let value = match value.as_str() {
                        Some(NAMESPACE) if *name == "namespace" => {
                            Value::from(self.namespace.as_str())
                        }
                        _ => self.value_to_server(value),
                    };
                    (Str::from(self.to_server(name).as_str()), value)
                };
                Value::Map(map.iter().map(entry).collect::<Map>())
            }
            other => other.clone(),
        }
    }
}

/// Replaces a group where it begins a word, or follows a dot.
fn replace_word(text: &str, own: &str, on_server: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(own) {
        let joined = before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '-');
        out.push_str(before);
        out.push_str(if joined { own } else { on_server });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The variables of a case.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables(pub(crate) BTreeMap<Str, Value>);

impl Variables {
    /// A string with the values of its variables: `${name}`, or `${N*TEXT}` for a repeated text.
    pub(crate) fn text(&self, text: &str) -> Result<String, String> {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let Some((name, after)) = after.split_once('}') else {
                break;
            };
            out.push_str(before);
            match self.value(name)? {
                Some(Value::String(text)) => out.push_str(&text),
                Some(other) => out.push_str(&other.to_json()),
                None => out.push_str(&format!("${{{name}}}")),
            }
            rest = after;
        }
        out.push_str(rest);

        Ok(out)
    }

    /// The value of a variable; `None` for those that names replace.
    fn value(&self, name: &str) -> Result<Option<Value>, String> {
        if matches!(name, "unique" | "namespace") {
            return Ok(None);
        }
        // The size is checked before the text exists.
        if let Some((number, text)) = name.split_once('*')
            && let Ok(number) = number.parse::<usize>()
        {
            return match number.checked_mul(text.len()) {
                Some(size) if size <= LONGEST => {
                    Ok(Some(Value::from(text.repeat(number).as_str())))
                }
                _ => Err(format!(
                    "`${{{name}}}` is too long: expected at most {LONGEST} bytes"
                )),
            };
        }

        match self.0.get(name) {
            Some(value) => Ok(Some(value.clone())),
            None => Err(format!(
                "there is no variable `{name}`: expected one that an earlier step saves, `unique` or `namespace`"
            )),
        }
    }

    /// A value with its variables. A string that is one variable becomes its value, of any kind.
    pub(crate) fn resolve(&self, value: &Value) -> Result<Value, String> {
        Ok(match value {
            Value::String(text) => {
                let only = text
                    .strip_prefix("${")
                    .and_then(|rest| rest.strip_suffix('}'));
                match only
                    .filter(|name| !name.contains('}'))
                    .map(|name| self.value(name))
                    .transpose()?
                    .flatten()
                {
                    Some(value) => value,
                    None => Value::from(self.text(text)?.as_str()),
                }
            }
            Value::List(list) => Value::List(
                list.iter()
                    .map(|item| self.resolve(item))
                    .collect::<Result<_, _>>()?,
            ),
            Value::Map(map) => {
                let entry = |(name, value): (&Str, &Value)| {
                    Ok((Str::from(self.text(name)?.as_str()), self.resolve(value)?))
                };
                Value::Map(map.iter().map(entry).collect::<Result<Map, String>>()?)
            }
            other => other.clone(),
        })
    }
}

impl Variables {
    /// Expectations with the values of their variables.
    pub(crate) fn expect(&self, expect: &Expect) -> Result<Expect, String> {
        let text = |text: &Str| Ok::<_, String>(Str::from(self.text(text)?.as_str()));
        let mut out = expect.clone();
        if let Some(ExpectedError::Containing(part)) = &mut out.error {
            *part = self.text(part)?;
        }

        for entry in out.entries.iter_mut().flatten() {
            entry.manager = text(&entry.manager)?;
            if let Some(fields) = &mut entry.fields {
                // Keys of items may have variables, such as a uid.
                let resolved = self.resolve(&fields.to_value())?;
                *fields = Set::from_value(&resolved).map_err(|error| error.to_string())?;
            }
        }

        let mut values: Vec<&mut Value> = out.object.iter_mut().collect();
        let mut texts: Vec<&mut Str> = Vec::new();
        if let Some(answer) = &mut out.answer {
            texts.extend(
                answer
                    .status
                    .iter_mut()
                    .flat_map(|status| &mut status.message),
            );
            texts.extend(answer.headers.values_mut().flatten());
            texts.extend(answer.warnings.iter_mut().flatten());
            texts.extend(&mut answer.absent);
            values.extend(&mut answer.contains);

            for event in answer.events.iter_mut().flatten() {
                texts.extend(&mut event.absent);
                values.extend(&mut event.contains);
            }
        }

        for part in texts {
            *part = text(part)?;
        }
        for value in values {
            *value = self.resolve(value)?;
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        Names {
            namespace: "fm-x-0001".into(),
            groups: vec![("example.com".into(), "s1.x.example.com".into())],
        }
    }

    #[test]
    fn requests_are_translated_and_answers_translated_back() {
        let names = names();
        let body = Value::from_yaml(
            "{apiVersion: example.com/v1, metadata: {namespace: default, name: '${unique}', labels: {a: default}}}",
        )
        .unwrap();
        let sent = names.value_to_server(&body);
        assert_eq!(
            sent.to_json(),
            "{\"apiVersion\":\"s1.x.example.com/v1\",\"metadata\":{\"labels\":{\"a\":\"default\"},\
             \"name\":\"fm-x-0001-unique\",\"namespace\":\"fm-x-0001\"}}"
        );
        assert_eq!(
            Value::from_json(&names.to_case(&sent.to_json())).unwrap(),
            body
        );
        assert_eq!(
            names.path_to_server("/apis/example.com/v1/namespaces/default/shops/a"),
            "/apis/s1.x.example.com/v1/namespaces/fm-x-0001/shops/a"
        );
        assert_eq!(
            names.to_server("shops.example.com and my-example.com"),
            "shops.s1.x.example.com and my-example.com"
        );
    }

    #[test]
    fn variables_become_their_values() {
        let variables = Variables(BTreeMap::from([
            ("n".into(), Value::from(3)),
            ("s".into(), Value::from("x")),
        ]));
        let resolved = variables
            .resolve(&Value::from_yaml("{a: '${n}', b: 'a-${n}-${s}', c: '${3*ab}'}").unwrap());
        assert_eq!(
            resolved.unwrap().to_json(),
            r#"{"a":3,"b":"a-3-x","c":"ababab"}"#
        );
        assert!(
            variables
                .text("${other}")
                .unwrap_err()
                .starts_with("there is no variable `other`")
        );
        assert!(
            variables
                .text("${999999999999*ab}")
                .unwrap_err()
                .contains("too long")
        );
    }
}
