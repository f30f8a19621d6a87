//! Kinds of volumes and their drivers.

use super::description::KindDescription;
use crate::validation::functions as checks;
use crate::warnings;

pub(super) const KINDS: &[KindDescription] = &[
    KindDescription {
        checks: checks::storage::driver,
        warnings: warnings::storage::driver,
        returns_deleted: true,
        accepts_any_prefix: true,
        ..KindDescription::of("storage.k8s.io", &["v1"], "CSIDriver")
    },
    KindDescription {
        checks: checks::attachments::node,
        returns_deleted: true,
        ..KindDescription::of("storage.k8s.io", &["v1"], "CSINode")
    },
    KindDescription {
        checks: checks::attachments::capacity,
        ..KindDescription::of("storage.k8s.io", &["v1"], "CSIStorageCapacity")
    },
    KindDescription {
        checks: checks::storage::storage_class,
        returns_deleted: true,
        ..KindDescription::of("storage.k8s.io", &["v1"], "StorageClass")
    },
    KindDescription {
        checks: checks::attachments::attachment,
        subresource_checks: &[("status", checks::attachments::attachment_status)],
        returns_deleted: true,
        ..KindDescription::of("storage.k8s.io", &["v1"], "VolumeAttachment")
    },
    KindDescription {
        checks: checks::attachments::attributes_class,
        returns_deleted: true,
        ..KindDescription::of(
            "storage.k8s.io",
            &["v1", "v1beta1"],
            "VolumeAttributesClass",
        )
    },
    KindDescription {
        checks: checks::server::migration,
        subresource_checks: &[("status", checks::server::migration_status)],
        ..KindDescription::of(
            "storagemigration.k8s.io",
            &["v1", "v1beta1"],
            "StorageVersionMigration",
        )
    },
];
