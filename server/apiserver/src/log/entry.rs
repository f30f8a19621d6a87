//! The entries of the log.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// One request, or one change of the collector.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct LogEntry {
    /// The number, from 1, in the order in which requests ended.
    pub number: u64,
    /// The time of the server when the request began, such as `2026-01-31T12:00:00Z`.
    pub time: String,
    /// The user; `collector` for changes of the collector and deletions of old Events.
    pub user: String,
    /// The header `User-Agent`.
    pub user_agent: String,
    /// The parameter `fieldManager`, or the first part of the user agent; `collector` where that is the user.
    pub manager: String,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `apply`, `delete` or `deletecollection`; for a path that is no
    /// resource, the method in lower case.
    pub verb: String,
    /// The path; empty for objects that were loaded and changes of the collector.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The resource with its group, such as `deployments.apps`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource: String,
    /// The version of the request, such as `v1`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name in the path; empty for a collection.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The subresource; empty for the object itself.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subresource: String,
    /// Whether the parameter `dryRun` was given.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// The code of the answer. 0: the client ended the request before it was answered.
    pub status: u16,
    /// The reason of a failure, such as `Conflict`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The [fault](crate::fault::FaultKind) that was injected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// What plugins and webhooks did in admission, such as `LimitRanger changed the object`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub admission: Vec<String>,
    /// The annotations of plugins, webhooks and policies for the log, such as those that a webhook answers; the first 1,000
    /// characters of each. What kube-apiserver logs only with whole requests is not there: patches.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// The writes, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<Written>,
}

/// One write of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Written {
    /// The resource with the group under which it is stored, such as `deployments.apps`.
    pub resource: String,
    /// The namespace; empty for an object of cluster scope.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The revision of the write.
    pub revision: u64,
    /// What was done.
    pub change: Change,
    /// The managers whose fields the write changed, by name, operation and subresource.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub managers: Vec<ManagerChange>,
}

/// What a write did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Change {
    /// The object was created.
    #[default]
    Created,
    /// It was replaced.
    Updated,
    /// It was removed.
    Deleted,
}

/// The effect of a write on the fields of one manager. Paths are in field-path notation, such as `.spec.replicas` and
/// `.spec.ports[port=80,protocol="TCP"].name`, and sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ManagerChange {
    /// The name of the manager.
    pub manager: String,
    /// `Apply` or `Update`.
    pub operation: String,
    /// The subresource of the entry; empty for the object itself.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subresource: String,
    /// The fields that it owns since the write.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gained: Vec<String>,
    /// Those of them that another manager lost by the same write.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub took: Vec<String>,
    /// The fields that it no longer owns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<String>,
    /// The fields that it owned before and owns still, whose values this manager changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
}

impl LogEntry {
    /// Whether the request changed the store.
    pub fn is_write(&self) -> bool {
        !self.writes.is_empty()
    }

    /// Adds annotations. The first text of a key stays, and no request adds more than 100.
    pub(crate) fn annotate(&mut self, annotations: &[(String, String)]) {
        for (key, text) in annotations.iter().take(100) {
            if !key.starts_with("patch.webhook.admission.k8s.io/") {
                let text = || text.chars().take(1000).collect();
                self.annotations.entry(key.clone()).or_insert_with(text);
            }
        }
    }

    /// The changes of a manager, in all writes.
    fn changes_of<'e>(&'e self, manager: &'e str) -> impl Iterator<Item = &'e ManagerChange> {
        let changes = self.writes.iter().flat_map(|write| &write.managers);
        changes.filter(move |change| change.manager == manager)
    }

    /// Whether a write changed the owners or the value of a path, or of a path below it.
    pub(crate) fn touches(&self, path: &str) -> bool {
        self.writes
            .iter()
            .flat_map(|write| &write.managers)
            .any(|change| {
                [&change.gained, &change.lost, &change.changed]
                    .into_iter()
                    .any(|paths| any_is_in(paths, path))
            })
    }

    /// The entry as one line of JSON, without a line feed.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Whether paths have a path, or one below it.
fn any_is_in(paths: &[String], path: &str) -> bool {
    paths.iter().any(|own| is_in(own, path))
}

/// Whether a path is another one, or below it.
pub(crate) fn is_in(own: &str, path: &str) -> bool {
    own.strip_prefix(path)
        .is_some_and(|rest| matches!(rest.as_bytes(), [] | [b'.' | b'[', ..]))
}

/// Entries of the log at one moment, a slice of them, the oldest first.
#[derive(Clone, Debug, Default)]
pub struct Log {
    pub(super) entries: Vec<Arc<LogEntry>>,
    /// `None`: the server has no log.
    pub(super) dropped: Option<u64>,
}

impl Deref for Log {
    type Target = [Arc<LogEntry>];

    fn deref(&self) -> &Self::Target {
        &self.entries
    }
}

impl Log {
    /// The number of entries that the log no longer has, because it is [bounded](crate::Limits::log).
    pub fn dropped(&self) -> u64 {
        self.dropped.unwrap_or_default()
    }

    /// The entries that are selected.
    #[must_use]
    pub fn only(&self, selected: impl Fn(&LogEntry) -> bool) -> Self {
        let entries = self
            .entries
            .iter()
            .filter(|entry| selected(entry))
            .cloned()
            .collect();
        Log {
            entries,
            dropped: self.dropped,
        }
    }

    /// The entries of a manager that changed the store.
    #[must_use]
    pub fn writes_of(&self, manager: &str) -> Self {
        self.only(|entry| entry.manager == manager && entry.is_write())
    }

    /// Whether a manager owned a path, or a path below it, after or before any write.
    pub fn ever_owned(&self, manager: &str, path: &str) -> bool {
        self.iter().any(|entry| owned(entry, manager, path))
    }

    /// Whether a manager wrote a path, or a path below it: a request of it set a field that it did not own, or changed the
    /// value of one that it owned.
    pub fn wrote(&self, manager: &str, path: &str) -> bool {
        self.iter().any(|entry| wrote(entry, manager, path))
    }

    /// Fails unless a manager never wrote a path, see [`wrote`](Self::wrote).
    ///
    /// # Panics
    ///
    /// With the requests that wrote it; or because the server has no log, or its log is no longer complete.
    #[track_caller]
    pub fn assert_never_wrote(&self, manager: &str, path: &str) {
        self.assert_never(manager, path, "wrote", wrote);
    }

    /// Fails unless a manager never owned a path, see [`ever_owned`](Self::ever_owned).
    ///
    /// # Panics
    ///
    /// With the requests in which it gained or lost it; or because the server has no log, or its log is no longer complete.
    #[track_caller]
    pub fn assert_never_owned(&self, manager: &str, path: &str) {
        self.assert_never(manager, path, "owned", owned);
    }

    #[track_caller]
    #[expect(clippy::panic, reason = "an assertion")]
    fn assert_never(
        &self,
        manager: &str,
        path: &str,
        verb: &str,
        is: fn(&LogEntry, &str, &str) -> bool,
    ) {
        let Some(dropped) = self.dropped else {
            panic!("the server has no log: build it with `test_api(true)` or with `Limits::log`");
        };
        let found: Vec<String> = self
            .iter()
            .filter(|entry| is(entry, manager, path))
            .map(|entry| format!("\n  {entry}"))
            .collect();
        if !found.is_empty() {
            panic!("{manager:?} {verb} {path}:{}", found.concat());
        }

        if dropped > 0 {
            panic!("the log no longer has its first {dropped} entries: raise `Limits::log`");
        }
    }

    /// The entries as lines of JSON.
    pub fn to_json_lines(&self) -> String {
        self.iter()
            .flat_map(|entry| [entry.to_json(), "\n".to_owned()])
            .collect()
    }
}

fn wrote(entry: &LogEntry, manager: &str, path: &str) -> bool {
    entry
        .changes_of(manager)
        .any(|change| any_is_in(&change.gained, path) || any_is_in(&change.changed, path))
}

fn owned(entry: &LogEntry, manager: &str, path: &str) -> bool {
    wrote(entry, manager, path)
        || entry
            .changes_of(manager)
            .any(|change| any_is_in(&change.lost, path))
}

impl std::fmt::Display for LogEntry {
    /// One line for people: `#7 apply shops.example.com default/web by alice: 200, gained .spec.size`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{} {}", self.number, self.verb)?;
        if self.resource.is_empty() {
            write!(f, " {}", self.path)?
        } else {
            write!(f, " {}", self.resource)?
        }

        let of: Vec<&str> = [&self.namespace, &self.name, &self.subresource]
            .into_iter()
            .map(String::as_str)
            .collect();
        let of: Vec<&str> = of.into_iter().filter(|part| !part.is_empty()).collect();
        if !of.is_empty() {
            write!(f, " {}", of.join("/"))?;
        }

        write!(f, " by {}: {}", self.manager, self.status)?;
        if let Some(fault) = &self.fault {
            write!(f, ", fault {fault}")?;
        }

        // What was done to the object, in the order in which it was done.
        for effect in &self.admission {
            write!(f, ", {effect}")?;
        }
        for change in self.writes.iter().flat_map(|write| &write.managers) {
            let lists = [
                ("gained", &change.gained),
                ("lost", &change.lost),
                ("changed", &change.changed),
            ];
            for (verb, paths) in lists.into_iter().filter(|(_, paths)| !paths.is_empty()) {
                write!(f, ", {} {verb} {}", change.manager, paths.join(" "))?;
            }
        }

        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_below_a_path_count_and_longer_names_do_not() {
        let paths = [
            ".spec.replicas".to_owned(),
            r#".spec.ports[port=80].name"#.to_owned(),
        ];
        for found in [
            ".spec",
            ".spec.replicas",
            ".spec.ports",
            ".spec.ports[port=80]",
        ] {
            assert!(any_is_in(&paths, found), "{found}");
        }
        for missing in [
            ".sp",
            ".spec.replica",
            ".spec.ports[port=8",
            ".spec.replicas.x",
        ] {
            assert!(!any_is_in(&paths, missing), "{missing}");
        }
    }
}
