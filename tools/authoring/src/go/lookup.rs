//! Tables of packages, kinds and definitions, in which each name takes one lookup.

use std::collections::HashMap;

use super::packages::{Package, TypeKey, components};

/// Packages by the segments of their folder path, starting with the last segment.
#[derive(Debug, Default)]
pub(super) struct Folders {
    /// The nodes of a tree by the parent node and the path segment. The root is 0.
    nodes: HashMap<(usize, String), Folder>,
}

#[derive(Clone, Copy, Debug)]
struct Folder {
    node: usize,
    /// The last package that was added at or below the node.
    package: usize,
}

/// The minimum number of equal path segments, because many packages are named `v1`.
const LEAST_PARTS: usize = 2;

impl Folders {
    pub(super) fn add(&mut self, folder: &str, package: usize) {
        let mut node = 0;
        for part in components(folder).rev() {
            let next = self.nodes.len() + 1;
            let found = self.nodes.entry((node, part.to_owned())).or_insert(Folder {
                node: next,
                package,
            });
            found.package = package;
            node = found.node;
        }
    }

    /// The package whose folder has the longest common suffix with an import path.
    pub(super) fn find(&self, import_path: &str) -> Option<usize> {
        let mut found = Folder {
            node: 0,
            package: 0,
        };
        let mut parts = 0;

        for part in components(import_path).rev() {
            let Some(next) = self.nodes.get(&(found.node, part.to_owned())) else {
                break;
            };
            found = *next;
            parts += 1;
        }

        (parts >= LEAST_PARTS).then_some(found.package)
    }
}

/// The structs of kinds, by the name of the kind, and by the group and the version of their package, if known.
#[derive(Debug, Default)]
pub(super) struct Roots {
    by_place: HashMap<(String, Option<String>, Option<String>), Vec<TypeKey>>,
    by_name: HashMap<String, Vec<TypeKey>>,
}

impl Roots {
    pub(super) fn add(&mut self, package: &Package, key: &TypeKey) {
        let place = (
            key.name.clone(),
            package.group.clone(),
            package.version.clone(),
        );
        self.by_place.entry(place).or_default().push(key.clone());
        self.by_name
            .entry(key.name.clone())
            .or_default()
            .push(key.clone());
    }

    /// The structs of a kind. Structs in packages of the requested version precede those in packages without a version,
    /// which contain the types of all versions.
    pub(super) fn find(&self, group: &str, version: &str, kind: &str) -> Vec<&TypeKey> {
        for version in [Some(version), None] {
            let of = |group: Option<&str>| {
                let place = (
                    kind.to_owned(),
                    group.map(str::to_owned),
                    version.map(str::to_owned),
                );
                self.by_place.get(&place).map_or(&[][..], Vec::as_slice)
            };
            let mut found: Vec<&TypeKey> = of(Some(group)).iter().chain(of(None)).collect();

            if !found.is_empty() {
                found.sort();
                return found;
            }
        }

        Vec::new()
    }

    /// The structs with a name, in any group and version.
    pub(super) fn named(&self, kind: &str) -> &[TypeKey] {
        self.by_name.get(kind).map_or(&[][..], Vec::as_slice)
    }
}

/// Structs by their names in OpenAPI documents.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    by_name: HashMap<String, TypeKey>,
    /// Structs in packages whose path is unknown: by the package and the type at the end of the name.
    by_end: HashMap<String, TypeKey>,
}

impl Definitions {
    pub(super) fn add(&mut self, package: &Package, key: &TypeKey) {
        let names = package.names_in_openapi(&key.name);
        if names.is_empty() {
            self.by_end
                .insert(format!("{}.{}", package.name, key.name), key.clone());
        }
        self.by_name
            .extend(names.into_iter().map(|name| (name, key.clone())));
    }

    pub(super) fn named(&self, name: &str) -> Option<&TypeKey> {
        self.by_name.get(name)
    }

    pub(super) fn with_end(&self, end: &str) -> Option<&TypeKey> {
        self.by_end.get(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_with_the_longest_common_suffix_is_found() {
        let mut folders = Folders::default();
        for (package, folder) in [
            "a/api/v1",
            "./b/api/v1",
            "c@v1.2.3/api/v2",
            "v3",
            "x/a/api/v1",
        ]
        .into_iter()
        .enumerate()
        {
            folders.add(folder, package);
        }
        for (path, expected) in [
            ("example.com/b/api/v1", Some(1)),
            ("example.com/x/a/api/v1", Some(4)),
            // Of several equal ones, the last.
            ("example.com/a/api/v1", Some(4)),
            ("example.com/other/api/v1", Some(4)),
            ("example.com/c/api/v2", Some(2)),
            ("example.com/v3", None),
            ("v1", None),
            ("", None),
        ] {
            assert_eq!(folders.find(path), expected, "{path}");
        }
    }
}
