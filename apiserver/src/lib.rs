//! A Kubernetes API server that starts in milliseconds: objects, custom resources, server-side apply, watches and
//! discovery.
//!
//! # Layers
//!
//! | module | what it knows |
//! |---|---|
//! | `store` | revisions, compare-and-swap, consistent lists, watches from a revision, compaction |
//! | `facts` | what kube-apiserver serves: resources, columns, field selectors, OpenAPI documents |
//! | `registry` | the resources that are served, built in or by CustomResourceDefinitions |
//! | `endpoint` | requests as a program sees them: verb, resource, options, body; no HTTP |
//! | `discovery`, `openapi` | the documents that clients read first |
//! | `table` | objects as the rows that `kubectl get` prints |
//! | `http` | paths, content types, streams of watches |

pub mod discovery;
pub mod facts;
pub mod openapi;
pub mod store;
pub mod table;
