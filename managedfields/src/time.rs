//! Times of entries.

use std::fmt;
use std::str::FromStr;

use fieldmanager_structural::internal::Timestamp;

/// When a manager last wrote, in whole seconds of UTC, as in `metadata.managedFields`.
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
pub struct Time(Timestamp);

/// The error of a string or number that is not a time in the years 0000 to 9999 of UTC.
///
/// ```
/// use fieldmanager_managedfields::Time;
/// let error = "2026-01-31t12:00:00z".parse::<Time>().unwrap_err();
/// assert_eq!(error.to_string(), "expected a time like 2026-01-31T12:00:00Z, got `2026-01-31t12:00:00z`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a time like 2026-01-31T12:00:00Z, got `{found}`")]
#[non_exhaustive]
pub struct TimeError {
    /// What was found.
    pub found: String,
}

impl Time {
    /// The time a number of seconds after 1970-01-01T00:00:00Z.
    ///
    /// # Errors
    ///
    /// [`TimeError`] outside of the years 0000 to 9999.
    pub fn from_unix_seconds(seconds: i64) -> Result<Self, TimeError> {
        Timestamp::from_unix_seconds(seconds)
            .map(Time)
            .ok_or_else(|| TimeError {
                found: seconds.to_string(),
            })
    }

    /// The seconds since 1970-01-01T00:00:00Z.
    pub fn unix_seconds(self) -> i64 {
        self.0.unix_seconds()
    }

    /// Whether this is the zero value of Go's `time.Time`, which means that there is no time.
    pub(crate) fn is_zero(self) -> bool {
        self.0.is_zero()
    }
}

impl FromStr for Time {
    type Err = TimeError;

    /// Reads a time of RFC 3339 as a [`Timestamp`] and drops the fraction of a second.
    ///
    /// A time whose year in UTC is not in 0000 to 9999 is refused, because it could be written but not read again.
    fn from_str(text: &str) -> Result<Self, TimeError> {
        let time: Option<Timestamp> = text.parse().ok();
        time.and_then(|time| Timestamp::from_unix_seconds(time.unix_seconds()))
            .map(Time)
            .ok_or_else(|| TimeError {
                found: text.to_owned(),
            })
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
