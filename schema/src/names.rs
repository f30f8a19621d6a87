//! Finding a field by its name.

use fieldmanager_value::Str;

use crate::resolved::Field;

/// Where the fields of a struct are, by a hash of their names: an object's fields are looked up at every walk, and
/// a binary search compares texts half a dozen times where this does once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// Positions plus one, zero for none; a power of two of them, at most half of them in use.
    slots: Box<[u16]>,
}

impl Names {
    /// The index of fields; none of more fields than a slot can count, which are searched then.
    pub(crate) fn of(fields: &[Field]) -> Self {
        if fields.is_empty() || fields.len() > usize::from(u16::MAX) / 2 {
            return Names::default();
        }
        let mut names = Names { slots: vec![0; (fields.len() * 2).next_power_of_two()].into() };
        for (at, field) in fields.iter().enumerate() {
            let mut slot = names.slot(&field.name);
            while names.slots.get(slot).is_some_and(|taken| *taken != 0) {
                slot = names.after(slot);
            }
            if let (Some(slot), Ok(at)) = (names.slots.get_mut(slot), u16::try_from(at + 1)) {
                *slot = at;
            }
        }
        names
    }

    /// The position of the field of a name.
    pub(crate) fn find(&self, fields: &[Field], name: &str) -> Option<usize> {
        if self.slots.is_empty() {
            return fields.binary_search_by(|field| Str::as_str(&field.name).cmp(name)).ok();
        }
        let mut slot = self.slot(name);
        loop {
            let at = usize::from(*self.slots.get(slot)?).checked_sub(1)?;
            let field = fields.get(at)?;
            // Common names are the same in memory in schemas and objects.
            if std::ptr::eq(field.name.as_str(), name) || *field.name == *name {
                return Some(at);
            }
            slot = self.after(slot);
        }
    }

    fn after(&self, slot: usize) -> usize {
        (slot + 1) & (self.slots.len() - 1)
    }

    /// Length and three bytes tell nearly all names of a struct apart.
    fn slot(&self, name: &str) -> usize {
        let bytes = name.as_bytes();
        let byte = |at: usize| usize::from(bytes.get(at).copied().unwrap_or_default());
        let n = bytes.len();
        let hash = n.wrapping_mul(0x9e37) ^ byte(0).wrapping_mul(0x85eb) ^ byte(n / 2).wrapping_mul(0xc2b3);
        let hash = hash ^ byte(n.wrapping_sub(1)).wrapping_mul(0x27d5);
        (hash ^ (hash >> 7)) & (self.slots.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolved::TypeId;

    #[test]
    fn finds_what_is_there_and_nothing_else() {
        for n in [0, 1, 2, 3, 40, 1000, 40_000] {
            let field = |i: usize| Field { name: format!("f{i:05}").into(), ty: TypeId(0), default: None };
            let fields: Vec<Field> = (0..n).map(field).collect();
            let names = Names::of(&fields);
            for field in &fields {
                let found = names.find(&fields, &field.name).map(|at| &fields[at].name);
                assert_eq!(found, Some(&field.name));
            }
            for absent in ["", "f", "f99999x", "g00001"] {
                assert!(names.find(&fields, absent).is_none(), "{absent} in {n}");
            }
        }
    }
}
