//! The webhook of a conversion, and its address.

use fieldmanager_value::{Map, Value};

use super::members::{member, text};

/// The versions of `ConversionReview` that the server sends.
pub(super) const REVIEWS: [&str; 2] = ["v1", "v1beta1"];

/// The address of the webhook.
pub(super) fn client(conversion: &Map) -> Option<&Map> {
    member(conversion, "webhook")?.get("clientConfig")?.as_map()
}

/// The bundle of certificates of the webhook, in base64.
pub(super) fn bundle(conversion: &Map) -> &str {
    client(conversion).map_or("", |client| text(client, "caBundle"))
}

/// The versions of reviews.
pub(super) fn reviews(conversion: &Map) -> Vec<&str> {
    let found =
        member(conversion, "webhook").and_then(|webhook| webhook.get("conversionReviewVersions"));
    found
        .and_then(Value::as_list)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// Whether the server knows one of the versions of reviews, or there are none.
pub(super) fn has_known_review(conversion: &Map) -> bool {
    let found = reviews(conversion);
    found.is_empty() || found.iter().any(|version| REVIEWS.contains(version))
}
