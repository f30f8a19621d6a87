//! The entries of `metadata.managedFields`.

use fieldmanager_fieldpath::{ApiVersion, Set};
use fieldmanager_value::{Map, Str, Value};

use crate::identity::{Identity, Operation};
use crate::time::Time;

/// An entry of `metadata.managedFields`: the fields that one manager owns.
///
/// ```
/// use fieldmanager_managedfields::{Entry, Operation};
/// use fieldmanager_value::Value;
/// let json = r#"{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{}},"manager":"ci","operation":"Apply"}"#;
/// let entry = Entry::from_value(0, &Value::from_json(json)?)?;
/// assert_eq!((entry.manager.as_str(), entry.operation), ("ci", Operation::Apply));
/// assert_eq!(entry.fields.to_string(), ".data");
/// assert_eq!(entry.to_value().to_json(), json);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// The name of the manager; may be empty.
    pub manager: Str,
    /// The operation.
    pub operation: Operation,
    /// The version at which the fields have these paths.
    pub api_version: ApiVersion,
    /// The time of its last write; `None` if it is unknown.
    pub time: Option<Time>,
    /// The subresource that it wrote; empty for the object itself.
    pub subresource: Str,
    /// The fields that it owns.
    pub fields: Set,
}

/// The error of an entry that cannot be read.
///
/// ```
/// use fieldmanager_managedfields::Entry;
/// use fieldmanager_value::Value;
/// let error = Entry::from_value(3, &Value::from_json(r#"{"operation":"Patch"}"#)?).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     ".metadata.managedFields[3].operation: operation must be `Apply` or `Update`, got `Patch`",
/// );
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(".metadata.managedFields[{index}]{}: {message}", path(.member))]
#[non_exhaustive]
pub struct EntryError {
    /// The index of the entry in the list.
    pub index: usize,
    /// The name of the manager, if the entry has one.
    pub manager: Option<String>,
    /// The invalid member of the entry; empty for the whole entry.
    pub member: &'static str,
    /// What was found, and what would be accepted.
    pub message: String,
}

/// Reads the set of a `fieldsV1`.
pub(crate) type ReadFields<'a> =
    &'a mut dyn FnMut(&Value) -> Result<Set, fieldmanager_fieldpath::Error>;

fn path(member: &str) -> String {
    if member.is_empty() {
        String::new()
    } else {
        format!(".{member}")
    }
}

impl Entry {
    /// An entry for the object itself, without a time.
    pub fn new(
        manager: impl Into<Str>,
        operation: Operation,
        api_version: impl Into<ApiVersion>,
        fields: Set,
    ) -> Self {
        Entry {
            manager: manager.into(),
            operation,
            api_version: api_version.into(),
            time: None,
            subresource: Str::default(),
            fields,
        }
    }

    /// Reads an entry. `index` is its index in the list, for messages. Unknown members are ignored.
    ///
    /// # Errors
    ///
    /// [`EntryError`] with the invalid member.
    ///
    /// Behaviour: `DecodeManagedFields` of `k8s.io/apimachinery/pkg/util/managedfields`.
    #[doc(hidden)]
    pub fn from_value(index: usize, value: &Value) -> Result<Entry, EntryError> {
        Self::read(index, value, &mut Set::from_value)
    }

    /// As [`from_value`](Self::from_value), with another reader of `fieldsV1`.
    pub(crate) fn read(
        index: usize,
        value: &Value,
        fields: ReadFields<'_>,
    ) -> Result<Entry, EntryError> {
        // An error names the manager, because the index of an entry changes with the writes of others.
        let fault = |member: &'static str, message: String| EntryError {
            index,
            manager: value
                .get("manager")
                .and_then(Value::as_str)
                .map(str::to_owned),
            member,
            message,
        };
        let Value::Map(entry) = value else {
            return Err(fault("", format!("expected a map, got {}", value.kind())));
        };

        // As in Go, null is a missing text.
        let text = |name: &'static str| match entry.get(name) {
            None | Some(Value::Null) => Ok(Str::default()),
            Some(Value::String(text)) => Ok(Str::from(text)),
            Some(other) => Err(fault(
                name,
                format!("expected string, got {}", other.kind()),
            )),
        };
        let operation = match text("operation")?.as_str() {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            other => {
                let message = format!("operation must be `Apply` or `Update`, got `{other}`");
                return Err(fault("operation", message));
            }
        };

        let api_version = text("apiVersion")?;
        if api_version.is_empty() {
            return Err(fault(
                "apiVersion",
                "apiVersion must not be empty".to_owned(),
            ));
        }

        // The type tells the format of the fields. There is one format so far, so an entry with another one cannot be
        // read.
        match text("fieldsType")?.as_str() {
            "FieldsV1" => {}
            "" => {
                return Err(fault(
                    "fieldsType",
                    "missing fieldsType, `FieldsV1` is accepted".to_owned(),
                ));
            }
            other => {
                let message = format!("invalid fieldsType `{other}`, `FieldsV1` is accepted");
                return Err(fault("fieldsType", message));
            }
        }

        let time = match entry.get("time") {
            None | Some(Value::Null) => None,
            Some(_) => Some(
                text("time")?
                    .parse::<Time>()
                    .map_err(|error| fault("time", error.to_string()))?,
            ),
        };

        // An entry without fields is valid; it owns nothing.
        let fields = match entry.get("fieldsV1") {
            None | Some(Value::Null) => Set::new(),
            Some(value) => fields(value).map_err(|error| fault("fieldsV1", error.to_string()))?,
        };

        Ok(Entry {
            manager: text("manager")?,
            operation,
            api_version: api_version.into(),
            time,
            subresource: text("subresource")?,
            fields,
        })
    }

    /// Whether all members of an entry are missing or empty.
    pub(crate) fn is_blank(value: &Value) -> bool {
        let texts = [
            "manager",
            "operation",
            "apiVersion",
            "fieldsType",
            "subresource",
        ];

        value.as_map().is_some_and(|entry| {
            texts.iter().all(|name| match entry.get(name) {
                None | Some(Value::Null) => true,
                Some(text) => text.as_str() == Some(""),
            }) && ["time", "fieldsV1"]
                .iter()
                .all(|name| entry.get(name).is_none_or(Value::is_null))
        })
    }

    /// The entry as it is written in an object. Empty members are omitted.
    #[doc(hidden)]
    pub fn to_value(&self) -> Value {
        let mut entry = Map::new();
        for (name, text) in [
            ("manager", &*self.manager),
            ("apiVersion", self.api_version.as_str()),
            ("subresource", &*self.subresource),
        ] {
            if !text.is_empty() {
                entry.insert(name, text);
            }
        }

        entry.insert("operation", self.operation.name());
        entry.insert("fieldsType", "FieldsV1");
        entry.insert("fieldsV1", self.fields.to_value());
        if let Some(time) = self.time {
            // The zero value of `time.Time` in Go means that there is no time.
            entry.insert(
                "time",
                if time.is_zero() {
                    Value::Null
                } else {
                    time.to_string().into()
                },
            );
        }

        Value::Map(entry)
    }

    /// The identity of the entry.
    pub fn identity(&self) -> Identity {
        Identity::new(
            self.manager.clone(),
            self.operation,
            self.api_version.clone(),
            self.subresource.clone(),
        )
    }
}
