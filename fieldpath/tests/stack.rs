//! Stack usage of every operation at the depth limit.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use std::thread;

use fieldmanager_fieldpath::internal::{SetBuilder, add_declared_fields, set_depth};
use fieldmanager_fieldpath::{Filter, MAX_PATH_LENGTH, Matcher, Path, PathElement, Set};
use fieldmanager_schema::Schema;

/// The maximum stack that the library requires.
const STACK: usize = if cfg!(debug_assertions) {
    512 * 1024
} else {
    256 * 1024
};

fn run(test: impl FnOnce() + Send + 'static) {
    thread::Builder::new()
        .stack_size(STACK)
        .spawn(test)
        .unwrap()
        .join()
        .unwrap();
}

fn document(levels: usize, end: &str) -> String {
    r#"{"f:a":"#.repeat(levels) + end + &"}".repeat(levels)
}

#[test]
fn reading_and_writing_need_little_stack() {
    run(|| {
        let text = document(MAX_PATH_LENGTH, "{}");
        let set = Set::from_json(text.as_bytes()).unwrap();
        assert_eq!(set_depth(&set), MAX_PATH_LENGTH);
        assert_eq!(set.to_json(), text);
        // Whitespace makes the fast reader fall back to the serde reader.
        assert_eq!(
            Set::from_json(text.replace(':', ": ").replace("f: ", "f:").as_bytes()).as_ref(),
            Ok(&set)
        );
        assert_eq!(Set::from_value(&set.to_value()).as_ref(), Ok(&set));
        assert!(Set::from_json(document(MAX_PATH_LENGTH + 1, "{}").as_bytes()).is_err());
        assert!(Set::from_json(document(100_000, "{}").as_bytes()).is_err());
    });
}

#[test]
fn deep_values_in_keys_need_little_stack() {
    run(|| {
        let value = "[".repeat(256) + &"]".repeat(256);
        let text = document(MAX_PATH_LENGTH - 1, &format!(r#"{{"v:{value}":{{}}}}"#));
        let set = Set::from_json(text.as_bytes()).unwrap();
        assert_eq!(set.to_json(), text);
        assert_eq!(set.to_string().matches('[').count(), 257);
        assert_eq!(
            set,
            set.clone().union(&Set::from_json(text.as_bytes()).unwrap())
        );
    });
}

#[test]
fn operations_need_little_stack() {
    run(|| {
        let set = Set::from_json(document(MAX_PATH_LENGTH, "{}").as_bytes()).unwrap();
        let other =
            Set::from_json(document(MAX_PATH_LENGTH - 1, r#"{"f:b":{}}"#).as_bytes()).unwrap();
        let both = set.union(&other);
        assert_eq!((both.len(), set_depth(&both)), (2, MAX_PATH_LENGTH));
        assert_eq!(both.intersection(&set), set);
        assert_eq!(both.difference(&set), other);
        assert_eq!(both.recursive_difference(&set), other);
        assert_eq!(both.leaves(), both);
        assert!(set.is_subset(&both) && set != other);
        assert_eq!(both.paths().collect::<Set>(), both);
        assert_eq!(Filter::Exclude(set.clone()).apply(&both), other);
        let schema = Schema::from_yaml(
            "types: [{name: t, map: {fields: [{name: a, type: {namedType: t}}], elementType: {scalar: string}}}]",
        );
        let schema = schema.unwrap();
        let all = add_declared_fields(&both, &schema, schema.type_named("t").unwrap().id());
        assert_eq!(all.len(), MAX_PATH_LENGTH + 1);
        let matcher = Matcher::prefixes([".a".repeat(100_000).as_str()]).unwrap();
        assert_eq!(matcher.clone(), matcher);
        assert_eq!(Filter::Include(matcher).apply(&set), set);
    });
}

#[test]
fn paths_longer_than_the_limit_are_ignored() {
    run(|| {
        let path = |n: usize| {
            vec![PathElement::field("a"); n]
                .into_iter()
                .collect::<Path>()
        };
        let mut set: Set = [path(MAX_PATH_LENGTH)].into_iter().collect();
        for n in [MAX_PATH_LENGTH + 1, 10_000, 100_000] {
            set.insert(&path(n));
            assert!(!set.has(&path(n)));
            assert_eq!(path(n).to_string().parse::<Path>().unwrap(), path(n));
        }
        assert_eq!((set.len(), set_depth(&set)), (1, MAX_PATH_LENGTH));
        let mut deep = Set::new();
        for _ in 0..2_000 {
            let mut builder = SetBuilder::default();
            builder.push(PathElement::field("a"), false, deep);
            builder.push(PathElement::field("b"), true, Set::new());
            deep = builder.build();
        }
        assert_eq!(
            (deep.len(), set_depth(&deep)),
            (MAX_PATH_LENGTH, MAX_PATH_LENGTH)
        );
        assert_eq!(Set::from_json(deep.to_json().as_bytes()), Ok(deep.clone()));
        assert_eq!(set_depth(&deep.union(&set)), MAX_PATH_LENGTH);
    });
}
