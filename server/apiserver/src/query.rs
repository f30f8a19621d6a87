//! The parameters of a request, as `k8s.io/apimachinery` reads them from a query.

use fieldmanager_managedfields::{RequestOptions, Status};

/// The parameters of a query, in the order of the query.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// The parameters of the query of a URI.
    pub(crate) fn of(query: Option<&str>) -> Self {
        let pairs = query.unwrap_or_default().split('&');
        let pairs = pairs.filter(|pair| is_well_formed(pair));
        let parameters = pairs.flat_map(|pair| form_urlencoded::parse(pair.as_bytes()));
        Query(
            parameters
                .map(|(name, value)| (name.into_owned(), value.into_owned()))
                .collect(),
        )
    }

    /// The first value of a parameter. Of one that occurs again, only the first value counts.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(found, _)| found == name)
            .map(|(_, value)| value.as_str())
    }

    /// The first value of a parameter; empty if it is absent.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    /// The size of the names and values, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.0
            .iter()
            .map(|(name, value)| name.len() + value.len())
            .sum()
    }

    /// Whether objects are selected by their labels or fields.
    pub(crate) fn selects(&self) -> bool {
        !(self.text("labelSelector").is_empty() && self.text("fieldSelector").is_empty())
    }

    /// The names of all parameters.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// All values of a parameter.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0
            .iter()
            .filter(move |(found, _)| found == name)
            .map(|(_, value)| value.as_str())
    }

    /// Whether a parameter is given and is neither `false` nor `0`.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.optional_flag(name).unwrap_or(false)
    }

    /// A flag whose absence means something else than `false`.
    pub(crate) fn optional_flag(&self, name: &str) -> Option<bool> {
        self.get(name)
            .map(|value| !(value.eq_ignore_ascii_case("false") || value == "0"))
    }

    /// A number, or 400 with the words of Go.
    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>, Status> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        value.parse().map(Some).map_err(|_| {
            let is_number = {
                let digits = value.strip_prefix(['-', '+']).unwrap_or(value);
                !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
            };
            let fault = if is_number {
                "value out of range"
            } else {
                "invalid syntax"
            };
            Status::bad_request(format!("strconv.ParseInt: parsing {value:?}: {fault}"))
        })
    }

    /// The options of a request that writes.
    pub(crate) fn request_options(&self) -> RequestOptions {
        let mut options = RequestOptions::default()
            .field_manager(self.text("fieldManager"))
            .field_validation(self.text("fieldValidation"))
            .force(self.optional_flag("force"));
        options.dry_run = self.all("dryRun").map(str::to_owned).collect();
        options
    }
}

/// Whether Go takes a parameter: one with a semicolon, or with a `%` that two digits do not follow, is left out.
///
/// Behaviour: `ParseQuery` of `net/url`.
fn is_well_formed(pair: &str) -> bool {
    let mut escapes = pair.split('%').skip(1);
    let is_escape = |rest: &str| {
        let digits = rest.bytes().take(2);
        digits.filter(u8::is_ascii_hexdigit).count() == 2
    };
    !pair.contains(';') && escapes.all(is_escape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_parameters_are_left_out() {
        let query = Query::of(Some("a=%zz&b=1;c=2&%2=x&d=%41&&e=100%&f=%20"));
        assert_eq!(query.names().collect::<Vec<_>>(), ["d", "f"]);
        assert_eq!((query.text("d"), query.text("f")), ("A", " "));
    }

    #[test]
    fn first_values_count() {
        let query = Query::of(Some(
            "force=1&fieldManager=a%20b&fieldManager=c&dryRun=All&dryRun=x&watch=False",
        ));
        let options = query.request_options();
        assert_eq!(
            (options.field_manager.as_str(), options.force),
            ("a b", Some(true))
        );
        assert_eq!(options.dry_run, ["All", "x"]);
        assert!(!query.flag("watch") && !query.flag("pretty"));
    }

    #[test]
    fn malformed_numbers_are_refused_with_words_of_go() {
        let refused = |text: &str| Query::of(Some(text)).number("limit").unwrap_err().message;
        assert_eq!(
            refused("limit=x"),
            r#"strconv.ParseInt: parsing "x": invalid syntax"#
        );
        assert_eq!(
            refused("limit=99999999999999999999"),
            r#"strconv.ParseInt: parsing "99999999999999999999": value out of range"#
        );
        assert_eq!(
            Query::of(Some("limit=5")).number("limit").ok(),
            Some(Some(5))
        );
    }
}
