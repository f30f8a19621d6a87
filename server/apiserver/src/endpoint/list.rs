//! `GET` of collections, and the options of watches.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{URL_SAFE, URL_SAFE_NO_PAD};
use fieldmanager_managedfields::Status;
use fieldmanager_structural::{FieldError, FieldPath, GroupVersionKind};
use fieldmanager_value::internal::proceed;
use serde::{Deserialize, Serialize};

use super::read::too_large;
use super::selection::Selection;
use super::{Answer, Call, Content, Core, Failure, Listed};
use crate::query::Query;
use crate::registry::Served;
use crate::store::{Entry, Key, List, Revision, StoreError};
use crate::watch::{Predicate, Start, WatchRequest};

/// The token of a page, in the form of kube-apiserver.
#[derive(Serialize, Deserialize)]
struct Token {
    #[serde(rename = "v")]
    version: String,
    /// The revision of the pages; -1 for the current one.
    #[serde(rename = "rv", default)]
    revision: i64,
    /// The key after which the page begins, without the prefix of the collection, and a zero byte.
    #[serde(default)]
    start: String,
}

const TOKEN_VERSION: &str = "meta.k8s.io/v1";

impl Core {
    pub(super) async fn list(&self, call: &Call<'_>) -> Result<Answer, Failure> {
        let selection = Selection::of(call)?;
        check_options(call.query, false)?;
        let limit =
            usize::try_from(call.query.number("limit")?.unwrap_or_default()).unwrap_or_default();
        let prefix = call.served.prefix(call.namespace)?;
        let wanted = self.wanted_revision(call)?;
        let next = call.query.text("continue");
        let (after, at) = match next {
            "" => (None, None),
            next => {
                if !["", "0"].contains(&call.query.text("resourceVersion")) {
                    let message = "specifying resource version is not allowed when using continue";
                    return Err(Failure::bad_request(message));
                }
                let (key, at) = read_token(next, prefix.as_str()).map_err(|message| {
                    Failure::bad_request(format!("invalid continue token: {message}"))
                })?;
                (Some(key), at)
            }
        };

        // A page asks for exactly its revision, as all pages of a list have one. Otherwise a revision is a lower bound.
        let matching = call.query.text("resourceVersionMatch");
        let exact = matching == "Exact" || (matching.is_empty() && limit > 0);
        let at = at.or(wanted.filter(|_| exact));
        let expired = |error| compacted(error, next, prefix.as_str(), call.served);
        at.map_or(Ok(()), |at| self.oldest_listed.check(at))
            .map_err(expired)?;
        let at = at.or(call.stale);
        if let Some(wanted) = wanted.filter(|_| !exact) {
            let current = self.store.revision().await?;
            if wanted > current {
                return Err(too_large(wanted, current));
            }
        }

        // The number of objects that remain is known only without a selection, as in kube-apiserver.
        let everything = selection.is_everything();
        // A selection may match few objects, so it is read whole.
        let wanted = (limit > 0 && everything).then_some(limit);
        let list = List {
            after,
            limit: wanted,
            at,
            ..List::new(prefix.clone())
        };
        let page = self
            .objects(call.served)
            .list(list)
            .await
            .map_err(expired)?;

        let revision = page.revision;
        let number = i64::try_from(revision.get()).unwrap_or(i64::MAX);
        let token_after = |key: &Key| token(key, number, prefix.as_str());
        let mut listed = Listed {
            items: Vec::new(),
            are_stored: call.served.is_as_stored(),
            revision: Some(revision),
            next: page.next.as_ref().map_or_else(String::new, token_after),
            remaining: None,
        };
        let count = page.entries.len();
        let entries = page.entries.into_iter().enumerate();

        for (index, entry) in entries.take_while(|_| proceed(1)) {
            // An item that another list had is not even read.
            let read = !(listed.are_stored && everything);
            let object = read.then(|| call.served.read(&entry));
            if object
                .as_ref()
                .is_some_and(|object| !selection.matches(object))
            {
                continue;
            }
            let object = object.filter(|_| !listed.are_stored);
            let object = object.unwrap_or(entry.object);
            listed.items.push(Entry { object, ..entry });

            if limit > 0 && listed.items.len() == limit {
                let more = page.remaining > 0 || index + 1 < count;
                let last = listed.items.last().filter(|_| more);
                listed.next = last.map_or_else(String::new, |last| token_after(&last.key));
                listed.remaining = (everything && more).then_some(page.remaining);
                break;
            }
        }

        Ok(Answer::new(200, Content::List(listed)))
    }

    /// All stored objects of a collection that a request selects, and the revision at which they were read.
    pub(super) async fn selected(
        &self,
        call: &Call<'_>,
    ) -> Result<(Vec<Entry>, Revision), Failure> {
        let selection = Selection::of(call)?;
        check_options(call.query, false)?;
        let page = self
            .objects(call.served)
            .list(List::new(call.served.prefix(call.namespace)?))
            .await
            .map_err(|error| Failure::of_list(error, call.served))?;
        let is_selected = |entry: &Entry| proceed(1) && selection.matches(&call.served.read(entry));

        Ok((
            page.entries.into_iter().filter(is_selected).collect(),
            page.revision,
        ))
    }

    /// Whether a resource has no stored objects.
    pub(super) async fn is_empty(&self, served: &Served) -> Result<bool, Failure> {
        let first = List::new(served.prefix("")?).limit(1).uncounted();
        Ok(self.store.list(first).await?.entries.is_empty())
    }

    pub(super) fn watched(&self, call: &Call<'_>) -> Result<Answer, Failure> {
        let selection = Selection::of(call)?;
        check_options(call.query, true)?;
        let seconds = call.query.number("timeoutSeconds")?;
        let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok());
        let (served, presented) = (call.served.clone(), call.served.clone());
        let request = WatchRequest {
            prefix: served.prefix(call.namespace)?,
            start: match (
                call.query.optional_flag("sendInitialEvents"),
                self.wanted_revision(call)?,
            ) {
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

/// The token of the page after a key, at a revision or, with -1, at the current one.
fn token(after: &Key, revision: i64, prefix: &str) -> String {
    let start = after.as_str().strip_prefix(prefix).unwrap_or_default();
    let token = Token {
        version: TOKEN_VERSION.to_owned(),
        revision,
        start: format!("{start}\0"),
    };
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(&token).unwrap_or_default())
}

/// The key and the revision of a token. The error is a message.
fn read_token(token: &str, prefix: &str) -> Result<(Key, Option<Revision>), String> {
    let invalid = |detail: &str| format!("continue key is not valid: {detail}");
    let bytes = URL_SAFE_NO_PAD
        .decode(token)
        .or_else(|_| URL_SAFE.decode(token));
    let bytes = bytes.map_err(|error| invalid(&error.to_string()))?;
    let token: Token =
        serde_json::from_slice(&bytes).map_err(|error| invalid(&error.to_string()))?;

    if token.version != TOKEN_VERSION {
        return Err(format!(
            "continue key is not valid: server does not recognize this encoded version {}",
            token.version
        ));
    }

    let start = token.start.trim_end_matches('\0');
    if start.is_empty() {
        return Err(
            "continue key is not valid: encoded start key empty (version meta.k8s.io/v1)"
                .to_owned(),
        );
    }

    let key: Key = format!("{prefix}{start}")
        .parse()
        .map_err(|_| invalid(&token.start))?;
    match token.revision {
        0 => {
            Err("continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)"
                .to_owned())
        }
        revision => Ok((key, u64::try_from(revision).ok().and_then(Revision::new))),
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
    let continued = is_set && !query.text("continue").is_empty();
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
