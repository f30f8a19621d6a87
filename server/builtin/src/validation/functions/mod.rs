//! The checks of kinds, in the order of Kubernetes, by family. The [description](crate::kinds::KindDescription) of a kind
//! names its own.

pub(crate) mod access;
pub(crate) mod attachments;
pub(crate) mod autoscaling;
pub(crate) mod certificates;
pub(crate) mod claim;
pub(crate) mod classes;
mod conditions;
pub(crate) mod config;
mod cron;
pub(crate) mod devices;
pub(crate) mod field;
mod formats;
pub(crate) mod job_status;
pub(crate) mod jobs;
mod json_path;
pub(crate) mod limits;
mod mandatory;
pub(crate) mod names;
pub(crate) mod network;
pub(crate) mod nodes;
pub(crate) mod pod_certificates;
pub(crate) mod pods;
pub(crate) mod policies;
mod resource_names;
pub(crate) mod reviews;
mod selector;
pub(crate) mod server;
pub(crate) mod service;
pub(crate) mod storage;
mod volume_source;
pub(crate) mod webhooks;
pub(crate) mod workload_status;
pub(crate) mod workloads;
