//! FieldsV1 as it is nearly always written.
//!
//! What `metadata.managedFields` holds was written by an apiserver: no white space, sorted keys, hardly an escape.
//! This reads such a text in one pass, and jumps over levels that it knows. At anything else it gives up, and the text is
//! read by the rules, so that what is accepted, and every error, is decided in one place.

use std::cmp::Ordering;
use std::num::NonZeroU16;
use std::ops::Range;

use fieldmanager_value::MAX_DEPTH;
use fieldmanager_value::word::{Word, begins, eight, short};

use crate::key_text::KeyText;
use crate::seen::{About, Level, Seen};
use crate::{PathElement, Set, SetStack};

/// The set, if the text is plain.
pub(crate) fn read(text: &[u8]) -> Option<Set> {
    let text = std::str::from_utf8(text).ok()?;
    let mut plain = Plain {
        text,
        at: 1,
        // Most names are shorter than their share of the text.
        open: SetStack::with_capacity((text.len() / 24).max(4)),
        seen: Seen::new(text.as_bytes()),
        below: Set::new(),
    };
    if text == "{}" {
        return Some(Set::new());
    }
    plain.text.starts_with('{').then_some(())?;
    plain.level(0)?;
    (plain.at == text.len()).then_some(plain.below)
}

const FIELD: u64 = short(b"\"f:");
const KEY: u64 = short(b"\"k:");
const VALUE: u64 = short(b"\"v:");
const ITSELF: u64 = short(b"\".\":{}");
/// What is behind an element that has something below, and what if it has nothing.
const BELOW: u64 = short(b"\":{");
const LEAF: u64 = short(b"\":{}");

struct Plain<'t> {
    text: &'t str,
    at: usize,
    open: SetStack,
    seen: Seen<'t>,
    /// The set of the level that ended last.
    below: Set,
}

impl<'t> Plain<'t> {
    /// One level from its first key on. It has one. Its set is left in `below`, since what is returned in registers
    /// need not be waited for.
    fn level(&mut self, depth: usize) -> Option<About> {
        // What is below is a level too.
        if depth + 1 >= MAX_DEPTH {
            return None;
        }
        let start = self.open.start();
        let (mut itself, mut height) = (false, 2);
        let mut order = Order::default();
        let mut at = self.at;
        loop {
            let next = eight(self.text, at);
            if begins(next, FIELD) {
                let name = Word::read(self.text, at + 3)?;
                at = name.end();
                order.field(self.text, &name, || self.open.start() == start);
                self.open.add(|| PathElement::Field(name.to_str()));
            } else if begins(next, ITSELF) {
                itself = true;
                at += 7;
                match next >> 48 & 0xff {
                    COMMA => continue,
                    BRACE => break,
                    _ => return None,
                }
            } else {
                at = self.item(next, at)?;
                order.element(self.open.last_two(start));
            }
            // A node without children is there for its own sake.
            let next = eight(self.text, at);
            let end = if begins(next, LEAF) {
                at += 5;
                next >> 32 & 0xff
            } else if begins(next, BELOW) {
                self.at = at + 2;
                let below = self.below(depth + 1)?;
                height = height.max(below.height.get() + 1);
                let set = std::mem::take(&mut self.below);
                self.open.set_below(below.itself || set.is_empty(), set);
                at = self.at + 1;
                u64::from(*self.text.as_bytes().get(self.at)?)
            } else {
                return None;
            };
            match end {
                COMMA => {}
                BRACE => break,
                _ => return None,
            }
        }
        self.at = at;
        self.below = self.close(start, &order);
        Some(About { itself, height: NonZeroU16::new(height)? })
    }

    /// An item of a list by its key or its value; where it ends.
    #[inline(never)]
    fn item(&mut self, next: u64, at: usize) -> Option<usize> {
        let mut text = KeyText { text: self.text, at: at + 3 };
        if begins(next, KEY) {
            let fields = text.fields::<true>()?;
            self.open.add(|| PathElement::Key(fields));
        } else if begins(next, VALUE) {
            let value = text.scalar::<true>()?;
            self.open.add(|| PathElement::Value(value));
        } else {
            return None;
        }
        Some(text.at)
    }

    /// One level with the braces around it, read or known.
    fn below(&mut self, depth: usize) -> Option<About> {
        let start = self.at;
        let mark = self.seen.mark(start);
        if let Some((level, end)) = mark.and_then(|mark| self.seen.find(mark, start)) {
            self.at = end;
            self.below = level.set.clone();
            return (depth + usize::from(level.about.height.get()) <= MAX_DEPTH).then_some(level.about);
        }
        self.at += 1;
        let about = self.level(depth)?;
        if let Some(mark) = mark {
            self.seen.keep(mark, start, self.at, || Level { set: self.below.clone(), about });
        }
        Some(about)
    }

    /// The set of a level that has ended.
    fn close(&mut self, start: usize, order: &Order) -> Set {
        if order.falls == 0 && order.again == 0 {
            self.open.take_sorted(start)
        } else if order.falls + 1 == self.open.start() - start {
            self.open.take_reversed(start)
        } else {
            self.open.take(start)
        }
    }
}

const COMMA: u64 = b',' as u64;
const BRACE: u64 = b'}' as u64;

/// How the elements of a level are ordered so far. Nearly all come in order, which is counted nowhere.
#[derive(Default)]
struct Order {
    /// How often an element was less than the one before it.
    falls: usize,
    /// How often it was the same.
    again: usize,
    /// If the last element is a field, how its name begins; else more than any name has, for fields come before all
    /// others. Nothing at first.
    begins: u64,
    /// Where its name is.
    last: Range<usize>,
}

impl Order {
    /// A field comes next, the first of its level or not.
    #[inline(always)]
    fn field(&mut self, text: &str, name: &Word<'_>, is_first: impl Fn() -> bool) {
        let order = name.order();
        if order <= self.begins && !is_first() {
            let last = text.get(self.last.clone()).unwrap_or_default();
            self.add(self.begins.cmp(&order).then_with(|| last.cmp(name.text())));
        }
        (self.begins, self.last) = (order, name.end() - name.len()..name.end());
    }

    /// An element that is no field came, with another before it unless it is the first.
    fn element(&mut self, last_two: Option<(&PathElement, &PathElement)>) {
        self.begins = u64::MAX;
        if let Some((last, element)) = last_two {
            self.add(last.cmp(element));
        }
    }

    /// How the last element is to the next one.
    fn add(&mut self, order: Ordering) {
        self.falls += usize::from(order.is_gt());
        self.again += usize::from(order.is_eq());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_texts_are_read_here() {
        for text in [
            "{}",
            r#"{"f:a":{},"f:b":{".":{},"f:c":{}}}"#,
            r#"{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}"#,
            r#"{"v:\"x\"":{},"v:12":{},"v:true":{},"v:false":{}}"#,
            r#"{"f:b":{},"f:a":{}}"#,
        ] {
            let set = read(text.as_bytes()).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(set, Set::from_json(text.as_bytes()).unwrap(), "{text}");
        }
    }

    #[test]
    fn others_are_left_to_the_rules() {
        for text in [
            "",
            "null",
            " {}",
            "{} ",
            r#"{"f:a": {}}"#,
            r#"{"f:\u0061":{}}"#,
            r#"{"f:a":null}"#,
            r#"{"i:1":{}}"#,
            r#"{"x:a":{}}"#,
            r#"{"fa":{}}"#,
            r#"{"f:a":{}"#,
            r#"{"f:a":{},}"#,
            r#"{"v:1.5":{}}"#,
            r#"{"v:1e2":{}}"#,
            r#"{"v:0":{}}"#,
            r#"{"v:-1":{}}"#,
            r#"{"v:1234567890123456":{}}"#,
            r#"{"v:null":{}}"#,
            r#"{"k:{}":{}}"#,
            r#"{"k:{\"a\":1,\"a\":2}":{}}"#,
            r#"{"k:{\"a\":\"\\n\"}":{}}"#,
            r#"{".":null}"#,
            "[]",
        ] {
            assert_eq!(read(text.as_bytes()), None, "{text}");
        }
    }
}
