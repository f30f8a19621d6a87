//! Positions in documents: the path of a fault, and its position in the source.

use std::fmt;

use fieldmanager_value::internal::{mark_position, yaml_events};
use fieldmanager_value::{Error, Str, TextPosition};
use libyaml_safer::{Event, EventData, Mark};

/// One step of a path in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Field(Str),
    Index(usize),
}

impl Step {
    /// The name of a field.
    pub(crate) fn into_field(self) -> Option<Str> {
        match self {
            Step::Field(name) => Some(name),
            Step::Index(_) => None,
        }
    }
}

impl From<&str> for Step {
    fn from(name: &str) -> Self {
        Step::Field(name.into())
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Field(name) => write!(f, ".{name}"),
            Step::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// The path in field-path notation.
pub(crate) fn notation(path: &[Step]) -> String {
    path.iter().map(ToString::to_string).collect()
}

/// A fault of a document and its path.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) path: Vec<Step>,
    pub(crate) message: String,
    /// The name in the map at the path, if the fault is in a name.
    pub(crate) key: Option<Str>,
}

impl Fault {
    /// The position of the fault in the source of the document, or the nearest known one: a value behind an alias has
    /// no position of its own.
    pub(crate) fn position(&self, text: &str) -> Option<TextPosition> {
        let mut finder = Finder {
            events: yaml_events(text).ok()?,
            reached: None,
        };
        finder.find(&self.path, self.key.as_ref());
        finder.reached
    }
}

/// Follows a path through the parser events of the source. Every method returns `None` where the path ends early.
struct Finder<I: Iterator<Item = Result<Event, Error>>> {
    events: I,
    /// The start of the deepest node found on the path.
    reached: Option<TextPosition>,
}

impl<I: Iterator<Item = Result<Event, Error>>> Finder<I> {
    fn next(&mut self) -> Option<(EventData, Mark)> {
        loop {
            let event = self.events.next()?.ok()?;
            let wanted = matches!(
                event.data,
                EventData::Alias { .. }
                    | EventData::Scalar { .. }
                    | EventData::SequenceStart { .. }
                    | EventData::SequenceEnd
                    | EventData::MappingStart { .. }
                    | EventData::MappingEnd
            );

            if wanted {
                return Some((event.data, event.start_mark));
            }
        }
    }

    fn reach(&mut self, mark: Mark) {
        self.reached = Some(mark_position(mark));
    }

    fn find(&mut self, path: &[Step], key: Option<&Str>) -> Option<()> {
        let (mut node, mark) = self.next()?;
        self.reach(mark);
        for step in path {
            match (step, node) {
                (Step::Field(name), EventData::MappingStart { .. }) => {
                    self.value_of(name)?;
                }
                (Step::Index(index), EventData::SequenceStart { .. }) => {
                    for _ in 0..*index {
                        let (item, _) = self.next()?;
                        self.skip(&item)?;
                    }
                }
                _ => return None,
            }

            let (next, mark) = self.next()?;
            if matches!(next, EventData::SequenceEnd) {
                return None;
            }
            self.reach(mark);
            node = next;
        }

        if let (Some(key), EventData::MappingStart { .. }) = (key, node) {
            let mark = self.value_of(key)?;
            self.reach(mark);
        }
        Some(())
    }

    /// Advances to the value of a name in the current map, and returns the position of the name.
    fn value_of(&mut self, name: &str) -> Option<Mark> {
        loop {
            let (key, mark) = self.next()?;
            match &key {
                EventData::MappingEnd => return None,
                EventData::Scalar { value, .. } if value == name => return Some(mark),
                other => self.skip(other)?,
            }
            let (value, _) = self.next()?;
            self.skip(&value)?;
        }
    }

    /// Advances to the end of the node that starts with the given event.
    fn skip(&mut self, first: &EventData) -> Option<()> {
        let mut open = depth_change(first);
        while open > 0 {
            let (event, _) = self.next()?;
            open += depth_change(&event);
        }
        Some(())
    }
}

fn depth_change(event: &EventData) -> i64 {
    match event {
        EventData::SequenceStart { .. } | EventData::MappingStart { .. } => 1,
        EventData::SequenceEnd | EventData::MappingEnd => -1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, path: &[Step], key: Option<&str>, expected: &str) {
        let fault = Fault {
            path: path.to_vec(),
            message: String::new(),
            key: key.map(Into::into),
        };
        let found = fault.position(text).map(|position| position.to_string());
        assert_eq!(
            found.as_deref(),
            Some(expected),
            "{text:?} {path:?} {key:?}"
        );
    }

    #[test]
    fn positions_are_found_in_both_formats() {
        let yaml =
            "---\n# a comment\na:\n- x: 1\n- {y: 2,\n   z: 3}\nb: &anchor {c: 4}\nd: *anchor\n";
        let json = "{\"a\": [{\"x\": 1},\n {\"y\": 2, \"z\": 3}]}";
        let z = [Step::from("a"), Step::Index(1), Step::from("z")];
        let [a, second, _] = z.clone();
        check(yaml, &z, None, "line 6 column 7");
        check(yaml, &[a.clone(), second.clone()], None, "line 5 column 3");
        check(
            yaml,
            &[a.clone(), second.clone()],
            Some("z"),
            "line 6 column 4",
        );
        check(yaml, &[], Some("b"), "line 7 column 1");
        check(
            yaml,
            &[Step::from("d"), Step::from("c")],
            None,
            "line 8 column 4",
        );
        check(
            yaml,
            &[Step::from("a"), Step::Index(2)],
            None,
            "line 4 column 1",
        );
        check(yaml, &[Step::from("none")], None, "line 3 column 1");
        check(json, &z, None, "line 2 column 16");
        check(json, &[a, second], Some("z"), "line 2 column 11");
    }
}
