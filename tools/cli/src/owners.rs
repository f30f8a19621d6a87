//! The managers of an object as commands show them: names, colours, ages and sizes.

use std::path::Path;

use anstyle::{AnsiColor, Style};
use fieldmanager_blame::{COLOURS, Palette, age};
use fieldmanager_managedfields::{Entry, EntryError, ManagedFields, Time};
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::Value;

use crate::answers::cluster::LiveCluster;
use crate::args::OwnedArgs;
use crate::error::Failure;
use crate::files::{self, Files};
use crate::output::{self, Line};

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
    /// Reads the object of a file, or of a cluster.
    pub(crate) fn read(args: &OwnedArgs, files: Files) -> Result<Self, Failure> {
        let cluster = LiveCluster::of_live(&args.live, args.file.is_some())?;
        let (object, file) = match (&args.file, cluster) {
            (_, Some(cluster)) => {
                let live = cluster.only(&args.live)?;
                (live.object, live.key.to_string())
            }
            (file, None) => {
                let file = file.as_deref().unwrap_or(Path::new("-"));
                (files.object(file)?, files::name(file))
            }
        };
        Owned::of(object, file, args.now)
    }

    /// An object of a file. Entries that cannot be decoded are reported on standard error and skipped.
    pub(crate) fn of(object: Value, file: String, now: Option<Time>) -> Result<Self, Failure> {
        let now = match now {
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
        Ok(Owned {
            object,
            owners,
            now,
            file,
        })
    }

    /// An object that is in no file. Entries that cannot be decoded are skipped.
    pub(crate) fn new(object: Value, now: Time) -> Self {
        let (owners, _) = owners(&object);
        let file = String::new();
        Owned {
            object,
            owners,
            now,
            file,
        }
    }

    /// Whether a manager has an entry.
    pub(crate) fn owns(&self, manager: &str) -> bool {
        let mut names = self.owners.iter().map(|owner| owner.entry.manager.as_str());
        names.any(|name| name == manager)
    }

    /// The entries of the owners.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.owners
            .iter()
            .map(|owner| owner.entry.clone())
            .collect()
    }

    /// The age of an entry; empty if it has no time.
    pub(crate) fn age(&self, entry: &Entry) -> String {
        entry
            .time
            .map(|time| age(time, self.now))
            .unwrap_or_default()
    }
}

fn owners(object: &Value) -> (Vec<Owner>, Vec<EntryError>) {
    let mut owners = Vec::new();
    let mut faults = Vec::new();
    let list = match object.managed_fields() {
        None | Some(Value::Null) => return (owners, faults),
        Some(Value::List(list)) => list,
        // Managed fields that are not a list have no entries to decode one by one.
        Some(other) => {
            faults.extend(ManagedFields::decode(Some(other)).err());
            return (owners, faults);
        }
    };

    for (index, value) in list.iter().enumerate() {
        match Entry::from_value(index, value) {
            Ok(entry) => owners.push(Owner {
                entry,
                bytes: value.to_json().len(),
            }),
            Err(fault) => faults.push(fault),
        }
    }

    (owners, faults)
}

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

/// The colours of the managers of an object.
pub(crate) fn palette(owners: &[Owner]) -> Palette {
    Palette::new(owners.iter().map(|owner| owner.entry.manager.as_str()))
}

/// A string in the terminal colour of a manager.
pub(crate) fn paint(palette: &Palette, name: &str, text: &str) -> Line {
    let style = TERMINAL
        .get(palette.colour(name))
        .copied()
        .unwrap_or_default();
    output::paint(style, text)
}
