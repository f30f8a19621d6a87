//! The identity of a manager.

use std::fmt;

use fieldmanager_fieldpath::ApiVersion;
use fieldmanager_value::internal::{Escape, write_string};
use fieldmanager_value::{Str, Value};

/// The operation of an entry.
///
/// ```
/// use fieldmanager_managedfields::Operation;
/// assert!(Operation::Apply < Operation::Update);
/// assert_eq!(Operation::Apply.to_string(), "Apply");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// The manager applies configurations.
    Apply,
    /// The manager creates, replaces or patches objects.
    Update,
}

impl Operation {
    /// The name in entries: `Apply` or `Update`.
    #[doc(hidden)]
    pub fn name(self) -> &'static str {
        match self {
            Operation::Apply => "Apply",
            Operation::Update => "Update",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Identifies a manager among the managers of an object.
///
/// An applier has one identity at all versions; an updater has one for each version.
///
/// ```
/// use fieldmanager_managedfields::{Identity, Operation};
/// let applier = Identity::new("ci", Operation::Apply, "apps/v1", "");
/// assert_eq!(applier.identifier(), r#"{"manager":"ci","operation":"Apply"}"#);
/// let updater = Identity::new("ci", Operation::Update, "apps/v1", "status");
/// assert_eq!(
///     updater.identifier(),
///     r#"{"manager":"ci","operation":"Update","apiVersion":"apps/v1","subresource":"status"}"#,
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Identity {
    /// The name of the manager.
    pub manager: Str,
    /// The operation.
    pub operation: Operation,
    /// The version at which it writes; empty for an applier.
    pub api_version: ApiVersion,
    /// The subresource that it writes; empty for the object itself.
    pub subresource: Str,
}

impl Identity {
    /// An identity from its parts. The version of an applier is dropped.
    pub fn new(
        manager: impl Into<Str>,
        operation: Operation,
        api_version: impl Into<ApiVersion>,
        subresource: impl Into<Str>,
    ) -> Self {
        // An applier has one entry for all versions, so the version does not identify it.
        let api_version = match operation {
            Operation::Apply => ApiVersion::default(),
            Operation::Update => api_version.into(),
        };
        Identity {
            manager: manager.into(),
            operation,
            api_version,
            subresource: subresource.into(),
        }
    }

    /// The identity as a string: the JSON of an entry without fields and time. Managers are distinguished and sorted by
    /// it.
    ///
    /// Behaviour: `BuildManagerIdentifier` of `k8s.io/apimachinery/pkg/util/managedfields`.
    #[doc(hidden)]
    pub fn identifier(&self) -> Str {
        let mut out = String::with_capacity(96);
        // As in Go, the identifier is the JSON of an entry without fields, so its members have a fixed order.
        let members = [
            ("manager", self.manager.as_str()),
            ("operation", self.operation.name()),
            ("apiVersion", self.api_version.as_str()),
            ("subresource", self.subresource.as_str()),
        ];
        out.push('{');

        for (name, text) in members.into_iter().filter(|(_, text)| !text.is_empty()) {
            if out.len() > 1 {
                out.push(',');
            }
            write_string(&mut out, name, Escape::Json);
            out.push(':');
            write_string(&mut out, text, Escape::Go);
        }
        out.push('}');

        out.into()
    }

    /// The identity of an [`identifier`](Self::identifier).
    pub(crate) fn of_identifier(identifier: &str) -> Option<Self> {
        let value = Value::from_json(identifier).ok()?;
        let text = |name: &str| match value.get(name) {
            Some(Value::String(text)) => text.into(),
            _ => Str::default(),
        };
        let operation = match value.get("operation")?.as_str()? {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return None,
        };

        Some(Identity {
            manager: text("manager"),
            operation,
            api_version: text("apiVersion").into(),
            subresource: text("subresource"),
        })
    }
}

/// The manager in messages: `"ci" with subresource "status" using apps/v1`.
///
/// Behaviour: the conflict errors of `k8s.io/apimachinery/pkg/util/managedfields`.
///
/// ```
/// use fieldmanager_managedfields::internal::display_name;
/// use fieldmanager_managedfields::{Identity, Operation};
/// let updater = Identity::new("ci", Operation::Update, "v1", "status");
/// assert_eq!(display_name(&updater), r#""ci" with subresource "status" using v1"#);
/// ```
pub fn display_name(identity: &Identity) -> String {
    let mut out = fieldmanager_value::internal::go_format::quote(&identity.manager);
    if !identity.subresource.is_empty() {
        out.push_str(" with subresource ");
        out.push_str(&fieldmanager_value::internal::go_format::quote(
            &identity.subresource,
        ));
    }

    if identity.operation == Operation::Update {
        out.push_str(" using ");
        out.push_str(identity.api_version.as_str());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_is_escaped_as_in_go() {
        let identity = Identity::new("a<\u{8}\u{c}\u{1}\u{2028}\"", Operation::Apply, "", "");
        let identifier = identity.identifier();
        assert_eq!(
            identifier,
            r#"{"manager":"a\u003c\b\f\u0001\u2028\"","operation":"Apply"}"#
        );
        assert_eq!(Identity::of_identifier(&identifier), Some(identity));
    }
}
