//! The page for people below `/ui`: what exists, the owners of each line of an object, and its history.
//!
//! | path | shows |
//! |---|---|
//! | `/ui` | kinds and namespaces with the number of objects, and the latest changes |
//! | `/ui/kinds/RESOURCE?namespace=NAMESPACE` | the objects of a kind; RESOURCE is such as `deployments.apps` |
//! | `/ui/objects/RESOURCE/NAMESPACE/NAME` | an object with its owners; NAMESPACE is `-` for cluster scope |
//! | `/ui/history/RESOURCE/NAMESPACE/NAME?at=NUMBER` | its history |
//! | `/ui/export/RESOURCE/NAMESPACE/NAME` | its history as a file, of the program that has the server |
//! | `/ui/owners?path=PATH` | who owned a field, in all histories |
//!
//! Every page works without its script. The script replaces parts of the page when the store changes, and moves through
//! the history.

mod export;
mod frame;
mod history;
mod kinds;
mod objects;
mod owners;
mod place;
mod step;

use crate::endpoint::{Core, Failure};
use crate::query::Query;
pub(crate) use frame::{HTML, Page, failed, policy, tag};

/// The answer to a request to the segments of a path after `/ui`.
pub(crate) async fn answer(core: &Core, path: &[String], query: &Query) -> Result<Page, Failure> {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match path.as_slice() {
        [] => kinds::overview(core).await,
        ["kinds", resource] => kinds::list(core, resource, query).await,
        ["owners"] => owners::search(core, query).await,
        ["objects", resource, namespace, name] => {
            objects::object(core, &place::Place::of(core, resource, namespace, name)?).await
        }
        ["history", resource, namespace, name] => {
            history::history(
                core,
                &place::Place::of(core, resource, namespace, name)?,
                query,
            )
            .await
        }
        ["export", resource, namespace, name] => {
            export::export(core, &place::Place::of(core, resource, namespace, name)?).await
        }
        _ => Err(Failure::path_not_found()),
    }
}
