//! Shrinks a failing case to a readable size.
//!
//! Parts are removed, large ones first, as long as the case still fails. The caller decides whether a case fails, and
//! the suite determines the parts that may be cut.

use serde_json::{Value, json};

use crate::json::{named_children, remove_pointer};

/// A part of a case that may be cut.
#[derive(Clone, Debug)]
pub struct Cut {
    pointer: String,
    how: How,
    scalars: bool,
    hoist: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    Whole,
    Children,
    Tree,
}

impl Cut {
    /// A cut of the whole part.
    pub fn whole(pointer: impl Into<String>) -> Self {
        Cut {
            pointer: pointer.into(),
            how: How::Whole,
            scalars: false,
            hoist: false,
        }
    }

    /// A cut of the items or members of the part.
    pub fn children(pointer: impl Into<String>) -> Self {
        Cut {
            how: How::Children,
            ..Self::whole(pointer)
        }
    }

    /// A cut of everything below the part. Scalars are replaced by simpler ones.
    pub fn tree(pointer: impl Into<String>) -> Self {
        Cut {
            how: How::Tree,
            scalars: true,
            ..Self::whole(pointer)
        }
    }

    /// A cut of everything below the part except scalars, which are names and keywords.
    pub fn names(pointer: impl Into<String>) -> Self {
        Cut {
            scalars: false,
            ..Self::tree(pointer)
        }
    }

    /// Like [`Cut::names`], for a schema, which may also be replaced by a schema inside it.
    pub fn schema(pointer: impl Into<String>) -> Self {
        Cut {
            hoist: true,
            ..Self::names(pointer)
        }
    }
}

/// A smaller case that still fails, found in at most `tries` tries.
pub fn shrink(
    case: &Value,
    tries: usize,
    cuts: &dyn Fn(&Value) -> Vec<Cut>,
    fails: &mut dyn FnMut(&Value) -> bool,
) -> Value {
    let mut shrinker = Shrinker {
        current: case.clone(),
        tries,
        fails,
    };

    // A cut may succeed only after another one, so all are tried until none succeeds.
    loop {
        let before = shrinker.current.clone();
        for cut in cuts(&before) {
            match cut.how {
                How::Whole => {
                    shrinker.attempt(|case| remove_pointer(case, &cut.pointer));
                }
                How::Children => shrinker.children(&cut.pointer),
                How::Tree => shrinker.tree(&cut, cut.pointer.clone()),
            }
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
    /// Tries a change, and keeps it if the case still fails.
    fn attempt(&mut self, change: impl FnOnce(&mut Value) -> bool) -> bool {
        if self.tries == 0 {
            return false;
        }
        let mut candidate = self.current.clone();
        if !change(&mut candidate) || candidate == self.current {
            return false;
        }

        // Only a case that is run counts as a try.
        self.tries -= 1;
        if !(self.fails)(&candidate) {
            return false;
        }
        self.current = candidate;
        true
    }

    fn replace(&mut self, pointer: &str, with: &Value) -> bool {
        self.attempt(|case| match case.pointer_mut(pointer) {
            Some(node) => {
                *node = with.clone();
                true
            }
            None => false,
        })
    }

    /// The pointers to the children of a node.
    fn below(&self, pointer: &str) -> Vec<String> {
        let children = self.current.pointer(pointer).map(named_children);
        let names = children.into_iter().flatten();
        names.map(|(name, _)| format!("{pointer}/{name}")).collect()
    }

    /// Removes children of a node: all of them, then ever smaller runs, from the end.
    fn children(&mut self, pointer: &str) {
        let mut run = self.below(pointer).len();
        while run > 0 && self.tries > 0 {
            let mut end = self.below(pointer).len();
            while end > 0 {
                let start = end.saturating_sub(run);
                let doomed = self.below(pointer);
                self.attempt(|case| {
                    // From the end, because removing an item moves those behind it.
                    let mut doomed = doomed.iter().take(end).skip(start).rev();
                    doomed.all(|child| remove_pointer(case, child))
                });
                end = start;
            }
            run /= 2;
        }
    }

    fn tree(&mut self, cut: &Cut, pointer: String) {
        if self.tries == 0 {
            return;
        }
        self.children(&pointer);
        if cut.hoist && self.hoist(&pointer) {
            return self.tree(cut, pointer);
        }

        // Children are read again, since some of them are gone.
        let below = self.below(&pointer);
        if below.is_empty() && cut.scalars {
            self.simplify(&pointer);
        }
        for child in below {
            self.tree(cut, child);
        }
    }

    /// Replaces a node by an object one or two levels below it.
    fn hoist(&mut self, pointer: &str) -> bool {
        let children = self.below(pointer);
        // A schema is two levels below another one in `properties`, and one level in `items`.
        let grandchildren: Vec<_> = children
            .iter()
            .flat_map(|child| self.below(child))
            .collect();
        let nested = children
            .iter()
            .chain(&grandchildren)
            .filter_map(|inner| self.current.pointer(inner));
        let nested: Vec<Value> = nested.filter(|value| value.is_object()).cloned().collect();

        nested.iter().any(|value| self.replace(pointer, value))
    }

    /// Replaces a scalar by the simplest value for which the case still fails.
    fn simplify(&mut self, pointer: &str) {
        for simple in [json!(null), json!("a"), json!(0), json!(1)] {
            let simpler = self
                .current
                .pointer(pointer)
                .is_some_and(|node| rank(node) > rank(&simple));
            if simpler && self.replace(pointer, &simple) {
                return;
            }
        }
    }
}

/// The distance of a value from the simplest one; only a smaller rank is progress.
fn rank(value: &Value) -> usize {
    match value {
        Value::Null => 0,
        Value::String(text) if text == "a" => 1,
        Value::Number(number) if number.as_i64() == Some(0) => 2,
        Value::Number(number) if number.as_i64() == Some(1) => 3,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(case: &Value, cuts: &[Cut], needed: &str, expected: &Value) {
        let shrunk = shrink(case, 5000, &|_| cuts.to_vec(), &mut |case| {
            case.to_string().contains(needed)
        });
        assert_eq!(shrunk, *expected);
    }

    #[test]
    fn shrinking_keeps_only_parts_that_the_failure_needs() {
        let items: Vec<_> = (0..100)
            .map(|number| json!({"name": format!("item-{number}"), "value": 7}))
            .collect();
        let case = json!({
            "schema": {"types": [{"name": "a"}, {"name": "b"}]},
            "options": {"unions": false},
            "steps": [{"apply": {"object": {"x": 1}}}, {"update": {"manager": "m", "object": {"list": items}}}],
        });
        let cuts = [
            Cut::children("/steps"),
            Cut::whole("/options"),
            Cut::tree("/steps/0/update/object"),
            Cut::names("/schema/types"),
        ];
        let expected = json!({
            "schema": {"types": []},
            "steps": [{"update": {"manager": "m", "object": {"list": [{"name": "item-42"}]}}}],
        });
        check(&case, &cuts, "item-42", &expected);
    }

    #[test]
    fn schema_is_replaced_by_the_failing_nested_schema() {
        let case = json!({"flag": true, "schema": {"type": "object", "properties": {
            "a": {"type": "object", "properties": {"x": {"type": "string", "pattern": "("}}}, "b": {}}}});
        let cuts = [Cut::schema("/schema"), Cut::whole("/flag")];
        check(
            &case,
            &cuts,
            "pattern",
            &json!({"schema": {"pattern": "("}}),
        );
    }

    #[test]
    fn names_and_keywords_are_kept() {
        let case = json!({"original": {"a": [1, 2, {"b": 3}], "c/d": 4}, "patch": {"x": {"y": 1}}});
        let cuts = [Cut::names("/original"), Cut::names("/patch")];
        check(
            &case,
            &cuts,
            r#""b":3"#,
            &json!({"original": {"a": [{"b": 3}]}, "patch": {}}),
        );
    }

    #[test]
    fn tries_are_bounded() {
        let case = json!({"object": [1, 2, 3, 4, 5, 6]});
        let mut tries = 0;
        shrink(&case, 4, &|_| vec![Cut::tree("/object")], &mut |_| {
            tries += 1;
            false
        });
        assert_eq!(tries, 4);
    }
}
