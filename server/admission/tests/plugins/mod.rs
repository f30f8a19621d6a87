//! The plugins of kube-apiserver.

mod cluster;
mod quota;
mod replay;
