//! The writer of FieldsV1.

use fieldmanager_value::Value;
use fieldmanager_value::internal::{
    Escape, is_plain_name, is_plain_text, write_json, write_number, write_string,
};

use super::path_element;
use crate::set::Node;
use crate::{PathElement, Set};

/// Appends the set.
pub(super) fn write(set: &Set, out: &mut String) {
    // Estimate the size from the number of names in the first two levels. Small sets have few others.
    let names: usize = set
        .nodes()
        .map(|(_, node)| 1 + entries(node.children()).len())
        .sum();
    out.reserve(2 + 48 * names);
    let mut writer = FieldsWriter {
        start: out.len(),
        out,
        key: String::new(),
        written: Vec::new(),
    };
    writer.level(set, false);
}

/// The entries of a small level.
fn entries(set: &Set) -> &[(PathElement, Node)] {
    set.0.as_slice().unwrap_or_default()
}

/// The minimum size of the output before levels are copied. A smaller output has few repeated levels.
const MIN_OUTPUT: usize = 2048;
/// The number of written levels to remember.
const SLOTS: usize = 32;

struct FieldsWriter<'o> {
    out: &'o mut String,
    /// The start of the set in the output.
    start: usize,
    /// A buffer for a key with escapes.
    key: String,
    /// The written levels, by address.
    ///
    /// Equal levels often share one allocation, in particular in sets read from FieldsV1. Copying the output is faster
    /// than writing such a level again.
    written: Vec<WrittenLevel>,
}

/// A written level.
#[derive(Clone, Copy, Default)]
struct WrittenLevel {
    /// The address of the entries, plus one if the node itself is in the set. Zero marks an empty slot.
    level: usize,
    start: u32,
    end: u32,
}

/// The kind of the last output, without the separator before the next key.
#[derive(Clone, Copy)]
enum Last {
    /// The start of a level.
    Start,
    /// The start of a level whose node is in the set.
    Itself,
    /// A name without children, up to its closing quote.
    Leaf,
    /// A name with its level.
    Level,
}

impl Last {
    /// Writes the bytes before the name of a field, as one constant.
    #[inline(always)]
    fn field(self, out: &mut String) {
        match self {
            Last::Start => out.push_str(r#"{"f:"#),
            Last::Itself => out.push_str(r#"{".":{},"f:"#),
            Last::Leaf => out.push_str(r#"":{},"f:"#),
            Last::Level => out.push_str(r#","f:"#),
        }
    }

    /// Writes the bytes before any other key.
    #[inline(always)]
    fn other(self, out: &mut String) {
        match self {
            Last::Start => out.push('{'),
            Last::Itself => out.push_str(r#"{".":{},"#),
            Last::Leaf => out.push_str(r#"":{},"#),
            Last::Level => out.push(','),
        }
    }

    /// Writes the bytes that end the level.
    #[inline(always)]
    fn end(self, out: &mut String) {
        match self {
            Last::Start => out.push_str("{}"),
            Last::Itself => out.push_str(r#"{".":{}}"#),
            Last::Leaf => out.push_str(r#"":{}}"#),
            Last::Level => out.push('}'),
        }
    }
}

impl FieldsWriter<'_> {
    fn level(&mut self, set: &Set, itself: bool) {
        match set.0.as_slice() {
            Some(entries) => self.entries(
                entries.iter().map(|(element, node)| (element, node)),
                itself,
            ),
            None => self.entries(set.nodes(), itself),
        }
    }

    fn entries<'s>(
        &mut self,
        entries: impl Iterator<Item = (&'s PathElement, &'s Node)>,
        itself: bool,
    ) {
        let mut last = if itself { Last::Itself } else { Last::Start };
        for (element, node) in entries {
            match element {
                PathElement::Field(name) if is_plain_name(name) => {
                    last.field(self.out);
                    self.out.push_str(name);
                }
                _ => {
                    last.other(self.out);
                    self.element(element);
                }
            }

            last = Last::Leaf;
            if !node.children().is_empty() {
                self.out.push_str("\":");
                self.below(node);
                last = Last::Level;
            }
        }
        last.end(self.out);
    }

    /// Writes the level below a node, or copies it from the output.
    fn below(&mut self, node: &Node) {
        let entries = entries(node.children());
        // Writing a single name is as fast as copying it.
        if entries.len() < 2 || self.out.len() - self.start < MIN_OUTPUT {
            return self.level(node.children(), node.is_member());
        }
        if self.written.is_empty() {
            self.written.resize(SLOTS, WrittenLevel::default());
        }

        let address = entries.as_ptr().addr();
        // Allocations are at least 16 bytes apart.
        let slot = ((address >> 4) ^ (address >> 10)) % SLOTS;
        let level = address + usize::from(node.is_member());
        if let Some(known) = self.written.get(slot).filter(|known| known.level == level) {
            return self
                .out
                .extend_from_within(known.start as usize..known.end as usize);
        }

        // The address identifies the level as long as the set exists, which is the whole time of writing.
        let start = self.out.len();
        self.level(node.children(), node.is_member());
        if let (Some(slot), Ok(start), Ok(end)) = (
            self.written.get_mut(slot),
            u32::try_from(start),
            u32::try_from(self.out.len()),
        ) {
            *slot = WrittenLevel { level, start, end };
        }
    }

    /// Writes the key of an element other than a plain field, up to its closing quote.
    #[inline(never)]
    fn element(&mut self, element: &PathElement) {
        match element {
            PathElement::Key(fields)
                if fields
                    .iter()
                    .all(|(name, value)| is_plain_name(name) && is_plain_scalar(value)) =>
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
                self.key.clear();
                path_element::write(element, &mut self.key);
                write_string(self.out, &self.key, Escape::Json);
                self.out.pop();
            }
        }
    }

    /// Writes a scalar in which only the quotes need an escape.
    fn plain_scalar(&mut self, value: &Value) {
        match value {
            Value::String(text) => {
                self.out.push_str("\\\"");
                self.out.push_str(text);
                self.out.push_str("\\\"");
            }
            Value::Float(number) => write_number(self.out, *number),
            other => write_json(other, self.out, Escape::Json),
        }
    }
}

fn is_plain_scalar(value: &Value) -> bool {
    match value {
        Value::String(text) => is_plain_text(text),
        other => other.is_scalar(),
    }
}
