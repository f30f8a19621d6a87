//! Label and field selectors: laws, and a table of what Kubernetes makes of random selectors. The table is written by
//! `comparison/oracle/selectors`.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use super::fields::{FieldSelector, Term};
use super::labels::{LabelSelector, Operator, Requirement};
use fieldmanager_value::Value;
use proptest::prelude::*;
use serde::Deserialize;

type Set = BTreeMap<String, String>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Table {
    label_sets: Vec<Set>,
    labels: Vec<Row>,
    field_sets: Vec<Set>,
    fields: Vec<Row>,
}

#[derive(Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
struct Row {
    selector: String,
    error: String,
    canonical: String,
    matches: String,
}

impl Row {
    fn refused(selector: &str, error: impl ToString) -> Self {
        Row {
            selector: selector.into(),
            error: error.to_string(),
            ..Row::default()
        }
    }

    fn accepted(
        selector: &str,
        canonical: impl ToString,
        matches: impl Iterator<Item = bool>,
    ) -> Self {
        let matches = matches
            .map(|matches| if matches { '1' } else { '0' })
            .collect();
        Row {
            selector: selector.into(),
            canonical: canonical.to_string(),
            matches,
            ..Row::default()
        }
    }
}

// The canonical forms, as Kubernetes writes them.

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (
            at,
            Term {
                label,
                value,
                is_equal,
            },
        ) in self.0.iter().enumerate()
        {
            let (comma, operator) = (
                if at > 0 { "," } else { "" },
                if *is_equal { "=" } else { "!=" },
            );
            write!(f, "{comma}{label}{operator}")?;
            for c in value.chars() {
                write!(
                    f,
                    "{}{c}",
                    if matches!(c, '\\' | ',' | '=') {
                        "\\"
                    } else {
                        ""
                    }
                )?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, requirement) in self.0.iter().enumerate() {
            write!(f, "{}{requirement}", if at > 0 { "," } else { "" })?;
        }
        Ok(())
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key, values) = (&self.key, self.values.join(","));
        match self.operator {
            Operator::In => write!(f, "{key} in ({values})"),
            Operator::NotIn => write!(f, "{key} notin ({values})"),
            Operator::Equals => write!(f, "{key}={values}"),
            Operator::DoubleEquals => write!(f, "{key}=={values}"),
            Operator::NotEquals => write!(f, "{key}!={values}"),
            Operator::Exists => write!(f, "{key}"),
            Operator::DoesNotExist => write!(f, "!{key}"),
            Operator::GreaterThan => write!(f, "{key}>{values}"),
            Operator::LessThan => write!(f, "{key}<{values}"),
        }
    }
}

/// The value that a field must have, if the selector requires one.
fn required<'s>(selector: &'s FieldSelector, label: &str) -> Option<&'s str> {
    let mut terms = selector.0.iter();
    terms
        .find(|term| term.is_equal && term.label == label)
        .map(|term| term.value.as_str())
}

fn table() -> Table {
    serde_json::from_str(include_str!("../../tests/data/selectors.json")).unwrap()
}

fn matches_labels(selector: &LabelSelector, set: &Set) -> bool {
    selector.matches_labels(|key| set.get(key).map(String::as_str))
}

fn matches_fields(selector: &FieldSelector, set: &Set) -> bool {
    selector.matches(|label| {
        set.get(label)
            .map_or(Cow::Borrowed(""), |value| value.into())
    })
}

#[test]
fn label_selectors_equal_those_of_kubernetes() {
    let table = table();
    for expected in &table.labels {
        let found = match LabelSelector::parse(&expected.selector) {
            Err(error) => Row::refused(&expected.selector, error),
            Ok(selector) => {
                let matches = table
                    .label_sets
                    .iter()
                    .map(|set| matches_labels(&selector, set));
                Row::accepted(&expected.selector, &selector, matches)
            }
        };
        assert_eq!(&found, expected);
    }
}

#[test]
fn field_selectors_equal_those_of_kubernetes() {
    let table = table();
    for expected in &table.fields {
        let found = match FieldSelector::parse(&expected.selector) {
            Err(error) => Row::refused(&expected.selector, error),
            Ok(selector) => {
                let matches = table
                    .field_sets
                    .iter()
                    .map(|set| matches_fields(&selector, set));
                Row::accepted(&expected.selector, &selector, matches)
            }
        };
        assert_eq!(&found, expected);
    }
}

#[test]
fn labels_are_read_from_the_metadata_of_an_object() {
    let selector = LabelSelector::parse("app=web").unwrap();
    let matches = |yaml: &str| selector.matches(&Value::from_yaml(yaml).unwrap());
    assert!(matches("{metadata: {labels: {app: web}}}"));
    assert!(!matches("{metadata: {labels: {app: api}}}"));
    assert!(
        !matches("{metadata: {labels: null}}")
            && !matches("{labels: {app: web}}")
            && !matches("null")
    );
    assert!(LabelSelector::default().matches(&Value::Null));
}

#[test]
fn requirements_are_ordered_by_key() {
    let selector = LabelSelector::parse("b in (y,x,y),!a").unwrap();
    let found: Vec<_> = selector
        .0
        .iter()
        .map(|r| (r.key.as_str(), r.operator, r.values.join(" ")))
        .collect();
    assert_eq!(
        found,
        [
            ("a", Operator::DoesNotExist, String::new()),
            ("b", Operator::In, "x y".into())
        ]
    );
}

#[test]
fn a_name_can_be_added_to_a_field_selector() {
    let selector = FieldSelector::default().and_equals("metadata.name", "a,b");
    assert_eq!(selector.to_string(), r"metadata.name=a\,b");
    assert_eq!(
        (selector.labels().collect::<Vec<_>>(), selector.is_empty()),
        (vec!["metadata.name"], false)
    );
}

fn set() -> impl Strategy<Value = Set> {
    proptest::collection::btree_map("[abc]", "[a-c0-9]{0,2}", 0..4)
}

proptest! {
    #[test]
    fn any_string_is_a_label_selector_or_an_error(selector in r"([ab=!(),<>\x00 ]|in|notin|\PC){0,20}") {
        if let Ok(parsed) = LabelSelector::parse(&selector) {
            prop_assert_eq!(LabelSelector::parse(&parsed.to_string()), Ok(parsed));
        }
    }

    #[test]
    fn any_string_is_a_field_selector_or_an_error(selector in r"([ab=!,\\. ]|\PC){0,20}") {
        if let Ok(parsed) = FieldSelector::parse(&selector) {
            prop_assert_eq!(FieldSelector::parse(&parsed.to_string()).map(|again| again.to_string()), Ok(parsed.to_string()));
        }
    }

    #[test]
    fn negated_operators_select_the_complement(key in "[abc]", values in "[a-c]{1,2}(,[a-c]{0,2}){0,2}", set in set()) {
        let selects = |selector: String| matches_labels(&LabelSelector::parse(&selector).unwrap(), &set);
        prop_assert_ne!(selects(format!("{key} in ({values})")), selects(format!("{key} notin ({values})")));
        prop_assert_ne!(selects(key.clone()), selects(format!("!{key}")));
        let value = values.split(',').next().unwrap();
        prop_assert_ne!(selects(format!("{key}={value}")), selects(format!("{key}!={value}")));
        prop_assert_eq!(selects(format!("{key}={value}")), selects(format!("{key} in ({value})")));
    }

    #[test]
    fn a_selector_is_the_conjunction_of_its_requirements(
        parts in proptest::collection::vec("!?[abc]|[abc](=|!=)[a-c0-9]{0,2}|[abc] (in|notin) \\([a-c],[0-9]?\\)|[abc][<>][0-9]", 0..4),
        set in set(),
    ) {
        let selects = |selector: &str| matches_labels(&LabelSelector::parse(selector).unwrap(), &set);
        prop_assert_eq!(selects(&parts.join(",")), parts.iter().all(|part| selects(part)));
    }

    #[test]
    fn any_value_can_be_selected(label in "[a-z.]{1,10}", value in r"([\\,=!]|\PC){0,10}") {
        let selector = FieldSelector::default().and_equals(&label, &value);
        let again = FieldSelector::parse(&selector.to_string()).unwrap();
        prop_assert_eq!(required(&again, &label), Some(value.as_str()));
        prop_assert!(again.matches(|_| value.as_str().into()));
        let other = format!("{value}x");
        prop_assert!(!again.matches(|_| other.as_str().into()));
    }
}
