//! Answers about many objects: where they are from, and what servers say about them.

pub(crate) mod catalogue;
pub(crate) mod cluster;
pub(crate) mod field;
pub(crate) mod plan;
pub(crate) mod plan_report;
pub(crate) mod report;
mod served;
pub(crate) mod sources;
pub(crate) mod tool;
pub(crate) mod trial;
pub(crate) mod ways;
pub(crate) mod why;
