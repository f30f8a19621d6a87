//! Published documents of Kubernetes and other projects.
//!
//! The documents are too large for the repository: `FIELDMANAGER_SHARED` names a folder with `data/openapi-v3`,
//! `data/crds` and the Swagger document of Kubernetes 1.27. Without it, these tests are skipped.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use fieldmanager_openapi::internal::types_document;
use fieldmanager_openapi::{GroupVersionKind, Imported, Importer, Types};
use fieldmanager_schema::internal::type_definitions;
use fieldmanager_value::Value;

fn data() -> Option<PathBuf> {
    let Some(shared) = std::env::var_os("FIELDMANAGER_SHARED") else {
        eprintln!("skipped: FIELDMANAGER_SHARED is not set");
        return None;
    };
    Some(Path::new(&shared).join("data"))
}

fn json_files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .collect();
    files.sort();
    files
}

fn imported(path: &Path) -> Imported {
    let mut text = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if path.extension().is_some_and(|extension| extension == "gz") {
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(text.as_slice())
            .read_to_end(&mut unpacked)
            .unwrap();
        text = unpacked;
    }
    let document =
        Value::from_json_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Importer::new()
        .document(&document)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Checks that the serialized types load as the same schema and kinds.
fn round_trips(types: &Types) {
    let again = Types::load(&types_document(types)).unwrap();
    assert_eq!(
        type_definitions(again.schema()),
        type_definitions(types.schema())
    );
    assert!(again.kinds().eq(types.kinds()));
}

fn field(types: &Types, ty: &str, field: &str) -> String {
    let definitions = type_definitions(types.schema());
    let def = definitions
        .iter()
        .find(|def| def.name == *ty)
        .unwrap_or_else(|| panic!("no type {ty}"));
    let map = def
        .atom
        .map
        .as_ref()
        .unwrap_or_else(|| panic!("{ty} is not a map"));
    let field = map
        .fields
        .iter()
        .find(|known| known.name == *field)
        .unwrap_or_else(|| panic!("no {ty}.{field}"));
    format!("{:?}", field.ty)
}

#[test]
fn kubernetes_swagger_document_is_imported() {
    let Some(data) = data() else { return };
    let imported = imported(&data.join("kubernetes-swagger-v1.27.json.gz"));
    assert!(imported.faults.is_empty());
    let types = &imported.types;
    assert!(type_definitions(types.schema()).len() > 450);
    let deployment = types
        .for_kind(&GroupVersionKind::from_api_version_kind(
            "apps/v1",
            "Deployment",
        ))
        .unwrap();
    assert_eq!(deployment.name(), "io.k8s.api.apps.v1.Deployment");
    // The options of deletion are the same in every group.
    let options = types
        .for_kind(&GroupVersionKind::from_api_version_kind(
            "apps/v1",
            "DeleteOptions",
        ))
        .unwrap();
    assert_eq!(
        options.name(),
        "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
    );
    for (_, names) in types.kinds() {
        assert_eq!(names.len(), 1);
    }
    let warnings: Vec<String> = imported.warnings.iter().map(ToString::to_string).collect();
    let listed = warnings
        .iter()
        .filter(|warning| warning.contains("the list is treated as atomic"));
    let listed: Vec<&str> = listed
        .map(|warning| warning.split(':').next().unwrap())
        .collect();
    assert_eq!(
        listed,
        [
            "definition `io.k8s.api.storage.v1.CSIStorageCapacityList`",
            "definition `io.k8s.api.storage.v1beta1.CSIStorageCapacityList`",
        ]
    );
    let containers = field(types, "io.k8s.api.core.v1.PodSpec", "containers");
    assert!(containers.contains(r#"keys: ["name"]"#), "{containers}");
    let selector = field(types, "io.k8s.api.apps.v1.DeploymentSpec", "selector");
    assert!(selector.contains("LabelSelector"), "{selector}");
    round_trips(types);
}

#[test]
fn version_3_documents_are_imported() {
    let Some(data) = data() else { return };
    let files = json_files(&data.join("openapi-v3"));
    assert!(!files.is_empty());
    for path in files {
        let imported = imported(&path);
        assert!(imported.types.kinds().count() > 5, "{}", path.display());
        round_trips(&imported.types);
    }
}

/// Version 2 has fewer keywords, but the same kinds.
#[test]
fn custom_resources_are_equal_in_both_versions() {
    let Some(data) = data() else { return };
    let folder = data.join("crds/openapiv3");
    let files = json_files(&folder);
    assert!(!files.is_empty());
    for path in files {
        let newer = imported(&path);
        let older = imported(&data.join("crds/openapiv2").join(path.file_name().unwrap()));
        let kinds = |imported: &Imported| -> Vec<String> {
            imported
                .types
                .kinds()
                .map(|(kind, _)| kind.to_string())
                .collect()
        };
        assert!(!kinds(&newer).is_empty(), "{}", path.display());
        for kind in kinds(&newer) {
            assert!(kinds(&older).contains(&kind), "{}: {kind}", path.display());
        }
        round_trips(&newer.types);
        round_trips(&older.types);
    }
}
