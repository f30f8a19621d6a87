//! Makes a failing request small enough to read: parts are left out, and schemas replaced by what is in them, as
//! long as the request still fails.

use serde_json::{Value, json};

/// A smaller request that still fails, found in at most `max_tries` tries.
pub fn shrink(request: &Value, max_tries: usize, fails: &mut dyn FnMut(&Value) -> bool) -> Value {
    let mut shrinker = Shrinker { current: request.clone(), tries: max_tries, fails };
    loop {
        let before = shrinker.current.clone();
        // A definition without its storage version would fail for another reason.
        shrinker.attempt(|request| match request.pointer_mut("/crd/spec/versions") {
            Some(Value::Array(versions)) if versions.len() > 1 => versions.pop().is_some(),
            _ => false,
        });
        for root in [
            "/definitions",
            "/schema",
            "/object",
            "/crd/spec/versions/0/schema",
            "/crd/spec/versions/1/schema",
        ] {
            shrinker.tree(root);
        }
        for name in ["preserveUnknownFields", "isResourceRoot", "dropInvalid", "returnUnknown"] {
            shrinker.attempt(|request| {
                request.as_object_mut().is_some_and(|members| members.remove(name).is_some())
            });
        }
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
    /// Tries a change; keeps it when the request still fails.
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

    /// Replaces the value at a place.
    fn replace(&mut self, place: &str, with: Value) -> bool {
        self.attempt(|request| match request.pointer_mut(place) {
            Some(node) => {
                *node = with;
                true
            }
            None => false,
        })
    }

    /// The places below a place, each one step deeper.
    fn steps(&self, place: &str) -> Vec<String> {
        match self.current.pointer(place) {
            Some(Value::Array(items)) => (0..items.len()).rev().map(|i| i.to_string()).collect(),
            Some(Value::Object(members)) => {
                members.keys().map(|name| name.replace('~', "~0").replace('/', "~1")).collect()
            }
            _ => Vec::new(),
        }
    }

    fn tree(&mut self, place: &str) {
        if self.tries == 0 || self.current.pointer(place).is_none() {
            return;
        }
        for step in self.steps(place) {
            self.attempt(|request| match request.pointer_mut(place) {
                Some(Value::Array(items)) => {
                    let at = step.parse().ok().filter(|at| *at < items.len());
                    at.map(|at: usize| items.remove(at)).is_some()
                }
                Some(Value::Object(members)) => {
                    members.remove(&step.replace("~1", "/").replace("~0", "~")).is_some()
                }
                _ => false,
            });
        }
        // A schema may fail as well without those around it.
        for step in self.steps(place) {
            let inner = format!("{place}/{step}");
            let nested = self.current.pointer(&inner).filter(|value| value.is_object()).cloned();
            let two = nested.iter().flat_map(|value| value.as_object().into_iter().flat_map(|m| m.values()));
            let grand: Vec<Value> = two.filter(|value| value.is_object()).cloned().collect();
            if nested.into_iter().chain(grand).any(|value| self.replace(place, value)) {
                return self.tree(place);
            }
        }
        if self.steps(place).is_empty() {
            self.simplify(place);
        }
        for step in self.steps(place) {
            self.tree(&format!("{place}/{step}"));
        }
    }

    /// Puts the plainest value of its kind in the place of a scalar.
    fn simplify(&mut self, place: &str) {
        let plain: &[Value] = match self.current.pointer(place) {
            Some(Value::Number(_)) => &[json!(0), json!(1)],
            Some(Value::String(text)) if place.starts_with("/object") && text != "a" => &[json!("a")],
            _ => &[],
        };
        for value in plain {
            if self.current.pointer(place) == Some(value) || self.replace(place, value.clone()) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_makes_it_fail_is_left() {
        let request = json!({"op": "prune", "isResourceRoot": true, "schema": {"type": "object", "properties": {
            "a": {"type": "object", "properties": {"x": {"type": "string", "pattern": "("}}}, "b": {}}},
            "object": {"a": {"x": 7}}});
        let shrunk = shrink(&request, 1000, &mut |request| request.to_string().contains("pattern"));
        assert_eq!(shrunk, json!({"op": "prune", "schema": {"pattern": "("}, "object": {}}));
    }

    #[test]
    fn tries_are_bounded() {
        let mut tries = 0;
        shrink(&json!({"schema": {"a": 1, "b": 2, "c": {"d": 3}}}), 3, &mut |_| {
            tries += 1;
            false
        });
        assert_eq!(tries, 3);
    }
}
