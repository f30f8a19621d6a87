//! The integration tests of this crate. They are one program, because every program links the crate again.

mod admit;
mod apply;
mod blame;
mod check;
mod cluster;
mod common;
mod conformance;
mod demo;
mod entries;
mod envtest;
mod export;
mod hostile;
mod inspect;
mod managed;
mod page;
mod patch;
mod plan;
mod readme;
mod reference;
mod scenarios;
mod schemas;
mod serve;
mod store;
mod unions;
mod unions_guide;
mod why;
