//! The options of an import.

/// How the list form of `x-kubernetes-unions` is imported: `[{discriminator, fields-to-discriminateBy}]` does not
/// declare whether the discriminator or the members win when they disagree.
///
/// The object form of KEP-1027 on a discriminator's property is always respecting and closed.
///
/// ```
/// use fieldmanager_openapi::ListUnions;
/// assert_eq!(ListUnions::default(), ListUnions::Deducing);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListUnions {
    /// The discriminator follows the member that is set, as KEP-1027 of 2019 proposes.
    #[default]
    Deducing,
    /// The discriminator stays as the client wrote it, as with Go's converter through proto models.
    Respecting,
}

/// Imports OpenAPI schemas as types.
///
/// The result for each definition equals that of `ToSchemaFromOpenAPI` of `k8s.io/kube-openapi/pkg/schemaconv`, with
/// unions in addition. Types and fields are sorted by name.
///
/// ```
/// use fieldmanager_openapi::Importer;
/// use fieldmanager_value::Value;
///
/// let document = Value::from_yaml("
/// definitions:
///   shop:
///     type: object
///     properties:
///       owners: {type: array, items: {type: string}, x-kubernetes-list-type: set}
/// ")?;
/// let imported = Importer::new().document(&document)?;
/// let shop = imported.types.schema().type_named("shop").ok_or("it is there")?;
/// assert!(shop.atom().map.as_ref().unwrap().field("owners").is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Importer {
    pub(super) unions: ListUnions,
    pub(super) preserve_unknown_fields: bool,
    pub(super) keep_good: bool,
}

impl Importer {
    /// Creates an importer with default options: unions in list form deduce, unknown fields are refused, and any fault
    /// is an error.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how the list form of unions is imported.
    #[must_use]
    pub fn unions(mut self, unions: ListUnions) -> Self {
        self.unions = unions;
        self
    }

    /// Sets whether every struct accepts undeclared fields, as with `spec.preserveUnknownFields` of a custom resource
    /// definition.
    #[must_use]
    pub fn preserve_unknown_fields(mut self, preserve: bool) -> Self {
        self.preserve_unknown_fields = preserve;
        self
    }

    /// Sets whether definitions with faults are skipped instead of being an error. References to a skipped definition
    /// accept any value, with a deduced structure, and [`Imported::faults`](crate::Imported::faults) has the faults.
    ///
    /// ```
    /// use fieldmanager_openapi::Importer;
    /// use fieldmanager_value::Value;
    /// let document = Value::from_yaml("
    /// definitions:
    ///   good: {type: object, properties: {bad: {$ref: '#/definitions/bad'}}}
    ///   bad: {type: array}
    /// ")?;
    /// let imported = Importer::new().keep_good(true).document(&document)?;
    /// assert_eq!(imported.faults[0].to_string(), "definition `bad`: `items` must be specified on arrays");
    /// assert!(imported.types.schema().type_named("good").is_some());
    /// assert!(Importer::new().document(&document).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn keep_good(mut self, keep: bool) -> Self {
        self.keep_good = keep;
        self
    }
}
