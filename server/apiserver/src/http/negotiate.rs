//! The form of an answer: JSON, YAML or protobuf, of the object, of its metadata, or as a table.

use fieldmanager_managedfields::{Details, Status};

/// A serialization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Media {
    /// `application/json`.
    Json,
    /// `application/yaml`.
    Yaml,
    /// `application/vnd.kubernetes.protobuf`.
    Protobuf,
    /// OpenAPI v2 in protobuf.
    OpenApiProtobuf,
}

/// The representation of an object or a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The object itself.
    Object,
    /// `PartialObjectMetadata`, of an object.
    Metadata,
    /// `PartialObjectMetadataList`, of a list.
    MetadataList,
    /// `Table`.
    Table,
    /// Aggregated discovery, `APIGroupDiscoveryList`.
    AggregatedDiscovery,
}

/// The form and the serialization of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    pub(crate) media: Media,
    pub(crate) form: Form,
    /// The version of the group `meta.k8s.io` or of discovery: `v1`, `v1beta1`, `v2`, ...; empty for objects.
    pub(crate) version: &'static str,
}

/// The place that an answer is for, which decides the accepted forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Objects and lists of built-in kinds: also as metadata and tables, and in protobuf.
    Objects,
    /// Objects that are not stored, such as reviews: also as metadata, and in protobuf.
    Questions,
    /// Custom resources: also as metadata, which has a message of protobuf, and tables.
    CustomResources,
    /// `/api` and `/apis`: also aggregated.
    Discovery,
    /// `/openapi/v2`: also in protobuf.
    OpenApiV2,
    /// Everything else.
    Plain,
}

/// The media types of answers.
pub(super) const ACCEPTED: &str =
    "application/json, application/yaml, application/vnd.kubernetes.protobuf";

/// The media types of events.
pub(super) const STREAMED: &str =
    "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";

/// The media type of OpenAPI v2 in protobuf, without `application/`.
const OPEN_API_V2: [&str; 2] = [
    "com.github.proto-openapi.spec.v2@v1.0+protobuf",
    "com.github.proto-openapi.spec.v2.v1.0+protobuf",
];

/// One clause of a header `Accept`.
struct Clause<'a> {
    kind: &'a str,
    subtype: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
    quality: f32,
}

impl Format {
    /// JSON of the object.
    pub(crate) const JSON: Format = Format {
        media: Media::Json,
        form: Form::Object,
        version: "",
    };

    /// The format of an answer by a header `Accept`: the first clause, by quality, that the place has.
    ///
    /// # Errors
    ///
    /// 406 if it has none.
    ///
    /// Behaviour: `NegotiateOutputMediaType` of `k8s.io/apiserver/pkg/endpoints/handlers/negotiation`.
    pub(crate) fn of(accept: Option<&str>, place: Place) -> Result<Format, Status> {
        let Some(accept) = accept.filter(|accept| !accept.trim().is_empty()) else {
            return Ok(Format::JSON);
        };
        let mut clauses: Vec<Clause<'_>> = accept.split(',').filter_map(Clause::read).collect();
        // The sort is stable, so the order of the header decides between equal qualities.
        clauses.sort_by(|one, other| other.quality.total_cmp(&one.quality));
        let found = clauses.iter().find_map(|clause| clause.format(place));
        found.ok_or_else(|| not_acceptable(ACCEPTED))
    }

    /// The format of a failure, which is JSON if the client asked for metadata or a table.
    pub(crate) fn of_failure(self) -> Self {
        Format {
            media: if self.form == Form::Object {
                self.media
            } else {
                Media::Json
            },
            form: Form::Object,
            version: "",
        }
    }

    /// The name under which clients of the same format share bytes; that of JSON is the version of its form.
    pub(crate) fn shared_name(self) -> &'static str {
        match (self.media, self.version) {
            (Media::Protobuf, "") => "protobuf",
            (Media::Protobuf, "v1beta1") => "protobuf v1beta1",
            (Media::Protobuf, _) => "protobuf v1",
            (_, version) => version,
        }
    }

    /// The header `Content-Type`.
    pub(crate) fn content_type(self) -> String {
        let media = match self.media {
            Media::Json => "application/json",
            Media::Yaml => "application/yaml",
            Media::Protobuf => "application/vnd.kubernetes.protobuf",
            Media::OpenApiProtobuf => {
                return "application/com.github.proto-openapi.spec.v2.v1.0+protobuf".to_owned();
            }
        };

        match self.form {
            Form::AggregatedDiscovery => {
                format!(
                    "{media};g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList",
                    self.version
                )
            }
            _ => media.to_owned(),
        }
    }
}

/// Checks that a client accepts one of the media types of a fixed route. Unlike a [`Format`], a route knows no wildcard but
/// `*/*`.
///
/// # Errors
///
/// 406 if it accepts none.
///
/// Behaviour: `Route.matchesAccept` of `github.com/emicklei/go-restful`.
pub(super) fn check_route(accept: Option<&str>, produced: &[&str]) -> Result<(), Status> {
    let Some(accept) = accept.filter(|accept| !accept.is_empty()) else {
        return Ok(());
    };
    let mut accepted = accept
        .split(',')
        .map(|clause| clause.split(';').next().unwrap_or_default().trim());
    let has = |media: &str| {
        produced
            .iter()
            .any(|own| own.split(", ").any(|own| own == media))
    };
    if accepted.any(|media| media == "*/*" || has(media)) {
        return Ok(());
    }

    let produced = produced.join(", ");
    let message = format!("406: Not Acceptable\n\nAvailable representations: {produced}");
    Err(Status::failure(
        406,
        "NotAcceptable",
        message,
        Some(Details::default()),
    ))
}

/// 406: the client accepts none of the media types.
pub(super) fn not_acceptable(accepted: &str) -> Status {
    let message = format!("only the following media types are accepted: {accepted}");
    Status::failure(406, "NotAcceptable", message, None)
}

impl<'a> Clause<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let (kind, subtype) = parts.next()?.split_once('/')?;
        let parameters: Vec<(&str, &str)> = parts.filter_map(|part| part.split_once('=')).collect();
        let quality = parameters.iter().find(|(name, _)| *name == "q");
        let quality = quality.map_or(1.0, |(_, value)| value.parse().unwrap_or(1.0));
        Some(Clause {
            kind: kind.trim(),
            subtype: subtype.trim(),
            parameters,
            quality,
        })
    }

    fn parameter(&self, name: &str) -> &'a str {
        self.parameters
            .iter()
            .find(|(found, _)| *found == name)
            .map_or("", |(_, value)| value)
    }

    fn format(&self, place: Place) -> Option<Format> {
        if !matches!(self.kind, "application" | "*") {
            return None;
        }
        // A wildcard accepts every type, and JSON is the first one of the server.
        let media = match self.subtype {
            "json" | "*" => Media::Json,
            // YAML is not written event by event.
            "yaml" if self.parameter("stream").is_empty() => Media::Yaml,
            "vnd.kubernetes.protobuf" => Media::Protobuf,
            subtype if place == Place::OpenApiV2 && OPEN_API_V2.contains(&subtype) => {
                Media::OpenApiProtobuf
            }
            _ => return None,
        };
        // A form that the place does not have leaves the answer to the next clause: clients list plain JSON after a
        // table.
        let (form, version) = match (self.parameter("as"), place) {
            // A version without a kind asks for no form at all.
            ("", _) if [self.parameter("g"), self.parameter("v")] != ["", ""] => return None,
            ("", _) => (Form::Object, ""),
            (name, Place::Objects | Place::Questions | Place::CustomResources) => {
                let form = match name {
                    "Table" if place != Place::Questions => Form::Table,
                    "PartialObjectMetadata" => Form::Metadata,
                    "PartialObjectMetadataList" => Form::MetadataList,
                    _ => return None,
                };
                let version = ["v1", "v1beta1"]
                    .into_iter()
                    .find(|version| self.parameter("v") == *version)?;
                (self.parameter("g") == "meta.k8s.io").then_some((form, version))?
            }
            ("APIGroupDiscoveryList", Place::Discovery) => {
                let wanted = ["g", "v"].map(|name| self.parameter(name));
                (wanted == ["apidiscovery.k8s.io", "v2"])
                    .then_some((Form::AggregatedDiscovery, "v2"))?
            }
            _ => return None,
        };

        // Objects of custom resources, tables and documents have no messages.
        let has_message = match place {
            Place::Objects | Place::Questions => form != Form::Table,
            Place::CustomResources => matches!(form, Form::Metadata | Form::MetadataList),
            Place::Discovery | Place::OpenApiV2 | Place::Plain => false,
        };
        (media != Media::Protobuf || has_message).then_some(Format {
            media,
            form,
            version,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(accept: &str, place: Place) -> Option<(Media, Form)> {
        Format::of(Some(accept), place)
            .ok()
            .map(|format| (format.media, format.form))
    }

    #[test]
    fn first_clause_by_quality_that_the_place_has_counts() {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
        assert_eq!(
            format(table, Place::Objects),
            Some((Media::Json, Form::Table))
        );
        let table_alone = "application/json;as=Table;v=v1;g=meta.k8s.io";
        assert_eq!(format(table_alone, Place::Questions), None);
        assert_eq!(
            format(table, Place::Plain),
            Some((Media::Json, Form::Object))
        );
        let typed = "application/vnd.kubernetes.protobuf,application/json";
        let object = |media| Some((media, Form::Object));
        assert_eq!(format(typed, Place::Objects), object(Media::Protobuf));
        assert_eq!(format(typed, Place::CustomResources), object(Media::Json));
        assert_eq!(format(typed, Place::Discovery), object(Media::Json));
        let yaml = "application/json;q=0.5, application/yaml";
        assert_eq!(
            format(yaml, Place::Objects),
            Some((Media::Yaml, Form::Object))
        );
        assert_eq!(
            format("*/*", Place::Objects),
            Some((Media::Json, Form::Object))
        );
        let discovery =
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList;profile=nopeer";
        assert_eq!(
            format(discovery, Place::Discovery),
            Some((Media::Json, Form::AggregatedDiscovery))
        );
        let metadata = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
        assert_eq!(
            format(metadata, Place::CustomResources),
            Some((Media::Protobuf, Form::Metadata))
        );
    }

    #[test]
    fn route_has_media_types_and_no_wildcard_of_them() {
        assert!(check_route(None, &[ACCEPTED]).is_ok());
        assert!(check_route(Some("image/png, */*;q=0.1"), &[ACCEPTED]).is_ok());
        assert!(check_route(Some("application/yaml;as=Table"), &[ACCEPTED]).is_ok());
        let refused = check_route(Some("application/*"), &["application/json"]).unwrap_err();
        assert_eq!(
            refused.message,
            "406: Not Acceptable\n\nAvailable representations: application/json"
        );
    }

    #[test]
    fn protobuf_alone_is_not_acceptable_for_custom_resources() {
        let alone = Some("application/vnd.kubernetes.protobuf");
        let refused = Format::of(alone, Place::CustomResources).unwrap_err();
        assert_eq!((refused.code, refused.reason), (406, "NotAcceptable"));
        assert_eq!(format("text/plain", Place::Objects), None);
        let openapi = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
        assert_eq!(
            format(openapi, Place::OpenApiV2),
            Some((Media::OpenApiProtobuf, Form::Object))
        );
    }
}
