//! Makes a failing scenario small enough to read.
//!
//! Parts are left out, large ones first, as long as the scenario still fails.
//! What counts as failing is the caller's question, so the shrinker knows
//! nothing of implementations.

use serde_json::{Value, json};

use crate::compare::step_kind;

/// A smaller scenario that still fails, found in at most `max_tries` tries.
pub fn shrink(scenario: &Value, max_tries: usize, fails: &mut dyn FnMut(&Value) -> bool) -> Value {
    let mut shrinker = Shrinker { current: scenario.clone(), tries: max_tries, fails };
    loop {
        let before = shrinker.current.clone();
        shrinker.list("/steps");
        for member in ["conversion", "options"] {
            shrinker.attempt(|candidate| {
                candidate.as_object_mut().is_some_and(|members| members.remove(member).is_some())
            });
        }
        for root in shrinker.roots() {
            shrinker.tree(&root);
        }
        if shrinker.current == before || shrinker.tries == 0 {
            return shrinker.current;
        }
    }
}

/// As [`shrink`], for requests of any form: every part of them may be left out.
pub(crate) fn shrink_all(request: &Value, max_tries: usize, fails: &mut dyn FnMut(&Value) -> bool) -> Value {
    let mut shrinker = Shrinker { current: request.clone(), tries: max_tries, fails };
    loop {
        let before = shrinker.current.clone();
        for pointer in ["/steps", "", "/schemas/definitions", "/live"] {
            shrinker.list(pointer);
        }
        shrinker.tree("");
        if shrinker.current == before || shrinker.tries == 0 {
            return shrinker.current;
        }
    }
}

struct Shrinker<'a> {
    current: Value,
    tries: usize,
    fails: &'a mut dyn FnMut(&Value) -> bool,
}

impl Shrinker<'_> {
    /// Tries a change; keeps it when the scenario still fails.
    fn attempt(&mut self, change: impl FnOnce(&mut Value) -> bool) -> bool {
        if self.tries == 0 {
            return false;
        }
        let mut candidate = self.current.clone();
        if !change(&mut candidate) || candidate == self.current {
            return false;
        }
        self.tries -= 1;
        if !(self.fails)(&candidate) {
            return false;
        }
        self.current = candidate;
        true
    }

    /// The parts that may be cut into. What holds a step together, such as its
    /// manager and version, is not among them.
    fn roots(&self) -> Vec<String> {
        let mut out: Vec<String> = ["/options", "/conversion", "/conversion/renames", "/conversion/served"]
            .map(str::to_owned)
            .into();
        let steps = self.current.get("steps").and_then(Value::as_array);
        for (number, step) in steps.into_iter().flatten().enumerate() {
            let kind = step_kind(step);
            for member in ["object", "lhs", "rhs", "fields", "schema/types"] {
                out.push(format!("/steps/{number}/{kind}/{member}"));
            }
        }
        out.push("/schema/types".to_owned());
        out
    }

    /// Leaves out items of one list or members of one object: halves first,
    /// then ever smaller runs.
    fn list(&mut self, pointer: &str) {
        self.cut(pointer, &[]);
    }

    fn length(&self, pointer: &str, path: &[usize]) -> usize {
        match self.current.pointer(pointer).and_then(|root| descend(root, path)) {
            Some(Value::Array(items)) => items.len(),
            Some(Value::Object(members)) => members.len(),
            _ => 0,
        }
    }

    fn cut(&mut self, pointer: &str, path: &[usize]) {
        let mut run = self.length(pointer, path);
        while run > 0 && self.tries > 0 {
            let mut start = self.length(pointer, path);
            while start > 0 {
                let from = start.saturating_sub(run);
                self.attempt(|candidate| {
                    let node = candidate.pointer_mut(pointer).and_then(|root| descend_mut(root, path));
                    node.is_some_and(|node| remove_run(node, from, start))
                });
                start = from;
            }
            run /= 2;
        }
    }

    fn tree(&mut self, pointer: &str) {
        self.subtree(pointer, &mut Vec::new());
    }

    fn subtree(&mut self, pointer: &str, path: &mut Vec<usize>) {
        if self.tries == 0 {
            return;
        }
        self.cut(pointer, path);
        let count = self.length(pointer, path);
        if count == 0 {
            self.simplify(pointer, path);
        }
        for position in 0..count {
            path.push(position);
            self.subtree(pointer, path);
            path.pop();
        }
    }

    /// Puts the plainest value of its kind in the place of a scalar.
    fn simplify(&mut self, pointer: &str, path: &[usize]) {
        // The texts of a schema are names and keywords.
        if pointer.ends_with("types") || pointer.starts_with("/options") || pointer.starts_with("/conversion")
        {
            return;
        }
        for plain in [json!(null), json!("a"), json!(0), json!(1)] {
            let replaced = self.attempt(|candidate| {
                let node = candidate.pointer_mut(pointer).and_then(|root| descend_mut(root, path));
                match node {
                    Some(node) if rank(node) > rank(&plain) => {
                        *node = plain.clone();
                        true
                    }
                    _ => false,
                }
            });
            if replaced {
                return;
            }
        }
    }
}

/// How far a value is from the plainest one; only a step down is an advance.
fn rank(value: &Value) -> usize {
    match value {
        Value::Null => 0,
        Value::String(text) if text == "a" => 1,
        Value::Number(number) if number.as_i64() == Some(0) && !number.is_f64() => 2,
        Value::Number(number) if number.as_i64() == Some(1) && !number.is_f64() => 3,
        _ => 4,
    }
}

/// The node that is reached by taking the child at each position in turn;
/// members of an object count in the order of their keys.
fn descend<'a>(mut node: &'a Value, path: &[usize]) -> Option<&'a Value> {
    for position in path {
        node = match node {
            Value::Array(items) => items.get(*position)?,
            Value::Object(members) => members.values().nth(*position)?,
            _ => return None,
        };
    }
    Some(node)
}

fn descend_mut<'a>(mut node: &'a mut Value, path: &[usize]) -> Option<&'a mut Value> {
    for position in path {
        node = match node {
            Value::Array(items) => items.get_mut(*position)?,
            Value::Object(members) => members.values_mut().nth(*position)?,
            _ => return None,
        };
    }
    Some(node)
}

fn remove_run(node: &mut Value, from: usize, to: usize) -> bool {
    match node {
        Value::Array(items) => {
            let to = to.min(items.len());
            if from < to {
                items.drain(from..to);
            }
            from < to
        }
        Value::Object(members) => {
            let keys: Vec<_> = members.keys().skip(from).take(to - from).cloned().collect();
            for key in &keys {
                members.remove(key);
            }
            !keys.is_empty()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_makes_it_fail_is_left() {
        let items: Vec<_> =
            (0..100).map(|number| json!({"name": format!("item-{number}"), "value": 7})).collect();
        let scenario = json!({
            "schema": {"types": [{"name": "a"}, {"name": "b"}]},
            "options": {"unions": false},
            "steps": [
                {"apply": {"manager": "m", "apiVersion": "v1", "object": {"x": 1}}},
                {"update": {"manager": "m", "apiVersion": "v1", "object": {"list": items}}},
            ],
        });
        let shrunk = shrink(&scenario, 5000, &mut |candidate| candidate.to_string().contains("item-42"));
        let expected = json!({
            "schema": {"types": []},
            "steps": [{"update": {"manager": "m", "apiVersion": "v1", "object": {"list": [{"name": "item-42"}]}}}],
        });
        assert_eq!(shrunk, expected);
    }

    #[test]
    fn tries_are_bounded() {
        let scenario = json!({"steps": [{"apply": {"object": [1, 2, 3, 4, 5, 6]}}]});
        let mut tries = 0;
        shrink(&scenario, 4, &mut |_| {
            tries += 1;
            false
        });
        assert_eq!(tries, 4);
    }
}
