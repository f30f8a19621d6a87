//! Looking for what has to be escaped in a JSON string, eight bytes at a time.
//!
//! Most of a Kubernetes object is short texts without anything of that kind: to see so is most of the work of reading
//! one and of writing one.

/// A byte in all eight places of a word.
const fn all(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// The top bit of those bytes of a word that are zero. Above such a byte other bits may be set too; without one there
/// is none.
const fn zeros(word: u64) -> u64 {
    word.wrapping_sub(all(1)) & !word & all(0x80)
}

/// The same of those that are a quote, a backslash or a control character.
pub(crate) const fn specials(word: u64) -> u64 {
    // With one bit turned a quote is a space, so that it and the control characters, and no others, are below 0x21.
    let low = (word ^ all(b'"' ^ b' ')).wrapping_sub(all(b' ' + 1)) & !word & all(0x80);
    low | zeros(word ^ all(b'\\'))
}

/// The same of those that matter inside HTML too; 0xe2 begins the two line separators of Unicode.
#[cfg(test)]
const fn html(word: u64) -> u64 {
    // '<' and '>' differ in one bit.
    let angle = (word | all(b'<' ^ b'>')) ^ all(b'>');
    specials(word) | zeros(angle) | zeros(word ^ all(b'&')) | zeros(word ^ all(0xe2))
}

fn is_special(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0..0x20)
}

/// Where the first quote, backslash or control character is, from a position on.
#[inline]
pub(crate) fn first_special(bytes: &[u8], from: usize) -> Option<usize> {
    let (eights, rest) = bytes.get(from..)?.as_chunks();
    let mut at = from;
    for eight in eights {
        let found = specials(u64::from_le_bytes(*eight));
        if found != 0 {
            // The lowest bit belongs to the first byte, and that one is right.
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    rest.iter().position(|byte| is_special(*byte)).map(|n| at + n)
}

/// Whether there is no quote, no backslash and no control character.
#[cfg(test)]
fn is_plain(bytes: &[u8]) -> bool {
    none(bytes, specials)
}

/// Whether there is also no byte that matters inside HTML, or may do so.
#[cfg(test)]
fn is_plain_in_html(bytes: &[u8]) -> bool {
    none(bytes, html)
}

#[cfg(test)]
fn none(bytes: &[u8], found: impl Fn(u64) -> u64) -> bool {
    let word = |eight: &[u8; 8]| found(u64::from_le_bytes(*eight));
    let (eights, _) = bytes.as_chunks();
    // What is left over is looked at together with bytes that were looked at before, or that are nothing special.
    let (_, end) = ends(bytes);
    let filled = if bytes.len() < 8 { end | all(b'a') << (8 * bytes.len()) } else { end };
    eights.iter().fold(found(filled), |all, eight| all | word(eight)) == 0
}

/// The first and the last eight bytes of a text, the first one lowest; of a shorter one all of its bytes and zeros, twice.
pub(crate) fn ends(bytes: &[u8]) -> (u64, u64) {
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
    }
    let half = |four: &[u8; 4]| u64::from(u32::from_le_bytes(*four));
    let few = match (bytes.first_chunk(), bytes.last_chunk(), bytes) {
        (Some(first), Some(last), _) => half(first) | half(last) << (8 * (bytes.len() - 4)),
        (_, _, [first, second, third]) => u64::from_le_bytes([*first, *second, *third, 0, 0, 0, 0, 0]),
        (_, _, [first, second]) => u64::from_le_bytes([*first, *second, 0, 0, 0, 0, 0, 0]),
        (_, _, [only]) => u64::from(*only),
        _ => 0,
    };
    (few, few)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_told_at_every_place() {
        let is_html = |byte: u8| is_special(byte) || matches!(byte, b'<' | b'>' | b'&' | 0xe2);
        for byte in 0..=255_u8 {
            for n in 1..27 {
                for at in 0..n {
                    for around in [b'a', b'!', b'#', b'[', b']', b'=', 0x7f, 0x80, 0xdc, 0xff] {
                        let mut text = vec![around; n];
                        text[at] = byte;
                        let found = is_special(byte).then_some(at);
                        assert_eq!(first_special(&text, 0), found, "{text:?}");
                        assert_eq!(first_special(&text, at), found, "{text:?}");
                        assert_eq!(first_special(&text, at + 1), None, "{text:?}");
                        assert_eq!(is_plain(&text), found.is_none(), "{text:?}");
                        assert_eq!(is_plain_in_html(&text), !is_html(byte), "{text:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_first_of_several_is_found() {
        for second in 0..16 {
            for first in 0..=second {
                let mut text = [0x21; 16];
                (text[second], text[first]) = (b'"', 0x1f);
                assert_eq!(first_special(&text, 0), Some(first));
            }
        }
        assert_eq!((first_special(b"", 0), first_special(b"\"", 7)), (None, None));
        assert!(is_plain(b"") && is_plain_in_html(b""));
    }
}
