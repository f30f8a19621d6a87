//! The syntax of JSON paths.
//!
//! Behaviour: the parser of `k8s.io/client-go/util/jsonpath`.

/// Paths in paths end at this depth, which no valid one reaches.
const MOST_DEPTH: usize = 16;

/// What is wrong with a path that has no braces around it.
pub(super) fn check(path: &str) -> Result<(), String> {
    action(path, 0)
}

fn action(text: &str, depth: usize) -> Result<(), String> {
    if depth > MOST_DEPTH {
        return Ok(());
    }
    let text = format!("{text}}}");
    let mut parser = PathParser {
        rest: &text,
        depth,
        is_recursive: false,
    };
    while parser.step()? {}
    Ok(())
}

/// A parser of what is between braces.
struct PathParser<'t> {
    rest: &'t str,
    depth: usize,
    /// Whether the last part was `..`, which another one cannot follow.
    is_recursive: bool,
}

fn is_end_of_line(c: char) -> bool {
    matches!(c, '\r' | '\n')
}

fn is_terminator(c: char) -> bool {
    is_end_of_line(c)
        || matches!(
            c,
            ' ' | '\t' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}'
        )
}

fn is_alphanumeric(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

impl<'t> PathParser<'t> {
    /// Reads the next part, and returns whether one may follow.
    fn step(&mut self) -> Result<bool, String> {
        if let Some(after) = self.rest.strip_prefix('}') {
            // Behind the brace is text, up to the next path.
            let next = after.split_once('{');
            self.rest = next.map_or("", |(_, rest)| rest);
            self.is_recursive = false;
            return Ok(next.is_some());
        }
        if let Some(after) = self.rest.strip_prefix("[?(") {
            self.rest = after;
            self.is_recursive = false;
            return self.filter().map(|()| true);
        }
        if let Some(after) = self.rest.strip_prefix("..") {
            if self.is_recursive {
                return Err("invalid multiple recursive descent".to_owned());
            }
            self.rest = after;
            self.is_recursive = true;
            if after.starts_with(is_alphanumeric) {
                self.field();
            }
            return Ok(true);
        }

        self.part().map(|()| true)
    }

    /// Reads a part that its first character tells.
    fn part(&mut self) -> Result<(), String> {
        let mut chars = self.rest.chars();
        let first = chars.next().filter(|c| !is_end_of_line(*c));
        let first = first.ok_or("unclosed action")?;
        let after = chars.as_str();
        if matches!(first, ' ' | '@' | '$') {
            self.rest = after;
            return Ok(());
        }

        // Words are accepted although they mean nothing in a path: the parser is that of templates.
        self.is_recursive = false;
        match first {
            '[' => self.array(after)?,
            '"' | '\'' => self.quote(after, first)?,
            '.' => {
                self.rest = after;
                self.field();
            }
            '+' | '-' | '0'..='9' => self.number()?,
            c if is_alphanumeric(c) => {
                let end = self.rest.find(is_terminator);
                self.take(end.unwrap_or(self.rest.len()));
            }
            c => {
                let shown = if c.is_control() {
                    String::new()
                } else {
                    format!(" '{c}'")
                };
                let code = u32::from(c);
                return Err(format!(
                    "unrecognized character in action: U+{code:04X}{shown}"
                ));
            }
        }
        Ok(())
    }

    /// Takes a number of bytes.
    fn take(&mut self, length: usize) -> &'t str {
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    /// Skips the name of a field, in which a backslash takes the next character with it.
    fn field(&mut self) {
        self.is_recursive = false;
        let mut chars = self.rest.chars();
        loop {
            self.rest = chars.as_str();
            match chars.next() {
                None => return,
                Some('\\') => drop(chars.next()),
                Some(c) if is_terminator(c) => return,
                Some(_) => {}
            }
        }
    }

    fn number(&mut self) -> Result<(), String> {
        let digits = self.rest.trim_start_matches(['+', '-']);
        let sign = (self.rest.len() - digits.len()).min(1);
        let digits = self.rest.get(sign..).unwrap_or_default();
        let is_other = |c: char| c != '.' && !c.is_ascii_digit();
        let end = digits.find(is_other).unwrap_or(digits.len());
        let text = self.take(sign + end);
        let is_number = text.parse().is_ok_and(f64::is_finite);
        is_number
            .then_some(())
            .ok_or_else(|| format!("cannot parse number {text}"))
    }

    fn array(&mut self, inside: &'t str) -> Result<(), String> {
        let end = inside.find([']', '\n']);
        let parts =
            end.and_then(|end| inside.get(end..)?.strip_prefix(']').map(|rest| (end, rest)));
        let (end, rest) = parts.ok_or("unterminated array")?;
        self.rest = rest;
        let text = inside.get(..end).unwrap_or_default();
        if text.contains(',') {
            let mut parts = text.split(',').map(|part| part.trim_matches(' '));
            return parts.try_for_each(|part| action(&format!("[{part}]"), self.depth + 1));
        }
        let quoted = text
            .strip_prefix('\'')
            .and_then(|text| text.strip_suffix('\''));
        match quoted.filter(|name| !name.contains('\'')) {
            Some(name) => action(&format!(".{name}"), self.depth + 1),
            None => indexes(text),
        }
    }

    /// Skips a string in quotes, in which any escape is accepted.
    fn quote(&mut self, inside: &'t str, quote: char) -> Result<(), String> {
        let mut last = quote;
        for (at, c) in inside.char_indices() {
            if c == '\n' {
                break;
            }
            if c == quote && last != '\\' {
                self.rest = inside.get(at + 1..).unwrap_or_default();
                return Ok(());
            }
            last = c;
        }
        Err("unterminated quoted string".to_owned())
    }

    fn filter(&mut self) -> Result<(), String> {
        // One pair of quotes may have parentheses in it.
        let (mut pair, mut is_closed, mut last) = (None, false, '(');
        let mut end = None;
        for (at, c) in self.rest.char_indices() {
            match c {
                '\n' => break,
                '"' | '\'' if pair.is_none() => pair = Some(c),
                '"' | '\'' => is_closed |= last != '\\' && pair == Some(c),
                ')' if pair.is_some() == is_closed => {
                    end = Some(at);
                    break;
                }
                _ => {}
            }
            last = c;
        }
        let text = self.take(end.ok_or("unterminated filter")?);
        let rest = self.rest.strip_prefix(")]");
        self.rest = rest.ok_or("unclosed array expect ]")?;

        let is_operator = |c: char| matches!(c, '!' | '<' | '>' | '=');
        let start = text.find(is_operator).filter(|start| *start > 0);
        let sides = start.and_then(|start| {
            let (left, rest) = text.split_at_checked(start)?;
            // Something has to be left behind the operator.
            let right = rest.trim_start_matches(is_operator);
            let last = rest.chars().last().map_or(0, char::len_utf8);
            let right = rest.get(rest.len() - right.len().max(last)..)?;
            (right.len() < rest.len()).then_some((left, right))
        });
        let Some((left, right)) = sides else {
            return action(text, self.depth + 1);
        };
        action(left, self.depth + 1)?;
        action(right, self.depth + 1)
    }
}

/// Checks an index or a slice such as `1:-1:2`.
fn indexes(text: &str) -> Result<(), String> {
    let is_index = |part: &str| {
        let digits = part.strip_prefix('-').unwrap_or(part);
        digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let text = if text == "*" { ":" } else { text };
    let parts: Vec<&str> = text.split(':').collect();
    if parts.len() > 3 || !parts.iter().all(|part| is_index(part)) {
        return Err(format!("invalid array index {text}"));
    }
    let fault = parts
        .iter()
        .find(|part| !part.is_empty() && part.parse::<i64>().is_err());
    fault.map_or(Ok(()), |part| {
        Err(format!("array index {part} is not a number"))
    })
}

#[cfg(test)]
mod tests {
    use super::check;

    /// The answers are those of kube-apiserver 1.37.1.
    #[test]
    fn paths_have_the_faults_of_kubernetes() {
        let valid = r#"spec.validations[0].expression;spec[?(@.a == "b")];a['b','c'];a[1:2:3];a[*];..a;a..b;$;@.a;a.#;a[-1];
                       a.;a[?(@.x)];a[?(@.x > )];a";9;a};};-1.5;'a\n';a[];a[?(@.x==')')];a[?(a=)];a[::];a...b"#;
        for path in valid.split(';').map(str::trim) {
            assert_eq!(check(path), Ok(()), "{path}");
        }
        let faulty = "{.spec}; unrecognized character in action: U+007B '{'
                      a]; unrecognized character in action: U+005D ']'
                      a\tb; unrecognized character in action: U+0009
                      spec.validations[; unterminated array
                      a['b; unterminated array
                      a[1:2:3:4]; invalid array index 1:2:3:4
                      a[1,x]; invalid array index x
                      a[-]; array index - is not a number
                      a[?(x; unterminated filter
                      a[?(x); unclosed array expect ]
                      a[?(@.a=~1)]; unrecognized character in action: U+007E '~'
                      a[?(a==)]; unrecognized character in action: U+003D '='
                      -a; cannot parse number -
                      1.2.3; cannot parse number 1.2.3
                      a.. ..; invalid multiple recursive descent
                      a.b\\; unclosed action
                      'a; unterminated quoted string";
        for line in faulty.lines() {
            let (path, fault) = line.trim().split_once("; ").unwrap();
            assert_eq!(check(path), Err(fault.to_owned()), "{path}");
        }
    }
}
