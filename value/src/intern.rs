//! Interning of frequent strings.
//!
//! Most strings of a Kubernetes object are field names, and most of these belong to the same few hundred names in all
//! objects. Each of them is allocated once per process: a lookup returns it without allocating, and cloning it updates
//! no reference count, so threads do not contend. The choice of interned strings affects no result.

use std::hash::{BuildHasher, Hasher};
use std::sync::LazyLock;

use ahash::RandomState;
use arcstr::ArcStr;
use hashbrown::HashTable;

/// Field names of the Kubernetes API and a few frequent values. The list only affects speed.
const KUBERNETES_NAMES: &str = include_str!("kubernetes_names.txt");

/// The maximum length of an interned string, in bytes.
const LONGEST: usize = 64;

/// The maximum number of names interned per document, which bounds the memory of a hostile document. Ordinary objects
/// have fewer distinct names.
const NAMES_PER_DOCUMENT: usize = 1024;

static STATIC: LazyLock<InternTable> = LazyLock::new(|| {
    let mut table = InternTable::new(RandomState::new());
    for name in KUBERNETES_NAMES.split_whitespace() {
        let string = ArcStr::from(name);
        string.leak();
        table.insert(table.hash(name), string);
    }
    table
});

/// A set of strings. The hash has random keys, so input cannot provoke collisions.
struct InternTable {
    hasher: RandomState,
    strings: HashTable<ArcStr>,
}

impl InternTable {
    fn new(hasher: RandomState) -> Self {
        InternTable {
            hasher,
            strings: HashTable::new(),
        }
    }

    #[inline(always)]
    fn hash(&self, text: &str) -> u64 {
        hash(&self.hasher, text)
    }

    fn get(&self, hash: u64, text: &str) -> Option<&ArcStr> {
        self.strings.find(hash, |known| known.as_str() == text)
    }

    fn insert(&mut self, hash: u64, string: ArcStr) {
        let hasher = &self.hasher;
        self.strings
            .insert_unique(hash, string, |known| self::hash(hasher, known));
    }
}

/// Inlined into the lookups, because hashing a name takes about as many instructions as the call.
#[inline(always)]
fn hash(hasher: &RandomState, text: &str) -> u64 {
    let mut hasher = hasher.build_hasher();
    hasher.write(text.as_bytes());
    hasher.finish()
}

/// Returns the shared static string if `text` is a Kubernetes name, otherwise a new one.
pub(crate) fn intern_static(text: &str) -> ArcStr {
    if text.len() > LONGEST {
        return ArcStr::from(text);
    }
    STATIC
        .get(STATIC.hash(text), text)
        .cloned()
        .unwrap_or_else(|| ArcStr::from(text))
}

/// Interns the field names of one document.
pub(crate) struct DocumentNames {
    shared: &'static InternTable,
    own: InternTable,
}

impl DocumentNames {
    pub(crate) fn new() -> Self {
        DocumentNames {
            shared: &STATIC,
            own: InternTable::new(STATIC.hasher.clone()),
        }
    }

    /// Returns the static name, the name interned earlier in this document, or a new string.
    #[inline(always)]
    pub(crate) fn intern(&mut self, name: &str) -> ArcStr {
        if name.len() > LONGEST {
            return ArcStr::from(name);
        }
        // Both tables have the same hasher, so a name is hashed once.
        let hash = self.shared.hash(name);
        if let Some(known) = self
            .shared
            .get(hash, name)
            .or_else(|| self.own.get(hash, name))
        {
            return known.clone();
        }

        self.add(hash, name)
    }

    /// Returns a new string for a name that occurs for the first time.
    #[inline(never)]
    fn add(&mut self, hash: u64, name: &str) -> ArcStr {
        let string = ArcStr::from(name);
        if self.own.strings.len() < NAMES_PER_DOCUMENT {
            self.own.insert(hash, string.clone());
        }
        string
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubernetes_names_are_static_and_need_no_escape() {
        for name in KUBERNETES_NAMES.split_whitespace() {
            let string = intern_static(name);
            assert!(
                ArcStr::is_static(&string) && ArcStr::ptr_eq(&string, &intern_static(name)),
                "{name}"
            );
            let escaped =
                |c: char| c < ' ' || matches!(c, '"' | '\\' | '<' | '>' | '&') || !c.is_ascii();
            assert!(name.len() <= LONGEST && !name.contains(escaped), "{name}");
        }
        for other in ["m", "metadat", "metadatA", &"x".repeat(100)] {
            assert!(!ArcStr::is_static(&intern_static(other)), "{other}");
        }
    }

    #[test]
    fn names_are_interned_per_document_up_to_a_limit() {
        let mut names = DocumentNames::new();
        let first = names.intern("ourOwnField");
        assert!(ArcStr::ptr_eq(&first, &names.intern("ourOwnField")));
        assert!(ArcStr::is_static(&names.intern("metadata")));
        for i in 0..10 * NAMES_PER_DOCUMENT {
            assert_eq!(names.intern(&format!("n{i}")), format!("n{i}"));
        }
        assert_eq!(names.own.strings.len(), NAMES_PER_DOCUMENT);
        assert!(ArcStr::ptr_eq(&first, &names.intern("ourOwnField")));
    }
}
