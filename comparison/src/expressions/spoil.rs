//! Changes expressions so that they may not compile.

use crate::generate::random::Random;

/// Expressions that do not compile, with `$` for another one.
const WRONG: &str = include_str!("wrong.txt");

/// What is replaced by what.
const CHANGES: [(&str, &str); 44] = [
    ("request", "requests"),
    ("request.", "request.x"),
    ("namespaceObject", "namespace"),
    ("object", "objekt"),
    ("object.spec", "request"),
    ("object.spec", "namespaceObject.metadata"),
    ("object.spec", "request.userInfo"),
    ("params", "param"),
    ("variables.", "variables.none"),
    ("oldObject", "oldobject"),
    ("authorizer", "autorizer"),
    ("size()", "trim()"),
    ("size(", "siz("),
    ("all(", "map("),
    ("exists(", "filter("),
    ("map(", "all("),
    (" == ", " + "),
    (" > ", " in "),
    (" && ", " + "),
    (" || ", " == "),
    (" ? ", " || "),
    ("'", "\""),
    ("'a'", "1"),
    ("'a'", "null"),
    ("1", "'\u{e4}'"),
    ("1", "1u"),
    ("2", "2.0"),
    ("true", "dyn(1)"),
    ("true", "1"),
    ("false", "{}"),
    ("[", "[[], "),
    ("[", "["),
    ("(", "(-"),
    ("(", "(!"),
    ("(", "(("),
    (")", ")[0]"),
    (")", ").x"),
    (")", ".orValue(1))"),
    (")", ""),
    ("]", ""),
    (", ", ",\n\t"),
    (", ", " "),
    (".", ".."),
    ("dyn(", "("),
];

/// The expression, or one that may be wrong in its place.
pub(super) fn spoil(random: &mut Random, text: String) -> String {
    match random.below(10) {
        0..3 => wrong(random).replace('$', &text),
        3 => {
            let wrong = wrong(random).replace('$', "1");
            let pattern = random.name(&[
                "($) == $",
                "[$, dyn($)]",
                "$ && $",
                "{'a': $}",
                "f($)",
                "$ + $",
                "dyn($)",
                "string($) + $",
                "[1].all(v, $)",
                "[1].map(v, v + $)",
                "optional.of($)",
                "$ ? $ : $",
                "object.spec.f($)",
            ]);

            let mut parts = pattern.split('$');
            let mut out = parts.next().unwrap_or_default().to_owned();
            for part in parts {
                out.push_str(if random.chance(60) { &wrong } else { &text });
                out.push_str(part);
            }
            out
        }
        // The parser of Go takes long for these.
        4 if random.chance(10) => nest(random, &text),
        5 => cut(random, &text),
        _ => change(random, text),
    }
}

fn wrong(random: &mut Random) -> &'static str {
    let all: Vec<&str> = WRONG.lines().collect();
    random.name(&all)
}

/// Replaces one or two places, so that the other uses of a part keep their types.
fn change(random: &mut Random, mut text: String) -> String {
    for _ in 0..random.between(1, 2) {
        // Many of the texts to replace do not occur.
        for _ in 0..20 {
            let (from, to) = random.of(&CHANGES);
            let places: Vec<usize> = text.match_indices(from).map(|(at, _)| at).collect();
            if let Some(at) = random.pick(&places).copied() {
                text.replace_range(at..at + from.len(), to);
                break;
            }
        }
    }
    text
}

/// Removes, repeats or inserts a character.
fn cut(random: &mut Random, text: &str) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    let at = random.below(characters.len().max(1));

    // Characters of the syntax, and some that no expression has.
    match random.below(3) {
        0 if !characters.is_empty() => {
            characters.remove(at);
        }
        1 => characters.truncate(at),
        _ => {
            let inserted = random.of(&[
                '(',
                ')',
                '[',
                ']',
                '{',
                '}',
                '.',
                ',',
                ':',
                '?',
                '!',
                '-',
                '+',
                '\'',
                '"',
                '`',
                '\\',
                '@',
                '$',
                '&',
                '|',
                '=',
                '<',
                '\n',
                ' ',
                '1',
                'a',
                '\u{e9}',
                '\u{1f600}',
            ]);
            characters.insert(at, inserted);
        }
    }
    characters.into_iter().collect()
}

/// Nests the expression deeply: in parentheses, lists, negations, selections or calls.
fn nest(random: &mut Random, text: &str) -> String {
    let count = random.of(&[3, 20, 49, 50, 51, 90, 120, 249, 250, 260, 400]);
    let (before, after) = random.of(&[
        ("(", ")"),
        ("[", "]"),
        ("!", ""),
        ("-", ""),
        ("dyn(", ")"),
        ("{1: ", "}"),
        ("", ".x"),
        ("", "[0]"),
        ("true ? ", " : 1"),
        ("1 + ", ""),
        ("true && ", ""),
        ("[1].map(x, ", ")"),
        ("", ".f()"),
        ("optional.of(", ")"),
    ]);
    format!("{}{text}{}", before.repeat(count), after.repeat(count))
}
