//! What tools send around an apply: the manager, whether it takes fields by force, and whose fields it takes over first.

use clap::ValueEnum;
use fieldmanager_fieldpath::Set;
use fieldmanager_harness::internal::with_metadata;
use fieldmanager_managedfields::internal::{LAST_APPLIED, decode_lossy, find_owners};
use fieldmanager_managedfields::{CsaUpgrade, Entry, Identity, ManagedFields, Operation, Selector};
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::{Str, Value};

/// Tools that apply configurations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ToolName {
    /// Helm 4, for a release that is applied by server-side apply
    Helm,
    /// Argo CD, with server-side apply
    Argocd,
    /// Flux, a Kustomization
    Flux,
    /// `kubectl apply --server-side`
    Kubectl,
    /// Terraform, a `kubernetes_manifest`
    Terraform,
    /// Pulumi, with server-side apply
    Pulumi,
}

/// Whose fields a tool takes over.
#[derive(Clone, Copy, Debug)]
enum Takeover {
    /// Those of managers of client-side apply, before it applies.
    Upgrade(&'static [&'static str]),
    /// Those of all managers whose names begin so, with these operations, before it applies.
    Replace(&'static [(&'static str, Operation)]),
    /// Those of the manager that wrote the annotation of client-side apply, after it has applied; then it applies again.
    LastApplied,
    None,
}

/// What is known about a tool.
struct Preset {
    manager: &'static str,
    force: bool,
    takeover: Takeover,
    /// How its users let it take fields.
    how_to_force: &'static str,
}

impl ToolName {
    fn preset(self) -> Preset {
        use Operation::{Apply, Update};

        match self {
            // Behaviour: `upgradeClientSideFieldManager` and `patchResourceServerSide` of `helm.sh/helm/v4/pkg/kube/client.go`
            // (v4.3.1). The manager is the base name of the program.
            ToolName::Helm => Preset {
                manager: "helm",
                force: false,
                takeover: Takeover::Upgrade(&["helm"]),
                how_to_force: "`helm upgrade --force-conflicts`",
            },
            // Behaviour: `performCSAUpgradeMigration` of `gitops-engine/pkg/sync/sync_context.go`, `ForceConflicts` of
            // `gitops-engine/pkg/utils/kube/resource_ops.go`, `ArgoCDSSAManager` of `common/common.go` of
            // github.com/argoproj/argo-cd (v3.6.1).
            ToolName::Argocd => Preset {
                manager: "argocd-controller",
                force: true,
                takeover: Takeover::Upgrade(&["kubectl-client-side-apply"]),
                how_to_force: "a sync, which always forces",
            },
            // Behaviour: `apply` of `internal/controller/kustomization_controller.go` of github.com/fluxcd/kustomize-controller,
            // `PatchReplaceFieldsManagers` of `github.com/fluxcd/pkg/ssa/patch.go` (v0.60.0).
            ToolName::Flux => Preset {
                manager: "kustomize-controller",
                force: true,
                takeover: Takeover::Replace(&[
                    ("kubectl", Apply),
                    ("kubectl", Update),
                    ("before-first-apply", Update),
                    ("kustomize-controller", Update),
                ]),
                how_to_force: "a reconciliation, which always forces",
            },
            // Behaviour: `applyOneObject`, `saveLastApplyAnnotationIfNecessary` and `migrateToSSAIfNecessary` of
            // `k8s.io/kubectl/pkg/cmd/apply/apply.go` (v0.37.1).
            ToolName::Kubectl => Preset {
                manager: "kubectl",
                force: false,
                takeover: Takeover::LastApplied,
                how_to_force: "`kubectl apply --server-side --force-conflicts`",
            },
            // Behaviour: `ApplyResourceChange` of `manifest/provider/apply.go` of
            // github.com/hashicorp/terraform-provider-kubernetes.
            ToolName::Terraform => Preset {
                manager: "Terraform",
                force: false,
                takeover: Takeover::None,
                how_to_force: "`force_conflicts = true` in the block `field_manager`",
            },
            // Behaviour: `fixCSAFieldManagers` of `provider/pkg/await/await.go` and `fieldManagerName` of
            // `provider/pkg/provider/provider.go` of github.com/pulumi/pulumi-kubernetes.
            ToolName::Pulumi => Preset {
                manager: "pulumi-kubernetes-",
                force: false,
                takeover: Takeover::Replace(&[
                    ("kubectl", Apply),
                    ("kubectl", Update),
                    ("before-first-apply", Update),
                    ("pulumi-kubernetes", Update),
                    ("pulumi-resource-kubernetes", Update),
                ]),
                how_to_force: "the annotation `pulumi.com/patchForce: \"true\"`",
            },
        }
    }
}

/// The managers of programs that people run, whose updates are configurations: an apply does not remove what they made.
const CLIENTS: [&str; 8] = [
    "kubectl",
    "before-first-apply",
    "helm",
    "argocd",
    "kustomize-controller",
    "Terraform",
    "HashiCorp",
    "pulumi",
];

/// The manager by which kubectl keeps the annotation of client-side apply.
const LAST_APPLIED_MANAGER: &str = "kubectl-last-applied";

/// Who applies, and how.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    pub(crate) manager: String,
    pub(crate) force: bool,
    pub(crate) how_to_force: &'static str,
    /// Whether people apply by kubectl.
    pub(crate) by_kubectl: bool,
    takeover: Takeover,
    /// Whether the name of the manager ends in what only the cluster knows.
    is_prefix: bool,
}

/// A live object whose owners a tool has changed, and the managers that have lost their fields to it.
pub(crate) struct Taken {
    pub(crate) object: Value,
    pub(crate) managers: Vec<Identity>,
}

impl Tool {
    /// A tool, or a manager that only applies. A name or force that is given wins.
    ///
    /// # Errors
    ///
    /// A message if there is neither a tool nor a name.
    pub(crate) fn new(
        name: Option<ToolName>,
        manager: Option<&str>,
        force: bool,
    ) -> Result<Self, String> {
        let preset = name.map(ToolName::preset);
        let (given, known) = (
            manager.map(str::to_owned),
            preset.as_ref().map(|preset| preset.manager.to_owned()),
        );
        let Some(manager) = given.or(known) else {
            return Err("who applies? --manager NAME, or --as TOOL".to_owned());
        };
        let preset = preset.unwrap_or(Preset {
            manager: "",
            force: false,
            takeover: Takeover::None,
            how_to_force: "`--force-conflicts`",
        });

        Ok(Tool {
            is_prefix: manager.ends_with('-'),
            manager,
            force: force || preset.force,
            how_to_force: preset.how_to_force,
            by_kubectl: matches!(name, None | Some(ToolName::Kubectl)),
            takeover: preset.takeover,
        })
    }

    /// The tool as it is for a live object: the end of its manager's name is found in the owners.
    pub(crate) fn of(&self, live: &Value) -> Tool {
        let mut tool = self.clone();
        if self.is_prefix {
            let entries = decode_lossy(live.managed_fields()).managed.entries();
            let mut known = entries
                .iter()
                .filter(|entry| entry.operation == Operation::Apply);
            let found = known.find(|entry| entry.manager.starts_with(self.manager.as_str()));
            tool.manager = found.map_or_else(
                || format!("{}xxxxxxxx", self.manager),
                |entry| entry.manager.to_string(),
            );
        }
        tool
    }

    /// Whether updates of a manager are configurations.
    pub(crate) fn is_client(&self, manager: &str) -> bool {
        manager == self.manager || CLIENTS.iter().any(|client| manager.starts_with(client))
    }

    /// What the tool does to the owners of a live object before it applies.
    ///
    /// # Errors
    ///
    /// A message if the owners cannot be read.
    pub(crate) fn prepare(&self, live: &Value) -> Result<Taken, String> {
        match self.takeover {
            Takeover::Upgrade(from) => self.upgrade(live, from.iter().copied().map(Str::from)),
            Takeover::Replace(prefixes) => {
                let taken = self.replace(live, prefixes)?;
                // Flux removes the annotation of client-side apply, which Pulumi leaves.
                let object = if self.manager == "kustomize-controller" {
                    without_last_applied(&taken.object)
                } else {
                    taken.object
                };
                Ok(Taken { object, ..taken })
            }
            Takeover::LastApplied | Takeover::None => Ok(Taken {
                object: live.clone(),
                managers: Vec::new(),
            }),
        }
    }

    /// What the tool does to the owners after it has applied. It applies again if it has taken fields.
    ///
    /// # Errors
    ///
    /// A message if the owners cannot be read.
    pub(crate) fn follow_up(&self, new: &Value) -> Result<Option<Taken>, String> {
        let has_annotation = new
            .annotations()
            .is_some_and(|all| all.get(LAST_APPLIED).is_some());
        if !matches!(self.takeover, Takeover::LastApplied) || !has_annotation {
            return Ok(None);
        }
        let mut path = Set::new();
        path.insert(&annotation_path());
        let from = find_owners(new, Operation::Update, &path);
        // Under its own name, kubectl keeps the annotation, and the server keeps it up to date.
        let mut new = new.clone();
        if self.manager == ToolName::Kubectl.preset().manager {
            let mut managed = decode_lossy(new.managed_fields()).managed;
            let version = new.declared_kind().api_version();
            managed.add(Entry::new(
                LAST_APPLIED_MANAGER,
                Operation::Apply,
                version.as_str(),
                path,
            ));
            new = managed.set_in(&new);
        }
        let taken = self.upgrade(&new, from.into_iter().map(|entry| entry.manager))?;

        Ok((!taken.managers.is_empty()).then_some(taken))
    }

    fn upgrade(&self, live: &Value, from: impl Iterator<Item = Str>) -> Result<Taken, String> {
        let from: Vec<Str> = from.collect();
        let entries = decode_lossy(live.managed_fields()).managed.entries();
        let taken = entries.iter().filter(|entry| {
            entry.operation == Operation::Update
                && entry.subresource.is_empty()
                && from.contains(&entry.manager)
        });
        let managers = taken.map(|entry| entry.identity()).collect();
        let upgrade = CsaUpgrade::new(from.clone(), self.manager.as_str());
        let object = upgrade.upgrade(live).map_err(|error| error.to_string())?;
        Ok(Taken { object, managers })
    }

    fn replace(&self, live: &Value, prefixes: &[(&str, Operation)]) -> Result<Taken, String> {
        let mut managed = ManagedFields::of_object(live).map_err(|error| error.to_string())?;
        let own = Identity::new(self.manager.as_str(), Operation::Apply, "", "");
        let mut managers = Vec::new();
        for entry in managed.entries() {
            let fits = |(prefix, operation): &(&str, Operation)| {
                entry.operation == *operation && entry.manager.starts_with(prefix)
            };
            if entry.subresource.is_empty() && entry.identity() != own && prefixes.iter().any(fits)
            {
                let selector = Selector::manager(entry.manager.clone())
                    .operation(entry.operation)
                    .subresource("");
                managed = managed
                    .transfer(&selector, &own)
                    .map_err(|error| error.to_string())?;
                managers.push(entry.identity());
            }
        }

        Ok(Taken {
            object: managed.set_in(live),
            managers,
        })
    }
}

/// The path of the annotation of client-side apply.
pub(crate) fn annotation_path() -> Vec<fieldmanager_fieldpath::PathElement> {
    ["metadata", "annotations", LAST_APPLIED]
        .map(|name| fieldmanager_fieldpath::PathElement::Field(name.into()))
        .to_vec()
}

/// An object without the annotation of client-side apply.
fn without_last_applied(object: &Value) -> Value {
    let annotations = object
        .get("metadata")
        .and_then(|metadata| metadata.get("annotations"));
    let Some(Value::Map(annotations)) = annotations.filter(|all| all.get(LAST_APPLIED).is_some())
    else {
        return object.clone();
    };
    let left = annotations.with_edits(vec![(LAST_APPLIED.into(), None)]);
    with_metadata(object, [("annotations", Some(left.into()))])
}
