//! Pods and their templates.

mod annotations;
mod container;
mod container_status;
mod mounts;
mod pod;
mod probe;
mod reports;
mod resize;
pub(super) mod resources;
pub(super) mod scheduling;
mod security;
mod spec;
mod status;
mod update;
mod variables;
mod volume;
mod windows;

use crate::place::Place;

pub(super) use self::pod::template;
pub(crate) use self::pod::{pod, pod_template};
pub(crate) use self::resize::resized_pod;
pub(crate) use self::status::pod_status;
pub(crate) use self::update::ephemeral_containers;

/// The containers of a pod in the order in which Kubernetes visits them.
pub(crate) fn containers_of<'v>(spec: &Place<'v>) -> impl Iterator<Item = Place<'v>> + use<'v> {
    let lists = ["initContainers", "containers", "ephemeralContainers"];
    let containers = lists.map(|list| spec.items(list));
    containers.into_iter().flatten()
}
