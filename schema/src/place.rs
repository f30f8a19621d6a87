//! Where in a document a reader is.

use std::fmt;

use fieldmanager_value::{Str, Value};

/// A step down in a document.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Written as it is, `.map.fields`.
    Text(&'static str),
    /// A field of any name.
    Field(Str),
    /// The item of a list at a position.
    Index(usize),
    /// The item of a list that a field identifies, by the name of the field and its value.
    Item(&'static str, Str),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Text(text) => f.write_str(text),
            Step::Field(name) => write!(f, ".{name}"),
            Step::Index(at) => write!(f, "[{at}]"),
            Step::Item(field, name) => write!(f, "[{field}={}]", Value::from(name)),
        }
    }
}

/// The way to a place. It becomes a text only when there is something to say of the place: a schema of
/// thousands of types has as many places, and usually no fault.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place(Vec<Step>);

impl Place {
    pub(crate) fn depth(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn push(&mut self, step: Step) {
        self.0.push(step);
    }

    pub(crate) fn truncate(&mut self, depth: usize) {
        self.0.truncate(depth);
    }
}

impl From<[Step; 2]> for Place {
    fn from(steps: [Step; 2]) -> Self {
        Place(steps.into())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|step| step.fmt(f))
    }
}
