//! Makes a case small enough to read.

use serde_json::{Value as Json, json};

/// The members of a case that may be cut into.
const PARTS: [&str; 7] =
    ["patches", "patch", "original", "modified", "current", "definitions", "preconditions"];

/// A smaller case that still fails, found in at most `tries` tries.
pub fn shrink(case: &Json, tries: usize, fails: &mut dyn FnMut(&Json) -> bool) -> Json {
    let mut current = case.clone();
    let mut left = tries;
    loop {
        let before = current.clone();
        for part in PARTS {
            let mut pointers = Vec::new();
            if let Some(value) = current.get(part) {
                collect(value, &format!("/{part}"), &mut pointers);
            }
            for pointer in pointers {
                for change in [remove as Change, simplify] {
                    if left == 0 {
                        return current;
                    }
                    let mut candidate = current.clone();
                    if change(&mut candidate, &pointer) && candidate != current {
                        left -= 1;
                        if fails(&candidate) {
                            current = candidate;
                            break;
                        }
                    }
                }
            }
        }
        if current == before {
            return current;
        }
    }
}

type Change = fn(&mut Json, &str) -> bool;

/// The places in a value, outermost first; items of a list from the end, so that removing one moves no other.
fn collect(value: &Json, pointer: &str, out: &mut Vec<String>) {
    match value {
        Json::Object(members) => {
            for (name, value) in members {
                let below = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
                out.push(below.clone());
                collect(value, &below, out);
            }
        }
        Json::Array(items) => {
            for (at, value) in items.iter().enumerate().rev() {
                let below = format!("{pointer}/{at}");
                out.push(below.clone());
                collect(value, &below, out);
            }
        }
        _ => {}
    }
}

fn remove(case: &mut Json, pointer: &str) -> bool {
    let Some((parent, last)) = pointer.rsplit_once('/') else {
        return false;
    };
    match case.pointer_mut(parent) {
        Some(Json::Object(members)) => members.remove(&last.replace("~1", "/").replace("~0", "~")).is_some(),
        Some(Json::Array(items)) => match last.parse::<usize>() {
            Ok(at) if at < items.len() => {
                items.remove(at);
                true
            }
            _ => false,
        },
        _ => false,
    }
}

fn simplify(case: &mut Json, pointer: &str) -> bool {
    if pointer.starts_with("/definitions") {
        return false;
    }
    match case.pointer_mut(pointer) {
        Some(value @ (Json::Object(_) | Json::Array(_))) => {
            let plain = if value.is_object() { json!({}) } else { json!([]) };
            let changed = *value != plain;
            *value = plain;
            changed
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_makes_it_fail_is_left() {
        let case =
            json!({"op": "smp", "original": {"a": [1, 2, {"b": 3}], "c": 4}, "patch": {"x": {"y": 1}}});
        let small = shrink(&case, 1000, &mut |case| case.to_string().contains(r#""b":3"#));
        assert_eq!(small, json!({"op": "smp", "original": {"a": [{"b": 3}]}, "patch": {}}));
    }
}
