//! FieldsV1 as it is nearly always written.
//!
//! What `metadata.managedFields` holds was written by an apiserver: no white space, sorted keys, hardly an escape.
//! This reads such a text in one pass, and jumps over levels that it knows. At anything else it gives up, and the text is
//! read by the rules, so that what is accepted, and every error, is decided in one place.

use std::cmp::Ordering;
use std::num::NonZeroU16;

use fieldmanager_value::{MAX_DEPTH, Str};

use crate::key_text::Text;
use crate::levels::Start;
use crate::seen::{About, Level, Seen};
use crate::{PathElement, Set, SetStack};

/// The set, if the text is plain.
pub(crate) fn read(text: &[u8]) -> Option<Set> {
    let text = std::str::from_utf8(text).ok()?;
    let mut plain = Plain {
        text: Text { text, at: 0 },
        // Most names are shorter than their share of the text.
        open: SetStack::with_capacity((text.len() / 24).max(4)),
        seen: Seen::new(text.as_bytes()),
        below: Set::new(),
    };
    plain.text.pass(b"{")?;
    if plain.text.rest() == b"}" {
        return Some(Set::new());
    }
    plain.level(0)?;
    plain.text.rest().is_empty().then_some(plain.below)
}

struct Plain<'t> {
    text: Text<'t>,
    open: SetStack,
    seen: Seen<'t>,
    /// The set of the level that ended last.
    below: Set,
}

impl Plain<'_> {
    /// One level from its first key on. It has one. Its set is left in `below`, since what is returned in registers
    /// need not be waited for.
    fn level(&mut self, depth: usize) -> Option<About> {
        // What is below is a level too.
        if depth + 1 >= MAX_DEPTH {
            return None;
        }
        let start = self.open.start();
        let (mut itself, mut height) = (false, 2);
        let mut order = Order::new();
        loop {
            match self.text.rest() {
                [b'"', b'f', b':', rest @ ..] => {
                    self.text.at += 3;
                    let name = self.text.run()?;
                    order.name(name, rest, self.open.is_at(start));
                    self.open.add_element(PathElement::Field(Str::from(name)));
                }
                [b'"', b'.', b'"', b':', b'{', b'}', next, ..] => {
                    itself = true;
                    self.text.at += 7;
                    match next {
                        b',' => continue,
                        b'}' => break,
                        _ => return None,
                    }
                }
                [b'"', b'k', b':', ..] => {
                    self.text.at += 3;
                    let fields = self.text.fields::<true>()?;
                    self.open.add_element(PathElement::Key(fields));
                    order.element(self.open.last_two(start));
                }
                [b'"', b'v', b':', ..] => {
                    self.text.at += 3;
                    let value = self.text.scalar::<true>()?;
                    self.open.add_element(PathElement::Value(value));
                    order.element(self.open.last_two(start));
                }
                _ => return None,
            }
            // A node without children is there for its own sake.
            match self.text.rest() {
                [b'"', b':', b'{', b'}', ..] => {
                    self.text.at += 4;
                    self.open.add_node(true, Set::new());
                }
                [b'"', b':', b'{', ..] => {
                    self.text.at += 2;
                    let below = self.below(depth + 1)?;
                    height = height.max(below.height.get() + 1);
                    let set = std::mem::take(&mut self.below);
                    self.open.add_node(below.itself || set.is_empty(), set);
                }
                _ => return None,
            }
            match self.text.next()? {
                b',' => {}
                b'}' => break,
                _ => return None,
            }
        }
        self.below = self.close(start, &order);
        Some(About { itself, height: NonZeroU16::new(height)? })
    }

    /// One level with the braces around it, read or known.
    fn below(&mut self, depth: usize) -> Option<About> {
        let start = self.text.at;
        let mark = self.seen.mark(start);
        if let Some((level, end)) = mark.and_then(|mark| self.seen.find(mark, start)) {
            self.text.at = end;
            self.below = level.set.clone();
            return (depth + usize::from(level.about.height.get()) <= MAX_DEPTH).then_some(level.about);
        }
        self.text.at += 1;
        let about = self.level(depth)?;
        if let Some(mark) = mark {
            self.seen.keep(mark, start, self.text.at, || Level { set: self.below.clone(), about });
        }
        Some(about)
    }

    /// The set of a level that has ended.
    fn close(&mut self, start: Start, order: &Order) -> Set {
        if order.ascending {
            self.open.take_sorted(start)
        } else if order.descending {
            self.open.take_reversed(start)
        } else {
            self.open.take(start)
        }
    }
}

/// How the elements of a level are ordered so far.
struct Order<'t> {
    ascending: bool,
    descending: bool,
    /// The last element, if it is a field: how its name begins, and the name.
    last: Option<(u64, &'t str)>,
}

impl<'t> Order<'t> {
    fn new() -> Self {
        Order { ascending: true, descending: true, last: None }
    }

    /// A field comes next. `rest` is the text from its name on.
    #[inline(always)]
    fn name(&mut self, name: &'t str, rest: &[u8], first: bool) {
        let head = head(name, rest);
        let order = match self.last {
            Some((last_head, last)) => last_head.cmp(&head).then_with(|| last.cmp(name)),
            // Fields come before all others.
            None => Ordering::Greater,
        };
        self.last = Some((head, name));
        if !first {
            self.add(order);
        }
    }

    /// An element that is no field came, with another before it unless it is the first.
    fn element(&mut self, last_two: Option<(&PathElement, &PathElement)>) {
        self.last = None;
        if let Some((last, element)) = last_two {
            self.add(last.cmp(element));
        }
    }

    fn add(&mut self, order: Ordering) {
        self.ascending &= order.is_lt();
        self.descending &= order.is_gt();
    }
}

/// The bytes of a name that fit a number, which orders as they do; zeros, which no plain name has, where there are
/// fewer. `rest` is the text from the name on.
fn head(name: &str, rest: &[u8]) -> u64 {
    match rest.first_chunk() {
        Some(eight) if name.len() >= 8 => u64::from_be_bytes(*eight),
        Some(eight) => u64::from_be_bytes(*eight) & !(u64::MAX >> (8 * name.len())),
        None => (0..8).fold(0, |head, at| {
            (head << 8) | u64::from(name.as_bytes().get(at).copied().unwrap_or_default())
        }),
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
