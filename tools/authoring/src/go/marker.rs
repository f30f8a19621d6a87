//! Markers: comment lines that start with `+`.

use crate::fault::Position;

/// A marker. For markers that do not concern unions, only the name and the rest of the line are kept.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Marker {
    /// The name, such as `union` or `k8s:unionMember`.
    pub(crate) name: String,
    /// The rest of the line after the name, such as `=a,optional`.
    pub(crate) rest: String,
    pub(crate) at: Position,
}

/// The markers in the lines of a comment that starts at the position.
pub(crate) fn of_comment(text: &str, at: Position) -> Vec<Marker> {
    // Both forms of comments open with two characters, which count in the columns of the first line.
    let (body, opening) = match text.strip_prefix("//") {
        Some(line) => (line, 2),
        None => (
            text.strip_prefix("/*")
                .unwrap_or(text)
                .trim_end_matches("*/"),
            2,
        ),
    };
    let mut found = Vec::new();

    // In a comment of several lines, each line may be a marker.
    for (i, line) in body.split('\n').enumerate() {
        let trimmed = line.trim_start();
        let Some(marker) = trimmed.strip_prefix('+') else {
            continue;
        };
        let before = line.len() - trimmed.len();
        let column = if i == 0 {
            at.column + opening + before
        } else {
            before + 1
        };
        let marker = marker.trim_end();

        // The name ends where arguments or a value begin; a colon is part of it, as in `k8s:unionMember`.
        let end = marker
            .find(|c: char| !is_interior(c) && c != ':')
            .unwrap_or(marker.len());

        let (name, rest) = marker.split_at(end);
        if !name.is_empty() {
            let at = Position {
                line: at.line + i,
                column,
            };
            found.push(Marker {
                name: name.to_owned(),
                rest: rest.to_owned(),
                at,
            });
        }
    }

    found
}

fn is_interior(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '-')
}

/// A tag of Kubernetes' declarative validation: `name(arg: value)=value` or `name(arg: value)=+tag`.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Tag {
    pub(crate) name: String,
    /// The arguments. An argument without a name is positional.
    pub(crate) arguments: Vec<(Option<String>, String)>,
    pub(crate) value: Option<String>,
}

impl Tag {
    pub(crate) fn argument(&self, name: &str) -> Option<&str> {
        let found = self
            .arguments
            .iter()
            .find(|(own, _)| own.as_deref() == Some(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// Parses the tags of a marker, from the outermost to the innermost, by the grammar of `k8s.io/gengo/v2/codetags`.
///
/// # Errors
///
/// What was expected and what was found.
pub(crate) fn tags(marker: &Marker) -> Result<Vec<Tag>, String> {
    let text = format!("{}{}", marker.name, marker.rest);
    let mut scanner = Scanner { rest: &text };
    let mut tags = Vec::new();
    loop {
        let (tag, more) = scanner.tag()?;
        tags.push(tag);
        if !more {
            return Ok(tags);
        }
    }
}

struct Scanner<'t> {
    rest: &'t str,
}

impl<'t> Scanner<'t> {
    fn eat(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// The next character, for a message.
    fn found(&self) -> String {
        self.rest
            .chars()
            .next()
            .map_or_else(|| "the end of the line".to_owned(), |c| format!("`{c}`"))
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'t str {
        let end = self.rest.find(|c| !accept(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    /// Parses one tag. Returns it with whether it contains another tag.
    fn tag(&mut self) -> Result<(Tag, bool), String> {
        let name = self.take_while(|c| is_interior(c) || c == ':');
        if !name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            return Err(format!("expected the name of a tag, got {}", self.found()));
        }
        let mut tag = Tag {
            name: name.to_owned(),
            ..Tag::default()
        };
        if self.eat("(") {
            self.arguments(&mut tag)?;
        }

        if self.eat("=") {
            if self.eat("+") {
                return Ok((tag, true));
            }
            tag.value = Some(self.value()?);
        }

        self.blanks();
        if !self.rest.is_empty() && !self.rest.starts_with('#') && !self.rest.starts_with("//") {
            return Err(format!("expected the end of the tag, got {}", self.found()));
        }
        Ok((tag, false))
    }

    fn arguments(&mut self, tag: &mut Tag) -> Result<(), String> {
        while !self.eat(")") {
            self.blanks();
            let value = self.value()?;
            if self.eat(":") {
                self.blanks();
                let named = self.value()?;
                tag.arguments.push((Some(value), named));
            } else {
                tag.arguments.push((None, value));
            }

            self.blanks();
            if !self.eat(",") && !self.rest.starts_with(')') {
                return Err(format!("expected `,` or `)`, got {}", self.found()));
            }
        }

        Ok(())
    }

    fn value(&mut self) -> Result<String, String> {
        if self.eat("`") {
            let text = self.take_while(|c| c != '`');
            return if self.eat("`") {
                Ok(text.to_owned())
            } else {
                Err("unterminated string".into())
            };
        }

        if self.eat("\"") {
            let mut text = String::new();
            loop {
                text.push_str(self.take_while(|c| c != '"' && c != '\\'));
                if self.eat("\"") {
                    return Ok(text);
                }

                // An escaped quote or backslash; names and values have no other escapes.
                let mut rest = self.rest.chars();
                match (rest.next(), rest.next()) {
                    (Some('\\'), Some(c @ ('"' | '\\'))) => text.push(c),
                    (Some('\\'), Some(c)) => {
                        return Err(format!("escape `\\{c}`: \\\" and \\\\ are accepted"));
                    }
                    _ => return Err("unterminated string".into()),
                }
                self.rest = rest.as_str();
            }
        }

        let word = self.take_while(|c| is_interior(c) || c == '+');
        if word.is_empty() {
            return Err(format!("expected a value, got {}", self.found()));
        }
        Ok(word.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marker(line: &str) -> Marker {
        of_comment(line, Position { line: 1, column: 1 }).remove(0)
    }

    #[test]
    fn markers_of_a_comment_have_positions() {
        let found = of_comment(
            "/* text\n  +union\n +a=b c\n*/",
            Position { line: 7, column: 3 },
        );
        let places: Vec<_> = found
            .iter()
            .map(|m| (m.name.as_str(), m.rest.as_str(), m.at.line, m.at.column))
            .collect();
        assert_eq!(places, [("union", "", 8, 3), ("a", "=b c", 9, 2)]);
        let one = of_comment("//+unionMember,optional", Position { line: 1, column: 5 });
        assert_eq!(
            (one[0].name.as_str(), one[0].rest.as_str(), one[0].at.column),
            ("unionMember", ",optional", 7)
        );
        assert!(of_comment("// a + b", Position::default()).is_empty());
    }

    #[test]
    fn tags_have_arguments_values_and_nested_tags() {
        let found = tags(&marker(
            "// +k8s:beta(since: \"1.37\")=+k8s:item(type: \"A\")=+k8s:unionMember",
        ))
        .unwrap();
        assert_eq!(
            found.iter().map(|t| t.name.as_str()).collect::<Vec<_>>(),
            ["k8s:beta", "k8s:item", "k8s:unionMember"]
        );
        assert_eq!(found[1].argument("type"), Some("A"));
        let found = tags(&marker(
            "// +k8s:unionMember(union: `a b`, memberName: \"c\\\"d\") # why",
        ))
        .unwrap();
        assert_eq!(
            (found[0].argument("union"), found[0].argument("memberName")),
            (Some("a b"), Some("c\"d"))
        );
        assert_eq!(
            tags(&marker("// +k8s:maxItems=-3")).unwrap()[0]
                .value
                .as_deref(),
            Some("-3")
        );
    }

    #[test]
    fn invalid_tags_are_errors() {
        for (line, error) in [
            (
                "// +k8s:unionMember(union \"a\")",
                "expected `,` or `)`, got `\"`",
            ),
            ("// +k8s:unionMember(union: \"a)", "unterminated string"),
            (
                "// +k8s:unionMember(",
                "expected a value, got the end of the line",
            ),
            (
                "// +k8s:unionMember words",
                "expected the end of the tag, got `w`",
            ),
            (
                "// +k8s:unionMember=+(",
                "expected the name of a tag, got `(`",
            ),
            (
                "// +k8s:unionMember(a: \"\\n\")",
                "escape `\\n`: \\\" and \\\\ are accepted",
            ),
        ] {
            assert_eq!(tags(&marker(line)).unwrap_err(), error, "{line}");
        }
    }
}
