//! `GET` of collections, and the options of watches.

use std::sync::Arc;
use std::time::Duration;

use fieldmanager_managedfields::Status;
use fieldmanager_structural::{FieldError, FieldPath, GroupVersionKind};
use fieldmanager_value::Value;
use fieldmanager_value::internal::proceed;

use super::paging::{read_token, token};
use super::read::{too_large, wanted_revision};
use super::selection::Selection;
use super::{Answer, Call, Content, Core, Failure, Listed};
use crate::query::Query;
use crate::registry::Served;
use crate::store::{Entry, Key, List, Revision, StoreError};
use crate::watch::{Predicate, Start, WatchRequest};

/// What is read of a collection.
struct PageBounds {
    limit: Option<usize>,
    /// The key after which a page begins.
    after: Option<Key>,
    at: Option<Revision>,
}

impl Core {
    pub(super) async fn list(&self, call: &Call<'_>) -> Result<Answer, Failure> {
        // What is as it is stored is read when it is written.
        let listed = self.page(call, !call.served.is_as_stored()).await?;
        Ok(Answer::new(200, Content::List(listed)))
    }

    /// The objects that a request selects, all or a page of them: as they are read, or as they are stored.
    pub(super) async fn page(&self, call: &Call<'_>, are_read: bool) -> Result<Listed, Failure> {
        let selection = Selection::of(call)?;
        check_options(call.query, false)?;
        let prefix = call.served.prefix(call.namespace)?;
        let PageBounds { limit, after, at } = self.bounds(call, prefix.as_str()).await?;

        // The number of objects that remain is known only without a selection, as in kube-apiserver.
        let everything = selection.is_everything();
        let list = List {
            after,
            // A selection may match few objects, so it is read whole.
            limit: limit.filter(|_| everything),
            at,
            ..List::new(prefix.clone())
        };
        let next = call.query.text("continue");
        let page = self.objects(call.served).list(list).await;
        let page = page.map_err(|error| compacted(error, next, prefix.as_str(), call.served))?;

        let revision = page.revision;
        let number = i64::try_from(revision.get()).unwrap_or(i64::MAX);
        let token_after = |key: &Key| token(key, number, prefix.as_str());
        let mut listed = Listed {
            items: Vec::new(),
            are_stored: !are_read,
            revision: Some(revision),
            next: page.next.as_ref().map_or_else(String::new, token_after),
            remaining: None,
        };
        let count = page.entries.len();
        let entries = page.entries.into_iter().enumerate();

        for (index, entry) in entries.take_while(|_| proceed(1)) {
            // An item that another list had is not even read, unless its fields or labels decide.
            let object = (are_read || !everything).then(|| call.served.read(&entry));
            let is_selected = |object: &Value| selection.matches(object);
            if !object.as_ref().is_none_or(is_selected) {
                continue;
            }
            let object = object.filter(|_| are_read).unwrap_or(entry.object);
            listed.items.push(Entry { object, ..entry });

            if limit == Some(listed.items.len()) {
                let more = page.remaining > 0 || index + 1 < count;
                let last = listed.items.last().filter(|_| more);
                listed.next = last.map_or_else(String::new, |last| token_after(&last.key));
                listed.remaining = (everything && more).then_some(page.remaining);
                break;
            }
        }

        Ok(listed)
    }

    /// The first and the last item of a page, and its revision.
    ///
    /// Behaviour: `ValidateListOptions` of `k8s.io/apiserver/pkg/storage`, and `ShouldDelegateList` of its cache.
    async fn bounds(&self, call: &Call<'_>, prefix: &str) -> Result<PageBounds, Failure> {
        let limit = call.query.number("limit")?.unwrap_or_default();
        let version = call.query.text("resourceVersion");
        let next = call.query.text("continue");
        // A list at any version is one of the cache, which has no pages.
        let is_any = version == "0" && next.is_empty();
        let limit = usize::try_from(limit).ok();
        let limit = limit.filter(|limit| *limit > 0 && !is_any);
        // The revision of a page, or one that is asked for exactly, must not be compacted.
        let kept = |at: Option<Revision>| {
            let checked = at.map_or(Ok(()), |at| self.oldest_listed.check(at));
            checked.map_err(|error| compacted(error, next, prefix, call.served))?;
            Ok::<_, Failure>(at.or(call.stale))
        };

        if !next.is_empty() {
            let (key, at) = read_token(next, prefix)?;
            if !["", "0"].contains(&version) {
                let message = "specifying resource version is not allowed when using continue";
                return Err(Failure::bad_request(message));
            }
            return Ok(PageBounds {
                limit,
                after: Some(key),
                at: kept(at)?,
            });
        }

        let wanted = wanted_revision(call)
            .map_err(|fault| Failure::bad_request(format!("invalid resource version: {fault}")))?;
        // All pages of a list have one revision. Without a limit, a revision is a lower bound.
        let matching = call.query.text("resourceVersionMatch");
        let exact = matching == "Exact" || (matching.is_empty() && limit.is_some());
        if let Some(wanted) = wanted.filter(|_| !exact) {
            let current = self.store.revision().await?;
            if wanted > current {
                return Err(too_large(wanted, current));
            }
        }
        Ok(PageBounds {
            limit,
            after: None,
            at: kept(wanted.filter(|_| exact))?,
        })
    }

    /// Whether a resource has no stored objects.
    pub(super) async fn is_empty(&self, served: &Served) -> Result<bool, Failure> {
        let first = List::new(served.prefix("")?).limit(1).uncounted();
        Ok(self.store.list(first).await?.entries.is_empty())
    }

    pub(super) fn watched(&self, call: &Call<'_>) -> Result<Answer, Failure> {
        let selection = Selection::of(call)?;
        check_options(call.query, true)?;
        let from = wanted_revision(call).map_err(|fault| Failure::new(500, "", fault))?;
        let seconds = call.query.number("timeoutSeconds")?;
        let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok());
        let (served, presented) = (call.served.clone(), call.served.clone());
        let request = WatchRequest {
            prefix: served.prefix(call.namespace)?,
            start: match (call.query.optional_flag("sendInitialEvents"), from) {
                (Some(true), from) => Start::Initial(from),
                (None, None) => Start::Initial(None),
                (Some(false), None) => Start::Now,
                (_, Some(revision)) => Start::After(revision),
            },
            selected: (!selection.is_everything()).then(|| {
                let selected: Predicate = Arc::new(move |object| selection.matches(object));
                selected
            }),
            present: Arc::new(move |object, revision| presented.present(object, revision)),
            bookmark: call
                .query
                .flag("allowWatchBookmarks")
                .then(|| served.bookmark()),
            timeout: seconds
                .filter(|seconds| *seconds > 0)
                .map(Duration::from_secs),
            // A definition that serves something else ends the watch, as its objects may have other fields then.
            replaced: served.definition().map(|definition| definition.replaced()),
        };

        Ok(Answer::new(200, Content::Watch(served, request)))
    }
}

/// A revision that a store no longer has: the answer to a page has the token of the same page at the current revision.
fn compacted(error: StoreError, token_of: &str, prefix: &str, served: &Served) -> Failure {
    let is_compacted = matches!(error, StoreError::Compacted { .. });
    let failure = Failure::of_list(error, served);
    let Some(Ok((key, _))) =
        (is_compacted && !token_of.is_empty()).then(|| read_token(token_of, prefix))
    else {
        return failure;
    };

    let message = "The provided continue parameter is too old to display a consistent list result. You can start a new \
                   list without the continue parameter, or use the continue token in this response to retrieve the \
                   remainder of the results. Continuing with the provided token results in an inconsistent list - \
                   objects that were created, modified, or deleted between the time the first chunk was returned and \
                   now may show up in the list.";
    Failure {
        next: token(&key, -1, prefix),
        ..Failure::new(410, "Expired", message)
    }
}

/// Checks how the options of a list or a watch fit together.
///
/// Behaviour: `ValidateListOptions` of `k8s.io/apimachinery/pkg/apis/meta/internalversion/validation`.
pub(super) fn check_options(query: &Query, is_watch: bool) -> Result<(), Failure> {
    let name = "resourceVersionMatch";
    let matching = query.text(name);
    let version = query.text("resourceVersion");
    let is_set = !matching.is_empty();
    let initial = query.get("sendInitialEvents").is_some();
    // A watch that begins with the stored objects is one for their state, which takes a match of its own.
    let is_initial =
        is_watch && query.get("sendInitialEvents").is_none() && ["", "0"].contains(&version);
    let continued = (is_set || is_initial) && !query.text("continue").is_empty();
    let newest = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
    let alone = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
    let without = "resourceVersionMatch is forbidden unless resourceVersion is provided";
    let page = "resourceVersionMatch is forbidden when continue is provided";
    let zero = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
    let of_list = "sendInitialEvents is forbidden for list";

    // The faults of a watch and of a list, in the order of their messages.
    let accepted: &[&str] = if is_watch {
        &["NotOlderThan"]
    } else {
        &["Exact", "NotOlderThan", ""]
    };
    let not_supported = is_set && !accepted.contains(&matching);
    let forbidden = |name: &str, detail: &str| FieldError::forbidden(FieldPath::root(name), detail);
    let mut errors = Vec::new();
    let mut check = |is_fault: bool, error: &dyn Fn() -> FieldError| {
        errors.extend(is_fault.then(error));
    };
    let unknown = || FieldError::not_supported(FieldPath::root(name), matching, accepted);

    if is_watch {
        check(initial && matching != "NotOlderThan", &|| {
            forbidden(name, newest)
        });
        check(is_set && !initial, &|| forbidden(name, alone));
        check(not_supported, &unknown);
        check(continued, &|| forbidden(name, page));
    } else {
        check(is_set && version.is_empty(), &|| forbidden(name, without));
        check(continued, &|| forbidden(name, page));
        check(matching == "Exact" && version == "0", &|| {
            forbidden(name, zero)
        });
        check(not_supported, &unknown);
        check(initial, &|| forbidden("sendInitialEvents", of_list));
    }

    if errors.is_empty() {
        Ok(())
    } else {
        let kind = GroupVersionKind::new("meta.k8s.io", "", "ListOptions");
        Err(Status::invalid(&kind, "", &errors).into())
    }
}
