//! `plan`: what an apply would do to every object of sources.

use std::collections::{HashMap, HashSet};
use std::process::ExitCode;
use std::rc::Rc;

use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::Value;

use crate::answers::catalogue::{Catalogue, DEFINITION, ServedKind};
use crate::answers::cluster::LiveCluster;
use crate::answers::plan::{Fate, Planned, plan};
use crate::answers::plan_report::{PlanReport, PlannedPlace};
use crate::answers::sources::{ObjectKey, Sources, key};
use crate::answers::tool::Tool;
use crate::args::PlanArgs;
use crate::error::Failure;
use crate::files::Files;
use crate::output;

/// A configuration, and where it is.
pub(crate) struct Configured {
    pub(crate) object: Value,
    pub(crate) key: ObjectKey,
    pub(crate) file: String,
    line: usize,
}

impl Configured {
    fn place(&self) -> PlannedPlace<'_> {
        PlannedPlace {
            file: &self.file,
            line: self.line,
            key: &self.key,
        }
    }
}

/// Prints what an apply would do. Exits with 1 if it would be refused for an object.
pub(crate) fn run(args: &PlanArgs, files: Files) -> Result<ExitCode, Failure> {
    let tool = Tool::new(args.preset, args.manager.as_deref(), args.force_conflicts);
    let tool = tool.map_err(Failure::Usage)?;
    let sources = Sources::new(&args.source.paths(), files)?;
    let live = Sources::new(&args.live, files)?;
    let has_files = !args.live.is_empty() || !args.cluster.is_wanted();
    let cluster = LiveCluster::of(&args.cluster, args.source.namespace.as_deref(), has_files)?;
    let mut catalogue = catalogue(cluster.clone(), &[&live, &sources])?;
    let own = cluster.as_deref().map(LiveCluster::namespace);
    let namespace = own.unwrap_or(args.source.namespace());
    let configured = read(&sources, namespace, &mut catalogue)?;
    let wanted: HashSet<&ObjectKey> = configured.iter().map(|of| &of.key).collect();
    let mut live = read_live(&live, namespace, &wanted)?;
    let mut report = PlanReport::new(args.output, args.details || configured.len() == 1);
    for of in &configured {
        let planned = match (catalogue.kind(&of.object), &cluster) {
            (Err(message), _) => Planned::refused(message),
            (Ok(kind), None) => {
                let object = live.remove(&of.key).unwrap_or_default();
                plan(&kind, &tool, &object, &of.object)
            }
            // One live object is in memory at a time.
            (Ok(kind), Some(cluster)) => match live_in(cluster, &catalogue, &kind, of)? {
                Ok(object) => plan(&kind, &tool, &object, &of.object),
                Err(message) => Planned::refused(message),
            },
        };
        report.add(&of.place(), &planned)?;
    }

    // What was applied before and is no longer among the sources is removed by the tool.
    let inventory = Sources::new(&args.inventory, files)?;
    for of in read(&inventory, namespace, &mut catalogue)? {
        if !wanted.contains(&of.key) {
            report.add(&of.place(), &Planned::of(Fate::Removed))?;
        }
    }
    report.finish(&tool)
}

/// The live object of a configuration in a cluster, null if there is none; a message if the cluster does not have its kind.
fn live_in(
    cluster: &LiveCluster,
    catalogue: &Catalogue,
    kind: &ServedKind,
    of: &Configured,
) -> Result<Result<Value, String>, Failure> {
    let kind = kind.resource.kind();
    let Some(resource) = cluster.resource(kind)? else {
        // A definition among the sources comes before its objects.
        return Ok(match catalogue.definition(kind) {
            Some(_) => Ok(Value::Null),
            None => Err(catalogue.unknown(kind)),
        });
    };
    // The path without a name is that of all objects.
    if of.key.name.is_empty() {
        return Ok(Ok(Value::Null));
    }
    let path = resource.path(&of.key.namespace, &of.key.name);
    Ok(Ok(cluster.get(&path)?.unwrap_or_default()))
}

/// The kinds that a cluster serves with the definitions of sources.
pub(crate) fn catalogue(
    cluster: Option<Rc<LiveCluster>>,
    sources: &[&Sources],
) -> Result<Catalogue, Failure> {
    let mut catalogue = Catalogue::of_cluster(cluster);
    for source in sources {
        source.each(&[DEFINITION], |item| {
            // Faulty documents are reported by the pass that reads all.
            if let Ok(item) = item {
                catalogue.add(&item.object);
            }
            Ok(())
        })?;
    }
    Ok(catalogue)
}

/// Reads all objects of sources, namespaces and definitions first.
pub(crate) fn read(
    sources: &Sources,
    namespace: &str,
    catalogue: &mut Catalogue,
) -> Result<Vec<Configured>, Failure> {
    let mut found = Vec::new();
    let mut faults = Vec::new();
    sources.each(&[], |item| {
        let item = match item {
            Ok(item) => item,
            Err(fault) => {
                faults.push(format!("{}:{}: {}", fault.file, fault.line, fault.message));
                return Ok(());
            }
        };
        let kind = catalogue.kind(&item.object);
        let is_namespaced = kind.map_or_else(
            |_| !item.object.metadata_string("namespace").is_empty(),
            |kind| kind.resource.is_namespaced(),
        );
        found.push(Configured {
            key: key(&item.object, is_namespaced, namespace),
            file: item.file.to_string(),
            line: item.line(""),
            object: item.object,
        });
        Ok(())
    })?;

    if !faults.is_empty() {
        return Err(Failure::Several(faults));
    }
    // Others need these.
    found.sort_by_key(|of| match of.key.kind.as_str() {
        "Namespace" => 0,
        DEFINITION => 1,
        _ => 2,
    });
    Ok(found)
}

/// Reads the live objects that are wanted; the others of a dump are left out.
fn read_live(
    live: &Sources,
    namespace: &str,
    wanted: &HashSet<&ObjectKey>,
) -> Result<HashMap<ObjectKey, Value>, Failure> {
    let mut found = HashMap::new();
    let mut without_owners = 0;
    live.each(&[], |item| {
        let item = item?;
        // An object without a namespace is cluster-scoped, or in the default one.
        for is_namespaced in [true, false] {
            let key = key(&item.object, is_namespaced, namespace);
            if wanted.contains(&key) {
                without_owners += usize::from(item.object.managed_fields().is_none());
                found.insert(key, item.object.clone());
                break;
            }
        }
        Ok(())
    })?;

    if without_owners > 0 {
        let text = format!(
            "{without_owners} live objects have no metadata.managedFields, without which nobody owns anything: `kubectl get -o yaml --show-managed-fields` prints them"
        );
        output::err().warning("--live", &text)?;
    }
    Ok(found)
}
