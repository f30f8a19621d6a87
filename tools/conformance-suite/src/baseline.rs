//! The known failures of a server.

use std::collections::BTreeSet;

use fieldmanager_harness::{Report, ScenarioReport};
use serde::{Deserialize, Serialize};

use crate::results::full_name;

/// The cases that a server does not pass yet, by area and name.
///
/// ```
/// use fieldmanager_conformance_suite::Baseline;
/// let baseline = Baseline::from_json(r#"{"failed": ["lists: a set keeps its order"], "skipped": []}"#)?;
/// assert!(Baseline::from_json(r#"{"passed": []}"#).is_err());
/// # assert_eq!(baseline.to_json(), "{\n  \"failed\": [\n    \"lists: a set keeps its order\"\n  ],\n  \"skipped\": []\n}\n");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// The cases that fail.
    failed: BTreeSet<String>,
    /// The cases that are skipped.
    skipped: BTreeSet<String>,
}

/// The difference between a run and a baseline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Cases that fail and did not, or are skipped and were not.
    pub worse: Vec<String>,
    /// Cases that pass and did not.
    pub better: Vec<String>,
}

impl Baseline {
    /// Reads the file.
    ///
    /// # Errors
    ///
    /// A message with the fault.
    pub fn from_json(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| {
            format!("{error}; expected a baseline, which --update-baseline writes")
        })
    }

    /// The content of the file.
    pub fn to_json(&self) -> String {
        // Sets of strings are always JSON.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Takes over the results of a run. Cases that were not part of it are unchanged.
    pub fn update(&mut self, report: &Report) {
        for case in &report.scenarios {
            let name = full_name(case);
            self.failed.remove(&name);
            self.skipped.remove(&name);
            if case.skipped.is_some() {
                self.skipped.insert(name);
            } else if !case.passed {
                self.failed.insert(name);
            }
        }
    }

    /// The cases of the baseline that are not in a list of names, each with its area: `lists: a set keeps its order`.
    pub fn unknown(&self, names: &BTreeSet<String>) -> Vec<String> {
        self.failed
            .union(&self.skipped)
            .filter(|name| !names.contains(*name))
            .cloned()
            .collect()
    }

    /// Removes the cases that are not in a list of names.
    pub fn remove_unknown(&mut self, names: &BTreeSet<String>) {
        self.failed.retain(|name| names.contains(name));
        self.skipped.retain(|name| names.contains(name));
    }

    /// Compares a run with the baseline. A case that is not in the baseline passed before.
    pub fn compare(&self, report: &Report) -> Comparison {
        let mut comparison = Comparison::default();
        for case in &report.scenarios {
            let name = full_name(case);
            let failed = self.failed.contains(&name);
            let known = failed || self.skipped.contains(&name);
            if is_worse(case, failed, known) {
                comparison.worse.push(name);
            } else if case.passed && known {
                comparison.better.push(name);
            }
        }

        comparison
    }
}

/// A failure is worse than a skipped case, because the server claims the feature.
fn is_worse(case: &ScenarioReport, failed: bool, known: bool) -> bool {
    match &case.skipped {
        Some(_) => !known,
        None => !case.passed && !failed,
    }
}
