//! Fields without an owner: the API server sets them, or they identify the object.

use std::sync::LazyLock;

use fieldmanager_fieldpath::internal::with_set;
use fieldmanager_fieldpath::{Owners, PathElement, Set};

static STRIPPED: LazyLock<Set> = LazyLock::new(|| {
    let field = |name: &str| PathElement::field(name);
    let metadata = [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    ];

    let mut set = Set::new();
    for name in ["apiVersion", "kind", "metadata"] {
        set.insert(&[field(name)]);
    }
    for name in metadata {
        set.insert(&[field("metadata"), field(name)]);
    }

    set
});

/// Removes these fields from the set of a manager.
pub(crate) fn strip(owners: &mut Owners, manager: &str) {
    let Some(owned) = owners.get(manager) else {
        return;
    };
    let own = owned.set().difference(&STRIPPED);
    if own.is_empty() {
        owners.remove(manager);
    } else if !own.ptr_eq(owned.set()) {
        let owned = with_set(owned, own);
        owners.insert(manager, owned);
    }
}
