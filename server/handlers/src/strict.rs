//! The faults that strict field validation finds in the text of a body: fields that occur again, and the order of
//! unknown fields.

use std::collections::HashSet;
use std::fmt;

use ahash::RandomState;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// The most faults that are reported for one body.
const MOST: usize = 100;

/// The length in bytes up to which the path of a field is compared with those of unknown fields, so that a long name does
/// not make each field below it expensive. The faults of longer paths follow all others.
const LONGEST_PATH: usize = 4096;

/// The faults of a JSON text in the order in which they occur: the given faults of the form `unknown field "PATH"`, and
/// fields that occur again.
pub(crate) fn faults<'u>(text: &str, unknown: &'u [String]) -> Vec<String> {
    let path = |fault: &'u str| fault.strip_prefix("unknown field \"")?.strip_suffix('"');
    let unknown_paths = unknown.iter().filter_map(|fault| path(fault)).collect();
    let mut walk = Walk {
        path: String::new(),
        unknown: unknown_paths,
        found: Vec::new(),
        ignored: 0,
    };
    let mut json = serde_json::Deserializer::from_str(text);
    json.disable_recursion_limit();

    // The text was read before, so it is valid and nests no deeper than the limit.
    let _ = fieldmanager_value::internal::with_room(|| Place(&mut walk).deserialize(&mut json));

    // A fault that the walk does not meet, such as one of a long path, follows all others.
    let Walk { mut found, .. } = walk;
    let known: HashSet<String, RandomState> = found.iter().cloned().collect();
    found.extend(
        unknown
            .iter()
            .filter(|fault| !known.contains(*fault))
            .cloned(),
    );
    found.truncate(MOST);

    found
}

struct Walk<'u> {
    path: String,
    /// The paths of the unknown fields.
    unknown: HashSet<&'u str, RandomState>,
    found: Vec<String>,
    /// The number of unknown fields around the current path. Go skips their values.
    ignored: usize,
}

impl Walk<'_> {
    fn report(&mut self, fault: &str) {
        // The total length is bounded too, so that long names of fields cannot make a huge answer.
        let length: usize = self.found.iter().map(String::len).sum();
        if self.ignored == 0
            && self.found.len() < MOST
            && length + self.path.len() <= MOST * LONGEST_PATH
        {
            self.found.push(format!("{fault} field \"{}\"", self.path));
        }
    }
}

/// The value at the current path.
struct Place<'w, 'u>(&'w mut Walk<'u>);

impl<'de> DeserializeSeed<'de> for Place<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Place<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let walk = self.0;
        let length = walk.path.len();
        let mut names: HashSet<String, RandomState> = HashSet::default();
        while let Some(name) = map.next_key::<String>()? {
            if length > 0 {
                walk.path.push('.');
            }
            walk.path.push_str(&name);
            let is_unknown =
                walk.path.len() <= LONGEST_PATH && walk.unknown.contains(walk.path.as_str());

            // An unknown field that occurs again is reported once, as unknown.
            match (names.insert(name), is_unknown) {
                (true, true) => walk.report("unknown"),
                (false, false) => walk.report("duplicate"),
                _ => {}
            }

            walk.ignored += usize::from(is_unknown);
            map.next_value_seed(Place(walk))?;
            walk.ignored -= usize::from(is_unknown);
            walk.path.truncate(length);
        }

        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let walk = self.0;
        let length = walk.path.len();
        for i in 0.. {
            walk.path.push_str(&format!("[{i}]"));
            let more = items.next_element_seed(Place(walk))?.is_some();
            walk.path.truncate(length);
            if !more {
                break;
            }
        }

        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_in_the_order_of_the_text() {
        let text = r#"{"b":1,"b":{"c":1,"c":1},"a":{"x":1,"w":1,"w":2},"l":[{"z":0},{"y":0,"y":0}],"a":{}}"#;
        let unknown = [
            "unknown field \"a.x\"",
            "unknown field \"b\"",
            "unknown field \"gone\"",
        ];
        let found = faults(text, &unknown.map(str::to_owned));
        assert_eq!(
            found,
            [
                "unknown field \"b\"",
                "unknown field \"a.x\"",
                "duplicate field \"a.w\"",
                "duplicate field \"l[1].y\"",
                "duplicate field \"a\"",
                "unknown field \"gone\"",
            ]
        );
    }

    #[test]
    fn a_path_of_a_deep_text_does_not_overflow_the_stack() {
        let text = format!("{}1{}", "{\"a\":".repeat(255), "}".repeat(255));
        assert!(faults(&text, &[]).is_empty());
    }
}
