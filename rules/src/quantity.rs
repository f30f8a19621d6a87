//! Quantities of Kubernetes.

pub(crate) const BILLION: i128 = 1_000_000_000;
/// The largest decimal.
const LARGEST: i128 = (i64::MAX as i128) * BILLION;

/// A quantity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantity {
    /// The value in billionths. Smaller parts are rounded up, as in Kubernetes.
    pub(crate) value: i128,
    /// Whether Kubernetes keeps it as a decimal, which is never an integer, because of the number of its digits.
    pub(crate) is_decimal: bool,
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl Quantity {
    pub(crate) fn integer(self) -> Option<i64> {
        let is_whole = !self.is_decimal && self.value % BILLION == 0;
        if is_whole { i64::try_from(self.value / BILLION).ok() } else { None }
    }
}

/// Parses a quantity, such as `1.5Gi` or `100m`.
///
/// Behaviour: `ParseQuantity` of `k8s.io/apimachinery/pkg/api/resource`.
pub(crate) fn parse(text: &str) -> Result<Quantity, String> {
    const FORM: &str = "quantities must match the regular expression \
                        '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    const SUFFIX: &str = "unable to parse quantity's suffix";
    if text.is_empty() {
        return Err(FORM.to_owned());
    }
    let (is_negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let (number, suffix) = rest.split_at_checked(end).unwrap_or((rest, ""));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return Err(FORM.to_owned());
    }
    let letters = suffix.trim_end_matches(|c: char| c.is_ascii_digit());
    let letters = letters.strip_suffix(['+', '-']).unwrap_or(letters);
    if !letters.chars().all(|c| "eEinumkKMGTP".contains(c)) {
        return Err(FORM.to_owned());
    }
    // The factor is 2^two * 10^ten.
    let (two, ten): (u32, i32) = match suffix {
        "n" => (0, -9),
        "u" => (0, -6),
        "m" => (0, -3),
        "" => (0, 0),
        "k" => (0, 3),
        "M" => (0, 6),
        "G" => (0, 9),
        "T" => (0, 12),
        "P" => (0, 15),
        "E" => (0, 18),
        "Ki" => (10, 0),
        "Mi" => (20, 0),
        "Gi" => (30, 0),
        "Ti" => (40, 0),
        "Pi" => (50, 0),
        "Ei" => (60, 0),
        other => match other.strip_prefix(['e', 'E']).map(str::parse::<i32>) {
            Some(Ok(exponent)) => (0, exponent.clamp(-1000, 1000)),
            _ => return Err(SUFFIX.to_owned()),
        },
    };
    let fraction_digits = i32::try_from(fraction.len()).unwrap_or(i32::MAX);
    let count = i32::try_from(whole.trim_start_matches('0').len().max(1)).unwrap_or(i32::MAX);
    // Kubernetes keeps few digits as an integer with a scale.
    let is_small = match two {
        0 => count.saturating_add(fraction_digits) <= 18 && ten.saturating_sub(fraction_digits) >= -9,
        two => fraction.is_empty() && count + i32::try_from(two * 3 / 10).unwrap_or(i32::MAX) <= 14,
    };
    let digits = format!("{whole}{fraction}");
    let scale = ten.saturating_add(9).saturating_sub(fraction_digits);
    let limit = if is_small { i128::MAX } else { LARGEST };
    let value = scaled(digits.trim_start_matches('0'), scale, two, limit);
    Ok(Quantity { value: if is_negative { -value } else { value }, is_decimal: !is_small })
}

/// `digits * 10^scale * 2^two`, rounded up, and at most `limit`.
fn scaled(digits: &str, scale: i32, two: u32, limit: i128) -> i128 {
    if digits.is_empty() {
        return 0;
    }
    // Digits beyond the 30 first ones matter only for rounding up.
    let kept = digits.get(..digits.len().min(30)).unwrap_or(digits);
    let dropped = digits.get(kept.len()..).unwrap_or_default();
    let scale = scale.saturating_add(i32::try_from(dropped.len()).unwrap_or(i32::MAX));
    let mut value: i128 = kept.parse().unwrap_or(limit);
    let mut is_rest = dropped.bytes().any(|byte| byte != b'0');
    let mut shift = two;
    let mut down = scale.min(0).unsigned_abs();
    // Multiplications and divisions alternate, so that no digit is lost early.
    while shift > 0 || down > 0 {
        if shift > 0 && value < (1 << 120) {
            value *= 2;
            shift -= 1;
        } else if down > 0 {
            is_rest |= value % 10 != 0;
            value /= 10;
            down -= 1;
            if value == 0 {
                break;
            }
        } else {
            return limit;
        }
    }
    for _ in 0..scale.max(0) {
        match value.checked_mul(10) {
            Some(more) if more <= limit => value = more,
            _ => return limit,
        }
    }
    value.saturating_add(i128::from(is_rest)).min(limit)
}
