//! How deep an expression nests, which is limited before it is parsed.
//!
//! Behaviour: the parser of `github.com/google/cel-go`, which counts the rules that are open while it reads, and then the
//! levels of the tree. The text is not checked here.

/// The longest expression, in characters.
const LENGTH: usize = 100_000;
/// The most levels.
const DEPTH: u32 = 250;

/// The refusal of an expression that is too long or nests too deep.
pub(crate) fn fault(source: &str) -> Option<String> {
    let length = source.chars().count();
    let reason = if length > LENGTH {
        format!("expression code point size exceeds limit: size: {length}, limit {LENGTH}")
    } else {
        Scan::default().run(source)?.to_owned()
    };
    Some(format!("ERROR: <input>:-1:0: {reason}"))
}

/// The operators of a part of an expression that wait for their right side: how strongly they bind, and how deep their
/// left side is.
type Waiting = Vec<(u8, u32)>;

/// A part of an expression in brackets.
#[derive(Default)]
struct Part {
    waiting: Waiting,
    /// The depth of the operand before the cursor; `None` where an operand is expected.
    operand: Option<u32>,
    /// The greatest depth of the parts that are complete, such as arguments.
    done: u32,
    /// Whether the brackets belong to a member or an index, which adds a level.
    extends: bool,
    /// Whether the brackets are those of a call of a member, whose arguments are a level below it.
    is_call: bool,
    /// The depth of what the brackets follow.
    before: u32,
    /// Whether the name of a member is before the cursor.
    has_member: bool,
    /// The conditionals whose last part is being read.
    conditionals: u32,
}

#[derive(Default)]
struct Scan {
    parts: Vec<Part>,
    /// The rules that are open outside of the part that is read: expressions, relations and sums.
    open: [u32; 3],
}

const CONDITIONAL: u8 = 1;
const RELATION: u8 = 4;

impl Part {
    /// Applies the operators that bind as strongly as `level`, or more.
    fn close(&mut self, level: u8) -> u32 {
        let mut depth = self.operand.take().unwrap_or(0);
        while let Some((own, left)) = self.waiting.pop_if(|(own, _)| *own >= level) {
            // `||` and `&&` become balanced trees, which have no limit.
            depth = depth.max(left) + u32::from(!matches!(own, 2 | 3));
        }
        depth
    }

    fn count(&self, is_counted: impl Fn(u8) -> bool) -> u32 {
        self.waiting
            .iter()
            .filter(|(level, _)| is_counted(*level))
            .count() as u32
    }

    /// The rules that this part has open: expressions, relations and sums.
    fn open(&self) -> [u32; 3] {
        [
            1 + self.conditionals,
            1 + self.count(|level| level == RELATION),
            1 + self.count(|level| level > RELATION),
        ]
    }
}

impl Scan {
    /// Reads a text; returns why it nests too deep.
    fn run(mut self, source: &str) -> Option<&'static str> {
        let mut part = Part::default();
        let mut left = source;
        while let Some(first) = left.chars().next() {
            let rest = left.get(first.len_utf8()..).unwrap_or_default();
            let wide = left.get(..2).unwrap_or_default();
            let operator = match (wide, first) {
                ("||", _) => Some((2, 2)),
                ("&&", _) => Some((3, 2)),
                ("==" | "!=" | "<=" | ">=", _) => Some((RELATION, 2)),
                (_, '<' | '>') => Some((RELATION, 1)),
                (_, '+' | '-') if part.operand.is_some() => Some((5, 1)),
                (_, '*' | '/' | '%') if wide != "//" => Some((6, 1)),
                _ => None,
            };

            if let Some((level, length)) = operator {
                let depth = part.close(level);
                part.waiting.push((level, depth));
                left = left.get(length..).unwrap_or_default();
                continue;
            }

            left = match first {
                _ if wide == "//" => rest.split_once('\n').map_or("", |(_, after)| after),
                '(' | '[' | '{' => {
                    let before = part.operand.take();
                    let inner = Part {
                        extends: before.is_some() && first == '[',
                        is_call: part.has_member && first == '(',
                        before: before.unwrap_or(0),
                        ..Part::default()
                    };
                    self.open
                        .iter_mut()
                        .zip(part.open())
                        .for_each(|(all, own)| *all += own);
                    self.parts.push(std::mem::replace(&mut part, inner));

                    rest
                }
                ')' | ']' | '}' => {
                    let inside = part.close(0).max(part.done) + u32::from(part.is_call);
                    let inside = inside.max(part.before) + u32::from(part.extends);
                    if let Some(outer) = self.parts.pop() {
                        self.open
                            .iter_mut()
                            .zip(outer.open())
                            .for_each(|(all, own)| *all -= own);
                        part = outer;
                        part.operand = Some(inside);
                    }

                    rest
                }
                ',' => {
                    part.done = part.close(0).max(part.done);
                    part.conditionals = 0;
                    rest
                }
                // The middle of a conditional, or the value of a key.
                ':' => {
                    let depth = part.close(CONDITIONAL + 1);
                    if let Some((CONDITIONAL, left)) = part.waiting.last_mut() {
                        *left = depth.max(*left);
                        part.conditionals += 1;
                    } else {
                        part.done = depth.max(part.done);
                    }
                    rest
                }
                '?' if part.operand.is_some() => {
                    let depth = part.close(CONDITIONAL + 1);
                    part.waiting.push((CONDITIONAL, depth));
                    rest
                }
                // A selection or a call of a member.
                '.' => {
                    part.operand = part.operand.map(|depth| depth + 1);
                    rest.trim_start_matches(|c: char| c == '?' || c.is_whitespace())
                }
                '"' | '\'' => {
                    part.operand.get_or_insert(0);
                    text_end(left, left.len() < source.len() && is_raw(source, left))
                }
                '`' => rest.split_once('`').map_or("", |(_, after)| after),
                c if c.is_ascii_alphanumeric() || c == '_' => {
                    let end = left
                        .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                        .unwrap_or(left.len());
                    let (word, after) = left.split_at_checked(end).unwrap_or((left, ""));
                    if word == "in" && part.operand.is_some() {
                        let depth = part.close(RELATION);
                        part.waiting.push((RELATION, depth));
                    } else {
                        part.operand.get_or_insert(0);
                    }

                    after
                }
                _ => rest,
            };

            let is_name = first.is_ascii_alphanumeric()
                || first.is_whitespace()
                || matches!(first, '_' | '`');
            part.has_member = first == '.' || part.has_member && is_name;

            // Closing brackets may follow opening ones at once: then no rule is open inside.
            let is_open = matches!(first, '(' | '[' | '{') || first.is_whitespace();
            let own = if is_open { [0; 3] } else { part.open() };
            if self
                .open
                .iter()
                .zip(own)
                .any(|(outside, own)| outside + own > DEPTH)
            {
                return Some("expression recursion limit exceeded: 250");
            }

            if part.operand.unwrap_or(0).max(part.done) > DEPTH {
                return Some("max recursion depth exceeded");
            }
        }

        (part.close(0).max(part.done) > DEPTH).then_some("max recursion depth exceeded")
    }
}

/// Whether the text that follows is raw: the letter before it says so.
fn is_raw(source: &str, text: &str) -> bool {
    let before = source.get(..source.len() - text.len()).unwrap_or_default();
    let letters = before.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    before
        .get(letters.len()..)
        .is_some_and(|prefix| prefix.len() <= 2 && prefix.contains(['r', 'R']))
}

/// What follows a text in quotes.
fn text_end(from: &str, is_raw: bool) -> &str {
    let quote = from
        .get(..3)
        .filter(|three| matches!(*three, "'''" | "\"\"\""))
        .or_else(|| from.get(..1));
    let quote = quote.unwrap_or("'");
    let mut left = from.get(quote.len()..).unwrap_or_default();

    loop {
        match left.strip_prefix(quote) {
            Some(after) => return after,
            None if left.is_empty() => return "",
            None => {}
        }

        let skipped = left.chars().take(if left.starts_with('\\') && !is_raw {
            2
        } else {
            1
        });
        left = left
            .get(skipped.map(char::len_utf8).sum::<usize>()..)
            .unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::fault;

    #[test]
    fn any_white_space_may_stand_before_the_arguments_of_a_member() {
        let nested = |space: &str, levels: usize| {
            let open = format!("a.f{space}(").repeat(levels);
            fault(&format!("{open}a{}", ")".repeat(levels)))
        };
        let deepest = (1..600).find(|levels| nested(" ", *levels).is_some());
        assert!(deepest.is_some());
        for space in ["", "\n", "\t"] {
            let same = (1..600).find(|levels| nested(space, *levels).is_some());
            assert_eq!(same, deepest, "{space:?}");
        }
    }
}
