//! Packages, and the resolution of names to types.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use super::lookup::{Definitions, Folders, Roots};
use super::model::{GoTypeExpr, ParsedFile, TypeDecl};
use super::read;
use super::unions::{self, Declared};
use crate::fault::Fault;

/// The maximum length of a chain of aliases: `type A = B`, `type B = C`.
pub(super) const MAX_HOPS: usize = 32;

/// A file of Go source.
///
/// ```
/// use fieldmanager_authoring::internal::{GoFile, GoTypes};
/// let text = "package v1\n// +union\ntype Source struct {\n\t// +optional\n\tGit *string `json:\"git,omitempty\"`\n}\n";
/// let types = GoTypes::read(&[GoFile { path: "api/v1/types.go", import_path: None, text }]);
/// assert_eq!((types.unions(), types.faults().len()), (1, 0));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct GoFile<'t> {
    /// The path of the file. The files of a folder form a package.
    pub path: &'t str,
    /// The import path of the package, if known.
    pub import_path: Option<&'t str>,
    /// The source code.
    pub text: &'t str,
}

/// The types of Go source, and the unions that their markers declare.
///
/// Markers are those of KEP-1027 in its forms of 2019 (`+union`, `+unionDeprecated`, `+unionDiscriminator`) and 2022
/// (`+unionDiscriminator`, `+unionMember`, `+unionDiscriminatedBy`, `+enum`), and those of Kubernetes' declarative
/// validation (`+k8s:unionDiscriminator`, `+k8s:unionMember`, `+k8s:zeroOrOneOfMember`).
#[derive(Debug, Default)]
pub struct GoTypes {
    pub(crate) packages: Vec<Package>,
    declarations: HashMap<TypeKey, (FileScope, usize)>,
    roots: Roots,
    definitions: Definitions,
    /// The string constants of each type, in order.
    pub(super) constants: HashMap<TypeKey, Vec<String>>,
    /// Untyped constants declared beside constants of the type.
    pub(super) beside: HashMap<TypeKey, Vec<String>>,
    pub(crate) unions: BTreeMap<TypeKey, Vec<Declared>>,
    faults: Vec<Fault>,
    warnings: Vec<Fault>,
}

/// A named type: its package and its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TypeKey {
    pub(crate) package: usize,
    pub(crate) name: String,
}

/// The scope in which names are resolved: a file of a package.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileScope {
    pub(crate) package: usize,
    pub(crate) file: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Package {
    /// The folder.
    pub(crate) folder: String,
    pub(crate) import_path: Option<String>,
    /// The name in the package clause.
    pub(crate) name: String,
    /// The API group, if declared: `+groupName=example.com`.
    pub(crate) group: Option<String>,
    /// The API version: `+versionName=v1`, or the name of the package if it is a version.
    pub(crate) version: Option<String>,
    /// The prefix of definition names in OpenAPI documents: `+k8s:openapi-model-package=com.example.api.v1`.
    model_package: Option<String>,
    pub(crate) files: Vec<ParsedFile>,
}

impl Package {
    /// Sets the names that the package clauses and the markers before them declare.
    fn describe(&mut self) {
        let marker = |name: &str| {
            let mut markers = self.files.iter().flat_map(|file| &file.markers);
            let found = markers.find(|marker| marker.name == name)?;
            Some(
                found
                    .rest
                    .strip_prefix('=')
                    .unwrap_or_default()
                    .trim()
                    .to_owned(),
            )
        };

        let names = || self.files.iter().map(|file| file.package.as_str());
        let folder = components(&self.folder).next_back();
        let version = names().chain(folder).find(|name| is_version(name));
        self.version = marker("versionName").or(version.map(str::to_owned));
        self.group = marker("groupName");
        self.model_package = marker("k8s:openapi-model-package");
        self.name = names()
            .find(|name| !name.is_empty())
            .unwrap_or_default()
            .to_owned();
    }

    /// The names by which kube-openapi may refer to a type of the package.
    pub(super) fn names_in_openapi(&self, name: &str) -> Vec<String> {
        let mut names: Vec<String> = self
            .model_package
            .iter()
            .map(|package| format!("{package}.{name}"))
            .collect();

        if let Some(path) = &self.import_path {
            let (host, rest) = path.split_once('/').unwrap_or((path, ""));
            let mut parts: Vec<&str> = host.split('.').collect();
            parts.reverse();
            parts.extend(rest.split('/').filter(|part| !part.is_empty()));
            names.push(format!("{}.{name}", parts.join(".")));
            names.push(format!("{path}.{name}"));
        }

        names
    }
}

/// Whether a string is a version such as `v1` or `v2alpha3`.
fn is_version(name: &str) -> bool {
    let Some(rest) = name.strip_prefix('v') else {
        return false;
    };
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    name.len() > rest.len() + 1
        && (rest.is_empty()
            || rest
                .strip_prefix("alpha")
                .or(rest.strip_prefix("beta"))
                .is_some_and(digits))
}

/// The segments of a path, without the versions of modules.
pub(super) fn components(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    let parts = path
        .split(['/', '\\'])
        .map(|part| part.split('@').next().unwrap_or_default());
    parts.filter(|part| !part.is_empty() && *part != ".")
}

/// Whether a type is the root of a kind: it has the marker, or is a struct with TypeMeta. A type that is defined by a
/// struct of another version (`type App v1.App`) requires the marker.
fn is_root(decl: &TypeDecl) -> bool {
    const MARKERS: [&str; 2] = ["kubebuilder:object:root", "k8s:deepcopy-gen:interfaces"];
    let is_marked = decl
        .markers
        .iter()
        .any(|marker| MARKERS.contains(&marker.name.as_str()));
    is_marked
        || matches!(&decl.ty, GoTypeExpr::Struct(fields) if fields.inlined().any(|field| field.name == "TypeMeta"))
}

impl GoTypes {
    /// Reads files and the unions that their markers declare. Faults are available from [`faults`](Self::faults).
    pub fn read(files: &[GoFile<'_>]) -> Self {
        let mut types = GoTypes::default();
        let mut by_folder: HashMap<&str, usize> = HashMap::new();
        // The files of a folder are one package, as in Go.
        for file in files {
            let folder = file
                .path
                .rfind(['/', '\\'])
                .and_then(|end| file.path.get(..end))
                .unwrap_or(".");
            let (read, faults) = read::file(file.path, file.text);
            types.faults.extend(faults);
            let at = *by_folder.entry(folder).or_insert_with(|| {
                types.packages.push(Package {
                    folder: folder.into(),
                    ..Package::default()
                });
                types.packages.len() - 1
            });

            if let Some(package) = types.packages.get_mut(at) {
                package.files.push(read);
                package.import_path = package
                    .import_path
                    .take()
                    .or(file.import_path.map(str::to_owned));
            }
        }

        // Unions are read last, since the constants of a discriminator may be in any file.
        types.index();
        let found = unions::of_types(&types);
        types.unions = found.unions;
        types.faults.extend(found.faults);
        types.faults.sort();
        types.warnings = found.warnings;
        types.warnings.sort();

        types
    }

    /// The faults of the source and its markers, by file and position.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// Harmless markers without effect, by file and position: discriminators without members.
    pub fn warnings(&self) -> &[Fault] {
        &self.warnings
    }

    /// The number of unions that the source declares.
    pub fn unions(&self) -> usize {
        self.unions.values().map(Vec::len).sum()
    }

    fn index(&mut self) {
        self.packages.iter_mut().for_each(Package::describe);
        self.resolve_imports();
        let mut declarations = HashMap::new();
        let (mut roots, mut definitions) = (Roots::default(), Definitions::default());
        // Files under different build constraints may declare the same name; the first one counts.
        for (scope, file) in self.files() {
            let Some(package) = self.packages.get(scope.package) else {
                continue;
            };
            for (i, decl) in file.types.iter().enumerate() {
                let key = TypeKey {
                    package: scope.package,
                    name: decl.name.clone(),
                };
                let Entry::Vacant(entry) = declarations.entry(key) else {
                    continue;
                };

                if matches!(
                    decl.ty,
                    GoTypeExpr::Struct(_) | GoTypeExpr::Named(_) | GoTypeExpr::Qualified(..)
                ) {
                    definitions.add(package, entry.key());
                    if is_root(decl) {
                        roots.add(package, entry.key());
                    }
                }
                entry.insert((scope, i));
            }
        }

        (self.declarations, self.roots, self.definitions) = (declarations, roots, definitions);

        // Only typed constants are values of an enum; those beside them count if a member names them.
        let mut constants: HashMap<TypeKey, Vec<String>> = HashMap::new();
        let mut beside = constants.clone();
        for (scope, file) in self.files() {
            for constant in &file.constants {
                let (ty, into) = match (&constant.ty, &constant.beside) {
                    (Some(ty), _) => (ty, &mut constants),
                    (None, Some(ty)) => (ty, &mut beside),
                    (None, None) => continue,
                };
                if let Some(key) = self.key(scope, ty) {
                    into.entry(key).or_default().push(constant.value.clone());
                }
            }
        }
        self.constants = constants;
        self.beside = beside;
    }

    /// Resolves all imports to packages. A package without a known import path is found by the suffix of its folder
    /// path.
    fn resolve_imports(&mut self) {
        let mut by_import_path = HashMap::new();
        let mut folders = Folders::default();
        for (i, package) in self.packages.iter().enumerate() {
            match &package.import_path {
                Some(path) => {
                    by_import_path.entry(path.clone()).or_insert(i);
                }
                None => folders.add(&package.folder, i),
            }
        }

        let names: Vec<String> = self
            .packages
            .iter()
            .map(|package| package.name.clone())
            .collect();

        for file in self
            .packages
            .iter_mut()
            .flat_map(|package| &mut package.files)
        {
            for (name, path) in &file.imports {
                let exact = by_import_path.get(path).copied();
                let Some(package) = exact.or_else(|| folders.find(path)) else {
                    continue;
                };

                // The default name of an import is the package name, which may differ from the end of the path.
                let unnamed = || {
                    components(path)
                        .next_back()
                        .into_iter()
                        .chain(names.get(package).map(String::as_str))
                };
                let qualifiers: Vec<&str> = match name {
                    Some(name) => vec![name],
                    None => unnamed().collect(),
                };

                for qualifier in qualifiers {
                    file.imported.entry(qualifier.to_owned()).or_insert(package);
                }
            }
        }
    }

    fn files(&self) -> Vec<(FileScope, &ParsedFile)> {
        let mut all = Vec::new();
        for (package, in_package) in self.packages.iter().enumerate() {
            all.extend(
                in_package
                    .files
                    .iter()
                    .enumerate()
                    .map(|(file, f)| (FileScope { package, file }, f)),
            );
        }

        all
    }

    pub(crate) fn file(&self, scope: FileScope) -> Option<&ParsedFile> {
        self.packages.get(scope.package)?.files.get(scope.file)
    }

    /// All declared types, package by package.
    pub(crate) fn types(&self) -> impl Iterator<Item = (FileScope, &TypeDecl)> {
        self.files()
            .into_iter()
            .flat_map(|(scope, file)| file.types.iter().map(move |decl| (scope, decl)))
    }

    pub(crate) fn declaration(&self, key: &TypeKey) -> Option<(FileScope, &TypeDecl)> {
        let (scope, i) = *self.declarations.get(key)?;
        Some((scope, self.file(scope)?.types.get(i)?))
    }

    /// The key of a named type, whether its declaration was read or not.
    pub(crate) fn key(&self, scope: FileScope, ty: &GoTypeExpr) -> Option<TypeKey> {
        match ty {
            GoTypeExpr::Named(name) => Some(TypeKey {
                package: scope.package,
                name: name.clone(),
            }),
            GoTypeExpr::Qualified(qualifier, name) => Some(TypeKey {
                package: self.import(scope, qualifier)?,
                name: name.clone(),
            }),
            _ => None,
        }
    }

    /// The package of an import name, if it was read.
    fn import(&self, scope: FileScope, qualifier: &str) -> Option<usize> {
        self.file(scope)?.imported.get(qualifier).copied()
    }

    /// The root structs of a kind at a version.
    pub(crate) fn roots(&self, group: &str, version: &str, kind: &str) -> Vec<&TypeKey> {
        self.roots.find(group, version, kind)
    }

    /// The root structs with a kind name, in all groups and versions.
    pub(crate) fn roots_named(&self, kind: &str) -> &[TypeKey] {
        self.roots.named(kind)
    }

    /// The struct of a definition in an OpenAPI document.
    pub(crate) fn definition(&self, name: &str) -> Option<&TypeKey> {
        self.definitions.named(name)
    }

    /// The struct of a definition whose name ends in a package and a type (`v1.Pod`), if the path of its package is
    /// unknown.
    pub(crate) fn definition_by_end(&self, end: &str) -> Option<&TypeKey> {
        self.definitions.with_end(end)
    }

    /// The underlying type without names and pointers, and the scope of its own names.
    pub(crate) fn underlying<'a>(
        &'a self,
        mut scope: FileScope,
        ty: &'a GoTypeExpr,
    ) -> (FileScope, &'a GoTypeExpr) {
        let mut ty = ty.pointee();
        for _ in 0..MAX_HOPS {
            let found = self.key(scope, ty).and_then(|key| self.declaration(&key));
            let Some((declared, decl)) = found else {
                break;
            };
            (scope, ty) = (declared, decl.ty.pointee());
        }
        (scope, ty)
    }

    /// The key under which the underlying struct of a type is declared.
    pub(crate) fn struct_key(&self, scope: FileScope, ty: &GoTypeExpr) -> Option<TypeKey> {
        self.struct_named(&self.key(scope, ty.pointee())?)
    }

    /// The key under which the underlying struct of a named type is declared.
    pub(crate) fn struct_named(&self, key: &TypeKey) -> Option<TypeKey> {
        let mut key = key.clone();
        for _ in 0..MAX_HOPS {
            let (declared, decl) = self.declaration(&key)?;
            match decl.ty.pointee() {
                GoTypeExpr::Struct(_) => return Some(key),
                other => key = self.key(declared, other)?,
            }
        }
        None
    }

    /// The path of a file.
    pub(crate) fn path(&self, scope: FileScope) -> &str {
        self.file(scope).map_or("", |file| &file.path)
    }
}
