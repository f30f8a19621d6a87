//! Suggestions for misspelled names.

/// The maximum length of names to compare, since comparing two names takes time proportional to the product of their
/// lengths.
const LONGEST_NAME: usize = 64;
/// The maximum number of names to choose suggestions from.
const MOST_NAMES: usize = 500;
/// The maximum number of suggestions.
const SUGGESTIONS: usize = 3;

/// The maximum number of errors with suggestions for one input.
pub const FAULTS_WITH_SUGGESTIONS: usize = 10;

/// Returns at most three items whose names are similar to a name, the most similar first. Ties are ordered by item, and
/// case is ignored. `at_least` is the minimum similarity, between 0 and 1.
///
/// The work is bounded: there are no suggestions for names of more than 64 bytes or from more than 500 names.
pub fn similar_names<'n, T: Ord>(
    name: &str,
    known: impl IntoIterator<Item = (&'n str, T)>,
    at_least: f64,
) -> Vec<T> {
    // The comparison of all names is costly, so long names and large schemas get no suggestions.
    if name.len() > LONGEST_NAME {
        return Vec::new();
    }
    let known: Vec<(&str, T)> = known.into_iter().take(MOST_NAMES + 1).collect();
    if known.len() > MOST_NAMES {
        return Vec::new();
    }

    let lower = name.to_lowercase();
    let known = known
        .into_iter()
        .filter(|(known, _)| known.len() <= LONGEST_NAME);
    let scored =
        known.map(|(known, item)| (strsim::jaro_winkler(&lower, &known.to_lowercase()), item));
    let mut near: Vec<(f64, T)> = scored
        .filter(|(similarity, _)| *similarity > at_least)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    near.truncate(SUGGESTIONS);

    near.into_iter().map(|(_, item)| item).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn similar(name: &str, known: &[String]) -> Vec<String> {
        similar_names(
            name,
            known.iter().map(|known| (known.as_str(), known.clone())),
            0.85,
        )
    }

    #[test]
    fn long_names_have_no_suggestions() {
        for (length, expected) in [(64, 1), (65, 0)] {
            let known = "a".repeat(length);
            assert_eq!(
                similar(&known, std::slice::from_ref(&known)).len(),
                expected
            );
        }
    }

    #[test]
    fn large_sets_of_names_yield_no_suggestions() {
        for (n, expected) in [(500, 3), (501, 0)] {
            let known: Vec<String> = (0..n).map(|i| format!("field{i}")).collect();
            assert_eq!(similar("field1", &known).len(), expected);
        }
    }
}
