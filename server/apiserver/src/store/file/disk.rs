//! The database in the file.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use fieldmanager_value::Value;
use redb::{
    Builder, Database, DatabaseError, ReadableDatabase, ReadableTable, TableDefinition, TableError,
};

use super::error::FileError;
use crate::store::objects::{Objects, put};
use crate::store::{Key, Revision, Snapshot};

/// The number of the format that this version writes: two tables.
const FORMAT: u64 = 1;

/// Key → revision and object as JSON.
const OBJECTS: TableDefinition<'_, &str, (u64, &[u8])> = TableDefinition::new("objects");
/// `format` and `revision`.
const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");
const FORMAT_NAME: &str = "format";
const REVISION_NAME: &str = "revision";

/// The memory for pages of the file, in bytes. All reads are from the objects in memory.
const CACHE: usize = 16 << 20;

/// Opens the database with the options of a builder.
type Open = dyn Fn(&Builder) -> Result<Database, DatabaseError> + Send;

/// A change of an object that the store decided on.
pub(super) struct Decided {
    pub(super) key: Key,
    /// `None`: the object is removed.
    pub(super) object: Option<Value>,
    pub(super) revision: Revision,
}

/// The database. After an error of the system it has to be opened again: redb refuses every later transaction.
pub(super) struct Disk {
    open: Box<Open>,
    path: PathBuf,
    database: Option<Database>,
}

impl Disk {
    /// Opens the database, compares its checksums, and reads all objects.
    pub(super) fn open(
        open: impl Fn(&Builder) -> Result<Database, DatabaseError> + Send + 'static,
        path: PathBuf,
    ) -> Result<(Self, Snapshot), FileError> {
        let database = open(
            Builder::new()
                .set_cache_size(CACHE)
                .set_check_integrity_on_open(true),
        )
        .map_err(|error| refused(&path, error.into()))?;
        let disk = Disk {
            open: Box::new(open),
            path,
            database: Some(database),
        };
        let snapshot = disk.load()?;

        Ok((disk, snapshot))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn load(&self) -> Result<Snapshot, FileError> {
        let refused = |error| refused(&self.path, error);
        let damaged = |reason| FileError::Damaged {
            path: self.path.clone(),
            reason,
        };
        // A file without a revision is new. Its first commit also writes its format.
        let Some(revision) = self.revision().map_err(refused)? else {
            self.commit_first().map_err(refused)?;
            return Ok(Snapshot {
                objects: Objects::new(),
                revision: Revision::FIRST,
            });
        };

        let numbers = |name| self.number(name).map_err(refused);
        // The rows of another format may have another meaning, so none of them is read.
        match numbers(FORMAT_NAME)? {
            Some(FORMAT) => {}
            Some(found) => {
                return Err(FileError::Format {
                    path: self.path.clone(),
                    found,
                    expected: FORMAT,
                });
            }
            None => return Err(damaged(format!("the number {FORMAT_NAME:?} is missing"))),
        }

        let mut objects = Objects::new();
        for (path, object, stored) in self.objects().map_err(refused)? {
            let key: Key = path.parse().map_err(|error| damaged(format!("{error}")))?;
            let object =
                Value::from_json(&object).map_err(|error| damaged(format!("{key}: {error}")))?;
            // A commit writes its objects and its revision together, so no object is newer than the file.
            let stored = Revision::new(stored)
                .filter(|stored| *stored <= revision)
                .ok_or_else(|| {
                    damaged(format!(
                        "{key} has revision {stored}, and the file {revision}"
                    ))
                })?;
            put(&mut objects, &key, Some(object), stored);
        }

        Ok(Snapshot { objects, revision })
    }

    /// The rows of the table of objects: key, JSON, revision.
    fn objects(&self) -> Result<Vec<(String, String, u64)>, redb::Error> {
        let read = self.database()?.begin_read()?;
        let table = read.open_table(OBJECTS)?;
        let mut rows = Vec::new();
        for row in table.iter()? {
            let (key, value) = row?;
            let (revision, object) = value.value();
            rows.push((
                key.value().to_owned(),
                String::from_utf8_lossy(object).into_owned(),
                revision,
            ));
        }

        Ok(rows)
    }

    fn number(&self, name: &str) -> Result<Option<u64>, redb::Error> {
        let read = self.database()?.begin_read()?;
        match read.open_table(NUMBERS) {
            Ok(table) => Ok(table.get(name)?.map(|number| number.value())),
            Err(TableError::TableDoesNotExist(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The revision of the last commit; `None` for a new file.
    pub(super) fn revision(&self) -> Result<Option<Revision>, redb::Error> {
        Ok(self.number(REVISION_NAME)?.and_then(Revision::new))
    }

    fn database(&self) -> Result<&Database, redb::Error> {
        self.database.as_ref().ok_or(redb::Error::DatabaseClosed)
    }

    fn commit_first(&self) -> Result<(), redb::Error> {
        self.transaction(&[], Revision::FIRST, |numbers| {
            numbers.insert(FORMAT_NAME, FORMAT)?;
            Ok(())
        })
    }

    /// Writes changes, whose last one has the greatest revision. They are durable when this returns, all of them or, on an
    /// error, all or none of them.
    pub(super) fn commit(&self, changes: &[Decided]) -> Result<(), redb::Error> {
        match changes.last() {
            Some(last) => self.transaction(changes, last.revision, |_| Ok(())),
            None => Ok(()),
        }
    }

    fn transaction(
        &self,
        changes: &[Decided],
        revision: Revision,
        then: impl FnOnce(&mut redb::Table<'_, &'static str, u64>) -> Result<(), redb::Error>,
    ) -> Result<(), redb::Error> {
        let mut write = self.database()?.begin_write()?;
        // Two phases: the checksums of redb do not protect against objects that a client makes in order to break them.
        write.set_quick_repair(true);
        {
            let mut objects = write.open_table(OBJECTS)?;
            for change in changes {
                let key = change.key.as_str();
                match &change.object {
                    Some(object) => {
                        objects
                            .insert(key, (change.revision.get(), object.to_json().as_bytes()))?;
                    }
                    None => {
                        objects.remove(key)?;
                    }
                }
            }

            let mut numbers = write.open_table(NUMBERS)?;
            numbers.insert(REVISION_NAME, revision.get())?;
            then(&mut numbers)?;
        }
        write.commit()?;

        Ok(())
    }

    /// Reports whether the database has to be opened again before a commit.
    pub(super) fn is_closed(&self) -> bool {
        self.database.is_none()
    }

    /// Releases the file.
    pub(super) fn close(&mut self) {
        self.database = None;
    }

    /// Opens the database again after an error.
    pub(super) fn reopen(&mut self) -> Result<(), redb::Error> {
        self.database = None;
        self.database = Some((self.open)(Builder::new().set_cache_size(CACHE))?);
        Ok(())
    }
}

/// Why a file is refused.
fn refused(path: &Path, error: redb::Error) -> FileError {
    let path = path.to_owned();
    match error {
        redb::Error::DatabaseAlreadyOpen => FileError::InUse { path },
        redb::Error::Io(source)
            if !matches!(
                source.kind(),
                ErrorKind::InvalidData | ErrorKind::UnexpectedEof
            ) =>
        {
            FileError::Io { path, source }
        }
        other => FileError::Damaged {
            path,
            reason: other.to_string(),
        },
    }
}

/// Reports whether the disk has no room for a commit.
pub(super) fn is_full(error: &redb::Error) -> bool {
    let kinds = [
        ErrorKind::StorageFull,
        ErrorKind::QuotaExceeded,
        ErrorKind::FileTooLarge,
    ];
    matches!(error, redb::Error::Io(error) if kinds.contains(&error.kind()))
}
