//! The certificates of connections.

/// The certificates of connections to etcd, in PEM.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct EtcdTls {
    /// The certificates that the servers of etcd are trusted with. Without them no server is.
    pub authority: Option<Vec<u8>>,
    /// The certificate that is shown to etcd, and its private key.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
}

impl std::fmt::Debug for EtcdTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let has_identity = self.identity.is_some();
        f.debug_struct("EtcdTls")
            .field("identity", &has_identity)
            .finish_non_exhaustive()
    }
}
