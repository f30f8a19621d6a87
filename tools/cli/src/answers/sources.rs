//! Where objects are from: files, folders, standard input and dumps.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::Scope;

use fieldmanager_harness::internal::{PlacedDocument, each_document, in_folder};
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::{Map, Value};
use memchr::memmem;
use tokio::sync::mpsc;

use crate::error::Failure;
use crate::files::{self, Files};

/// The number of objects that are read before they are needed: a definition can have some MB.
const AHEAD: usize = 6;

/// Files with objects, in the order of the arguments. Each is read when its objects are asked for, one at a time.
pub(crate) struct Sources {
    paths: Vec<PathBuf>,
    /// What standard input had, which cannot be read twice.
    stdin: Option<String>,
    files: Files,
}

/// An object of a source, and where it is.
pub(crate) struct SourceObject {
    pub(crate) object: Value,
    pub(crate) file: Arc<str>,
    /// The path of the object in its document: empty, or that of an item of a list.
    prefix: String,
    document: Arc<PlacedDocument>,
}

/// A document that is no object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unreadable {
    pub(crate) file: String,
    /// The line, from 1.
    pub(crate) line: usize,
    pub(crate) message: String,
}

/// An object, or a document that has none.
pub(crate) type FoundObject = Result<SourceObject, Unreadable>;

/// What identifies an object in a cluster: group, kind, namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ObjectKey {
    pub(crate) group: String,
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl From<Unreadable> for Failure {
    fn from(fault: Unreadable) -> Self {
        Failure::input(format!("{}:{}", fault.file, fault.line), fault.message)
    }
}

impl std::fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ObjectKey {
            kind,
            namespace,
            name,
            ..
        } = self;
        let slash = if namespace.is_empty() { "" } else { "/" };
        write!(f, "{kind} {namespace}{slash}{name}")
    }
}

impl SourceObject {
    /// The text of its document.
    pub(crate) fn text(&self) -> &str {
        self.document.text()
    }

    /// The line of a field of the object, or of the nearest one around it; of the object, for the empty path.
    pub(crate) fn line(&self, path: &str) -> usize {
        match (self.prefix.as_str(), path) {
            ("", path) => self.document.line(path),
            (prefix, "") => self.document.line(prefix),
            (prefix, path) => self.document.line(&format!("{prefix}.{path}")),
        }
    }
}

impl Sources {
    /// Finds the files of paths: a file, a folder, whose files of YAML and JSON count at any depth, or `-`.
    ///
    /// # Errors
    ///
    /// A path that does not exist, or a folder that cannot be read.
    pub(crate) fn new(paths: &[PathBuf], files: Files) -> Result<Self, Failure> {
        let mut sources = Sources {
            paths: Vec::new(),
            stdin: None,
            files,
        };
        for path in paths {
            if path.as_os_str() == "-" {
                sources.stdin = Some(files.text(path)?);
                sources.paths.push(path.clone());
            } else if path.is_dir() {
                for file in in_folder(path) {
                    let file = file.map_err(|error| Failure::Other(error.to_string()))?;
                    sources.paths.push(file);
                }
            } else {
                path.metadata()
                    .map_err(|error| Failure::input(files::name(path), error))?;
                sources.paths.push(path.clone());
            }
        }

        Ok(sources)
    }

    /// The number of files.
    pub(crate) fn len(&self) -> usize {
        self.paths.len()
    }

    /// Calls a function with each object, and with each document that has none. A `List`, of any kind, is its items. If
    /// there are `kinds`, only documents are read that may have an object of one of them.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, and those of the function.
    pub(crate) fn each(
        &self,
        kinds: &[&str],
        act: impl FnMut(Result<SourceObject, Unreadable>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.each_of(|_| true, |_, text| may_have(text, kinds), act)
    }

    /// The objects and faults of the documents that are wanted, which a thread reads while the caller deals with the ones
    /// before. `has_some` says of the index of a file whether it may have such a document, and `is_wanted` of the index and the
    /// text of a document whether it is one. A file that cannot be read is the last one.
    pub(crate) fn read_ahead<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        has_some: impl Fn(usize) -> bool + Send + 'scope,
        is_wanted: impl Fn(usize, &str) -> bool + Send + 'scope,
    ) -> mpsc::Receiver<Result<FoundObject, Failure>> {
        let (found, next) = mpsc::channel(AHEAD);
        scope.spawn(move || {
            // A caller that fails takes no more objects. It reports its own error, and this one is dropped.
            let gone = |_| Failure::Other("the objects are not wanted".to_owned());
            let read = self.each_of(has_some, is_wanted, |item| {
                found.blocking_send(Ok(item)).map_err(gone)
            });
            read.or_else(|failure| found.blocking_send(Err(failure)))
        });
        next
    }

    fn each_of(
        &self,
        has_some: impl Fn(usize) -> bool,
        is_wanted: impl Fn(usize, &str) -> bool,
        mut act: impl FnMut(Result<SourceObject, Unreadable>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        for (index, path) in self.paths.iter().enumerate() {
            if !has_some(index) {
                continue;
            }
            let read;
            let text = match &self.stdin {
                Some(text) if path.as_os_str() == "-" => text,
                _ => {
                    read = self.files.text(path)?;
                    &read
                }
            };
            let is_wanted = |text: &str| is_wanted(index, text);
            each_object(&files::name(path), text, &is_wanted, &mut act)?;
        }

        Ok(())
    }
}

/// Calls a function with each object of a file or folder, and its name if it may be one of many: in a folder, a list such as
/// `kubectl get -o yaml` prints, or one of several documents.
///
/// # Errors
///
/// A file that cannot be read, a document that is no object, and those of the function.
pub(crate) fn each_in(
    path: &Path,
    files: Files,
    mut act: impl FnMut(Option<String>, Value) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let name = |object: &Value| Some(key(object, true, "").to_string());
    if path.is_dir() {
        return Sources::new(&[path.to_path_buf()], files)?.each(&[], |item| {
            let object = item?.object;
            act(name(&object), object)
        });
    }

    let documents = files.documents(path)?;
    if documents.len() < 2 && !documents.first().is_some_and(is_list) {
        return act(None, files::only_object(path, documents)?);
    }
    let mut all = documents.iter().flat_map(objects);
    all.try_for_each(|(_, object)| act(name(&object), object))
}

fn is_list(document: &Value) -> bool {
    let items = document.get("items").and_then(Value::as_list);
    items.is_some() && document.declared_kind().kind.ends_with("List")
}

/// Calls a function with each object of a file.
fn each_object(
    file: &str,
    text: &str,
    is_wanted: &impl Fn(&str) -> bool,
    act: &mut impl FnMut(Result<SourceObject, Unreadable>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let file: Arc<str> = file.into();
    for (number, document) in each_document(text, is_wanted) {
        let fault = |line, message: String| Unreadable {
            file: file.to_string(),
            line,
            message: format!("document {number}: {message}"),
        };
        let document = match document {
            Ok(document) => Arc::new(document),
            Err(error) => {
                act(Err(fault(line_of(&error), unparsed(&error, text))))?;
                continue;
            }
        };

        for (prefix, object) in objects(document.value()) {
            let item = SourceObject {
                object,
                file: file.clone(),
                prefix,
                document: document.clone(),
            };
            if item.object.declared_kind().kind.is_empty() {
                let message = "an object has apiVersion and kind, and this has no kind".to_owned();
                act(Err(fault(item.line(""), message)))?;
            } else {
                act(Ok(item))?;
            }
        }
    }

    Ok(())
}

/// Whether a text may have an object of one of these kinds, or if there are none, at all. Parsing takes most of the time, and so
/// what must be parsed is found without it.
pub(crate) fn may_have(text: &str, kinds: &[&str]) -> bool {
    let is_one = |after: &str| {
        let kind = after.trim_start_matches(['"', '\'', ' ']).strip_prefix(':');
        let kind = kind.map(|kind| kind.trim_start_matches(['"', '\'', ' ']));
        // The kind may be on the next line.
        kind.is_some_and(|kind| {
            kind.trim().is_empty() || kinds.iter().any(|one| kind.starts_with(one))
        })
    };
    let mut lines = text.lines();
    kinds.is_empty() || lines.any(|line| line.split("kind").skip(1).any(is_one))
}

/// The kind that a line of a document of YAML says the document has; `None` if none does or several do, or if the document is a
/// list.
pub(crate) fn said_kind(text: &str) -> Option<&str> {
    let begins_line = |at: &usize| {
        text.get(..*at)
            .is_some_and(|before| before.is_empty() || before.ends_with('\n'))
    };
    let found = memmem::find_iter(text.as_bytes(), "kind:").filter(begins_line);
    let mut lines = found.filter_map(|at| text.get(at + "kind:".len()..)?.lines().next());
    let kind = lines.next()?.split_whitespace().next()?;
    let kind = kind.trim_matches(['"', '\'']);
    let is_clear = lines.next().is_none() && !kind.is_empty() && !kind.ends_with("List");
    is_clear.then_some(kind)
}

/// The objects of a document, with their paths in it. The items of a list such as a `DeploymentList` may leave out their kind.
fn objects(document: &Value) -> Vec<(String, Value)> {
    let kind = document.declared_kind();
    let items = document.get("items").and_then(Value::as_list);
    let (Some(items), Some(of)) = (items, kind.kind.strip_suffix("List")) else {
        return vec![(String::new(), document.clone())];
    };

    let typed = |item: &Value| match item {
        Value::Map(fields) if !of.is_empty() && fields.get("kind").is_none() => {
            let mut fields: Map = fields.clone();
            fields.insert("apiVersion", kind.api_version());
            fields.insert("kind", of);
            Value::Map(fields)
        }
        other => other.clone(),
    };
    let items = items.iter().enumerate();
    items
        .map(|(index, item)| (format!("items[{index}]"), typed(item)))
        .collect()
}

fn line_of(error: &fieldmanager_value::Error) -> usize {
    match error {
        fieldmanager_value::Error::Json { position, .. } => position.line,
        fieldmanager_value::Error::Yaml { position, .. } => {
            position.as_ref().map_or(1, |position| position.line)
        }
        _ => 1,
    }
}

/// Why a text is not parsed. The files of a chart are no YAML until Helm has rendered them.
fn unparsed(error: &fieldmanager_value::Error, text: &str) -> String {
    // That of a text which is no YAML is on the line of the template or on the next one.
    let mut lines = text.lines().skip(line_of(error).saturating_sub(2)).take(2);
    if lines.any(|line| line.contains("{{")) {
        format!(
            "{error}; a template has to be rendered first: `helm template CHART | fieldmanager .. -`"
        )
    } else {
        error.to_string()
    }
}

/// The key of an object, in a namespace if it names none and its kind is `namespaced`.
pub(crate) fn key(object: &Value, namespaced: bool, namespace: &str) -> ObjectKey {
    let kind = object.declared_kind();
    let namespace = match object.metadata_string("namespace") {
        _ if !namespaced => "",
        "" => namespace,
        own => own,
    };
    ObjectKey {
        group: kind.group.to_string(),
        kind: kind.kind.to_string(),
        namespace: namespace.to_owned(),
        name: object.metadata_string("name").to_owned(),
    }
}
