//! Inputs derived from bytes that are accepted more often than the bytes themselves.

use fieldmanager_value::{Map, Value};

use crate::choices::Choices;
use crate::schemas;

/// JSON or YAML, possibly invalid.
pub fn value(bytes: &[u8]) -> String {
    const TOKENS: &[&str] = &[
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        ": ",
        "\n",
        "\n  ",
        "\n- ",
        "- ",
        "a",
        "\"b\"",
        "'c'",
        "1",
        "-1.0",
        "1e3",
        "1.5",
        "0x1f",
        "~",
        "null",
        "true",
        "no",
        "|\n ",
        ">-\n  ",
        "&x ",
        "*x",
        "<<: ",
        "? ",
        "# ",
        "!!str ",
        "---",
        "...",
        "%",
        "\t",
        "\\",
        "\\u00e9",
        "\"",
        "'",
        "é",
        "\u{85}",
        "\u{feff}",
        "2001-01-01",
        ".inf",
        "9223372036854775808",
        "k: ",
        "\r\n",
        "=",
        "0o7",
        "1_0",
        "-0.0",
        "1:30",
    ];
    let mut choices = Choices::new(bytes);
    match choices.below(3) {
        0 => tokens(&mut choices, TOKENS),
        1 => tree(&mut choices, 4).to_json(),
        _ => tree(&mut choices, 4).to_yaml(),
    }
}

/// A schema with some changed lines.
pub fn schema(bytes: &[u8]) -> String {
    let mut choices = Choices::new(bytes);
    let text = choices.pick(&schemas::TEXTS);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..choices.below(4) {
        let (at, other) = (choices.below(lines.len()), choices.below(lines.len()));
        let copy = lines.get(other).cloned().unwrap_or_default();
        match choices.below(4) {
            0 if at < lines.len() => drop(lines.remove(at)),
            1 => lines.insert(at, copy),
            2 => {
                if let Some(line) = lines.get_mut(at) {
                    *line = copy;
                }
            }
            _ => {
                const WORDS: [&str; 10] = [
                    "associative",
                    "atomic",
                    "separable",
                    "string",
                    "numeric",
                    "untyped",
                    "root",
                    "name",
                    "keys",
                    "list",
                ];
                let (old, new) = (choices.pick(&WORDS), choices.pick(&WORDS));
                if let Some(line) = lines.get_mut(at) {
                    *line = line.replacen(old, new, 1);
                }
            }
        }
    }
    lines.join("\n")
}

/// Two lines of FieldsV1, possibly invalid.
pub fn fields_v1(bytes: &[u8]) -> String {
    let mut choices = Choices::new(bytes);
    let mut out = String::new();
    fields(&mut choices, 4, &mut out);
    out.push('\n');
    fields(&mut choices, 4, &mut out);
    out
}

fn fields(choices: &mut Choices<'_>, depth: usize, out: &mut String) {
    const KEYS: &[&str] = &[
        "f:a",
        "f:b",
        "f:",
        "f:é<",
        "v:1",
        "v:1.0",
        r#"v:\"a\""#,
        "v:null",
        "v:[1,{}]",
        "v:-0.0",
        "v:1e400",
        "v:4.444443333333334e+40",
        "v:",
        r#"k:{\"a\":1}"#,
        r#"k:{\"b\":\"<\",\"a\":1.0}"#,
        "k:{}",
        "k:null",
        "k:1",
        "i:0",
        "i:-1",
        "i:x",
        ".",
        "x:y",
        "f",
        r#"k:{\"a\":1,\"a\":2}"#,
        "v: 1 ",
        r"f:\n\u0001",
    ];
    out.push('{');
    let count = choices.below(if depth == 4 { 6 } else { 4 });
    for at in 0..count {
        if at > 0 {
            out.push(',');
        }
        // Mostly accepted keys.
        let known = if choices.one_in(4) { KEYS.len() } else { 7 };
        let key = KEYS.get(choices.below(known)).copied().unwrap_or_default();
        out.push_str(&format!("\"{key}\":"));
        if depth == 0 || key == "." || choices.one_in(2) {
            out.push_str("{}");
        } else if choices.one_in(40) {
            out.push_str("[1]");
        } else {
            fields(choices, depth - 1, out);
        }
    }
    out.push('}');
}

/// A path, possibly invalid.
pub fn path(bytes: &[u8]) -> String {
    const TOKENS: &[&str] = &[
        ".a",
        ".b-c/d",
        "a",
        ".",
        "[0]",
        "[-1]",
        "[=1]",
        "[=1.5]",
        r#"[="x"]"#,
        "[=true]",
        "[=null]",
        r#"[k="v"]"#,
        r#"[b=1,a="]"]"#,
        "[",
        "]",
        "=",
        ",",
        "\"",
        "\\",
        r#"[="\u0001\n"]"#,
        r#"[={"a":1}]"#,
        "[=[1,2]]",
        "[k=",
        "é",
        " ",
        "[=1e21]",
        "[=4.444443333333334e+40]",
        "[=-0.0]",
        "[a=1,a=2]",
        "[]",
        "[=]",
        "\u{200b}",
    ];
    tokens(&mut Choices::new(bytes), TOKENS)
}

fn tokens(choices: &mut Choices<'_>, of: &[&str]) -> String {
    let mut out = String::new();
    while !choices.is_exhausted() {
        out.push_str(choices.pick(of));
    }
    out
}

fn tree(choices: &mut Choices<'_>, depth: usize) -> Value {
    match choices.below(if depth > 0 { 8 } else { 5 }) {
        0 => Value::Null,
        1 => Value::Bool(choices.one_in(2)),
        2 => Value::Int(match choices.below(5) {
            0 => i64::MIN,
            1 => i64::MAX,
            2 => 9_007_199_254_740_993,
            _ => i64::from(choices.byte()) - 128,
        }),
        3 if choices.one_in(2) => {
            let number = f64::from_be_bytes(std::array::from_fn(|_| choices.byte()));
            Value::Float(if number.is_finite() { number } else { 0.5 })
        }
        3 => Value::Float(choices.pick(&[
            1.0,
            -0.0,
            0.1,
            1e300,
            5e-324,
            1e21,
            9_007_199_254_740_992.0,
            -1.5,
        ])),
        4 => Value::from(text(choices)),
        5 | 6 => Value::Map(
            (0..choices.below(5))
                .map(|_| (text(choices), tree(choices, depth - 1)))
                .collect::<Map>(),
        ),
        _ => Value::List(
            (0..choices.below(5))
                .map(|_| tree(choices, depth - 1))
                .collect(),
        ),
    }
}

/// Strings that YAML would resolve to another type if they were not quoted, and fragments of them.
fn text(choices: &mut Choices<'_>) -> String {
    const PIECES: &[&str] = &[
        "a",
        "",
        "1",
        "1.0",
        "null",
        "~",
        "true",
        "yes",
        "off",
        "0x1",
        "1e3",
        ".inf",
        "-",
        "- ",
        ": ",
        ":",
        " #",
        "#",
        "\n",
        "\n\n",
        " ",
        "\t",
        "\r",
        "'",
        "\"",
        "\\",
        "{",
        "]",
        ",",
        "&a",
        "*a",
        "!",
        "|",
        ">",
        "%",
        "@",
        "`",
        "\u{0}",
        "\u{1b}",
        "\u{7f}",
        "\u{85}",
        "\u{a0}",
        "\u{2028}",
        "\u{feff}",
        "é",
        "\u{1f600}",
        "<<",
        "=",
        "---",
        "...",
        "2001-01-01",
        "?",
        "? ",
        "0o7",
        "1_000",
        "x: y",
        "-1",
        "+1",
        "\u{fffe}",
        "1:30",
    ];
    let mut out = String::new();
    for _ in 0..1 + choices.below(3) {
        out.push_str(choices.pick(PIECES));
    }
    out
}
