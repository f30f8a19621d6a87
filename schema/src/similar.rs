//! Suggests known names for a misspelled one.

/// Longer names get no suggestion, and are not suggested: the comparison of two names costs the product of their
/// lengths.
const LONGEST_NAME: usize = 64;
/// Among more names than this, no suggestion is made.
const MOST_NAMES: usize = 500;
/// How many names are suggested at most.
const SUGGESTIONS: usize = 3;

/// How many faults of one input get suggestions.
pub const FAULTS_WITH_SUGGESTIONS: usize = 10;

/// The items whose names resemble a name most, at most three, the best first and equally good ones in their order.
/// Upper and lower case are the same. `at_least` is the smallest accepted similarity, between 0 and 1.
///
/// The work is bounded: names over 64 bytes and lists of over 500 names get no suggestions.
pub fn similar_names<'n, T: Ord>(
    name: &str,
    known: impl IntoIterator<Item = (&'n str, T)>,
    at_least: f64,
) -> Vec<T> {
    if name.len() > LONGEST_NAME {
        return Vec::new();
    }
    let known: Vec<(&str, T)> = known.into_iter().take(MOST_NAMES + 1).collect();
    if known.len() > MOST_NAMES {
        return Vec::new();
    }
    let lower = name.to_lowercase();
    let known = known.into_iter().filter(|(known, _)| known.len() <= LONGEST_NAME);
    let scored = known.map(|(known, item)| (strsim::jaro_winkler(&lower, &known.to_lowercase()), item));
    let mut near: Vec<(f64, T)> = scored.filter(|(similarity, _)| *similarity > at_least).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    near.truncate(SUGGESTIONS);
    near.into_iter().map(|(_, item)| item).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn similar(name: &str, known: &[String]) -> Vec<String> {
        similar_names(name, known.iter().map(|known| (known.as_str(), known.clone())), 0.85)
    }

    #[test]
    fn long_names_get_no_suggestion() {
        for (length, expected) in [(64, 1), (65, 0)] {
            let known = "a".repeat(length);
            assert_eq!(similar(&known, std::slice::from_ref(&known)).len(), expected);
        }
    }

    #[test]
    fn many_names_give_no_suggestion() {
        for (n, expected) in [(500, 3), (501, 0)] {
            let known: Vec<String> = (0..n).map(|i| format!("field{i}")).collect();
            assert_eq!(similar("field1", &known).len(), expected);
        }
    }
}
