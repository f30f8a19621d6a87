//! The positions of the nodes in a YAML or JSON document.

use std::ops::Range;

use fieldmanager_value::MAX_DEPTH;
use granit_parser::{Event, Options, Parser, ScalarStyle, Span, StructureStyle};

use super::entries::NodeStep;

/// A node with its position and content.
#[derive(Debug)]
pub(super) struct DocumentNode {
    /// The byte range. A block ends where its content ends.
    pub(super) range: Range<usize>,
    pub(super) content: NodeContent,
}

#[derive(Debug)]
pub(super) enum NodeContent {
    /// A scalar, and whether it is a block scalar, whose end is the start of a line.
    Scalar {
        block: bool,
    },
    List(Vec<DocumentNode>),
    Map {
        entries: Vec<(MapKey, DocumentNode)>,
        flow: bool,
    },
    Alias,
}

#[derive(Debug)]
pub(super) struct MapKey {
    pub(super) name: String,
    pub(super) range: Range<usize>,
}

/// A list or map whose end has not been found yet.
struct OpenCollection {
    start: usize,
    flow: bool,
    /// `None` for a list.
    key: Option<Option<MapKey>>,
    items: Vec<DocumentNode>,
    entries: Vec<(MapKey, DocumentNode)>,
}

/// The documents that are not null; `None` if the input contains something that cannot be edited.
pub(super) fn read(text: &str) -> Option<Vec<DocumentNode>> {
    let mut options = Options::default();
    // The parser accepts one level more than the limit, so that the check below decides.
    options.flow_nesting_limit = MAX_DEPTH + 1;
    options.block_nesting_limit = MAX_DEPTH + 1;
    let mut documents: Vec<DocumentNode> = Vec::new();
    let mut open: Vec<OpenCollection> = Vec::new();

    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.ok()?;
        let node = match event {
            Event::Scalar(value, style, ..) => {
                // Scalars in a map are keys and values in turn; a key without a value is kept until its value ends.
                if let Some(OpenCollection {
                    key: Some(key @ None),
                    ..
                }) = open.last_mut()
                {
                    *key = Some(MapKey {
                        name: value.into_owned(),
                        range: bytes(&span)?,
                    });
                    continue;
                }

                let range = bytes(&span)?;
                let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                // The parser ends a block at the first character of the next line.
                let range = if block {
                    range.start..line_start(text, range.end)
                } else {
                    range
                };
                let null = range.is_empty() && style == ScalarStyle::Plain;

                // Null documents are left out, as `documents` does, so that both number the documents alike.
                if open.is_empty()
                    && (null
                        || (style == ScalarStyle::Plain
                            && matches!(&*value, "~" | "null" | "Null" | "NULL")))
                {
                    continue;
                }

                // A missing value follows the colon of its key.
                let range = match open.last().and_then(|open| open.key.as_ref()) {
                    Some(Some(key)) if null => {
                        let colon = text
                            .get(key.range.end..)?
                            .find(':')
                            .map_or(0, |colon| colon + 1);
                        key.range.end + colon..key.range.end + colon
                    }
                    _ => range,
                };

                DocumentNode {
                    range,
                    content: NodeContent::Scalar { block },
                }
            }
            Event::Alias(_) => DocumentNode {
                range: bytes(&span)?,
                content: NodeContent::Alias,
            },
            Event::SequenceStart(style, ..) | Event::MappingStart(style, ..) => {
                // A key that is a list or a map cannot be edited.
                if open.len() >= MAX_DEPTH
                    || matches!(
                        open.last(),
                        Some(OpenCollection {
                            key: Some(None),
                            ..
                        })
                    )
                {
                    return None;
                }

                let is_map = matches!(event, Event::MappingStart(..));
                open.push(OpenCollection {
                    start: bytes(&span)?.start,
                    flow: style == StructureStyle::Flow,
                    key: is_map.then_some(None),
                    items: Vec::new(),
                    entries: Vec::new(),
                });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let done = open.pop()?;
                let inner = done
                    .items
                    .last()
                    .or(done.entries.last().map(|(_, value)| value));

                // The parser reports the end of a block after trailing blank lines and comments.
                let end = if done.flow {
                    bytes(&span)?.end
                } else {
                    inner.map_or(done.start, |node| node.range.end)
                };
                let content = match done.key {
                    None => NodeContent::List(done.items),
                    Some(_) => NodeContent::Map {
                        entries: done.entries,
                        flow: done.flow,
                    },
                };

                DocumentNode {
                    range: done.start..end,
                    content,
                }
            }
            _ => continue,
        };

        // A node belongs to the innermost collection that is open.
        match open.last_mut() {
            None => documents.push(node),
            Some(OpenCollection {
                key: None, items, ..
            }) => items.push(node),
            Some(OpenCollection {
                key: Some(key),
                entries,
                ..
            }) => entries.push((key.take()?, node)),
        }
    }

    Some(documents)
}

/// The start of the line if only blanks precede the position; otherwise the position.
fn line_start(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    let start = before.trim_end_matches([' ', '\t']);
    if start.ends_with('\n') {
        start.len()
    } else {
        at
    }
}

fn bytes(span: &Span) -> Option<Range<usize>> {
    span.byte_range()
}

/// The start of the node at a path.
pub(super) fn start(documents: &[DocumentNode], path: &[NodeStep]) -> Option<usize> {
    let (NodeStep::Item(document), steps) = path.split_first()? else {
        return None;
    };
    let mut node = documents.get(*document)?;
    let mut start = node.range.start;

    for step in steps {
        (start, node) = match (step, &node.content) {
            (NodeStep::Item(i), NodeContent::List(items)) => {
                items.get(*i).map(|item| (item.range.start, item))?
            }
            // An entry starts with its key.
            (NodeStep::Field(name), NodeContent::Map { entries, .. }) => entries
                .iter()
                .find(|(key, _)| key.name == *name)
                .map(|(key, value)| (key.range.start, value))?,
            _ => return None,
        };
    }

    Some(start)
}
