//! The commands, grouped by purpose.

pub(crate) mod admit;
pub(crate) mod blame;
pub(crate) mod check;
pub(crate) mod conformance;
pub(crate) mod custom;
pub(crate) mod demo;
pub(crate) mod entries;
pub(crate) mod envtest;
pub(crate) mod inspect;
pub(crate) mod lint;
pub(crate) mod managers;
pub(crate) mod manual;
pub(crate) mod migrate;
pub(crate) mod owners;
pub(crate) mod patch;
pub(crate) mod plan;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod test;
pub(crate) mod unions;
pub(crate) mod why;
pub(crate) mod write;
