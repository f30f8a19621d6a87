//! `GET` of collections, and the options of watches.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{URL_SAFE, URL_SAFE_NO_PAD};
use fieldmanager_managedfields::Status;
use fieldmanager_structural::{FieldError, FieldPath, GroupVersionKind};
use fieldmanager_value::internal::proceed;
use serde::{Deserialize, Serialize};

use super::read::too_large;
use super::selection::{Selection, WatchOptions};
use super::{Answer, Call, Content, Core, Failure, Listed, WatchCall};
use crate::query::Query;
use crate::registry::Served;
use crate::store::{Entry, Key, List, Revision, StoreError};

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
        let limit = usize::try_from(call.query.number("limit")?.unwrap_or_default()).unwrap_or_default();
        let prefix = call.served.prefix(call.namespace)?;
        let wanted = self.wanted_revision(call)?;
        let next = call.query.text("continue");
        let (after, at) = match next {
            "" => (None, None),
            next => {
                if !["", "0"].contains(&call.query.text("resourceVersion")) {
                    let message = "specifying resource version is not allowed when using continue";
                    return Err(Failure::new(400, "BadRequest", message));
                }
                let (key, at) = read_token(next, prefix.as_str()).map_err(|message| {
                    Failure::new(400, "BadRequest", format!("invalid continue token: {message}"))
                })?;
                (Some(key), at)
            }
        };
        let matching = call.query.text("resourceVersionMatch");
        let exact = matching == "Exact" || (matching.is_empty() && limit > 0);
        let at = at.or(wanted.filter(|_| exact)).or(call.stale);
        if let Some(wanted) = wanted.filter(|_| !exact) {
            let current = self.store.revision().await?;
            if wanted > current {
                return Err(too_large(wanted, current));
            }
        }

        let everything = selection.is_everything();
        // A selection may match few objects, so it is read whole.
        let wanted = (limit > 0 && everything).then_some(limit);
        let list = List { after, limit: wanted, at, ..List::new(prefix.clone()) };
        let page = self.store.list(list).await.map_err(|error| compacted(error, next, prefix.as_str()))?;
        let revision = page.revision;
        let count = page.entries.len();
        let mut items = Vec::new();
        for (index, entry) in page.entries.into_iter().enumerate().take_while(|_| proceed(1)) {
            let object = call.served.read(&entry);
            if !selection.matches(&object) {
                continue;
            }
            items.push(object);
            if limit > 0 && items.len() == limit {
                let more = page.remaining > 0 || index + 1 < count;
                let next = if more { token(&entry.key, revision, prefix.as_str()) } else { String::new() };
                let remaining = (everything && more).then_some(page.remaining);
                return Ok(listed(Listed { items, revision, next, remaining }));
            }
        }
        let next = page.next.map_or_else(String::new, |last| token(&last, revision, prefix.as_str()));
        Ok(listed(Listed { items, revision, next, remaining: None }))
    }

    /// All stored objects of a collection that a request selects, and the revision at which they were read.
    pub(super) async fn selected(&self, call: &Call<'_>) -> Result<(Vec<Entry>, Revision), Failure> {
        let selection = Selection::of(call)?;
        check_options(call.query, false)?;
        let page = self.store.list(List::new(call.served.prefix(call.namespace)?)).await?;
        let is_selected = |entry: &Entry| proceed(1) && selection.matches(&call.served.read(entry));
        Ok((page.entries.into_iter().filter(is_selected).collect(), page.revision))
    }

    /// Whether a resource has no stored objects.
    pub(super) async fn is_empty(&self, served: &Served) -> Result<bool, Failure> {
        let first = List::new(served.prefix("")?).limit(1).uncounted();
        Ok(self.store.list(first).await?.entries.is_empty())
    }

    pub(super) fn watched(&self, call: &Call<'_>) -> Result<Answer, Failure> {
        let selection = Selection::of(call)?;
        check_options(call.query, true)?;
        let timeout = call.query.number("timeoutSeconds")?;
        let options = WatchOptions {
            from: self.wanted_revision(call)?,
            initial: call.query.optional_flag("sendInitialEvents"),
            bookmarks: call.query.flag("allowWatchBookmarks"),
            timeout: timeout
                .and_then(|seconds| u64::try_from(seconds).ok())
                .filter(|seconds| *seconds > 0)
                .map(Duration::from_secs),
        };
        let prefix = call.served.prefix(call.namespace)?;
        let watch = WatchCall { served: call.served.clone(), prefix, selection, options };
        Ok(Answer { code: 200, warnings: Vec::new(), content: Content::Watch(watch) })
    }
}

fn listed(listed: Listed) -> Answer {
    Answer { code: 200, warnings: Vec::new(), content: Content::List(listed) }
}

/// The token of the page after a key.
fn token(after: &Key, revision: Revision, prefix: &str) -> String {
    let start = format!("{}\0", after.as_str().strip_prefix(prefix).unwrap_or_default());
    let revision = i64::try_from(revision.get()).unwrap_or(i64::MAX);
    let token = Token { version: TOKEN_VERSION.to_owned(), revision, start };
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(&token).unwrap_or_default())
}

/// The key and the revision of a token. The error is a message.
fn read_token(token: &str, prefix: &str) -> Result<(Key, Option<Revision>), String> {
    let invalid = |detail: &str| format!("continue key is not valid: {detail}");
    let bytes = URL_SAFE_NO_PAD.decode(token).or_else(|_| URL_SAFE.decode(token));
    let bytes = bytes.map_err(|error| invalid(&error.to_string()))?;
    let token: Token = serde_json::from_slice(&bytes).map_err(|error| invalid(&error.to_string()))?;
    if token.version != TOKEN_VERSION {
        return Err(format!(
            "continue key is not valid: server does not recognize this encoded version {}",
            token.version
        ));
    }
    let start = token.start.trim_end_matches('\0');
    if start.is_empty() {
        return Err("continue key is not valid: encoded start key empty (version meta.k8s.io/v1)".to_owned());
    }
    let key: Key = format!("{prefix}{start}").parse().map_err(|_| invalid(&token.start))?;
    match token.revision {
        0 => {
            Err("continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)"
                .to_owned())
        }
        revision => Ok((key, u64::try_from(revision).ok().and_then(Revision::new))),
    }
}

/// A revision that a store no longer has: the answer to a page has the token of the same page at the current revision.
fn compacted(error: StoreError, token_of: &str, prefix: &str) -> Failure {
    let is_compacted = matches!(error, StoreError::Compacted { .. });
    let failure = Failure::from(error);
    let Some(Ok((key, _))) = (is_compacted && !token_of.is_empty()).then(|| read_token(token_of, prefix))
    else {
        return failure;
    };
    let start = format!("{}\0", key.as_str().strip_prefix(prefix).unwrap_or_default());
    let token = Token { version: TOKEN_VERSION.to_owned(), revision: -1, start };
    let message = "The provided continue parameter is too old to display a consistent list result. You can start a new \
                   list without the continue parameter, or use the continue token in this response to retrieve the \
                   remainder of the results. Continuing with the provided token results in an inconsistent list - \
                   objects that were created, modified, or deleted between the time the first chunk was returned and \
                   now may show up in the list.";
    let next = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&token).unwrap_or_default());
    Failure { next, ..Failure::new(410, "Expired", message) }
}

/// Checks how the options of a list or a watch fit together.
///
/// Behaviour: `ValidateListOptions` of `k8s.io/apimachinery/pkg/apis/meta/internalversion/validation`.
fn check_options(query: &Query, is_watch: bool) -> Result<(), Failure> {
    let path = |name: &str| FieldPath::root(name);
    let mut errors = Vec::new();
    let mut forbid = |name: &str, detail: &str| errors.push(FieldError::forbidden(path(name), detail));
    let matching = query.text("resourceVersionMatch");
    let initial = query.get("sendInitialEvents").is_some();
    let continued = !query.text("continue").is_empty();
    let name = "resourceVersionMatch";
    let mut accepted: Option<&[&str]> = None;
    if is_watch {
        if initial && matching != "NotOlderThan" {
            forbid(name, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
        }
        if !matching.is_empty() && !initial {
            forbid(name, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
        }
        accepted = (!matching.is_empty() && matching != "NotOlderThan").then_some(&["NotOlderThan"]);
    } else if !matching.is_empty() {
        if query.text("resourceVersion").is_empty() {
            forbid(name, "resourceVersionMatch is forbidden unless resourceVersion is provided");
        }
        if continued {
            forbid(name, "resourceVersionMatch is forbidden when continue is provided");
        }
        accepted = (!["Exact", "NotOlderThan"].contains(&matching)).then_some(&["Exact", "NotOlderThan", ""]);
        if matching == "Exact" && query.text("resourceVersion") == "0" {
            forbid(name, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
        }
    }
    if let Some(accepted) = accepted {
        errors.push(FieldError::not_supported(path(name), matching, accepted));
    }
    if is_watch && !matching.is_empty() && continued {
        errors.push(FieldError::forbidden(
            path(name),
            "resourceVersionMatch is forbidden when continue is provided",
        ));
    }
    if !is_watch && initial {
        errors.push(FieldError::forbidden(
            path("sendInitialEvents"),
            "sendInitialEvents is forbidden for list",
        ));
    }
    match errors.is_empty() {
        true => Ok(()),
        false => {
            let kind = GroupVersionKind::new("meta.k8s.io", "", "ListOptions");
            Err(Status::invalid(&kind, "", &errors).into())
        }
    }
}
