//! Which field names follow each other in typical objects.
//!
//! A reader of JSON that knows which name to expect need not look for it. Most documents are objects of Kubernetes, with
//! the same names in the same order; where one differs, the reader remembers what came instead, for that document. A
//! wrong guess costs one comparison, and decides no result.

use std::sync::LazyLock;

use crate::common::Common;
use crate::memory::{Place, ROOT};

/// By the code of a place, the number of the common name that mostly comes there.
static TYPICAL: LazyLock<Box<[u16]>> = LazyLock::new(|| {
    let common = Common::get();
    let mut names = vec![ROOT; 2 * common.texts().len() + 2];
    let mut follows = |place: Place, number: u16| {
        if let Some(known) = names.get_mut(place.code()).filter(|known| **known == ROOT) {
            *known = number;
        }
    };
    // FieldsV1 has the same names behind a prefix.
    for prefix in ["", "f:"] {
        for line in include_str!("typical.txt").lines() {
            let (parent, line) = match line.split_once(": ") {
                Some((parent, line)) => (common.number(&format!("{prefix}{parent}")), line),
                None => (ROOT, line),
            };
            let mut place = Place::FirstIn(parent);
            for name in line.split_whitespace() {
                let number = common.number(&format!("{prefix}{name}"));
                if number != ROOT {
                    follows(place, number);
                    place = Place::After(number);
                }
            }
        }
    }
    names.into()
});

/// The number of the name that mostly comes at the place of a code; [`ROOT`] if nothing does.
pub(crate) fn typical() -> &'static [u16] {
    &TYPICAL
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_names() {
        let number = |name: &str| Common::get().number(name);
        let at = |place: Place| typical().get(place.code()).copied();
        assert_eq!(at(Place::FirstIn(ROOT)), Some(number("apiVersion")));
        assert_eq!(at(Place::After(number("apiVersion"))), Some(number("kind")));
        assert_eq!(at(Place::FirstIn(number("metadata"))), Some(number("annotations")));
        assert_eq!(at(Place::After(number("f:cpu"))), Some(number("f:memory")));
        assert_eq!(at(Place::After(number("no such name"))), at(Place::After(ROOT)));
    }

    #[test]
    fn most_typical_names_are_common() {
        let names: Vec<&str> =
            include_str!("typical.txt").split_whitespace().map(|name| name.trim_end_matches(':')).collect();
        let common = names.iter().filter(|name| Common::get().number(name) != ROOT).count();
        assert!(common * 10 > names.len() * 9, "{common} of {}", names.len());
    }
}
