//! An API server inside a Rust test: how it is made, requests, and assertions on owners.
//!
//! ```
//! # tokio_test::block_on(async {
//! use fieldmanager_apiserver::fault::Fault;
//! use fieldmanager_apiserver::{ApiServer, assert_not_owned, assert_owned};
//! use serde_json::json;
//!
//! let shops = "
//! apiVersion: apiextensions.k8s.io/v1
//! kind: CustomResourceDefinition
//! metadata: {name: shops.example.com}
//! spec:
//!   group: example.com
//!   scope: Namespaced
//!   names: {plural: shops, kind: Shop}
//!   versions:
//!   - name: v1
//!     served: true
//!     storage: true
//!     schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
//! ";
//! let server = ApiServer::for_test().crds([shops]).seed(7).build().await?;
//! let shop = |size: i64| {
//!     json!({"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "corner"}, "spec": {"size": size}})
//! };
//! let object = server.apply("alice", shop(1)).await?;
//! assert_owned!(object, "alice", ".spec.size");
//!
//! // Another manager conflicts, and takes the field by force.
//! assert_eq!(server.apply("bob", shop(2)).await.unwrap_err().code, 409);
//! let object = server.force_apply("bob", shop(2)).await?;
//! assert_not_owned!(object, "alice", ".spec.size");
//! server.log().assert_never_wrote("carol", ".spec");
//!
//! let fault = server.faults().add(Fault::unavailable().verb("get").times(1))?;
//! assert_eq!(server.get("example.com/v1", "Shop", "corner").await.unwrap_err().code, 503);
//! assert_eq!(fault.fired(), 1);
//!
//! // Without the shop, the fault and the log.
//! server.reset().await?;
//! assert_eq!(server.get("example.com/v1", "Shop", "corner").await.unwrap_err().code, 404);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! A client library, such as `kube`, takes the [`ApiServer`](crate::ApiServer) itself, which is a `tower::Service`:
//! `kube::Client::new(server.service(), "default")`.

mod build;
mod owners;
mod request;

pub use build::{Manifest, SetupError, TestBuilder, TestServer};
#[doc(hidden)]
pub use owners::{check_not_owned, check_owned};
pub use request::{Refusal, Reply};
