//! Tests of the store in a file: power cuts, full disks and damaged files.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use fieldmanager_value::Value;
use futures::FutureExt;
use futures::future::join_all;
use redb::StorageBackend;

use super::disk::Disk;
use super::{File, FileError};
use crate::store::{HistoryLimits, Key, List, Prefix, Revision, Store, StoreError, Write};

/// A disk in memory that remembers which writes were synchronized.
#[derive(Clone, Debug, Default)]
struct Machine(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// What survives a power cut for certain.
    synchronized: Vec<u8>,
    /// What the program reads.
    content: Vec<u8>,
    /// The writes since the last synchronization.
    pending: Vec<Pending>,
    /// The number of operations until the power is cut; `None`: never.
    operations: Option<usize>,
    /// Whether operations that fail for this reason take effect nevertheless.
    takes_effect: bool,
    /// The number of reads until one fails; `None`: none does.
    reads: Option<usize>,
    /// The largest length; `None`: no bound.
    room: Option<u64>,
    /// The error of every write.
    refuses: Option<ErrorKind>,
}

#[derive(Debug)]
enum Pending {
    Write(usize, Vec<u8>),
    Length(usize),
}

impl Machine {
    fn of(content: Vec<u8>) -> Self {
        let state = State {
            synchronized: content.clone(),
            content,
            ..State::default()
        };
        Machine(Arc::new(Mutex::new(state)))
    }

    fn open(&self) -> Result<File, FileError> {
        let machine = self.clone();
        let open = move |builder: &redb::Builder| builder.create_with_backend(machine.clone());
        File::of(
            Disk::open(open, PathBuf::from("state.redb"))?,
            HistoryLimits::default(),
        )
    }

    /// The disk after a power cut. Of the writes that were not synchronized a random part is there, in units of 512 bytes.
    fn after_cut(&self, random: &mut fastrand::Rng) -> Self {
        let state = self.0.lock().unwrap();
        let mut content = state.synchronized.clone();
        for pending in &state.pending {
            match pending {
                Pending::Length(length) if random.bool() => content.resize(*length, 0),
                Pending::Length(_) => {}
                Pending::Write(offset, data) => {
                    for (at, sector) in data.chunks(512).enumerate() {
                        let start = offset + at * 512;
                        if random.bool() && start + sector.len() <= content.len() {
                            content[start..start + sector.len()].copy_from_slice(sector);
                        }
                    }
                }
            }
        }
        Machine::of(content)
    }
}

impl State {
    fn step(&mut self) -> io::Result<()> {
        match &mut self.operations {
            Some(0) => Err(io::Error::other("no power")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Makes a change, unless an error prevents it.
    fn change(&mut self, change: impl FnOnce(&mut Self)) -> io::Result<()> {
        let step = self.step();
        if let Some(kind) = self.refuses {
            return Err(kind.into());
        }
        if step.is_ok() || self.takes_effect {
            change(self);
        }
        step
    }

    fn step_of_read(&mut self) -> io::Result<()> {
        match &mut self.reads {
            Some(0) => {
                self.reads = None;
                Err(io::Error::other("a bad sector"))
            }
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl StorageBackend for Machine {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().unwrap().content.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut state = self.0.lock().unwrap();
        state.step_of_read()?;
        let start = usize::try_from(offset).unwrap();
        let data = state.content.get(start..start + out.len());
        out.copy_from_slice(data.ok_or(io::Error::from(ErrorKind::UnexpectedEof))?);
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let mut state = self.0.lock().unwrap();
        if state.room.is_some_and(|room| length > room) {
            return Err(ErrorKind::StorageFull.into());
        }
        let length = usize::try_from(length).unwrap();
        state.change(|state| {
            state.content.resize(length, 0);
            state.pending.push(Pending::Length(length));
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.lock().unwrap().change(|state| {
            state.synchronized = state.content.clone();
            state.pending.clear();
        })
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let start = usize::try_from(offset).unwrap();
        self.0.lock().unwrap().change(|state| {
            state.content[start..start + data.len()].copy_from_slice(data);
            state.pending.push(Pending::Write(start, data.to_vec()));
        })
    }
}

fn key(number: usize) -> Key {
    Key::new("", "configmaps", Some("default"), &format!("a-{number}")).unwrap()
}

fn object(number: usize, length: usize) -> Value {
    Value::from_json(&format!(
        r#"{{"data": {{"number": "{number}", "fill": "{}"}}}}"#,
        "x".repeat(length)
    ))
    .unwrap()
}

type Objects = BTreeMap<Key, (Revision, Value)>;

async fn objects(store: &File) -> Objects {
    let page = store.list(List::new(Prefix::all())).await.unwrap();
    page.entries
        .into_iter()
        .map(|entry| (entry.key, (entry.revision, entry.object)))
        .collect()
}

/// Writes random groups until the store fails. Returns the state of the acknowledged writes, and the state for each prefix
/// of the group that was not acknowledged, in which the revisions are not known.
async fn write_until_the_end(
    store: &File,
    random: &mut fastrand::Rng,
    groups: usize,
) -> (Objects, Vec<(Key, Option<Value>)>) {
    let mut acknowledged = objects(store).await;
    for round in 0..groups {
        // Each key once in a group, so that the order within the group does not matter.
        let mut keys: Vec<usize> = (0..20).collect();
        random.shuffle(&mut keys);
        keys.truncate(random.usize(1..8));
        let changes: Vec<(Key, Write, Option<Value>)> = keys
            .into_iter()
            .map(|number| {
                let key = key(number);
                let new = object(round, random.usize(0..3000));
                match acknowledged.get(&key) {
                    None => (key, Write::Create(new.clone()), Some(new)),
                    Some((expected, _)) if random.u8(..4) == 0 => (
                        key,
                        Write::Delete {
                            expected: *expected,
                        },
                        None,
                    ),
                    Some((expected, _)) => (
                        key,
                        Write::Update {
                            expected: *expected,
                            object: new.clone(),
                        },
                        Some(new),
                    ),
                }
            })
            .collect();
        let results = join_all(
            changes
                .iter()
                .map(|(key, write, _)| store.write(key, write.clone())),
        )
        .await;
        let mut lost = Vec::new();
        for ((key, _, object), result) in changes.into_iter().zip(results) {
            match (result, object) {
                (Ok(revision), Some(object)) => drop(acknowledged.insert(key, (revision, object))),
                (Ok(_), None) => drop(acknowledged.remove(&key)),
                (Err(_), object) => lost.push((key, object)),
            }
        }
        if !lost.is_empty() {
            return (acknowledged, lost);
        }
    }
    (acknowledged, Vec::new())
}

#[tokio::test]
async fn acknowledged_writes_survive_power_cuts() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut cut_in_a_write = 0;
    for case in 0..200 {
        let machine = Machine::default();
        let store = machine.open().unwrap();
        machine.0.lock().unwrap().operations = Some(random.usize(0..400));
        let (acknowledged, lost) = write_until_the_end(&store, &mut random, 40).await;
        cut_in_a_write += usize::from(!lost.is_empty());
        drop(store);

        let mut after = machine.after_cut(&mut random);
        if random.bool() {
            // The power is cut again while the file is opened.
            after.0.lock().unwrap().operations = Some(random.usize(0..30));
            drop(after.open());
            after = after.after_cut(&mut random);
        }
        let store = after
            .open()
            .unwrap_or_else(|error| panic!("case {case}: {error}"));
        let found = objects(&store).await;
        let lost: BTreeMap<Key, Option<Value>> = lost.into_iter().collect();
        for number in 0..20 {
            let key = key(number);
            let new = lost.get(&key);
            let found_object = found.get(&key).map(|(_, object)| object);
            let is_unacknowledged = new.is_some_and(|new| new.as_ref() == found_object);
            assert!(
                found.get(&key) == acknowledged.get(&key) || is_unacknowledged,
                "case {case}: {key}"
            );
        }
        let newest = found.values().map(|(revision, _)| *revision).max();
        assert!(
            newest <= Some(store.revision().await.unwrap()),
            "case {case}"
        );
        store
            .write(&key(100), Write::Create(object(0, 0)))
            .await
            .unwrap();
    }
    assert!(
        cut_in_a_write > 100,
        "only {cut_in_a_write} of 200 cuts were in a write"
    );
}

#[tokio::test]
async fn a_full_disk_refuses_writes_and_loses_nothing() {
    let mut random = fastrand::Rng::with_seed(1);
    let machine = Machine::default();
    let store = machine.open().unwrap();
    let room = machine.0.lock().unwrap().content.len() as u64;
    machine.0.lock().unwrap().room = Some(room);
    let (mut acknowledged, mut refused) = (Objects::new(), 0);
    for number in 0..2000 {
        let new = object(number, random.usize(0..20_000));
        match store.write(&key(number), Write::Create(new.clone())).await {
            Ok(revision) => drop(acknowledged.insert(key(number), (revision, new))),
            Err(StoreError::Full(_)) => refused += 1,
            Err(error) => panic!("{error}"),
        }
        assert_eq!(objects(&store).await.len(), acknowledged.len());
        if refused == 5 {
            break;
        }
    }
    assert_eq!(refused, 5);
    assert_eq!(objects(&store).await, acknowledged);
    // The store accepts writes again when there is room.
    machine.0.lock().unwrap().room = None;
    let revision = store
        .write(&key(5000), Write::Create(object(1, 20_000)))
        .await
        .unwrap();
    acknowledged.insert(key(5000), (revision, object(1, 20_000)));
    drop(store);
    assert_eq!(objects(&machine.open().unwrap()).await, acknowledged);
}

#[tokio::test]
async fn a_disk_that_fails_once_loses_nothing() {
    let mut random = fastrand::Rng::with_seed(2);
    for _ in 0..100 {
        let machine = Machine::default();
        let store = machine.open().unwrap();
        let (before, _) = write_until_the_end(&store, &mut random, 5).await;
        machine.0.lock().unwrap().operations = Some(random.usize(0..12));
        let new = object(77, 5000);
        let write = match before.get(&key(0)) {
            Some((expected, _)) => Write::Update {
                expected: *expected,
                object: new.clone(),
            },
            None => Write::Create(new.clone()),
        };
        let result = store.write(&key(0), write).await;
        machine.0.lock().unwrap().operations = None;
        store
            .write(&key(200), Write::Create(object(1, 1)))
            .await
            .unwrap();
        let now = objects(&store).await;
        let stored = now.get(&key(0)).map(|(_, object)| object);
        match result {
            Ok(_) => assert_eq!(stored, Some(&new)),
            Err(_) => assert!(stored == Some(&new) || now.get(&key(0)) == before.get(&key(0))),
        }
        drop(store);
        assert_eq!(objects(&machine.open().unwrap()).await, now);
    }
}

#[tokio::test]
async fn memory_and_file_agree_after_two_errors_in_a_row() {
    let mut refused_twice = 0;
    for (operations, reads) in
        (0..16).flat_map(|operations| (0..16).map(move |reads| (operations, reads)))
    {
        let case = format!("operation {operations} and read {reads} fail");
        let machine = Machine::default();
        let store = machine.open().unwrap();
        let written = store
            .write(&key(0), Write::Create(object(0, 10)))
            .await
            .unwrap();
        // The commit of the first write may be durable although it fails.
        {
            let mut state = machine.0.lock().unwrap();
            (state.operations, state.takes_effect) = (Some(operations), true);
        }
        let update = Write::Update {
            expected: written,
            object: object(1, 10),
        };
        let first = store.write(&key(0), update).await;
        // The next write fails while the file is opened again.
        {
            let mut state = machine.0.lock().unwrap();
            (state.operations, state.reads) = (None, Some(reads));
        }
        let second = store.write(&key(1), Write::Create(object(2, 10))).await;
        machine.0.lock().unwrap().reads = None;
        refused_twice += usize::from(first.is_err() && second.is_err());
        store
            .write(&key(2), Write::Create(object(3, 10)))
            .await
            .unwrap();
        let now = objects(&store).await;
        if second.is_err() {
            assert!(
                !now.contains_key(&key(1)),
                "{case}: a write that was refused is visible"
            );
        }
        drop(store);
        assert_eq!(objects(&machine.open().unwrap()).await, now, "{case}");
    }
    assert!(refused_twice > 0);
}

#[tokio::test]
async fn every_close_waits_for_the_writes_that_have_begun() {
    let machine = Machine::default();
    let store = machine.open().unwrap();
    let revision = store
        .write(&key(0), Write::Create(object(0, 10)))
        .await
        .unwrap();
    let update = Write::Update {
        expected: revision,
        object: object(1, 10),
    };
    let key = key(0);
    let (mut write, mut first, mut second) =
        (store.write(&key, update), store.close(), store.close());
    {
        // The disk is busy.
        let _busy = machine.0.lock().unwrap();
        assert!((&mut write).now_or_never().is_none());
        assert!((&mut first).now_or_never().is_none());
        assert!(
            (&mut second).now_or_never().is_none(),
            "the second close does not wait"
        );
    }
    second.await.unwrap();
    first.await.unwrap();
    let written = write.await.unwrap();
    assert_eq!(
        objects(&machine.open().unwrap()).await,
        Objects::from([(key, (written, object(1, 10)))])
    );
}

#[tokio::test]
async fn a_damaged_file_is_refused_or_read_completely() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let machine = Machine::default();
    let store = machine.open().unwrap();
    let (all, _) = write_until_the_end(&store, &mut random, 10).await;
    drop(store);
    let content = machine.0.lock().unwrap().content.clone();
    let used = content.iter().rposition(|byte| *byte != 0).unwrap();
    let mut refused = 0;
    for _ in 0..300 {
        let mut damaged = content.clone();
        match random.u8(..4) {
            0 => damaged.truncate(random.usize(..content.len())),
            1 => damaged[random.usize(..4096)] ^= 1 << random.u8(..8),
            _ => damaged[random.usize(..=used)] ^= 1 << random.u8(..8),
        }
        if damaged.is_empty() {
            continue;
        }
        match Machine::of(damaged).open() {
            Ok(store) => assert_eq!(objects(&store).await, all),
            Err(error) => {
                refused += 1;
                assert!(error.to_string().starts_with("state.redb: "), "{error}");
            }
        }
    }
    assert!(refused > 50, "{refused}");
}

#[test]
fn a_disk_that_cannot_be_written_is_refused() {
    let machine = Machine::default();
    machine.0.lock().unwrap().refuses = Some(ErrorKind::ReadOnlyFilesystem);
    let error = machine.open().unwrap_err();
    assert_eq!(
        error.to_string(),
        "state.redb: read-only filesystem or storage medium"
    );
}

#[test]
fn a_file_is_used_by_one_store_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.redb");
    let store = File::open(&path, HistoryLimits::default()).unwrap();
    let error = File::open(&path, HistoryLimits::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{}: another process uses the file", path.display())
    );
    drop(store);
    File::open(&path, HistoryLimits::default()).unwrap();
}

#[test]
fn a_file_that_is_no_store_is_refused_and_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    for content in ["hello", &"hello ".repeat(10_000)] {
        std::fs::write(&path, content).unwrap();
        let error = File::open(&path, HistoryLimits::default()).unwrap_err();
        assert!(matches!(error, FileError::Damaged { .. }), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
    }
    let missing = folder.path().join("missing/state.redb");
    let error = File::open(&missing, HistoryLimits::default()).unwrap_err();
    assert!(matches!(error, FileError::Io { .. }), "{error}");
}
