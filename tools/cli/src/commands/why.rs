//! `why`: who owns a field, what an apply does to it and why, and the ways out.

use std::collections::HashMap;
use std::process::ExitCode;

use fieldmanager_builtin::ResourceFacts;
use fieldmanager_fieldpath::Path;
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::Value;
use serde_json::{Value as Json, json};

use super::plan::{catalogue, read};
use crate::answer::stored;
use crate::answers::catalogue::Catalogue;
use crate::answers::cluster::LiveCluster;
use crate::answers::field::{keyed, path_of};
use crate::answers::sources::{ObjectKey, Sources, key};
use crate::answers::tool::Tool;
use crate::answers::ways::Question;
use crate::answers::why::{FieldAnswer, why};
use crate::args::WhyArgs;
use crate::error::Failure;
use crate::files::Files;
use crate::output::{self, Line, Style};
use crate::text;

/// Prints the answer. The exit code is 0, whatever it is.
pub(crate) fn run(args: &WhyArgs, files: Files) -> Result<ExitCode, Failure> {
    let sources = Sources::new(&args.paths(), files)?;
    let live = Sources::new(&args.live, files)?;
    let has_files = !args.live.is_empty();
    let cluster = LiveCluster::of(&args.cluster, args.namespace.as_deref(), has_files)?;
    let mut catalogue = catalogue(cluster.clone(), &[&live, &sources])?;
    let own = cluster.as_deref().map(LiveCluster::namespace);
    let namespace = own.or(args.namespace.as_deref()).unwrap_or("default");
    let (key, object) = match &cluster {
        Some(cluster) => cluster
            .named(&args.object)
            .map(|live| (live.key, live.object))?,
        None => wanted(args, namespace, &live, &mut catalogue)?,
    };
    let kind = catalogue.kind(&object).map_err(Failure::Refused)?;
    // A dump has the defaults, which another file may leave out.
    let object = kind.resource.read(&stored(&kind.resource, &object));
    let tool = (args.preset.is_some() || args.manager.is_some())
        .then(|| Tool::new(args.preset, args.manager.as_deref(), args.force_conflicts));
    let tool = tool.transpose().map_err(Failure::Usage)?;

    // Without a configuration the question is only who owns the field.
    let configured = read(&sources, namespace, &mut catalogue)?;
    let config = configured.iter().find(|of| of.key == key);
    if !configured.is_empty() && (config.is_none() || tool.is_none()) {
        return Err(Failure::Usage(match config {
            None => format!("the sources do not have {key}"),
            Some(_) => "who applies the configuration? --manager NAME, or --as TOOL".to_owned(),
        }));
    }

    let objects: Vec<&Value> = std::iter::once(&object)
        .chain(config.map(|of| &of.object))
        .collect();
    let path = path_of(&args.field, &objects).map_err(Failure::Usage)?;
    let path = keyed(&path, &object, kind.ty.as_ref());
    let question = Question {
        kind: &kind,
        live: &object,
        path: &path,
        apply: tool.as_ref().zip(config.map(|of| &of.object)),
        source: config.map_or_else(String::new, |of| of.file.clone()),
        is_in_cluster: cluster.is_some(),
    };
    let answer = why(&question).map_err(Failure::Refused)?;
    if args.json() {
        output::out().json(&format!("{:#}", document(&key, &path, &answer)))?;
    } else {
        output::print_lines(lines(&key, &answer))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The only live object that the arguments name: `KIND/NAME`, or `NAME` alone.
fn wanted(
    args: &WhyArgs,
    namespace: &str,
    live: &Sources,
    catalogue: &mut Catalogue,
) -> Result<(ObjectKey, Value), Failure> {
    let (kind, name) = args
        .object
        .split_once('/')
        .map_or(("", args.object.as_str()), |(kind, name)| (kind, name));
    let mut found: HashMap<ObjectKey, Value> = HashMap::new();
    live.each(&[], |item| {
        let object = item?.object;
        let is_named =
            object.metadata_string("name") == name && is_of_kind(&object, kind, catalogue);
        let served = catalogue
            .kind(&object)
            .map(|kind| kind.resource.is_namespaced());
        let key = key(&object, served.unwrap_or(true), namespace);
        if is_named
            && (args.namespace.is_none() || key.namespace.is_empty() || key.namespace == namespace)
        {
            found.insert(key, object);
        }
        Ok(())
    })?;

    // Of several objects, nobody knows which is meant.
    let mut names: Vec<String> = found.keys().map(ObjectKey::to_string).collect();
    names.sort();
    match (names.as_slice(), found.into_iter().next()) {
        ([_], Some(found)) => Ok(found),
        ([], _) | (_, None) => Err(Failure::Refused(format!(
            "there is no {} among the live objects",
            args.object
        ))),
        (several, _) => Err(Failure::Usage(format!(
            "{} is one of {}: name the kind, and --namespace",
            args.object,
            several.join(", ")
        ))),
    }
}

/// Whether people call the kind of an object so: by the kind, the plural or a short name, with or without the group.
fn is_of_kind(object: &Value, wanted: &str, catalogue: &mut Catalogue) -> bool {
    let kind = object.declared_kind();
    let (name, group) = wanted
        .split_once('.')
        .map_or((wanted, None), |(name, group)| (name, Some(group)));
    if group.is_some_and(|group| kind.group != group) {
        return false;
    }
    let mut facts = ResourceFacts::served()
        .filter(|facts| facts.group == kind.group && facts.kind == kind.kind);
    let is_short = facts.any(|facts| facts.short_names.iter().any(|short| *short == name));
    let mut plural = || {
        catalogue
            .kind(object)
            .is_ok_and(|kind| kind.resource.plural() == name)
    };
    name.is_empty() || is_short || kind.kind.eq_ignore_ascii_case(name) || plural()
}

fn lines(key: &ObjectKey, answer: &FieldAnswer) -> Vec<Line> {
    let room = Some(output::width());
    let wrapped = |text: &str, indent| text::wrap(text, room, indent).into_iter().map(Line::from);
    let mut lines = vec![Style::Strong.paint(&key.to_string()), Line::default()];
    lines.extend(wrapped(&answer.paragraph, 0));
    if !answer.owners.is_empty() {
        lines.extend([Line::default(), Style::Strong.paint("evidence")]);
    }
    for (entry, hold) in &answer.owners {
        let since = entry
            .time
            .map_or_else(String::new, |time| format!(", last changed {time}"));
        let line = format!(
            "  {}: {}{since}",
            text::identity(&entry.identity()),
            hold.words()
        );
        lines.extend(wrapped(&line, 4));
    }

    if !answer.ways.is_empty() {
        lines.extend([Line::default(), Style::Strong.paint("ways out")]);
    }
    for way in &answer.ways {
        lines.extend(wrapped(&format!("- {}: {}", way.name, way.effect), 2));
        // A command is printed as it is, to be copied.
        let command = way.command.iter().flat_map(|command| command.split('\n'));
        lines.extend(command.map(|line| Line::from(format!("    {line}"))));
    }
    lines
}

fn document(key: &ObjectKey, path: &Path, answer: &FieldAnswer) -> Json {
    let owners: Vec<Json> = answer
        .owners
        .iter()
        .map(|(entry, hold)| {
            json!({
                "manager": entry.manager.as_str(), "operation": entry.operation.name(),
                "subresource": entry.subresource.as_str(), "time": entry.time.map(|time| time.to_string()),
                "holds": hold.words(),
            })
        })
        .collect();
    let ways: Vec<Json> = answer
        .ways
        .iter()
        .map(|way| json!({"name": way.name, "effect": way.effect, "command": way.command}))
        .collect();
    json!({
        "kind": key.kind, "namespace": key.namespace, "name": key.name, "path": path.to_string(),
        "paragraph": answer.paragraph, "owners": owners, "ways": ways,
    })
}
