//! Where times, uids and the ends of generated names are from.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fieldmanager_managedfields::{Time, TimeError};

/// The source of everything that differs from one run to the next.
///
/// Two servers with equal sources that get equal requests in the same order answer with the same bytes.
pub trait Source: Send + Sync + 'static {
    /// The current time.
    fn now(&self) -> Time;
    /// A new uid.
    fn uid(&self) -> String;
    /// Five random characters, for a generated name.
    fn suffix(&self) -> String;
    /// The source as a [`Random`], if it is one, whose state is a part of snapshots. A source of another type has no state
    /// that a server knows: forks share it, and a restored server continues with it.
    fn as_random(&self) -> Option<&Random> {
        None
    }
}

/// The characters of generated names: no vowels, and no digits that look like letters.
const CHARACTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// The source with the clock of the machine, or with a time that the program sets, and random numbers from a seed. Clones
/// are the same source.
///
/// ```
/// use std::time::Duration;
///
/// use fieldmanager_apiserver::{Random, Source};
/// let start = "2026-01-31T12:00:00Z".parse()?;
/// let (one, other) = (Random::seeded(7, start), Random::seeded(7, start));
/// assert_eq!((one.uid(), one.suffix(), one.now()), (other.uid(), other.suffix(), start));
/// one.advance(Duration::from_secs(10))?;
/// assert_eq!(one.now().to_string(), "2026-01-31T12:00:10Z");
/// # Ok::<(), fieldmanager_managedfields::TimeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Random(Arc<Mutex<State>>);

#[derive(Clone, Debug)]
struct State {
    numbers: fastrand::Rng,
    /// `None`: the numbers of the machine, which are never repeated.
    seed: Option<u64>,
    /// `None`: the clock of the machine.
    time: Option<Time>,
}

impl Random {
    /// The clock of the machine, and numbers that no other source has.
    pub fn system() -> Self {
        Self::of(State {
            numbers: fastrand::Rng::new(),
            seed: None,
            time: None,
        })
    }

    /// Numbers from a seed, and a clock that does not move by itself.
    pub fn seeded(seed: u64, time: Time) -> Self {
        let random = Self::system();
        random.set_seed(seed);
        random.set_time(time);
        random
    }

    /// Begins the numbers of a seed.
    pub fn set_seed(&self, seed: u64) {
        let mut state = self.state();
        (state.numbers, state.seed) = (fastrand::Rng::with_seed(seed), Some(seed));
    }

    /// The seed; `None` for the numbers of the machine.
    pub(crate) fn seed(&self) -> Option<u64> {
        self.state().seed
    }

    /// Stops the clock at a time.
    pub fn set_time(&self, time: Time) {
        self.state().time = Some(time);
    }

    /// Stops the clock at a time after the present one, in whole seconds, and returns that time.
    ///
    /// # Errors
    ///
    /// If the time is after the year 9999.
    pub fn advance(&self, duration: Duration) -> Result<Time, TimeError> {
        let seconds = i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
        let time = Time::from_unix_seconds(self.now().unix_seconds().saturating_add(seconds))?;
        self.set_time(time);
        Ok(time)
    }

    /// An independent source in the same state. The numbers of the machine are not repeated: only those of a seed are.
    pub(crate) fn fork(&self) -> Self {
        let mut state = self.state().clone();
        if state.seed.is_none() {
            state.numbers = fastrand::Rng::new();
        }
        Self::of(state)
    }

    /// Takes the state of another source.
    pub(crate) fn restore(&self, other: &Random) {
        let state = other.fork().state().clone();
        *self.state() = state;
    }

    fn of(state: State) -> Self {
        Random(Arc::new(Mutex::new(state)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Source for Random {
    fn now(&self) -> Time {
        let fixed = self.state().time;
        fixed.unwrap_or_else(|| {
            #[expect(
                clippy::expect_used,
                reason = "the clock of a machine shows a year before 10000"
            )]
            Time::from_unix_seconds(jiff::Timestamp::now().as_second()).expect("a time of today")
        })
    }

    fn uid(&self) -> String {
        let bytes = self.state().numbers.u128(..).to_be_bytes();
        uuid::Builder::from_random_bytes(bytes)
            .into_uuid()
            .to_string()
    }

    fn suffix(&self) -> String {
        let mut state = self.state();
        (0..5)
            .filter_map(|_| state.numbers.choice(CHARACTERS))
            .map(|byte| char::from(*byte))
            .collect()
    }

    fn as_random(&self) -> Option<&Random> {
        Some(self)
    }
}
