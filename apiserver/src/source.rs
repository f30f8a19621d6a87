//! Where times, uids and the ends of generated names are from.

use std::sync::{Mutex, PoisonError};

use fieldmanager_managedfields::Time;

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
}

/// The characters of generated names: no vowels, and no digits that look like letters.
const CHARACTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// The source with the clock of the machine, or with a time that the program sets, and random numbers from a seed.
///
/// ```
/// use fieldmanager_apiserver::{Random, Source};
/// let start = "2026-01-31T12:00:00Z".parse()?;
/// let (one, other) = (Random::seeded(7, start), Random::seeded(7, start));
/// assert_eq!((one.uid(), one.suffix(), one.now()), (other.uid(), other.suffix(), start));
/// one.set_time("2026-01-31T12:00:10Z".parse()?);
/// assert_eq!(one.now().to_string(), "2026-01-31T12:00:10Z");
/// # Ok::<(), fieldmanager_managedfields::TimeError>(())
/// ```
#[derive(Debug)]
pub struct Random {
    numbers: Mutex<fastrand::Rng>,
    /// `None`: the clock of the machine.
    time: Mutex<Option<Time>>,
}

impl Random {
    /// The clock of the machine, and numbers that no other source has.
    pub fn system() -> Self {
        Random { numbers: Mutex::new(fastrand::Rng::new()), time: Mutex::new(None) }
    }

    /// Numbers from a seed, and a clock that does not move by itself.
    pub fn seeded(seed: u64, time: Time) -> Self {
        Random { numbers: Mutex::new(fastrand::Rng::with_seed(seed)), time: Mutex::new(Some(time)) }
    }

    /// Stops the clock at a time.
    pub fn set_time(&self, time: Time) {
        *self.time.lock().unwrap_or_else(PoisonError::into_inner) = Some(time);
    }

    fn numbers<T>(&self, make: impl FnOnce(&mut fastrand::Rng) -> T) -> T {
        make(&mut self.numbers.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Source for Random {
    fn now(&self) -> Time {
        let fixed = *self.time.lock().unwrap_or_else(PoisonError::into_inner);
        fixed.unwrap_or_else(|| {
            #[expect(clippy::expect_used, reason = "the clock of a machine shows a year before 10000")]
            Time::from_unix_seconds(jiff::Timestamp::now().as_second()).expect("a time of today")
        })
    }

    fn uid(&self) -> String {
        let bytes = self.numbers(|numbers| numbers.u128(..).to_be_bytes());
        uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
    }

    fn suffix(&self) -> String {
        self.numbers(|numbers| {
            (0..5).filter_map(|_| numbers.choice(CHARACTERS)).map(|byte| char::from(*byte)).collect()
        })
    }
}
