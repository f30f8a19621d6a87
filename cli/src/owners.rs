//! The managers of an object as commands show them: names, colours, ages and sizes.

use std::collections::BTreeMap;
use std::hash::Hasher;

use anstyle::{AnsiColor, Style};
use fieldmanager_managedfields::{Entry, EntryError, ManagedFields, Operation, Time};
use fieldmanager_value::Value;
use fnv::FnvHasher;

use crate::args::OwnedArgs;
use crate::error::Failure;
use crate::files::{self, Files};
use crate::output::{self, Line};
use crate::requests::entries_of;
use crate::text;

/// An entry of `metadata.managedFields` and its size.
pub(crate) struct Owner {
    pub(crate) entry: Entry,
    /// The size of the entry as JSON.
    pub(crate) bytes: usize,
}

/// An object, its owners, and the time from which ages are computed.
pub(crate) struct Owned {
    pub(crate) object: Value,
    pub(crate) owners: Vec<Owner>,
    pub(crate) now: Time,
    pub(crate) file: String,
}

impl Owned {
    /// Reads an object. Entries that cannot be decoded are reported on standard error and skipped.
    pub(crate) fn read(args: &OwnedArgs, files: Files) -> Result<Self, Failure> {
        let object = files.object(&args.file)?;
        let file = files::name(&args.file);
        let now = match args.now {
            Some(now) => now,
            None => Time::from_unix_seconds(jiff::Timestamp::now().as_second())
                .map_err(|error| Failure::Other(format!("cannot read the clock: {error}")))?,
        };
        let (owners, faults) = owners(&object);
        let mut err = output::err();
        for fault in faults {
            err.warning(&file, &fault.to_string())?;
        }
        drop(err);
        Ok(Owned { object, owners, now, file })
    }

    /// The age of an entry; empty if it has no time.
    pub(crate) fn age(&self, entry: &Entry) -> String {
        entry.time.map(|time| text::age(time, self.now)).unwrap_or_default()
    }
}

fn owners(object: &Value) -> (Vec<Owner>, Vec<EntryError>) {
    let mut owners = Vec::new();
    let mut faults = Vec::new();
    let list = match entries_of(object) {
        None | Some(Value::Null) => return (owners, faults),
        Some(Value::List(list)) => list,
        Some(other) => {
            faults.extend(ManagedFields::decode(Some(other)).err());
            return (owners, faults);
        }
    };
    for (index, value) in list.iter().enumerate() {
        match Entry::from_value(index, value) {
            Ok(entry) => owners.push(Owner { entry, bytes: value.to_json().len() }),
            Err(fault) => faults.push(fault),
        }
    }
    (owners, faults)
}

/// The letter that marks an operation.
pub(crate) fn mark(operation: Operation) -> char {
    match operation {
        Operation::Apply => 'A',
        Operation::Update => 'U',
    }
}

/// The displayed name of a manager; an entry may have no name.
pub(crate) fn shown_name(name: &str) -> String {
    if name.is_empty() { "(no name)".to_owned() } else { text::printable(name) }
}

/// The number of colours for managers.
pub(crate) const COLOURS: usize = 12;

/// The terminal colours of managers. Red is reserved for errors, white and black for text.
const TERMINAL: [Style; COLOURS] = [
    AnsiColor::Cyan.on_default(),
    AnsiColor::Yellow.on_default(),
    AnsiColor::Green.on_default(),
    AnsiColor::Magenta.on_default(),
    AnsiColor::Blue.on_default(),
    AnsiColor::BrightRed.on_default(),
    AnsiColor::BrightCyan.on_default(),
    AnsiColor::BrightYellow.on_default(),
    AnsiColor::BrightGreen.on_default(),
    AnsiColor::BrightMagenta.on_default(),
    AnsiColor::BrightBlue.on_default(),
    AnsiColor::White.on_default().italic(),
];

/// The colour of each manager, by its name.
/// The colour of each manager, by name.
///
/// The colour depends on the name, so a manager has the same colour in every object. If two managers of one object
/// would share a colour, the later name takes the next free one.
pub(crate) struct Palette(BTreeMap<String, usize>);

impl Palette {
    pub(crate) fn new<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        let mut names: Vec<&str> = names.into_iter().collect();
        names.sort_unstable();
        names.dedup();
        let mut taken = [false; COLOURS];
        let mut colours = BTreeMap::new();
        for name in names {
            let wanted = preferred(name);
            let free = (0..COLOURS).map(|i| (wanted + i) % COLOURS).find(|i| taken.get(*i) == Some(&false));
            let colour = free.unwrap_or(wanted);
            if let Some(taken) = taken.get_mut(colour) {
                *taken = true;
            }
            colours.insert(name.to_owned(), colour);
        }
        Palette(colours)
    }

    pub(crate) fn of(owners: &[Owner]) -> Self {
        Self::new(owners.iter().map(|owner| owner.entry.manager.as_str()))
    }

    /// The index of a manager's colour.
    pub(crate) fn colour(&self, name: &str) -> usize {
        self.0.get(name).copied().unwrap_or_else(|| preferred(name))
    }

    pub(crate) fn paint(&self, name: &str, text: &str) -> Line {
        let style = TERMINAL.get(self.colour(name)).copied().unwrap_or_default();
        output::paint(style, text)
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
        assert!(many.iter().all(|name| Palette::new(many.iter().map(String::as_str)).colour(name) < COLOURS));
    }
}
