//! Durations for people.

use jiff::SignedDuration;

/// A duration in at most two units: `90s`, `5m30s`, `3h`, `2d4h`, `400d`, `3y20d`.
///
/// A duration that is negative by more than a second is `<invalid>`, and one by less is `0s`, since clocks differ.
pub(crate) fn human_duration(duration: SignedDuration) -> String {
    let seconds = duration.as_secs();
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let days = hours / 24;
    let two = |large: i64, unit: &str, small: i64, sub: &str| match small {
        0 => format!("{large}{unit}"),
        _ => format!("{large}{unit}{small}{sub}"),
    };

    match seconds {
        ..=-2 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        _ if minutes < 10 => two(minutes, "m", seconds % 60, "s"),
        _ if minutes < 180 => format!("{minutes}m"),
        _ if hours < 8 => two(hours, "h", minutes % 60, "m"),
        _ if hours < 48 => format!("{hours}h"),
        _ if days < 8 => two(days, "d", hours % 24, "h"),
        _ if days < 730 => format!("{days}d"),
        _ if days < 8 * 365 => two(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_change_at_the_limits_of_kubernetes() {
        let words = |seconds| human_duration(SignedDuration::from_secs(seconds));
        let (minute, hour, day) = (60, 3600, 86_400);
        for (seconds, expected) in [
            (-1, "0s"),
            (0, "0s"),
            (125, "2m5s"),
            (10 * minute - 1, "9m59s"),
            (10 * minute + 5, "10m"),
            (3 * hour - 1, "179m"),
            (3 * hour, "3h"),
            (3 * hour + 61, "3h1m"),
            (8 * hour, "8h"),
            (2 * day - 1, "47h"),
            (2 * day, "2d"),
            (8 * day - 1, "7d23h"),
            (8 * day, "8d"),
            (2 * 365 * day - 1, "729d"),
            (2 * 365 * day, "2y"),
            (2 * 365 * day + day, "2y1d"),
            (8 * 365 * day, "8y"),
        ] {
            assert_eq!(words(seconds), expected, "{seconds}");
        }
    }
}
