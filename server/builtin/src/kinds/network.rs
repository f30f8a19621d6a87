//! Kinds of networks: how Pods and Services are reached.

use super::description::{CountsEmpty, KindDescription};
use crate::validation::functions as checks;
use crate::warnings;

pub(super) const KINDS: &[KindDescription] = &[
    KindDescription {
        checks: checks::network::ip_address,
        name_faults: Some(checks::names::ip_address),
        ..KindDescription::of("networking.k8s.io", &["v1", "v1beta1"], "IPAddress")
    },
    KindDescription {
        checks: checks::network::ingress,
        subresource_checks: &[("status", checks::service::ingress_status)],
        warnings: warnings::network::ingress,
        ..KindDescription::of("networking.k8s.io", &["v1"], "Ingress")
    },
    KindDescription {
        checks: checks::network::ingress_class,
        ..KindDescription::of("networking.k8s.io", &["v1"], "IngressClass")
    },
    KindDescription {
        checks: checks::network::network_policy,
        warnings: warnings::network::network_policy,
        counts_empty: Some(CountsEmpty {
            member: "spec",
            except: "policyTypes",
        }),
        accepts_any_prefix: true,
        ..KindDescription::of("networking.k8s.io", &["v1"], "NetworkPolicy")
    },
    KindDescription {
        checks: checks::network::service_cidr,
        without_effect: Some("Services get addresses of one fixed range"),
        accepts_any_prefix: true,
        ..KindDescription::of("networking.k8s.io", &["v1", "v1beta1"], "ServiceCIDR")
    },
    KindDescription {
        checks: checks::network::endpoint_slice,
        warnings: warnings::network::endpoint_slice,
        ..KindDescription::of("discovery.k8s.io", &["v1"], "EndpointSlice")
    },
];
