//! The keys of tokens, and signatures.

use std::fmt;

use base64::alphabet::URL_SAFE;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD, URL_SAFE_NO_PAD};
use base64::{DecodeError, Engine};
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{
    self, EcdsaKeyPair, EcdsaSigningAlgorithm, KeyPair, RsaKeyPair, UnparsedPublicKey,
    VerificationAlgorithm,
};
use serde::{Deserialize, Serialize};
use x509_cert::Certificate;
use x509_cert::der::asn1::{AnyRef, BitStringRef, ObjectIdentifier, OctetStringRef};
use x509_cert::der::{Decode, Encode, Tag};
use x509_cert::spki::{AlgorithmIdentifierRef, SubjectPublicKeyInfoRef};

use super::error::{TokenError, read_object};

const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");

/// Go ignores bits after the last byte.
const LENIENT: GeneralPurpose =
    GeneralPurpose::new(&URL_SAFE, NO_PAD.with_decode_allow_trailing_bits(true));

/// The keys of an issuer: one that signs, and those whose tokens are accepted.
///
/// RSA keys of 2048 bits or more, and elliptic curves P-256 and P-384.
pub struct Keys {
    signing: Option<(SigningKey, VerificationKey)>,
    pub(super) verifying: Vec<VerificationKey>,
}

/// Why a key cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// A file of a private key has none.
    #[error("data does not contain a valid RSA or ECDSA private key")]
    NoPrivateKey,
    /// A file of public keys has none.
    #[error("data does not contain any valid RSA or ECDSA public keys")]
    NoPublicKeys,
    /// No private key, or no random numbers.
    #[error("the token could not be signed")]
    Unsigned,
}

enum SigningKey {
    Rsa(RsaKeyPair),
    Ec(EcdsaKeyPair),
}

/// An algorithm of signatures.
pub(super) struct KeyAlgorithm {
    pub(super) name: &'static str,
    verification: &'static dyn VerificationAlgorithm,
    pub(super) curve: Option<Curve>,
}

/// An elliptic curve.
pub(super) struct Curve {
    pub(super) name: &'static str,
    oid: ObjectIdentifier,
    /// The bytes of an uncompressed point.
    size: usize,
    signing: &'static EcdsaSigningAlgorithm,
}

static ALGORITHMS: [KeyAlgorithm; 3] = [
    KeyAlgorithm {
        name: "RS256",
        verification: &signature::RSA_PKCS1_2048_8192_SHA256,
        curve: None,
    },
    KeyAlgorithm {
        name: "ES256",
        verification: &signature::ECDSA_P256_SHA256_FIXED,
        curve: Some(Curve {
            name: "P-256",
            oid: ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7"),
            size: 65,
            signing: &signature::ECDSA_P256_SHA256_FIXED_SIGNING,
        }),
    },
    KeyAlgorithm {
        name: "ES384",
        verification: &signature::ECDSA_P384_SHA384_FIXED,
        curve: Some(Curve {
            name: "P-384",
            oid: ObjectIdentifier::new_unwrap("1.3.132.0.34"),
            size: 97,
            signing: &signature::ECDSA_P384_SHA384_FIXED_SIGNING,
        }),
    },
];

#[derive(Clone)]
pub(super) struct VerificationKey {
    pub(super) algorithm: &'static KeyAlgorithm,
    /// The hash of the key.
    pub(super) id: String,
    /// The key in the form of its algorithm: `RSAPublicKey` in DER, or an uncompressed point.
    pub(super) bytes: Vec<u8>,
}

/// The header of a token, in the order in which Go writes it.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct TokenHeader {
    alg: String,
    kid: String,
    /// Extensions that a reader must know; none is known.
    #[serde(skip_serializing)]
    crit: Option<serde::de::IgnoredAny>,
}

/// The three parts of a token.
pub(super) struct SignedParts<'a> {
    /// The first two parts as they were sent.
    message: &'a str,
    header: TokenHeader,
    pub(super) payload: Vec<u8>,
    signature: Vec<u8>,
}

impl<'a> SignedParts<'a> {
    pub(super) fn of(token: &'a str) -> Option<Self> {
        let (message, signature) = token.rsplit_once('.')?;
        let (header, payload) = message.split_once('.')?;
        Some(SignedParts {
            message,
            header: read_object(&LENIENT.decode(header).ok()?)?,
            payload: LENIENT.decode(payload).ok()?,
            // Here such bits would give a token several forms: no key verifies an empty signature.
            signature: match URL_SAFE_NO_PAD.decode(signature) {
                Err(DecodeError::InvalidLastSymbol(..)) => Vec::new(),
                decoded => decoded.ok()?,
            },
        })
    }
}

impl Keys {
    /// Reads the private key of new tokens, if there is one, and files of keys whose tokens are accepted. Without such files
    /// they are those of the private key.
    ///
    /// Behaviour: `ParsePrivateKeyPEM` and `ParsePublicKeysPEM` of `k8s.io/client-go/util/keyutil`: the first private key of a
    /// file; public keys, certificates and private keys.
    ///
    /// # Errors
    ///
    /// [`KeyError`] if a file has no key.
    pub fn from_pem(signing: Option<&str>, verifying: &[&str]) -> Result<Self, KeyError> {
        let blocks = |text: &str| pem::parse_many(text).unwrap_or_default();
        let private = |text: &str| blocks(text).iter().find_map(private_key);
        let signing = signing.map(|text| private(text).ok_or(KeyError::NoPrivateKey));
        let signing = signing.transpose()?;

        // Blocks that are not keys are passed over, such as parameters of curves; a file without any key is an error.
        let mut keys = Vec::new();
        for text in verifying {
            let known = keys.len();
            keys.extend(blocks(text).iter().filter_map(public_key));
            if keys.len() == known {
                return Err(KeyError::NoPublicKeys);
            }
        }
        if verifying.is_empty() {
            keys.extend(signing.iter().map(|(_, own)| own.clone()));
        }
        Ok(Keys {
            signing,
            verifying: keys,
        })
    }

    /// A new key of the curve P-256, and its PEM block (PKCS#8), for a file that only its owner may read.
    ///
    /// # Errors
    ///
    /// [`KeyError`] if the system has no random numbers.
    pub fn generate() -> Result<(Self, String), KeyError> {
        let curve = &signature::ECDSA_P256_SHA256_FIXED_SIGNING;
        let key = EcdsaKeyPair::generate_pkcs8(curve, &SystemRandom::new());
        let key = key.map_err(|_| KeyError::Unsigned)?;
        let text = pem::encode(&pem::Pem::new("PRIVATE KEY", key.as_ref()));
        Ok((Keys::from_pem(Some(&text), &[])?, text))
    }

    /// The token with a payload.
    pub(super) fn sign(&self, payload: &[u8]) -> Result<String, KeyError> {
        let (key, public) = self.signing.as_ref().ok_or(KeyError::Unsigned)?;
        let header = TokenHeader {
            alg: public.algorithm.name.to_owned(),
            kid: public.id.clone(),
            crit: None,
        };
        let header = serde_json::to_vec(&header).map_err(|_| KeyError::Unsigned)?;

        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let message = format!("{}.{}", encode(&header), encode(payload));
        let signature = key.sign(message.as_bytes()).ok_or(KeyError::Unsigned)?;
        Ok(format!("{message}.{}", encode(&signature)))
    }

    /// Checks a signature with the key that the token names; with all keys if it names none.
    pub(super) fn verify(&self, parts: &SignedParts<'_>) -> Result<(), TokenError> {
        let header = &parts.header;
        let has_id = |key: &&VerificationKey| header.kid.is_empty() || key.id == header.kid;
        let mut keys = self.verifying.iter().filter(has_id).peekable();
        if keys.peek().is_none() {
            return Err(TokenError::UnknownKey);
        }

        let is_signed = |key: &VerificationKey| {
            let verifier = UnparsedPublicKey::new(key.algorithm.verification, &key.bytes);
            // A key is only for its own algorithm, whatever the token asks for.
            key.algorithm.name == header.alg
                && verifier
                    .verify(parts.message.as_bytes(), &parts.signature)
                    .is_ok()
        };
        if header.crit.is_none() && keys.any(is_signed) {
            Ok(())
        } else {
            Err(TokenError::Signature)
        }
    }
}

impl fmt::Debug for Keys {
    /// The ids of the keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids = self.verifying.iter().map(|key| &key.id);
        f.debug_list().entries(ids).finish()
    }
}

impl SigningKey {
    fn sign(&self, message: &[u8]) -> Option<Vec<u8>> {
        let random = SystemRandom::new();
        match self {
            SigningKey::Rsa(key) => {
                let mut bytes = vec![0; key.public().modulus_len()];
                let signed = key.sign(&signature::RSA_PKCS1_SHA256, &random, message, &mut bytes);
                signed.ok().map(|()| bytes)
            }
            SigningKey::Ec(key) => Some(key.sign(&random, message).ok()?.as_ref().to_vec()),
        }
    }
}

impl KeyAlgorithm {
    fn identifier(&self) -> AlgorithmIdentifierRef<'_> {
        let (oid, parameters) = match &self.curve {
            None => (RSA, AnyRef::NULL),
            Some(curve) => (EC, AnyRef::from(&curve.oid)),
        };
        AlgorithmIdentifierRef {
            oid,
            parameters: Some(parameters),
        }
    }
}

impl VerificationKey {
    /// Behaviour: `keyIDFromPublicKey`.
    fn new(algorithm: &'static KeyAlgorithm, key: &[u8]) -> Option<Self> {
        let size = algorithm.curve.as_ref().map(|curve| curve.size);
        if size.is_some_and(|size| size != key.len()) {
            return None;
        }
        let info = SubjectPublicKeyInfoRef {
            algorithm: algorithm.identifier(),
            subject_public_key: BitStringRef::from_bytes(key).ok()?,
        };
        // Readers find the key by this hash, from which nobody finds the key.
        let hash = digest(&SHA256, &info.to_der().ok()?);
        Some(VerificationKey {
            algorithm,
            id: URL_SAFE_NO_PAD.encode(hash),
            bytes: key.to_vec(),
        })
    }

    fn from_info(der: &[u8]) -> Option<Self> {
        let info = SubjectPublicKeyInfoRef::from_der(der).ok()?;
        let algorithm = ALGORITHMS
            .iter()
            .find(|one| one.identifier() == info.algorithm)?;
        VerificationKey::new(algorithm, info.subject_public_key.as_bytes()?)
    }
}

fn private_key(block: &pem::Pem) -> Option<(SigningKey, VerificationKey)> {
    let der = block.contents();
    let on_curve = |curve: &Curve, pkcs8: &[u8]| {
        EcdsaKeyPair::from_pkcs8(curve.signing, pkcs8, &SystemRandom::new()).ok()
    };
    // The label tells RSA from curves, but not one curve from another.
    ALGORITHMS.iter().find_map(|algorithm| {
        let key = match (block.tag(), &algorithm.curve) {
            ("RSA PRIVATE KEY", None) => SigningKey::Rsa(RsaKeyPair::from_der(der).ok()?),
            ("PRIVATE KEY", None) => SigningKey::Rsa(RsaKeyPair::from_pkcs8(der).ok()?),
            ("EC PRIVATE KEY", Some(curve)) => {
                SigningKey::Ec(on_curve(curve, &in_pkcs8(algorithm, der)?)?)
            }
            ("PRIVATE KEY", Some(curve)) => SigningKey::Ec(on_curve(curve, der)?),
            _ => return None,
        };
        let public = match &key {
            SigningKey::Rsa(key) => key.public_key().as_ref(),
            SigningKey::Ec(key) => key.public_key().as_ref(),
        };
        let public = VerificationKey::new(algorithm, public)?;
        Some((key, public))
    })
}

/// A key of `EC PRIVATE KEY` (SEC 1) inside the structure of `PRIVATE KEY` (PKCS#8).
fn in_pkcs8(algorithm: &KeyAlgorithm, der: &[u8]) -> Option<Vec<u8>> {
    // The version, the algorithm and the key.
    let mut content = Vec::new();
    0_u8.encode_to_vec(&mut content).ok()?;
    algorithm.identifier().encode_to_vec(&mut content).ok()?;
    let key = OctetStringRef::new(der).ok()?;
    key.encode_to_vec(&mut content).ok()?;
    AnyRef::new(Tag::Sequence, &content).ok()?.to_der().ok()
}

/// The public key of a block, whatever its label says.
fn public_key(block: &pem::Pem) -> Option<VerificationKey> {
    let der = block.contents();
    // Go reads certificates too, for the key alone: nobody has to have signed them.
    let of_certificate = || {
        let certificate = Certificate::from_der(der).ok()?;
        let info = certificate.tbs_certificate().subject_public_key_info();
        VerificationKey::from_info(&info.to_der().ok()?)
    };
    VerificationKey::from_info(der)
        .or_else(of_certificate)
        .or_else(|| Some(private_key(block)?.1))
}
