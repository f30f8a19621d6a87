//! The types of a schema.

/// The types of JSON schema, which are the bits of [`Types`].
pub(super) const TYPES: [&str; 7] = [
    "array", "boolean", "integer", "null", "number", "object", "string",
];

/// The types of a schema.
#[derive(Default)]
pub(super) struct Types {
    /// The names as messages show them.
    pub(super) shown: String,
    bits: u8,
    pub(super) count: u32,
}

impl Types {
    pub(super) fn add(&mut self, name: &str) -> bool {
        let Some(at) = TYPES.iter().position(|known| *known == name) else {
            return false;
        };
        if !self.shown.is_empty() {
            self.shown.push(',');
        }
        self.shown.push_str(name);
        self.bits |= 1 << at;
        self.count += 1;
        true
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        TYPES
            .iter()
            .position(|known| *known == name)
            .is_some_and(|at| self.bits & (1 << at) != 0)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }
}
