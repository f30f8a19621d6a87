//! Counts the outcomes of a run, so that a generator that no longer reaches a feature, or a rule that explains too
//! much, is visible.

use std::collections::BTreeMap;
use std::fmt;

/// Counts over the cases of a run, in sections.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Cases that were compared.
    pub cases: u64,
    /// Operations of those cases: the steps of a sequence, or one.
    pub operations: u64,
    /// Cases with a difference that no rule explains.
    pub differences: u64,
    counts: BTreeMap<(&'static str, String), u64>,
}

impl Tally {
    /// Counts one more under a name.
    pub fn count(&mut self, section: &'static str, name: impl Into<String>) {
        self.add(section, name, 1);
    }

    /// Counts several more under a name.
    pub fn add(&mut self, section: &'static str, name: impl Into<String>, more: u64) {
        if more > 0 {
            *self.counts.entry((section, name.into())).or_default() += more;
        }
    }

    /// The count under a name.
    pub fn get(&self, section: &'static str, name: &str) -> u64 {
        self.counts
            .get(&(section, name.to_owned()))
            .copied()
            .unwrap_or_default()
    }

    /// Adds the counts of another part of the run.
    pub fn merge(&mut self, other: Self) {
        self.cases += other.cases;
        self.operations += other.operations;
        self.differences += other.differences;
        for ((section, name), count) in other.counts {
            self.add(section, name, count);
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Counts are sorted by section, so a title is printed where the section changes.
        let mut last = "";
        for ((section, name), count) in &self.counts {
            if *section != last {
                writeln!(out, "{section}:")?;
                last = section;
            }
            writeln!(out, "  {name:<60}{count:>10}")?;
        }

        let Tally {
            cases,
            operations,
            differences,
            ..
        } = self;
        writeln!(
            out,
            "{cases} cases, {operations} operations, {differences} differences"
        )
    }
}
