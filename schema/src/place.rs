//! Locations in a document.

use std::fmt;

use fieldmanager_value::{Str, Value};

/// A step of a location.
#[derive(Clone, Debug)]
pub(crate) enum LocationStep {
    /// Verbatim, such as `.map.fields`.
    Text(&'static str),
    /// A field with any name.
    Field(Str),
    /// A list item, by index.
    Index(usize),
    /// A list item, by the name and value of its identifying field.
    Item(&'static str, Str),
}

impl fmt::Display for LocationStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LocationStep::Text(text) => f.write_str(text),
            LocationStep::Field(name) => write!(f, ".{name}"),
            LocationStep::Index(at) => write!(f, "[{at}]"),
            LocationStep::Item(field, name) => write!(f, "[{field}={}]", Value::from(name)),
        }
    }
}

/// A location in a document. It is formatted only to report an error: a schema of thousands of types has as many
/// locations, and usually no errors.
#[derive(Clone, Debug, Default)]
pub(crate) struct Location(Vec<LocationStep>);

impl Location {
    pub(crate) fn depth(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn push(&mut self, step: LocationStep) {
        self.0.push(step);
    }

    pub(crate) fn truncate(&mut self, depth: usize) {
        self.0.truncate(depth);
    }
}

impl From<[LocationStep; 2]> for Location {
    fn from(steps: [LocationStep; 2]) -> Self {
        Location(steps.into())
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|step| step.fmt(f))
    }
}
