//! What a test controls, for programs in any language: requests below `/test`.
//!
//! | method and path | body | answer |
//! |---|---|---|
//! | `POST /test/snapshots` | | 201, the snapshot: `{"id": "1", "revision": "57", "objects": 41}` |
//! | `GET /test/snapshots` | | `{"items": [...]}` |
//! | `POST /test/snapshots/ID/restore` | | `{"revision": "60"}`, the revision of the server since then |
//! | `DELETE /test/snapshots/ID`, `DELETE /test/snapshots` | | 204 |
//! | `POST /test/reset` | | `{"revision": "61"}`; the state after the start, without faults, snapshots and log |
//! | `POST /test/faults` | a [`Fault`](crate::fault::Fault) | 201, the rule: `{"id": 1, "matched": 0, "fired": 0, "rule": {...}}` |
//! | `GET /test/faults`, `GET /test/faults/ID` | | `{"items": [...]}`, the rule |
//! | `DELETE /test/faults/ID`, `DELETE /test/faults` | | 204 |
//! | `GET /test/log` | | a [`LogEntry`](crate::log::LogEntry) on each line |
//! | `DELETE /test/log` | | 204 |
//! | `GET /test/clock` | | `{"time": "2026-01-31T12:00:00Z"}` |
//! | `PUT /test/clock` | `{"time": "2026-01-31T12:00:00Z"}` | the same; the clock stops there |
//! | `POST /test/clock/advance` | `{"seconds": 10}` | `{"time": ...}`; the clock stops there |
//! | `POST /test/seed` | `{"seed": 7}` | `{"seed": 7}`; uids, generated names and probabilities follow from it |
//! | `POST /test/users` | `{"name": "alice", "groups": ["dev"]}`, also `uid` and `extra` | 201, `{"token": "..."}`, a bearer token of the user |
//! | `POST /test/collect` | | `{"steps": [...]}`, all changes that the collector makes |
//! | `POST /test/collect/step` | | `{"step": {...}}`, one change, or `{"step": null}` |
//!
//! `GET /test/log` has the parameters `manager`, `user`, `verb`, `resource`, `namespace`, `name` and `status`, which an entry
//! has to have; `path`, a field whose owners or value a write of it changed, or a field above it; and `since`, the number of
//! the last entry that the client knows.

mod routes;

use futures::future::BoxFuture;
use http::{Method, Response};

use crate::endpoint::Failure;
use crate::http::{Body, TestRequests};
use crate::query::Query;
use crate::server::ApiServer;

impl TestRequests for ApiServer {
    fn answer<'a>(
        &'a self,
        method: &'a Method,
        path: &'a [String],
        query: &'a Query,
        body: &'a [u8],
    ) -> BoxFuture<'a, Result<Response<Body>, Failure>> {
        Box::pin(routes::answer(self, method, path, query, body))
    }
}
