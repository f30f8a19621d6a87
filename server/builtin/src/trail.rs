//! The place in an object, as a list of steps on the stack.

use crate::types::{Field, TypeId, Types};

/// A step to a place, with the steps before it.
#[derive(Clone, Copy)]
pub(crate) struct Trail<'a> {
    parent: Option<&'a Trail<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Field(TypeId, &'a Field),
    Key(&'a str),
    Index(usize),
}

impl<'a> Trail<'a> {
    pub(crate) fn root() -> Trail<'static> {
        Trail {
            parent: None,
            step: Step::Root,
        }
    }

    pub(crate) fn field(&'a self, of: TypeId, field: &'a Field) -> Trail<'a> {
        Trail {
            parent: Some(self),
            step: Step::Field(of, field),
        }
    }

    pub(crate) fn key(&'a self, key: &'a str) -> Trail<'a> {
        Trail {
            parent: Some(self),
            step: Step::Key(key),
        }
    }

    pub(crate) fn index(&'a self, at: usize) -> Trail<'a> {
        Trail {
            parent: Some(self),
            step: Step::Index(at),
        }
    }

    fn steps(&'a self) -> Vec<Step<'a>> {
        let mut steps: Vec<_> = std::iter::successors(Some(self), |trail| trail.parent)
            .map(|t| t.step)
            .collect();
        steps.reverse();
        steps
    }

    /// The innermost struct whose field is on the trail, and the fields on the trail with those of embedded structs:
    /// what Go's messages about types name.
    pub(crate) fn fields(&self, types: &Types) -> Option<(String, String)> {
        let mut of = None;
        let mut path: Vec<&str> = Vec::new();
        // Only the innermost struct is named, but with the path from the root, and without keys and indexes.
        for step in self.steps() {
            if let Step::Field(id, field) = step {
                of = Some(id);
                path.extend(field.embedded.iter().map(|name| name.as_str()));
                path.push(&field.name);
            }
        }
        Some((types.short_name(of?).to_owned(), path.join(".")))
    }

    /// The path of a member at the place: `spec.containers[0].name`.
    pub(crate) fn path_of(&self, member: &str) -> String {
        let mut path = String::new();
        for step in self.steps() {
            let (separator, name) = match step {
                Step::Root => continue,
                Step::Field(_, field) => (".", field.name.as_str()),
                Step::Key(key) => (".", key),
                Step::Index(at) => {
                    path.push_str(&format!("[{at}]"));
                    continue;
                }
            };
            if !path.is_empty() {
                path.push_str(separator);
            }
            path.push_str(name);
        }

        if !path.is_empty() {
            path.push('.');
        }
        path + member
    }
}
