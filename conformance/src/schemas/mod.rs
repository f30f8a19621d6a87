//! Compares what the library makes of schemas with what the Kubernetes packages make of them.
//!
//! A case is a request to the oracle for the Kubernetes layers: `{"op": ..}` with a schema, definitions or a custom
//! resource definition, and for most ops an object. [`generate`] makes one from a seed, [`candidate`] answers it by
//! the library in the words of the oracle, [`mod@compare`] says what has to agree, and [`deviations`] says where the
//! library differs on purpose.

pub mod candidate;
pub mod compare;
pub mod corpus;
pub mod deviations;
pub mod generate;
mod published;
pub mod shared;
pub mod shrink;
pub mod sides;
pub mod tally;
