//! Looking through texts eight bytes at a time.

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Eight times a byte.
const fn all(byte: u8) -> u64 {
    LOW * byte as u64
}

/// Marks the first of the bytes that are less than a bound or equal to one of two others, all of them ASCII. Marks
/// above it may be wrong; bytes that are no ASCII are marked only there.
#[inline(always)]
const fn marks(word: u64, bound: u8, one: u8, other: u8) -> u64 {
    // What is subtracted leaves the highest bit of an ASCII byte alone, unless the byte is too small.
    let less = word.wrapping_sub(all(bound));
    let equal = (word ^ all(one)).wrapping_sub(LOW) | (word ^ all(other)).wrapping_sub(LOW);
    (less | equal) & !word & HIGH
}

/// The first eight bytes.
pub(crate) fn word(bytes: &[u8]) -> Option<u64> {
    bytes.first_chunk().map(|chunk| u64::from_le_bytes(*chunk))
}

/// How many bytes come before a quote, a backslash or a control character, or the end.
#[inline(always)]
pub(crate) fn plain_run(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    let mut n = 0;
    while let Some((chunk, after)) = rest.split_first_chunk() {
        let word = u64::from_le_bytes(*chunk);
        let marks = marks(word, 0x20, b'"', b'\\');
        if marks != 0 {
            return n + marks.trailing_zeros() as usize / 8;
        }
        n += 8;
        rest = after;
    }
    n + rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)).unwrap_or(rest.len())
}

/// Whether nothing in a text needs an escape in JSON that is safe inside HTML. Of some rare texts, as those with a space
/// or a letter that is no ASCII, this is not said though it is so.
#[inline]
pub(crate) fn is_plain(text: &str) -> bool {
    // A quote and an ampersand are below the apostrophe. The angle brackets differ in one bit.
    let marks = |word: u64| marks(word & !all(2), 0x25, b'<', b'\\') | word & HIGH;
    let bytes = text.as_bytes();
    // The last eight bytes overlap the ones before.
    match bytes.last_chunk() {
        Some(last) => {
            let (chunks, _) = bytes.as_chunks();
            marks(u64::from_le_bytes(*last)) == 0
                && chunks.iter().all(|chunk| marks(u64::from_le_bytes(*chunk)) == 0)
        }
        None => marks(short(bytes)) == 0,
    }
}

/// Up to eight bytes, filled up with some of them or with digits.
fn short(bytes: &[u8]) -> u64 {
    match (bytes.first_chunk(), bytes.last_chunk()) {
        (Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) | (u64::from(u32::from_le_bytes(*last)) << 32)
        }
        _ => bytes.iter().fold(all(b'0'), |word, byte| (word << 8) | u64::from(*byte)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_what_bytes_say() {
        for at in 0..20 {
            for byte in 0..=0xff_u8 {
                // Others before and behind it, so that marks could spread.
                let mut bytes = *b"~a\x7f!\xff b#]zA[\x80y=?;%'x";
                bytes[at] = byte;
                let stops = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
                let expected = bytes.iter().position(stops).unwrap_or(bytes.len());
                assert_eq!(plain_run(&bytes), expected, "{byte} at {at}");
            }
        }
    }

    #[test]
    fn what_is_plain_needs_no_escape() {
        let not_plain = |c: char| !c.is_ascii() || c.is_control() || r##" !"#$&<>\^"##.contains(c);
        for c in
            (0..0x80).map(char::from).chain("éä…\u{2028}\u{e000}\u{1F600}".chars()).filter(|c| *c != '\x7f')
        {
            for before in 0..18 {
                for after in 0..18 {
                    let text =
                        format!("{}{c}{}", &"a~z.A-Z/0_9:%'(*,]"[..before], &"'}=?;@{%+a~z.A-Z/0"[..after]);
                    assert_eq!(is_plain(&text), !not_plain(c), "{text:?}");
                }
            }
        }
        assert!(is_plain("") && is_plain("\x7f"));
    }
}
