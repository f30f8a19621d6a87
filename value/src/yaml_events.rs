//! The events of YAML, from a port of the parser that the one of Go is derived from.

use std::io::{BufRead, BufReader, Read};

use libyaml_safer::{
    Encoding, Event, EventData, MappingStyle, Mark, Parser, ScalarStyle, Scanner, SequenceStyle,
    TokenData,
};

use crate::{Error, TextPosition};

/// The maximum number of `%TAG` directives in a text. The parser compares each of them with all others, and every tag.
const MAX_TAG_DIRECTIVES: usize = 100;

/// The end of a text without a final line break: a break of YAML that the scanner keeps, so that it can be told from `\n`.
/// The scanner expects that every line of a block scalar ends.
const END: &str = "\u{2028}";

/// The events of a text. Marks count bytes, and lines and columns from 0, after a byte order mark.
pub fn yaml_events(text: &str) -> Result<impl Iterator<Item = Result<Event, Error>>, Error> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    check_tags(text)?;
    let mut parser = Parser::new();
    parser.set_encoding(Encoding::Utf8);
    parser.set_input(input(text));

    let mut work = FlowWork::default();
    Ok(parser.map(move |event| {
        let mut event = event.map_err(|error| syntax_fault(text, &error))?;
        let change = match &mut event.data {
            EventData::SequenceStart {
                style: SequenceStyle::Flow,
                ..
            }
            | EventData::MappingStart {
                style: MappingStyle::Flow,
                ..
            } => 1,
            EventData::SequenceEnd | EventData::MappingEnd => -1,
            // A block scalar whose last line has no line break got one with the end.
            EventData::Scalar {
                value,
                style: ScalarStyle::Literal | ScalarStyle::Folded,
                ..
            } if event.end_mark.index > text.len() as u64 && value.ends_with(END) => {
                value.truncate(value.len() - END.len());
                0
            }
            _ => 0,
        };
        work.add(change, event.start_mark)?;
        Ok(event)
    }))
}

/// The position of a mark.
pub fn mark_position(mark: Mark) -> TextPosition {
    let counted = |from_zero| usize::try_from(from_zero).map_or(usize::MAX, |n| n + 1);
    TextPosition {
        line: counted(mark.line),
        column: counted(mark.column),
    }
}

pub(crate) fn fault(mark: Mark, message: impl Into<String>) -> Error {
    Error::Yaml {
        position: Some(mark_position(mark)),
        message: message.into(),
    }
}

fn syntax_fault(text: &str, error: &libyaml_safer::Error) -> Error {
    let mark = error.problem_mark();
    let mut message = error.problem().to_owned();
    if let Some(context) = error.context() {
        message = format!("{message} {context}");
    }
    if let Some(start) = error.context_mark().filter(|start| Some(*start) != mark) {
        message = format!("{message} ({start})");
    }

    // The reader does not report where a character is that YAML does not allow, and the line of the added end is not one of
    // the text.
    let before = match mark {
        Some(mark) if mark.index <= text.len() as u64 => return fault(mark, message),
        Some(_) => text,
        None => text.split(is_refused).next().unwrap_or_default(),
    };
    let line = before.rsplit('\n').next().unwrap_or_default();
    let position = TextPosition {
        line: before.matches('\n').count() + 1,
        column: line.chars().count() + 1,
    };
    Error::Yaml {
        position: Some(position),
        message,
    }
}

fn is_refused(c: char) -> bool {
    matches!(c, '\u{fffe}' | '\u{ffff}')
        || c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{85}')
}

fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// The bytes of a text and of a final line break. They are read in pieces, since the parser takes 4 bytes for each one that
/// it was given and has not parsed.
fn input(text: &str) -> impl BufRead {
    let end = if text.ends_with(is_break) { "" } else { END };
    BufReader::new(text.as_bytes().chain(end.as_bytes()))
}

/// The maximum of [`FlowWork::total`]: some million items at the depth of real documents.
const MAX_FLOW_WORK: u64 = 50_000_000;

/// The work of the scanner, which looks at each open flow collection at each token.
#[derive(Default)]
struct FlowWork {
    depth: u64,
    total: u64,
}

impl FlowWork {
    fn add(&mut self, change: i64, mark: Mark) -> Result<(), Error> {
        // Blocks end outside of flow collections.
        self.depth = self.depth.saturating_add_signed(change);
        self.total += self.depth;
        if self.total > MAX_FLOW_WORK {
            return Err(fault(mark, "too many items in nested flow collections"));
        }
        Ok(())
    }
}

/// Refuses too many directives, and a comma directly after a tag in a flow collection: Go refuses it too, and the parser
/// panics. A text with such characters, which may be a part of a string, is scanned first with a blank before the comma.
fn check_tags(text: &str) -> Result<(), Error> {
    if text.contains("%TAG") {
        let lines = text.split(is_break);
        if lines.filter(|line| line.starts_with("%TAG")).count() > MAX_TAG_DIRECTIVES {
            return Err(Error::Yaml {
                position: None,
                message: format!("more than {MAX_TAG_DIRECTIVES} directives `%TAG`"),
            });
        }
    }

    // A blank before each comma keeps the parser from its panic, and a tag that ends there shows the fault.
    let (spaced, blanks) = separate_commas(text);
    if blanks.is_empty() {
        return Ok(());
    }
    let mut scanner = Scanner::new();
    scanner.set_encoding(Encoding::Utf8);
    scanner.set_input(input(&spaced));
    let mut work = FlowWork::default();
    for token in scanner {
        let token = token.map_err(|error| syntax_fault(text, &error))?;
        let change = match token.data {
            TokenData::FlowSequenceStart | TokenData::FlowMappingStart => 1,
            TokenData::FlowSequenceEnd | TokenData::FlowMappingEnd => -1,
            TokenData::Tag { .. } if blanks.binary_search(&token.end_mark.index).is_ok() => {
                let message = "did not find expected whitespace or line break while scanning a tag";
                return Err(fault(token.start_mark, message));
            }
            _ => 0,
        };
        work.add(change, token.start_mark)?;
    }

    Ok(())
}

/// The text with a blank between every possible tag and a comma, and the positions of these blanks.
fn separate_commas(text: &str) -> (String, Vec<u64>) {
    let mut spaced = String::new();
    let mut blanks = Vec::new();
    let mut parts = text.split('!');
    spaced.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let is_in_tag = |c: char| c.is_ascii_alphanumeric() || "-_;/?:@&=+$.%~*'()".contains(c);
        let rest = part.trim_start_matches(is_in_tag);
        spaced.push('!');
        spaced.push_str(part.strip_suffix(rest).unwrap_or_default());
        if rest.starts_with(',') {
            blanks.push(spaced.len() as u64);
            spaced.push(' ');
        }
        spaced.push_str(rest);
    }

    (spaced, blanks)
}
