//! The colours of managers.

use std::collections::BTreeMap;
use std::hash::Hasher;

use fnv::FnvHasher;

/// The number of colours for managers.
pub const COLOURS: usize = 12;

/// The colour of each manager, by name.
///
/// The colour depends on the name, so a manager has the same colour in every object. If two managers of one object
/// would share a colour, the later name takes the next free one.
#[derive(Clone, Debug)]
pub struct Palette(BTreeMap<String, usize>);

impl Palette {
    /// The colours of managers, which may repeat.
    pub fn new<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        let mut names: Vec<&str> = names.into_iter().collect();
        names.sort_unstable();
        names.dedup();
        let mut taken = [false; COLOURS];
        let mut colours = BTreeMap::new();

        for name in names {
            let wanted = preferred(name);
            let free = (0..COLOURS)
                .map(|i| (wanted + i) % COLOURS)
                .find(|i| taken.get(*i) == Some(&false));
            let colour = free.unwrap_or(wanted);
            if let Some(taken) = taken.get_mut(colour) {
                *taken = true;
            }
            colours.insert(name.to_owned(), colour);
        }

        Palette(colours)
    }

    /// The index of a manager's colour.
    pub fn colour(&self, name: &str) -> usize {
        self.0.get(name).copied().unwrap_or_else(|| preferred(name))
    }
}

/// The preferred colour of a name, from a hash that is the same in every run.
fn preferred(name: &str) -> usize {
    let mut hasher = FnvHasher::default();
    hasher.write(name.as_bytes());
    // The upper half is better mixed.
    usize::try_from((hasher.finish() >> 32) % 12).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_depend_on_names_and_differ_for_up_to_twelve_managers() {
        let names: Vec<String> = (0..COLOURS).map(|i| format!("manager-{i}")).collect();
        let all = Palette::new(names.iter().map(String::as_str));
        let mut colours: Vec<usize> = names.iter().map(|name| all.colour(name)).collect();
        colours.sort_unstable();
        assert_eq!(colours, (0..COLOURS).collect::<Vec<_>>());
        for name in &names {
            assert_eq!(Palette::new([name.as_str()]).colour(name), preferred(name));
        }
        // With more managers than colours, managers share colours.
        let many: Vec<String> = (0..40).map(|i| format!("m{i}")).collect();
        assert!(
            many.iter()
                .all(|name| Palette::new(many.iter().map(String::as_str)).colour(name) < COLOURS)
        );
    }
}
