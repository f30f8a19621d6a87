//! Warnings about files of one volume at the same path.

use std::collections::BTreeMap;

use fieldmanager_value::Value;
use fieldmanager_value::internal::go_format::quote;

use super::bounded::Bounded;
use crate::place::{Place, quoted};

/// A file, and the source that has it if the volume has several.
#[derive(Clone, Debug, PartialEq)]
struct File {
    path: String,
    source: String,
}

impl File {
    fn shown(&self) -> String {
        match self.source.as_str() {
            "" => quote(&self.path).to_string(),
            source => format!("{} ({source})", quote(&self.path)),
        }
    }
}

/// A folder or file of a volume.
#[derive(Default)]
struct Node {
    children: BTreeMap<String, usize>,
    /// The positions of the files with this path.
    files: Vec<usize>,
}

/// The files of a volume, also by the parts of their paths: the cost of adding one does not grow with their number.
struct Files {
    all: Vec<File>,
    nodes: Vec<Node>,
}

impl Files {
    fn new() -> Self {
        Files {
            all: Vec::new(),
            nodes: vec![Node::default()],
        }
    }

    /// Adds a file, and returns the positions of the earlier files that hide it or that it hides, at most `limit`.
    fn insert(&mut self, file: &File, limit: usize) -> Vec<usize> {
        let mut found = Vec::new();
        let mut node = 0;
        // A file above hides this one, since a path is either a file or a folder.
        for part in file.path.split('/') {
            found.extend(self.at(node));
            let next = self.nodes.len();
            let child = self
                .nodes
                .get_mut(node)
                .map(|node| *node.children.entry(part.to_owned()).or_insert(next));
            node = child.unwrap_or(next);
            if node == next {
                self.nodes.push(Node::default());
            }
        }

        // Files at the same path or below it are hidden by this one. The walk stops when there are enough.
        let mut below = vec![node];
        while let Some(node) = below.pop().filter(|_| found.len() < limit) {
            found.extend(self.at(node));
            below.extend(
                self.nodes
                    .get(node)
                    .into_iter()
                    .flat_map(|node| node.children.values()),
            );
        }

        if let Some(node) = self.nodes.get_mut(node) {
            node.files.push(self.all.len());
        }
        self.all.push(file.clone());
        found.sort_unstable();
        found.truncate(limit);
        found
    }

    /// The positions of the files at a node.
    fn at(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        self.nodes
            .get(node)
            .into_iter()
            .flat_map(|node| node.files.iter().copied())
    }

    /// Adds files, and the warnings about those that hide each other.
    fn add(&mut self, files: Vec<File>, volume: &str, source: &str, out: &mut Bounded<'_>) {
        for file in files.into_iter().filter(|file| !file.path.is_empty()) {
            if out.left() == 0 {
                return;
            }
            for other in self.insert(&file, out.left()) {
                if out.left() == 0 {
                    return;
                }
                let other = self.all.get(other).map(File::shown).unwrap_or_default();
                let overlap = format!("{} with {other}", file.shown());
                out.push(format!(
                    "volume {volume} ({source}): overlapping paths: {overlap}"
                ));
            }
        }
    }
}

/// Adds the warnings about files that hide each other.
pub(super) fn overlapping(spec: &Place<'_>, out: &mut Vec<String>) {
    let mut out = Bounded::new(out);

    // A volume with a single source has its own files; only the sources of a projected volume share paths.
    for volume in spec.items("volumes") {
        let name = quoted(&volume, "name");
        for (member, words, named) in [
            ("configMap", "ConfigMap", "name"),
            ("secret", "Secret", "secretName"),
            ("downwardAPI", "DownwardAPI", ""),
        ] {
            let Some(source) = volume.child(member) else {
                continue;
            };
            let words = if named.is_empty() {
                words.to_owned()
            } else {
                format!("{words} {}", quoted(&source, named))
            };
            Files::new().add(files(&source, ""), &name, &words, &mut out);
        }

        let Some(source) = volume.child("projected") else {
            continue;
        };
        let mut files = Files::new();
        for part in source.items("sources") {
            if part.value.as_map().is_none_or(|map| map.is_empty()) {
                out.all
                    .push(format!("volume {name} (Projected) has no sources provided"));
            }
            files.add(projected(&part), &name, "Projected", &mut out);
        }
    }
}

fn file(path: &str, source: &str) -> File {
    File {
        path: path.trim_end_matches('/').to_owned(),
        source: source.to_owned(),
    }
}

fn files(place: &Place<'_>, source: &str) -> Vec<File> {
    let path = |item: &Value| {
        item.get("path")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    place
        .values("items")
        .map(|item| file(&path(item), source))
        .collect()
}

/// The files of a part of a projected volume.
fn projected(part: &Place<'_>) -> Vec<File> {
    // Without `items`, all keys are files, which are not known here.
    let listed = |name: &str| {
        part.child(name)
            .filter(|source| source.get("items").is_some())
    };

    if let Some(source) = listed("configMap") {
        files(&source, &format!("ConfigMap {}", quoted(&source, "name")))
    } else if let Some(source) = listed("secret") {
        files(&source, &format!("Secret {}", quoted(&source, "name")))
    } else if let Some(source) = listed("downwardAPI") {
        files(&source, "DownwardAPI")
    } else if let Some(token) = part.child("serviceAccountToken") {
        vec![file(token.text("path"), "ServiceAccountToken")]
    } else if let Some(bundle) = part.child("clusterTrustBundle") {
        let name = if bundle.get("name").is_some() {
            "name"
        } else {
            "signerName"
        };
        vec![file(
            bundle.text("path"),
            &format!("ClusterTrustBundle {}", quoted(&bundle, name)),
        )]
    } else if let Some(certificate) = part.child("podCertificate") {
        let paths = [
            ("certificateChainPath", "PodCertificate chain"),
            ("keyPath", "PodCertificate key"),
            ("credentialBundlePath", "PodCertificate credential bundle"),
        ];
        let set = paths
            .iter()
            .filter(|(name, _)| !certificate.text(name).is_empty());
        set.map(|(name, source)| file(certificate.text(name), source))
            .collect()
    } else {
        Vec::new()
    }
}
