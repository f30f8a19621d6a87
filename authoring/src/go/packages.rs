//! Packages, and which type a name stands for.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use super::model::{File, Type, TypeDecl};
use super::read;
use super::unions::{self, Declared};
use crate::Fault;

/// The most names that stand for a name: `type A = B`, `type B = C`.
pub(super) const MAX_HOPS: usize = 32;

/// A file of Go source.
///
/// ```
/// use fieldmanager_authoring::{GoFile, GoTypes};
/// let text = "package v1\n// +union\ntype Source struct {\n\t// +optional\n\tGit *string `json:\"git,omitempty\"`\n}\n";
/// let types = GoTypes::read(&[GoFile { path: "api/v1/types.go", import_path: None, text }]);
/// assert_eq!((types.unions(), types.faults().len()), (1, 0));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct GoFile<'t> {
    /// The path of the file. Files of one folder are a package.
    pub path: &'t str,
    /// What other packages import this package by, if it is known.
    pub import_path: Option<&'t str>,
    /// The source.
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
    declarations: HashMap<TypeKey, (Scope, usize)>,
    /// The packages that have a type of a name.
    by_name: HashMap<String, Vec<usize>>,
    by_import_path: HashMap<String, usize>,
    /// Packages without a known import path, by the last two parts of the path of their folder.
    by_folder: HashMap<(String, String), Vec<usize>>,
    /// The string constants of each type, in order.
    pub(super) constants: HashMap<TypeKey, Vec<String>>,
    /// Constants without a type beside those with one.
    pub(super) beside: HashMap<TypeKey, Vec<String>>,
    pub(crate) unions: BTreeMap<TypeKey, Vec<Declared>>,
    faults: Vec<Fault>,
}

/// A named type: its package and its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TypeKey {
    pub(crate) package: usize,
    pub(crate) name: String,
}

/// Where names are resolved: a file of a package.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope {
    pub(crate) package: usize,
    pub(crate) file: usize,
}

#[derive(Debug)]
pub(crate) struct Package {
    /// The folder.
    pub(crate) folder: String,
    pub(crate) import_path: Option<String>,
    pub(crate) files: Vec<File>,
}

impl Package {
    /// The value of a marker before a package clause: `+groupName=example.com`.
    pub(crate) fn marker(&self, name: &str) -> Option<&str> {
        let mut markers = self.files.iter().flat_map(|file| &file.markers);
        let found = markers.find(|marker| marker.name == name)?;
        Some(found.rest.strip_prefix('=').unwrap_or_default().trim())
    }

    /// The group of its kinds, if it says one.
    pub(crate) fn group(&self) -> Option<&str> {
        self.marker("groupName")
    }

    /// The version of its kinds: `+versionName=v1`, or the name of the package if it is that of a version.
    pub(crate) fn version(&self) -> Option<&str> {
        let names = self.files.iter().map(|file| file.package.as_str());
        let folder = components(&self.folder).next_back();
        self.marker("versionName").or_else(|| names.chain(folder).find(|name| is_version(name)))
    }

    /// The name in the package clause.
    pub(crate) fn name(&self) -> &str {
        self.files.iter().map(|file| file.package.as_str()).find(|name| !name.is_empty()).unwrap_or_default()
    }
}

/// `v1`, `v2alpha3`.
fn is_version(name: &str) -> bool {
    let Some(rest) = name.strip_prefix('v') else {
        return false;
    };
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    name.len() > rest.len() + 1
        && (rest.is_empty() || rest.strip_prefix("alpha").or(rest.strip_prefix("beta")).is_some_and(digits))
}

/// The parts of a path, without the versions of modules.
fn components(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    let parts = path.split(['/', '\\']).map(|part| part.split('@').next().unwrap_or_default());
    parts.filter(|part| !part.is_empty() && *part != ".")
}

/// The end of a path.
fn last_two(path: &str) -> Option<(String, String)> {
    let mut parts = components(path).rev();
    let (last, before) = (parts.next()?, parts.next()?);
    Some((before.to_owned(), last.to_owned()))
}

impl GoTypes {
    /// Reads files, and what their markers declare. What is wrong with them is in [`faults`](Self::faults).
    pub fn read(files: &[GoFile<'_>]) -> Self {
        let mut types = GoTypes::default();
        let mut by_folder: HashMap<&str, usize> = HashMap::new();
        for file in files {
            let folder = file.path.rfind(['/', '\\']).and_then(|end| file.path.get(..end)).unwrap_or(".");
            let (read, faults) = read::file(file.path, file.text);
            types.faults.extend(faults);
            let at = *by_folder.entry(folder).or_insert_with(|| {
                types.packages.push(Package { folder: folder.into(), import_path: None, files: Vec::new() });
                types.packages.len() - 1
            });
            if let Some(package) = types.packages.get_mut(at) {
                package.files.push(read);
                package.import_path = package.import_path.take().or(file.import_path.map(str::to_owned));
            }
        }
        types.index();
        let (unions, faults) = unions::of_types(&types);
        types.unions = unions;
        types.faults.extend(faults);
        types.faults.sort();
        types
    }

    /// What is wrong with the source and its markers, by file and place.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// How many unions the source declares.
    pub fn unions(&self) -> usize {
        self.unions.values().map(Vec::len).sum()
    }

    fn index(&mut self) {
        let mut declarations = HashMap::new();
        let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
        for (scope, file) in self.files() {
            for (i, decl) in file.types.iter().enumerate() {
                let key = TypeKey { package: scope.package, name: decl.name.clone() };
                if let Entry::Vacant(entry) = declarations.entry(key) {
                    entry.insert((scope, i));
                    by_name.entry(decl.name.clone()).or_default().push(scope.package);
                }
            }
        }
        self.declarations = declarations;
        self.by_name = by_name;
        for (i, package) in self.packages.iter().enumerate() {
            if let Some(path) = &package.import_path {
                self.by_import_path.entry(path.clone()).or_insert(i);
            } else if let Some(end) = last_two(&package.folder) {
                self.by_folder.entry(end).or_default().push(i);
            }
        }
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

    fn files(&self) -> Vec<(Scope, &File)> {
        let mut all = Vec::new();
        for (package, in_package) in self.packages.iter().enumerate() {
            all.extend(in_package.files.iter().enumerate().map(|(file, f)| (Scope { package, file }, f)));
        }
        all
    }

    pub(crate) fn file(&self, scope: Scope) -> Option<&File> {
        self.packages.get(scope.package)?.files.get(scope.file)
    }

    /// All declared types, package by package.
    pub(crate) fn types(&self) -> impl Iterator<Item = (Scope, &TypeDecl)> {
        self.files().into_iter().flat_map(|(scope, file)| file.types.iter().map(move |decl| (scope, decl)))
    }

    pub(crate) fn declaration(&self, key: &TypeKey) -> Option<(Scope, &TypeDecl)> {
        let (scope, i) = *self.declarations.get(key)?;
        Some((scope, self.file(scope)?.types.get(i)?))
    }

    /// The type that a name stands for, whether it is declared in what was read or not.
    pub(crate) fn key(&self, scope: Scope, ty: &Type) -> Option<TypeKey> {
        match ty {
            Type::Named(name) => Some(TypeKey { package: scope.package, name: name.clone() }),
            Type::Qualified(qualifier, name) => {
                Some(TypeKey { package: self.import(scope, qualifier)?, name: name.clone() })
            }
            _ => None,
        }
    }

    /// The package that a name of an import stands for, if it was read.
    fn import(&self, scope: Scope, qualifier: &str) -> Option<usize> {
        let file = self.file(scope)?;
        file.imports.iter().find_map(|(name, path)| {
            let matches = |package: usize| match name {
                Some(name) => name == qualifier,
                None => {
                    components(path).next_back() == Some(qualifier)
                        || self.packages.get(package).is_some_and(|package| package.name() == qualifier)
                }
            };
            self.package(path).filter(|package| matches(*package))
        })
    }

    /// The package of an import path. One whose import path is not known is found by the end of its folder's path, of
    /// which two parts must agree, since many packages are called `v1`.
    fn package(&self, path: &str) -> Option<usize> {
        if let Some(exact) = self.by_import_path.get(path) {
            return Some(*exact);
        }
        let common = |package: usize| {
            let folder = self.packages.get(package).map_or("", |package| package.folder.as_str());
            components(folder).rev().zip(components(path).rev()).take_while(|(a, b)| a == b).count()
        };
        self.by_folder.get(&last_two(path)?)?.iter().copied().max_by_key(|package| common(*package))
    }

    /// The declarations of a name, one a package.
    pub(crate) fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (Scope, &'a TypeDecl)> {
        let packages = self.by_name.get(name).into_iter().flatten();
        packages.filter_map(move |package| {
            self.declaration(&TypeKey { package: *package, name: name.to_owned() })
        })
    }

    /// The type that is behind names, pointers left out, and where its own names are resolved.
    pub(crate) fn underlying<'a>(&'a self, mut scope: Scope, ty: &'a Type) -> (Scope, &'a Type) {
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

    /// The name under which the struct is declared that a type is.
    pub(crate) fn struct_key(&self, scope: Scope, ty: &Type) -> Option<TypeKey> {
        let mut key = self.key(scope, ty.pointee())?;
        for _ in 0..MAX_HOPS {
            let (declared, decl) = self.declaration(&key)?;
            match decl.ty.pointee() {
                Type::Struct(_) => return Some(key),
                other => key = self.key(declared, other)?,
            }
        }
        None
    }

    /// The path of a file.
    pub(crate) fn path(&self, scope: Scope) -> &str {
        self.file(scope).map_or("", |file| &file.path)
    }
}
