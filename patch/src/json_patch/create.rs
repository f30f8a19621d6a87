//! Creates JSON patches.

use fieldmanager_value::internal::join;
use fieldmanager_value::{List, MAX_DEPTH, Map, Value};

use super::pointer::escape;
use crate::{Error, Fault};

/// Creates the patch from the original document to the modified one. List items are compared by position.
///
/// # Errors
///
/// [`Fault::TooDeep`], and [`Fault::NotAnObject`] if one of the documents is neither a map nor a list.
///
/// ```
/// use fieldmanager_patch::json_patch;
/// use fieldmanager_value::Value;
/// let original = Value::from_json(r#"{"a": 1, "b": [1, 2]}"#)?;
/// let modified = Value::from_json(r#"{"b": [1], "c": 1}"#)?;
/// let patch = json_patch::create(&original, &modified)?;
/// assert_eq!(
///     patch.to_json(),
///     r#"[{"op":"remove","path":"/a"},{"op":"remove","path":"/b/1"},{"op":"add","path":"/c","value":1}]"#,
/// );
/// assert_eq!(json_patch::apply(&original, &patch)?, modified);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn create(original: &Value, modified: &Value) -> Result<Value, Error> {
    let mut making = Making {
        path: String::new(),
        operations: Vec::new(),
    };
    for (what, value) in [("original", original), ("modified", modified)] {
        if !matches!(value, Value::Map(_) | Value::List(_)) {
            return Err(Fault::NotAnObject {
                what,
                found: value.kind(),
            }
            .into());
        }
    }
    making.values(original, modified, 0)?;

    Ok(Value::from(making.operations))
}

struct Making {
    path: String,
    operations: Vec<Value>,
}

impl Making {
    fn put(&mut self, verb: &str, value: Option<&Value>) {
        let mut operation = Map::from_iter([("op", verb), ("path", self.path.as_str())]);
        if let Some(value) = value {
            operation.insert("value", value.clone());
        }
        self.operations.push(Value::Map(operation));
    }

    /// Calls a function one level below.
    fn below(
        &mut self,
        token: &str,
        run: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let length = self.path.len();
        self.path.push('/');
        self.path.push_str(&escape(token));
        let result = run(self);
        self.path.truncate(length);
        result
    }

    fn values(&mut self, old: &Value, new: &Value, depth: usize) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(Fault::TooDeep.into());
        }
        match (old, new) {
            (Value::Map(old), Value::Map(new)) => self.maps(old, new, depth),
            (Value::List(old), Value::List(new)) => self.lists(old, new, depth),
            _ if old.strict_eq(new) => Ok(()),
            _ => {
                self.put("replace", Some(new));
                Ok(())
            }
        }
    }

    fn maps(&mut self, old: &Map, new: &Map, depth: usize) -> Result<(), Error> {
        for (name, old, new) in join(old, new) {
            self.below(name, |making| match (old, new) {
                (Some(old), Some(new)) => making.values(old, new, depth + 1),
                (Some(_), None) => {
                    making.put("remove", None);
                    Ok(())
                }
                (None, new) => {
                    making.put("add", new);
                    Ok(())
                }
            })?;
        }

        Ok(())
    }

    fn lists(&mut self, old: &List, new: &List, depth: usize) -> Result<(), Error> {
        for (at, (old, new)) in old.iter().zip(new).enumerate() {
            self.below(&at.to_string(), |making| making.values(old, new, depth + 1))?;
        }
        for at in (new.len()..old.len()).rev() {
            self.below(&at.to_string(), |making| {
                making.put("remove", None);
                Ok(())
            })?;
        }

        for item in new.iter().skip(old.len()) {
            self.below("-", |making| {
                making.put("add", Some(item));
                Ok(())
            })?;
        }
        Ok(())
    }
}
