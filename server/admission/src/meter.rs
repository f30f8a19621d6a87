//! Measures admission for the server.

use std::time::Instant;

use crate::{AdmissionOperation, AdmissionRequest, Cluster, Observation, Observed};

/// Measures from its start.
pub(crate) struct Meter<'a> {
    cluster: &'a dyn Cluster,
    phase: &'static str,
    operation: AdmissionOperation,
    since: Instant,
}

impl<'a> Meter<'a> {
    pub(crate) fn start(
        cluster: &'a dyn Cluster,
        phase: &'static str,
        request: &AdmissionRequest<'_>,
    ) -> Self {
        Meter {
            cluster,
            phase,
            operation: request.operation,
            since: Instant::now(),
        }
    }

    /// Tells the server what was measured.
    pub(crate) fn stop(&self, subject: Observed<'_>, is_rejected: bool) {
        self.cluster.observe(&Observation {
            subject,
            phase: self.phase,
            operation: self.operation,
            is_rejected,
            took: self.since.elapsed(),
        });
    }
}
