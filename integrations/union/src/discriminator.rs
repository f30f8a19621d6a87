/// A type that can be used as a discriminator: an enum without data that derives [`KubeUnion`](macro@crate::KubeUnion),
/// a `String`, or an `Option` of either.
///
/// ```
/// use fieldmanager::unions::{Discriminator, KubeUnion};
///
/// #[derive(KubeUnion)]
/// #[serde(rename_all = "camelCase")]
/// enum SourceType {
///     Git,
///     #[serde(rename = "")]
///     None,
/// }
/// assert_eq!(SourceType::VALUES, ["git", ""]);
/// assert_eq!(<Option<SourceType>>::VALUES, ["git", ""]);
/// ```
///
/// Other types are rejected:
///
/// ```compile_fail,E0277
/// # use fieldmanager::unions::KubeUnion;
/// # use schemars::JsonSchema;
/// #[derive(JsonSchema, KubeUnion)]
/// #[kube_union(discriminator = "type")]
/// #[schemars(transform = Source::kube_union)]
/// struct Source {
///     r#type: u8,
///     #[kube_union(member)]
///     git: Option<String>,
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the discriminator of a union",
    label = "expected a `String`, or an enum without data that derives `KubeUnion`",
    note = "add `#[derive(KubeUnion)]` to the enum, so that its values can be checked against the members"
)]
pub trait Discriminator {
    /// The values in their wire format.
    const VALUES: &'static [&'static str];
    /// Whether other values are possible, as for a string.
    const OPEN: bool = false;
    /// Whether the discriminator may be absent.
    const OPTIONAL: bool = false;
}

impl Discriminator for String {
    const VALUES: &'static [&'static str] = &[];
    const OPEN: bool = true;
    const OPTIONAL: bool = true;
}

impl<D: Discriminator> Discriminator for Option<D> {
    const VALUES: &'static [&'static str] = D::VALUES;
    const OPEN: bool = D::OPEN;
    const OPTIONAL: bool = true;
}

/// Whether a value is possible, so that its member can be selected.
pub const fn has_value<D: Discriminator>(value: &str) -> bool {
    D::OPEN || contains(D::VALUES, value)
}

/// Returns the first value that selects no member.
pub const fn value_without_member<D: Discriminator>(members: &[&str]) -> Option<&'static str> {
    let mut rest = D::VALUES;
    while let [value, tail @ ..] = rest {
        if !contains(members, value) {
            return Some(value);
        }
        rest = tail;
    }
    None
}

const fn contains(mut values: &[&str], value: &str) -> bool {
    while let [first, rest @ ..] = values {
        if equal(first.as_bytes(), value.as_bytes()) {
            return true;
        }
        values = rest;
    }
    false
}

/// A `const` replacement for `==`.
const fn equal(mut a: &[u8], mut b: &[u8]) -> bool {
    loop {
        match (a, b) {
            ([], []) => return true,
            ([x, rest_a @ ..], [y, rest_b @ ..]) if *x == *y => (a, b) = (rest_a, rest_b),
            _ => return false,
        }
    }
}

/// A compiler message assembled from parts, truncated to 256 bytes.
pub struct Message {
    bytes: [u8; 256],
    length: usize,
}

impl Message {
    /// Joins the parts of the message.
    pub const fn new(mut parts: &[&str]) -> Self {
        let mut bytes = [0; 256];
        let mut length = 0;
        while let [part, rest @ ..] = parts {
            let mut from = part.as_bytes();
            while let ([byte, after @ ..], true) = (from, length < 256) {
                if let Some((_, [to, ..])) = bytes.split_at_mut_checked(length) {
                    *to = *byte;
                }
                length += 1;
                from = after;
            }
            parts = rest;
        }

        Message { bytes, length }
    }

    /// The message.
    pub const fn as_str(&self) -> &str {
        let (message, _) = self.bytes.split_at(self.length);
        match str::from_utf8(message) {
            Ok(message) => message,
            Err(_) => "a value of the discriminator selects no member",
        }
    }
}
