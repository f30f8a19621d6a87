//! Differences of texts in messages, as `difflib` finds and writes them.

use std::collections::HashMap;
use std::ops::Range;

/// The lines around a difference that are shown.
const CONTEXT: usize = 3;

/// The most lines of a text. The cost grows with the square of them, so longer texts have no difference.
const MAX_LINES: usize = 4000;

/// Equal lines of both texts: where they start, and their number.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Block {
    old: usize,
    new: usize,
    len: usize,
}

/// A part of both texts, equal or not.
#[derive(Clone, Debug)]
struct Part {
    is_equal: bool,
    old: Range<usize>,
    new: Range<usize>,
}

/// The difference of two texts in the unified format without names of files; empty if a text is too long.
pub(crate) fn unified(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    if old.len().max(new.len()) > MAX_LINES {
        return String::new();
    }
    let mut out = String::new();

    // Each group of changes has one header, which counts its lines on both sides.
    for group in groups(parts(&blocks(&old, &new), old.len(), new.len())) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        let old_range = header(first.old.start..last.old.end);
        let new_range = header(first.new.start..last.new.end);
        out += &format!("@@ -{old_range} +{new_range} @@\n");

        for part in &group {
            let mut write = |sign: char, lines: &[&str]| {
                lines
                    .iter()
                    .for_each(|line| out += &format!("{sign}{line}\n"));
            };
            let (removed, added) = (old.get(part.old.clone()), new.get(part.new.clone()));

            if part.is_equal {
                write(' ', removed.unwrap_or_default());
            } else {
                write('-', removed.unwrap_or_default());
                write('+', added.unwrap_or_default());
            }
        }
    }

    out
}

fn header(lines: Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => (lines.start + 1).to_string(),
        len => format!("{},{len}", lines.start + 1),
    }
}

/// The equal blocks of two texts, in their order.
fn blocks(old: &[&str], new: &[&str]) -> Vec<Block> {
    // Equal lines are found by their text, so that each line is compared with its equals only.
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, line) in new.iter().enumerate() {
        places.entry(line).or_default().push(at);
    }

    // Lines that occur often do not start a block.
    if new.len() >= 200 {
        let most = new.len() / 100 + 1;
        places.retain(|_, places| places.len() <= most);
    }
    let mut found = Vec::new();
    // Around the longest equal block, the rest is two smaller problems; a stack of them needs no recursion.
    let mut left = vec![(0..old.len(), 0..new.len())];

    while let Some((in_old, in_new)) = left.pop() {
        let block = longest(old, new, &places, in_old.clone(), in_new.clone());
        if block.len > 0 {
            left.push((in_old.start..block.old, in_new.start..block.new));
            left.push((
                block.old + block.len..in_old.end,
                block.new + block.len..in_new.end,
            ));
            found.push(block);
        }
    }

    // The blocks were found by length. In order, adjacent ones are one block.
    found.sort_by_key(|block| block.old);
    let mut merged: Vec<Block> = Vec::new();
    for block in found {
        match merged.last_mut() {
            Some(last) if last.old + last.len == block.old && last.new + last.len == block.new => {
                last.len += block.len;
            }
            _ => merged.push(block),
        }
    }

    merged
}

/// The longest equal block in ranges of both texts; the first of several.
fn longest(
    old: &[&str],
    new: &[&str],
    places: &HashMap<&str, Vec<usize>>,
    in_old: Range<usize>,
    in_new: Range<usize>,
) -> Block {
    let mut best = Block {
        old: in_old.start,
        new: in_new.start,
        len: 0,
    };
    let mut lengths: HashMap<usize, usize> = HashMap::new();

    // `lengths` has the equal runs that end at the line before, by their last line in the new text.
    for at in in_old.clone() {
        let mut next = HashMap::new();
        let found = old.get(at).and_then(|line| places.get(line));
        for place in found
            .into_iter()
            .flatten()
            .copied()
            .filter(|place| in_new.contains(place))
        {
            let before = place.checked_sub(1).and_then(|place| lengths.get(&place));
            let len = before.copied().unwrap_or_default() + 1;
            next.insert(place, len);
            if len > best.len {
                best = Block {
                    old: at + 1 - len,
                    new: place + 1 - len,
                    len,
                };
            }
        }
        lengths = next;
    }

    // Lines that occur often start no block, but may extend one in both directions.
    let is_equal = |in_old: usize, in_new: usize| old.get(in_old) == new.get(in_new);
    while best.old > in_old.start && best.new > in_new.start && is_equal(best.old - 1, best.new - 1)
    {
        best = Block {
            old: best.old - 1,
            new: best.new - 1,
            len: best.len + 1,
        };
    }

    while best.old + best.len < in_old.end
        && best.new + best.len < in_new.end
        && is_equal(best.old + best.len, best.new + best.len)
    {
        best.len += 1;
    }
    best
}

fn parts(blocks: &[Block], old_len: usize, new_len: usize) -> Vec<Part> {
    let mut out = Vec::new();
    let (mut old, mut new) = (0, 0);
    // A last block without lines ends the walk, so that changes after the last equal line are a part too.
    let end = Block {
        old: old_len,
        new: new_len,
        len: 0,
    };

    for block in blocks.iter().chain([&end]) {
        if old < block.old || new < block.new {
            out.push(Part {
                is_equal: false,
                old: old..block.old,
                new: new..block.new,
            });
        }

        (old, new) = (block.old + block.len, block.new + block.len);
        if block.len > 0 {
            out.push(Part {
                is_equal: true,
                old: block.old..old,
                new: block.new..new,
            });
        }
    }

    out
}

/// The parts that are shown together, with the lines around them.
fn groups(parts: Vec<Part>) -> Vec<Vec<Part>> {
    let mut out: Vec<Vec<Part>> = Vec::new();
    let mut group: Vec<Part> = Vec::new();
    let last = parts.len().saturating_sub(1);
    for (at, part) in parts.into_iter().enumerate() {
        if !part.is_equal {
            group.push(part);
            continue;
        }

        // Only the lines next to a change are shown: the end of an equal part before it, and the start of one after it.
        let len = part.old.len();
        let head = Part {
            is_equal: true,
            old: part.old.start..part.old.start + CONTEXT.min(len),
            new: part.new.start..part.new.start + CONTEXT.min(len),
        };
        let tail = Part {
            is_equal: true,
            old: part.old.end - CONTEXT.min(len)..part.old.end,
            new: part.new.end - CONTEXT.min(len)..part.new.end,
        };

        if at == 0 {
            group.push(tail);
        } else if at == last {
            group.push(head);
        } else if len > 2 * CONTEXT {
            group.push(head);
            out.push(std::mem::take(&mut group));
            group.push(tail);
        } else {
            group.push(part);
        }
    }

    // A group without a change remains if both texts are equal.
    out.push(group);
    out.retain(|group| group.iter().any(|part| !part.is_equal));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_have_three_lines_around_them() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
        let new = "1\n2\n3\n4\nx\n6\n7\n8\n9\n10\n11\n12\n13\n";
        let expected = "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n@@ -10,3 +10,4 @@\n 10\n 11\n 12\n+13\n";
        assert_eq!(unified(old, new), expected);
        assert_eq!(unified(old, old), "");
        assert_eq!(unified("", "a"), "@@ -0,0 +1 @@\n+a\n");
    }

    #[test]
    fn long_texts_have_no_difference() {
        assert_eq!(unified(&"a\n".repeat(MAX_LINES + 1), "b"), "");
    }

    #[test]
    fn frequent_lines_start_no_block() {
        let old = "}\n".repeat(300);
        let new = format!("{}x\n", "}\n".repeat(300));
        assert!(unified(&old, &new).ends_with("+x\n"));
    }
}
