//! Addresses of electronic mail.

use std::net::IpAddr;

use super::encodings::is_base64;

/// Whether a text is one address: `a@b`, `Name <a@b>`, or a group with one member such as `All: a@b;`. Comments in
/// parentheses may stand where spaces may.
///
/// Behaviour: `ParseAddress` of Go's `net/mail`.
pub(super) fn is_address(text: &str) -> bool {
    let mut rest = Rest(text);
    let addresses = rest.addresses(true);
    addresses == Some(1) && rest.skip_comments().is_some() && rest.0.is_empty()
}

/// What is left of a text. A method moves behind what it reads, and gives `None` for a fault.
#[derive(Clone, Copy)]
struct Rest<'t>(&'t str);

impl<'t> Rest<'t> {
    /// Reads a mailbox, or a group where one may stand; the number of addresses in it.
    fn addresses(&mut self, may_be_group: bool) -> Option<usize> {
        let mut attempt = *self;
        if attempt.address().is_some() {
            *self = attempt;
            return self.comment_as_name().map(|()| 1);
        }
        self.name()?;
        if may_be_group && self.skip(':') {
            return self.members();
        }
        self.address_in_angles().map(|()| 1)
    }

    /// Reads the comment behind an address, if there is one. It stands for a name, which may be encoded.
    fn comment_as_name(&mut self) -> Option<()> {
        self.skip_spaces();
        if !self.0.starts_with('(') {
            return Some(());
        }
        let text = self.comment()?.replace('\\', "");
        let is_known = !text.split([' ', '\t']).any(has_unknown_charset);
        is_known.then_some(())
    }

    /// Reads the name before an address in angle brackets, or of a group. It may be absent before angle brackets.
    fn name(&mut self) -> Option<()> {
        self.skip_spaces();
        if !self.0.starts_with('<') {
            self.phrase()?;
        }
        self.skip_spaces();
        Some(())
    }

    fn address_in_angles(&mut self) -> Option<()> {
        let opens = self.skip('<');
        (opens && self.address().is_some() && self.skip('>')).then_some(())
    }

    /// Reads the members of a group and its end.
    fn members(&mut self) -> Option<usize> {
        let mut count = 0;
        self.skip_spaces();
        if !self.skip(';') {
            loop {
                count += self.addresses(false)?;
                self.skip_comments()?;
                if self.skip(';') {
                    break;
                }
                if !self.skip(',') {
                    return None;
                }
            }
        }

        self.skip_comments()?;
        Some(count)
    }

    /// Reads a local part, `@` and a domain.
    fn address(&mut self) -> Option<()> {
        self.skip_spaces();
        if self.0.starts_with('"') {
            self.quoted().filter(|text| !text.is_empty())?;
        } else {
            self.dotted_atom()?;
        }
        if !self.skip('@') {
            return None;
        }

        self.skip_spaces();
        if self.0.starts_with('[') {
            return self.literal();
        }
        self.dotted_atom().map(drop)
    }

    /// Reads words. A fault behind the first word ends the phrase there.
    fn phrase(&mut self) -> Option<()> {
        self.word()?;
        loop {
            self.skip_comments()?;
            if self.word().is_none() {
                return Some(());
            }
        }
    }

    /// Reads a quoted string or an atom, which may be text that is encoded.
    fn word(&mut self) -> Option<()> {
        self.skip_spaces();
        if self.0.starts_with('"') {
            return self.quoted().map(drop);
        }
        let atom = self.atom()?;
        (!has_unknown_charset(atom)).then_some(())
    }

    /// Reads a quoted string; the text between the quotes.
    fn quoted(&mut self) -> Option<&'t str> {
        let inner = self.0.strip_prefix('"')?;
        let mut escaped = false;
        for (at, c) in inner.char_indices() {
            if !escaped && c == '"' {
                let (text, rest) = inner.split_at_checked(at)?;
                *self = Self(rest.strip_prefix('"')?);
                return Some(text);
            }
            if !is_visible(c) && !matches!(c, ' ' | '\t') {
                return None;
            }
            escaped = !escaped && c == '\\';
        }

        None
    }

    /// Reads an atom whose dots stand alone and inside.
    fn dotted_atom(&mut self) -> Option<&'t str> {
        let atom = self.atom()?;
        let has_stray_dot = atom.starts_with('.') || atom.ends_with('.') || atom.contains("..");
        (!has_stray_dot).then_some(atom)
    }

    /// Reads characters that need no quotes, at least one. Dots are among them.
    fn atom(&mut self) -> Option<&'t str> {
        let is_in = |c: char| is_visible(c) && !r#"()<>[]:;@\,""#.contains(c);
        let end = self.0.find(|c| !is_in(c)).unwrap_or(self.0.len());
        let (atom, rest) = self.0.split_at_checked(end)?;
        *self = Self(rest);
        (!atom.is_empty()).then_some(atom)
    }

    /// Reads an IP address in square brackets.
    fn literal(&mut self) -> Option<()> {
        let (text, rest) = self.0.strip_prefix('[')?.split_once(']')?;
        *self = Self(rest);
        text.parse::<IpAddr>().ok().map(drop)
    }

    fn skip_spaces(&mut self) {
        self.0 = self.0.trim_start_matches([' ', '\t']);
    }

    /// Reads spaces and comments.
    fn skip_comments(&mut self) -> Option<()> {
        self.skip_spaces();
        while self.0.starts_with('(') {
            self.comment()?;
            self.skip_spaces();
        }
        Some(())
    }

    /// Reads a comment, in which others may stand; its text.
    fn comment(&mut self) -> Option<&'t str> {
        let inner = self.0.strip_prefix('(')?;
        let (mut depth, mut escaped) = (1_usize, false);
        for (at, c) in inner.char_indices() {
            match c {
                _ if escaped => {}
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            escaped = !escaped && c == '\\';
            if depth == 0 {
                let (text, rest) = inner.split_at_checked(at)?;
                *self = Self(rest.strip_prefix(')')?);
                return Some(text);
            }
        }

        None
    }

    /// Skips a character; whether it stood here.
    fn skip(&mut self, c: char) -> bool {
        let rest = self.0.strip_prefix(c);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }
}

/// Whether a character can be seen, or is not ASCII.
fn is_visible(c: char) -> bool {
    c.is_ascii_graphic() || !c.is_ascii()
}

/// Whether a word is text that is encoded, well formed, in a character set that Go does not know: `=?SET?q?TEXT?=`.
///
/// Behaviour: `WordDecoder.Decode` of Go's `mime`.
fn has_unknown_charset(word: &str) -> bool {
    let inner = word
        .strip_prefix("=?")
        .and_then(|word| word.strip_suffix("?="));
    let mut parts = inner.unwrap_or_default().split('?');
    let (Some(charset), Some(encoding), Some(text), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };

    let is_encoded = match encoding {
        "b" | "B" => text.is_empty() || is_base64(text),
        "q" | "Q" => is_quoted_printable(text),
        _ => false,
    };
    let is_known = ["utf-8", "iso-8859-1", "us-ascii"]
        .iter()
        .any(|known| charset.eq_ignore_ascii_case(known));
    is_encoded && !charset.is_empty() && !is_known
}

/// Whether each `=` has two hexadecimal digits behind it, and all else is printable.
fn is_quoted_printable(text: &str) -> bool {
    let mut parts = text.split('=');
    let is_printable = |part: &str| part.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let starts_with_hex = |part: &str| {
        let digits = part.get(..2);
        digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    parts.next().is_some_and(is_printable)
        && parts.all(|part| starts_with_hex(part) && is_printable(part))
}
