//! Warnings about files of one volume at the same path.

use fieldmanager_value::Value;
use fieldmanager_value::internal::go_format::quote;

use crate::place::{Place, quoted};

/// The most files of a volume that are compared with each other. The cost grows with the square of them.
const MAX_FILES: usize = 200;

/// A file, and the source that has it if the volume has several.
#[derive(Clone, Debug, PartialEq)]
struct File {
    path: String,
    source: String,
}

impl File {
    fn shown(&self) -> String {
        match self.source.as_str() {
            "" => quote(&self.path).to_string(),
            source => format!("{} ({source})", quote(&self.path)),
        }
    }

    fn overlaps(&self, other: &File) -> bool {
        let (one, two) = (format!("{}/", self.path), format!("{}/", other.path));
        !self.path.is_empty() && !other.path.is_empty() && (one.starts_with(&two) || two.starts_with(&one))
    }
}

/// Adds the warnings about files that hide each other.
pub(super) fn overlapping(spec: &Place<'_>, out: &mut Vec<String>) {
    for volume in spec.items("volumes") {
        let name = quoted(&volume, "name");
        let mut warn = |source: &str, files: Vec<File>| {
            for (at, file) in files.iter().enumerate().take(MAX_FILES) {
                for other in files.iter().take(at).filter(|other| file.overlaps(other)) {
                    let overlap = format!("{} with {}", file.shown(), other.shown());
                    out.push(format!("volume {name} ({source}): overlapping paths: {overlap}"));
                }
            }
        };
        if let Some(source) = volume.child("configMap") {
            warn(&format!("ConfigMap {}", quoted(&source, "name")), files(&source, ""));
        }
        if let Some(source) = volume.child("secret") {
            warn(&format!("Secret {}", quoted(&source, "secretName")), files(&source, ""));
        }
        if let Some(source) = volume.child("downwardAPI") {
            warn("DownwardAPI", files(&source, ""));
        }
        if let Some(source) = volume.child("projected") {
            let parts: Vec<_> = source.items("sources").collect();
            let is_empty = |part: &Place<'_>| part.value.as_map().is_none_or(|map| map.is_empty());
            warn("Projected", parts.iter().flat_map(projected).collect());
            for _ in parts.iter().filter(|part| is_empty(part)) {
                out.push(format!("volume {name} (Projected) has no sources provided"));
            }
        }
    }
}

fn file(path: &str, source: &str) -> File {
    File { path: path.trim_end_matches('/').to_owned(), source: source.to_owned() }
}

fn files(place: &Place<'_>, source: &str) -> Vec<File> {
    let path = |item: &Value| item.get("path").and_then(Value::as_str).unwrap_or_default().to_owned();
    place.values("items").map(|item| file(&path(item), source)).collect()
}

/// The files of a part of a projected volume.
fn projected(part: &Place<'_>) -> Vec<File> {
    let listed = |name: &str| part.child(name).filter(|source| source.get("items").is_some());
    if let Some(source) = listed("configMap") {
        files(&source, &format!("ConfigMap {}", quoted(&source, "name")))
    } else if let Some(source) = listed("secret") {
        files(&source, &format!("Secret {}", quoted(&source, "name")))
    } else if let Some(source) = listed("downwardAPI") {
        files(&source, "DownwardAPI")
    } else if let Some(token) = part.child("serviceAccountToken") {
        vec![file(token.text("path"), "ServiceAccountToken")]
    } else if let Some(bundle) = part.child("clusterTrustBundle") {
        let name = if bundle.get("name").is_some() { "name" } else { "signerName" };
        vec![file(bundle.text("path"), &format!("ClusterTrustBundle {}", quoted(&bundle, name)))]
    } else if let Some(certificate) = part.child("podCertificate") {
        let paths = [
            ("certificateChainPath", "PodCertificate chain"),
            ("keyPath", "PodCertificate key"),
            ("credentialBundlePath", "PodCertificate credential bundle"),
        ];
        let set = paths.iter().filter(|(name, _)| !certificate.text(name).is_empty());
        set.map(|(name, source)| file(certificate.text(name), source)).collect()
    } else {
        Vec::new()
    }
}
