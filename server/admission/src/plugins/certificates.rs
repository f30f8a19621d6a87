//! Plugins about certificates: CertificateApproval, CertificateSigning, CertificateSubjectRestriction,
//! ClusterTrustBundleAttest.

use std::future::ready;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fieldmanager_access::Attributes;
use fieldmanager_value::Value;
use x509_cert::der::Decode;
use x509_cert::der::asn1::ObjectIdentifier;
use x509_cert::request::CertReq;

use super::object::{at, set, text};
use super::plugin::PluginSteps::Validate;
use super::plugin::{Plugin, is_create, is_write};
use crate::{AdmissionAnswer, AdmissionOperation, AdmissionRequest, Admitted, Cluster};

const GROUP: &str = "certificates.k8s.io";
const SIGNER: [&str; 2] = ["spec", "signerName"];

/// Who approves or denies a request must be allowed to approve for its signer.
///
/// Behaviour: `k8s.io/kubernetes/plugin/pkg/admission/certificates/approval/admission.go`.
pub(super) const CERTIFICATE_APPROVAL: Plugin = Plugin {
    name: "CertificateApproval",
    handles: |request| updates_request(request, "approval"),
    steps: Validate(check),
};

/// Who sets the certificate of a request must be allowed to sign for its signer.
///
/// Behaviour: `k8s.io/kubernetes/plugin/pkg/admission/certificates/signing/admission.go`.
pub(super) const CERTIFICATE_SIGNING: Plugin = Plugin {
    name: "CertificateSigning",
    handles: |request| {
        let stays =
            |field| request.field(&["status", field]) == request.old_field(&["status", field]);
        updates_request(request, "status") && !(stays("certificate") && stays("conditions"))
    },
    steps: Validate(check),
};

/// Who makes or changes a bundle must be allowed to attest for its signer.
///
/// Behaviour: `k8s.io/kubernetes/plugin/pkg/admission/certificates/ctbattest/admission.go`.
pub(super) const CLUSTER_TRUST_BUNDLE_ATTEST: Plugin = Plugin {
    name: "ClusterTrustBundleAttest",
    handles: |request| {
        let has_signer = !text(request.field(&[]), &SIGNER).is_empty();
        is_write(request)
            && request.is_of(GROUP, "clustertrustbundles")
            && has_signer
            && !is_same(request)
    },
    steps: Validate(check),
};

/// Nobody gets a certificate of the group `system:masters` from the signer of clients.
///
/// Behaviour: `k8s.io/kubernetes/plugin/pkg/admission/certificates/subjectrestriction/admission.go`.
pub(super) const CERTIFICATE_SUBJECT_RESTRICTION: Plugin = Plugin {
    name: "CertificateSubjectRestriction",
    handles: |request| is_create(request) && request.is_of(GROUP, "certificatesigningrequests"),
    steps: Validate(restrict),
};

const CLIENT_SIGNER: &str = "kubernetes.io/kube-apiserver-client";
const ORGANIZATION: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.10");

fn updates_request(request: &AdmissionRequest<'_>, subresource: &str) -> bool {
    let resource = (request.group, request.resource, request.subresource);
    resource == (GROUP, "certificatesigningrequests", subresource)
        && request.operation == AdmissionOperation::Update
}

/// Whether a change is only one of what garbage collection and managers write.
///
/// Behaviour: `IsOnlyMutatingGCFields` of `k8s.io/kubernetes/pkg/registry/rbac/helpers.go`.
fn is_same(request: &AdmissionRequest<'_>) -> bool {
    let without = |object: &Value| {
        // The garbage collector writes these without being allowed to attest.
        let fields = ["finalizers", "managedFields", "ownerReferences", "selfLink"];
        let metadata = at(object, &["metadata"]).as_map().cloned();
        let edits = fields.map(|field| (field.into(), None)).into();
        let metadata = metadata.unwrap_or_default().with_edits(edits);
        set(object, &["metadata"], metadata)
    };
    let old = request.old.map(without);
    old.is_some() && old == request.object.map(without)
}

/// Refuses a request of a user who may do something neither for a signer nor for all of its domain.
///
/// Behaviour: `IsAuthorizedForSignerName` of `k8s.io/kubernetes/pkg/certauthorization/certauthorization.go`.
fn check<'a>(request: AdmissionRequest<'a>, cluster: &'a dyn Cluster) -> AdmissionAnswer<'a> {
    let (verb, action, of) = match request.subresource {
        "approval" => ("approve", "approve requests with", request.old),
        "status" => ("sign", "sign requests with", request.old),
        _ => ("attest", "attest for", request.object),
    };
    Box::pin(async move {
        let signer = of.map_or("", |object| text(object, &SIGNER));
        // `example.com/*` allows all signers of a domain.
        let domain = signer.split('/').next().unwrap_or_default();
        for name in [signer, &format!("{domain}/*")] {
            let decision = cluster.authorize(Attributes {
                group: GROUP,
                resource: "signers",
                name,
                ..Attributes::new(request.user, verb)
            });
            // An authorizer that fails allows nothing, but the next name may still be allowed.
            if decision.await.is_ok_and(|decision| decision.allowed) {
                return Ok(Admitted::default());
            }
        }

        let reason = format!("user not permitted to {action} signerName {signer:?}");
        Err(request.forbidden(&reason))
    })
}

fn restrict<'a>(request: AdmissionRequest<'a>, _: &'a dyn Cluster) -> AdmissionAnswer<'a> {
    let csr = request.field(&[]);
    let of_masters = is_of_masters(text(csr, &["spec", "request"]));
    let answer = if text(csr, &SIGNER) == CLIENT_SIGNER && of_masters {
        let reason =
            format!("use of {CLIENT_SIGNER} signer with system:masters group is not allowed");
        Err(request.forbidden(&reason))
    } else {
        Ok(Admitted::default())
    };
    Box::pin(ready(answer))
}

/// Whether a request for a certificate, which is PEM in base64, is for the group `system:masters`.
fn is_of_masters(request: &str) -> bool {
    let block = STANDARD.decode(request).ok();
    let block = block.and_then(|text| pem::parse(text).ok());
    let request = block.and_then(|block| CertReq::from_der(block.contents()).ok());
    // What is not readable has no groups; validation refuses it.
    request.is_some_and(|request| {
        let mut subject = request.info.subject.iter();
        subject.any(|one| one.oid == ORGANIZATION && one.value.value() == b"system:masters")
    })
}
