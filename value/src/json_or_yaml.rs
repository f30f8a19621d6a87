//! Documents that are JSON or YAML.

use crate::{Error, Value};

impl Value {
    /// Reads one document that is JSON or YAML. A document whose first character, after white space, is `{` or `[` is read
    /// as JSON; if that fails, and for every other document, it is read as YAML.
    ///
    /// YAML in flow style begins like JSON. JSON is also YAML, but a parser of YAML refuses keys of more than 1,024 bytes,
    /// and duplicate keys.
    ///
    /// # Errors
    ///
    /// As [`from_json`](Self::from_json) and [`from_yaml`](Self::from_yaml); [`Error::JsonOrYaml`] with both errors for a
    /// document that begins like JSON and is neither.
    ///
    /// ```
    /// use fieldmanager_value::Value;
    /// for text in ["{\"a\": [1]}", "{a: [1]}", "a:\n- 1\n"] {
    ///     assert_eq!(Value::from_json_or_yaml(text)?.to_json(), "{\"a\":[1]}");
    /// }
    /// let error = Value::from_json_or_yaml("{\"a\": ]}").unwrap_err();
    /// assert!(error.to_string().starts_with("not valid JSON at line 1 column 7: expected value; not valid YAML at "));
    /// # Ok::<(), fieldmanager_value::Error>(())
    /// ```
    pub fn from_json_or_yaml(text: &str) -> Result<Value, Error> {
        either(text, |value| value, Value::from_yaml)
    }

    /// Reads one JSON document or every document of a YAML stream, by the rule of
    /// [`from_json_or_yaml`](Self::from_json_or_yaml); empty and null documents are left out.
    ///
    /// # Errors
    ///
    /// As [`from_json_or_yaml`](Self::from_json_or_yaml).
    ///
    /// ```
    /// use fieldmanager_value::Value;
    /// assert_eq!(Value::all_from_json_or_yaml("{a: 1}\n---\n{b: 2}\n")?.len(), 2);
    /// # Ok::<(), fieldmanager_value::Error>(())
    /// ```
    pub fn all_from_json_or_yaml(text: &str) -> Result<Vec<Value>, Error> {
        either(text, |value| vec![value], Value::all_from_yaml)
    }
}

fn either<T>(
    text: &str,
    one: impl Fn(Value) -> T,
    from_yaml: impl Fn(&str) -> Result<T, Error>,
) -> Result<T, Error> {
    if !text.trim_ascii_start().starts_with(['{', '[']) {
        return from_yaml(text);
    }
    match Value::from_json(text) {
        Ok(value) => Ok(one(value)),
        Err(Error::TooDeep) => Err(Error::TooDeep),
        Err(json) => {
            from_yaml(text).map_err(|yaml| Error::JsonOrYaml { json: Box::new(json), yaml: Box::new(yaml) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_with_a_long_key_or_a_duplicate_key_is_read_as_json() {
        let text = format!("\n {{\"{}\": 1}}", "k".repeat(2000));
        assert!(Value::from_yaml(&text).is_err());
        assert!(Value::from_json_or_yaml(&text).is_ok());
        assert_eq!(Value::from_json_or_yaml("{\"a\": 1, \"a\": 2}").unwrap().to_json(), "{\"a\":2}");
    }

    #[test]
    fn nesting_beyond_the_limit_is_reported_as_such() {
        let text = "[".repeat(1000) + &"]".repeat(1000);
        assert_eq!(Value::from_json_or_yaml(&text), Err(Error::TooDeep));
    }
}
