//! Times of entries.

use std::fmt;
use std::str::FromStr;

/// When a manager last wrote, in whole seconds of UTC, as `metadata.managedFields` has it.
///
/// The library has no clock: the caller passes the time.
///
/// ```
/// use fieldmanager_managedfields::Time;
/// let time: Time = "2026-01-31T13:00:00.5+01:00".parse()?;
/// assert_eq!(time.to_string(), "2026-01-31T12:00:00Z");
/// assert_eq!(Time::from_unix_seconds(time.unix_seconds())?, time);
/// # Ok::<(), fieldmanager_managedfields::TimeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(jiff::Timestamp);

/// A text or number is no time between the years -9999 and 9999.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a time like 2026-01-31T12:00:00Z, got `{found}`")]
pub struct TimeError {
    /// What was found.
    pub found: String,
}

impl Time {
    /// The time so many seconds after 1970-01-01T00:00:00Z.
    ///
    /// # Errors
    ///
    /// [`TimeError`] beyond the year 9999.
    pub fn from_unix_seconds(seconds: i64) -> Result<Self, TimeError> {
        let time = jiff::Timestamp::from_second(seconds);
        time.map(Time).map_err(|_| TimeError { found: seconds.to_string() })
    }

    /// The seconds since 1970-01-01T00:00:00Z.
    pub fn unix_seconds(self) -> i64 {
        self.0.as_second()
    }
}

impl FromStr for Time {
    type Err = TimeError;

    /// Reads RFC 3339; a fraction of a second is dropped.
    fn from_str(text: &str) -> Result<Self, TimeError> {
        let time: jiff::Timestamp = text.parse().map_err(|_| TimeError { found: text.to_owned() })?;
        // Towards the past, also before 1970, as the formatting of Go's clock does.
        Self::from_unix_seconds(time.as_nanosecond().div_euclid(1_000_000_000).try_into().unwrap_or(i64::MAX))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
