//! Numbers with check digits, and colours.

/// Whether a text is an ISBN of ten characters, apart from white space and dashes.
///
/// Behaviour: `IsISBN10` of `k8s.io/kube-openapi/pkg/internal/third_party/govalidator`, as the functions below.
pub(super) fn is_isbn10(text: &str) -> bool {
    let text = without_space_and_dashes(text);
    let bare = text.strip_suffix('X').unwrap_or(&text);
    let Some(digits) = digits(bare).filter(|_| text.len() == 10) else {
        return false;
    };
    // An `X` stands for ten, in the last place alone.
    let last = (bare.len() < text.len()).then_some(10);
    let weighted = (1..).zip(digits.into_iter().chain(last));
    let sum: u32 = weighted.map(|(weight, digit)| weight * digit).sum();
    sum.is_multiple_of(11)
}

/// Whether a text is an ISBN of thirteen digits, apart from white space and dashes.
pub(super) fn is_isbn13(text: &str) -> bool {
    let text = without_space_and_dashes(text);
    let Some(digits) = digits(&text).filter(|digits| digits.len() == 13) else {
        return false;
    };
    let weighted = digits.iter().zip([1, 3].into_iter().cycle());
    let sum: u32 = weighted.map(|(digit, weight)| digit * weight).sum();
    sum.is_multiple_of(10)
}

/// Whether the digits of a text are the number of a credit card: the first ones and their number are those of an issuer,
/// and the last one is the check digit. All other characters are ignored.
pub(super) fn is_credit_card(text: &str) -> bool {
    let text: String = text.chars().filter(char::is_ascii_digit).collect();
    let issuer = text.get(..4).and_then(|issuer| issuer.parse::<u32>().ok());
    let is_issued = issuer.is_some_and(|issuer| match text.len() {
        13 => issuer / 1000 == 4,
        14 => matches!(issuer, 3000..=3059 | 3600..=3699 | 3800..=3899),
        15 => matches!(issuer, 1800 | 2131 | 3400..=3499 | 3700..=3799),
        16 => matches!(issuer, 3500..=3599 | 4000..=4999 | 5100..=5599 | 6011 | 6500..=6599),
        _ => false,
    });

    // Every second digit from the end counts twice, with the digits of its double added.
    let value = |(at, digit): (usize, u32)| match at % 2 {
        0 => digit,
        _ => digit / 5 + digit * 2 % 10,
    };
    let sum = |digits: Vec<u32>| digits.into_iter().rev().enumerate().map(value).sum::<u32>();
    is_issued && digits(&text).is_some_and(|digits| sum(digits).is_multiple_of(10))
}

/// Whether a text is three, two and four digits, with a dash or a space between them.
pub(super) fn is_social_security(text: &str) -> bool {
    text.len() == 11
        && text.bytes().enumerate().all(|(at, byte)| match at {
            3 | 6 => matches!(byte, b'-' | b' '),
            _ => byte.is_ascii_digit(),
        })
}

/// Whether a text is `rgb(R,G,B)`, with numbers up to 255 and white space around them.
pub(super) fn is_rgb_color(text: &str) -> bool {
    let parts = text
        .strip_prefix("rgb(")
        .and_then(|text| text.strip_suffix(')'));
    let is_part = |part: &str| {
        let part = part.trim_matches(is_space);
        part.parse::<u8>()
            .is_ok_and(|number| number.to_string() == part)
    };
    parts.is_some_and(|parts| parts.split(',').count() == 3 && parts.split(',').all(is_part))
}

/// The white space of regular expressions of Go.
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\x0c' | '\r')
}

fn without_space_and_dashes(text: &str) -> String {
    text.chars()
        .filter(|c| !is_space(*c) && *c != '-')
        .collect()
}

/// The digits of a text that has nothing else.
fn digits(text: &str) -> Option<Vec<u32>> {
    text.chars().map(|c| c.to_digit(10)).collect()
}
