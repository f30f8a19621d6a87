//! JSON pointers, RFC 6901.

use std::borrow::Cow;

use fieldmanager_value::MAX_DEPTH;

use super::OperationFault;

/// A location in a document, as the names and indexes that lead to it.
pub(super) struct Pointer<'p> {
    pub(super) text: &'p str,
    pub(super) tokens: Vec<Cow<'p, str>>,
}

impl<'p> Pointer<'p> {
    pub(super) fn read(text: &'p str) -> Result<Self, OperationFault> {
        if text.is_empty() {
            return Ok(Pointer {
                text,
                tokens: Vec::new(),
            });
        }

        let Some(rest) = text.strip_prefix('/') else {
            return Err(OperationFault::Pointer {
                path: text.to_owned(),
            });
        };
        let tokens: Vec<_> = rest.split('/').map(unescape).collect();
        if tokens.len() > MAX_DEPTH {
            return Err(OperationFault::TooDeep);
        }

        Ok(Pointer { text, tokens })
    }

    /// The location of the parent, and the last token; an error for the whole document.
    pub(super) fn split(&self) -> Result<(&[Cow<'p, str>], &str), OperationFault> {
        let (last, parent) = self.tokens.split_last().ok_or(OperationFault::Root)?;
        Ok((parent, last))
    }
}

/// Replaces escapes from left to right, so `~01` becomes `~1`. Unknown escapes are unchanged.
fn unescape(token: &str) -> Cow<'_, str> {
    if !token.contains('~') {
        return Cow::Borrowed(token);
    }
    let mut out = String::with_capacity(token.len());
    let mut rest = token;

    while let Some((before, after)) = rest.split_once('~') {
        out.push_str(before);
        rest = if let Some(after) = after.strip_prefix('1') {
            out.push('/');
            after
        } else if let Some(after) = after.strip_prefix('0') {
            out.push('~');
            after
        } else {
            out.push('~');
            after
        };
    }
    out.push_str(rest);

    Cow::Owned(out)
}

/// A name as a token of a pointer.
pub(super) fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// The position that a token denotes in a list; a negative one counts from the end. `None` if it is not in the list.
pub(super) fn index(token: &str, length: usize) -> Option<usize> {
    let index: i64 = token.parse().ok()?;
    let distance = usize::try_from(index.unsigned_abs()).ok()?;
    if index < 0 {
        length.checked_sub(distance)
    } else {
        Some(distance).filter(|at| *at < length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read_in_one_pass() {
        for (token, name) in [
            ("~01", "~1"),
            ("a~1b", "a/b"),
            ("~0~1", "~/"),
            ("~2~", "~2~"),
            ("", ""),
        ] {
            assert_eq!(unescape(token), name);
        }
        assert_eq!(unescape(&escape("~1/a~")), "~1/a~");
    }

    #[test]
    fn indexes_count_from_either_end() {
        assert_eq!(index("0", 2), Some(0));
        assert_eq!(index("-1", 2), Some(1));
        assert_eq!(index("-3", 2), None);
        assert_eq!(index("2", 2), None);
        assert_eq!(index("01", 2), Some(1));
        assert_eq!(index("-", 2), None);
    }
}
