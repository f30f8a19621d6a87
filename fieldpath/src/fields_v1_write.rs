//! Writing FieldsV1.

use std::fmt::Write;

use fieldmanager_value::{Escape, Value, write_number, write_string};

use crate::set::Node;
use crate::{PathElement, Set};

/// Appends the set.
pub(crate) fn write(set: &Set, out: &mut String) {
    // About what a name takes, for each of the first two levels: small sets have hardly more.
    let names: usize = set.nodes().map(|(_, node)| 1 + entries(node.children()).len()).sum();
    out.reserve(2 + 48 * names);
    let mut writer = Writer { start: out.len(), out, scratch: String::new(), written: Vec::new() };
    writer.level(set, false);
}

/// The entries of a small level.
fn entries(set: &Set) -> &[(PathElement, Node)] {
    set.0.as_slice().unwrap_or_default()
}

/// How much is written before levels are remembered: that little is written faster than looked for.
const WORTH: usize = 2048;
/// How many levels are remembered.
const LEVELS: usize = 32;

struct Writer<'o> {
    out: &'o mut String,
    /// Where the text begins.
    start: usize,
    /// A key with escapes, before it is written as a string.
    scratch: String,
    /// Levels that were written, by their place in memory; none at first.
    ///
    /// Sets share what is alike, above all sets that were read from a text. What is the same in memory is written
    /// alike, and copying it is faster.
    written: Vec<Written>,
}

/// A level that was written. Small, so that all of them are no large piece of memory.
#[derive(Clone, Copy, Default)]
struct Written {
    /// Where it is in memory, and one more if it begins with the node itself; zero for none.
    level: usize,
    start: u32,
    end: u32,
}

/// What the text before ended with.
#[derive(Clone, Copy)]
enum Behind {
    /// The start of a level.
    Start,
    /// The start of a level that is in the set itself.
    Itself,
    /// A name that has nothing below.
    Leaf,
    /// A level.
    Level,
}

impl Behind {
    /// What is written up to a field's name. Each is a text of known length: that is written without a call.
    #[inline(always)]
    fn field(self, out: &mut String) {
        match self {
            Behind::Start => out.push_str(r#"{"f:"#),
            Behind::Itself => out.push_str(r#"{".":{},"f:"#),
            Behind::Leaf => out.push_str(r#"":{},"f:"#),
            Behind::Level => out.push_str(r#","f:"#),
        }
    }

    /// The same up to any other element.
    #[inline(always)]
    fn other(self, out: &mut String) {
        match self {
            Behind::Start => out.push('{'),
            Behind::Itself => out.push_str(r#"{".":{},"#),
            Behind::Leaf => out.push_str(r#"":{},"#),
            Behind::Level => out.push(','),
        }
    }

    /// The same up to the end of the level.
    #[inline(always)]
    fn end(self, out: &mut String) {
        match self {
            Behind::Start => out.push_str("{}"),
            Behind::Itself => out.push_str(r#"{".":{}}"#),
            Behind::Leaf => out.push_str(r#"":{}}"#),
            Behind::Level => out.push('}'),
        }
    }
}

impl Writer<'_> {
    fn level(&mut self, set: &Set, itself: bool) {
        match set.0.as_slice() {
            Some(entries) => self.entries(entries.iter().map(|(element, node)| (element, node)), itself),
            None => self.entries(set.nodes(), itself),
        }
    }

    fn entries<'s>(&mut self, entries: impl Iterator<Item = (&'s PathElement, &'s Node)>, itself: bool) {
        // What is between two names is written with the second one: most are fields with nothing below.
        let mut behind = if itself { Behind::Itself } else { Behind::Start };
        for (element, node) in entries {
            match element {
                PathElement::Field(name) if name.needs_no_escape() => {
                    behind.field(self.out);
                    self.out.push_str(name);
                }
                _ => {
                    behind.other(self.out);
                    self.element(element);
                }
            }
            behind = Behind::Leaf;
            if !node.children().is_empty() {
                self.out.push_str("\":");
                self.below(node);
                behind = Behind::Level;
            }
        }
        behind.end(self.out);
    }

    /// The level below a node, copied from where it was written before.
    fn below(&mut self, node: &Node) {
        let entries = entries(node.children());
        // One name alone is written as fast.
        if entries.len() < 2 || self.out.len() - self.start < WORTH {
            return self.level(node.children(), node.is_member());
        }
        if self.written.is_empty() {
            self.written.resize(LEVELS, Written::default());
        }
        let place = entries.as_ptr().addr();
        // Allocations are sixteen bytes apart, or more.
        let slot = ((place >> 4) ^ (place >> 10)) % LEVELS;
        let level = place + usize::from(node.is_member());
        if let Some(known) = self.written.get(slot).filter(|known| known.level == level) {
            return self.out.extend_from_within(known.start as usize..known.end as usize);
        }
        let start = self.out.len();
        self.level(node.children(), node.is_member());
        if let (Some(slot), Ok(start), Ok(end)) =
            (self.written.get_mut(slot), u32::try_from(start), u32::try_from(self.out.len()))
        {
            *slot = Written { level, start, end };
        }
    }

    /// The key of an element that is no plain field, up to its last quote.
    #[inline(never)]
    fn element(&mut self, element: &PathElement) {
        match element {
            PathElement::Key(fields)
                if fields.iter().all(|(name, value)| name.needs_no_escape() && is_plain_scalar(value)) =>
            {
                self.out.push_str("\"k:{");
                for (at, (name, value)) in fields.iter().enumerate() {
                    self.out.push_str(if at > 0 { ",\\\"" } else { "\\\"" });
                    self.out.push_str(name);
                    self.out.push_str("\\\":");
                    self.plain_scalar(value);
                }
                self.out.push('}');
            }
            PathElement::Value(value) if is_plain_scalar(value) => {
                self.out.push_str("\"v:");
                self.plain_scalar(value);
            }
            _ => {
                self.scratch.clear();
                write_element(element, &mut self.scratch);
                write_string(self.out, &self.scratch, Escape::Json);
                self.out.pop();
            }
        }
    }

    /// A scalar in which nothing needs an escape but the quotes of a text.
    fn plain_scalar(&mut self, value: &Value) {
        match value {
            Value::String(text) => {
                self.out.push_str("\\\"");
                self.out.push_str(text);
                self.out.push_str("\\\"");
            }
            Value::Float(number) => write_number(self.out, *number),
            other => other.write_json(self.out),
        }
    }
}

fn is_plain_scalar(value: &Value) -> bool {
    match value {
        Value::String(text) => text.needs_no_escape(),
        other => other.is_scalar(),
    }
}

/// The element as a key of FieldsV1, before the key itself is written as a JSON string.
pub(crate) fn write_element(element: &PathElement, out: &mut String) {
    match element {
        PathElement::Field(name) => {
            out.push_str("f:");
            out.push_str(name);
        }
        PathElement::Key(fields) => {
            out.push_str("k:{");
            for (i, (name, value)) in fields.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_string(out, name, Escape::Json);
                out.push(':');
                write_value(out, value);
            }
            out.push('}');
        }
        PathElement::Value(value) => {
            out.push_str("v:");
            write_value(out, value);
        }
        PathElement::Index(at) => {
            // Writing to a string cannot fail.
            let _ = write!(out, "i:{at}");
        }
    }
}

/// A value inside a key: compact, and safe inside HTML as Go's encoder makes it.
fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::String(text) => write_string(out, text, Escape::Html),
        Value::Float(number) => write_number(out, *number),
        Value::List(list) => {
            out.push('[');
            for (i, item) in list.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_value(out, item);
            }
            out.push(']');
        }
        Value::Map(map) => {
            out.push('{');
            for (i, (name, value)) in map.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_string(out, name, Escape::Html);
                out.push(':');
                write_value(out, value);
            }
            out.push('}');
        }
        other => other.write_json(out),
    }
}
