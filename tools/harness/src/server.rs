//! The parts of scenario files that need an API server: requests and what they expect.

use std::collections::BTreeMap;

use fieldmanager_fieldpath::{Owners, Set, VersionedSet};
use fieldmanager_value::{Str, Value};

/// What a scenario says about itself as a case of the conformance suite.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Case {
    /// Why the behaviour matters, in one sentence.
    pub why: Option<Str>,
    /// The address of the page that describes the behaviour.
    pub source: Option<Str>,
    /// The first release of Kubernetes with the behaviour.
    pub since: Option<Str>,
    /// The features without which the case is skipped: `scale`, `status` and `unions`.
    pub needs: Vec<&'static str>,
}

/// A request to an API server.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The verb in the file.
    pub verb: Verb,
    /// The HTTP method, if it is not that of the verb.
    pub method: Option<Str>,
    /// The object or collection.
    pub target: Target,
    /// Parameters, in the order of their names.
    pub query: Vec<(Str, Str)>,
    /// Headers.
    pub headers: BTreeMap<Str, Str>,
    /// The body. A string is sent unchanged, anything else as JSON.
    pub body: Option<Value>,
    /// A JSON patch that changes the body before it is sent.
    pub edit: Option<Value>,
}

/// The action of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Reads an object.
    Get,
    /// Reads a collection.
    List,
    /// Creates an object.
    Create,
    /// Applies a configuration.
    Apply,
    /// Replaces an object.
    Update,
    /// Patches an object.
    Patch,
    /// Deletes an object.
    Delete,
    /// Deletes the objects of a collection.
    DeleteCollection,
}

impl Verb {
    /// The words of scenario files.
    pub(crate) const WORDS: &[(&str, Verb)] = &[
        ("get", Verb::Get),
        ("list", Verb::List),
        ("create", Verb::Create),
        ("apply", Verb::Apply),
        ("update", Verb::Update),
        ("patch", Verb::Patch),
        ("delete", Verb::Delete),
        ("deletecollection", Verb::DeleteCollection),
    ];

    /// The HTTP method.
    pub fn method(self) -> &'static str {
        match self {
            Verb::Get | Verb::List => "GET",
            Verb::Create => "POST",
            Verb::Apply | Verb::Patch => "PATCH",
            Verb::Update => "PUT",
            Verb::Delete | Verb::DeleteCollection => "DELETE",
        }
    }

    /// Whether the path ends with the collection.
    pub fn is_of_collection(self) -> bool {
        matches!(self, Verb::List | Verb::Create | Verb::DeleteCollection)
    }
}

/// The path of a request. Parts that are `None` are those of the body, otherwise of the step before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// The whole path, instead of the other parts.
    pub path: Option<Str>,
    /// The version in the path.
    pub api_version: Option<Str>,
    /// The kind, from which the name of the resource follows.
    pub kind: Option<Str>,
    /// The name of the object.
    pub name: Option<Str>,
    /// The namespace; `default` is that of the case.
    pub namespace: Option<Str>,
    /// The subresource.
    pub subresource: Option<Str>,
}

/// The expectations that only the answer of a server can meet. Parts that are `None` or empty are not checked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The accepted codes.
    pub code: Option<Vec<u16>>,
    /// Parts of headers; `None` expects that the header is missing.
    pub headers: BTreeMap<Str, Option<Str>>,
    /// Parts of the `Status`.
    pub status: Option<ExpectedStatus>,
    /// A part of the object.
    pub contains: Option<Value>,
    /// Paths that the object does not have.
    pub absent: Vec<Str>,
    /// Parts of all warnings.
    pub warnings: Option<Vec<Str>>,
    /// Paths with the same value as in the answer before for the same object; the empty path is the object.
    pub unchanged: Vec<Str>,
    /// Paths with another value than in the answer before for the same object.
    pub changed: Vec<Str>,
    /// All events of a watch.
    pub events: Option<Vec<ExpectedEvent>>,
}

/// The expected parts of a `Status`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpectedStatus {
    /// The reason.
    pub reason: Option<Str>,
    /// A part of the message.
    pub message: Option<Str>,
    /// All causes, in any order.
    pub causes: Option<Vec<ExpectedCause>>,
}

/// The expected parts of a cause.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpectedCause {
    /// The reason.
    pub reason: Option<Str>,
    /// A part of the message.
    pub message: Option<Str>,
    /// The field.
    pub field: Option<Str>,
}

/// An expected entry of `metadata.managedFields`.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedEntry {
    /// The manager.
    pub manager: Str,
    /// `Apply` or `Update`.
    pub operation: Str,
    /// The version.
    pub api_version: Str,
    /// The subresource; empty for the object itself.
    pub subresource: Str,
    /// The fields; `None` is not checked.
    pub fields: Option<Set>,
}

impl ExpectedEntry {
    /// What tells the entries of an object apart.
    pub(crate) fn identity(&self) -> [&str; 4] {
        [
            &self.manager,
            &self.operation,
            &self.subresource,
            &self.api_version,
        ]
        .map(|text| text.as_str())
    }

    /// The entries of owners of the library, which knows no subresources.
    pub(crate) fn of_owners(owners: &Owners) -> Vec<Self> {
        let entry = |(name, own): (&Str, &VersionedSet)| ExpectedEntry {
            manager: name.clone(),
            operation: if own.is_applied() { "Apply" } else { "Update" }.into(),
            api_version: own.api_version().as_str().into(),
            subresource: Str::default(),
            fields: Some(own.set().clone()),
        };
        owners.iter().map(entry).collect()
    }
}

/// An expected event of a watch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExpectedEvent {
    /// `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK` or `ERROR`.
    pub event: Str,
    /// A part of the object.
    pub contains: Option<Value>,
    /// Paths that the object does not have.
    pub absent: Vec<Str>,
}
