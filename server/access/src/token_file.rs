//! Files of tokens.

use std::fmt;

use subtle::ConstantTimeEq;

use crate::User;
use crate::user::MASTERS;

/// Users by their tokens.
///
/// ```
/// use fieldmanager_access::StaticTokens;
/// let tokens = StaticTokens::from_csv("t1,alice,u1,\"dev,ops\"\nt2")?;
/// assert_eq!(tokens.user("t1").unwrap().groups, ["dev", "ops", "system:authenticated"]);
/// assert!(tokens.user("t2").unwrap().is_master());
/// assert_eq!(tokens.user("t3"), None);
/// # Ok::<(), fieldmanager_access::TokenFileError>(())
/// ```
#[derive(Clone, Default)]
pub struct StaticTokens(Vec<(String, User)>);

/// What is wrong with a file of tokens. It names no token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {text}")]
pub struct TokenFileError {
    /// The line, from 1 on.
    pub line: u64,
    text: &'static str,
}

impl StaticTokens {
    /// Reads lines `TOKEN,USER,UID,"GROUP,GROUP"`, as the flag `--token-auth-file` of kube-apiserver has them.
    ///
    /// A line `TOKEN` is the user `admin` in `system:masters`, and a line `TOKEN,USER` a user without a uid; kube-apiserver
    /// refuses both. Lines that begin with `#` are comments, and spaces around fields without quotes are dropped.
    ///
    /// Behaviour: `NewCSV` of `k8s.io/apiserver/pkg/authentication/token/tokenfile`: of two lines with a token the later one is
    /// used.
    ///
    /// # Errors
    ///
    /// [`TokenFileError`] for quotes that are not closed, tokens that no request can send, and a file without tokens.
    pub fn from_csv(text: &str) -> Result<Self, TokenFileError> {
        let mut tokens = Vec::new();
        let mut reader = csv::ReaderBuilder::new();
        reader
            .has_headers(false)
            .flexible(true)
            .comment(Some(b'#'))
            .trim(csv::Trim::All);
        for record in reader.from_reader(text.as_bytes()).records() {
            // A text that is a string has no fields that are not UTF-8, and lines may have any number of fields.
            let record = record.unwrap_or_default();
            let line = record.position().map_or(1, csv::Position::line);
            let fail = |text| Err(TokenFileError { line, text });

            // A quote that is not closed takes the lines after it.
            if record.iter().any(|field| field.contains(['"', '\n'])) {
                return fail("a quote that is not closed, or in a field");
            }
            let token = record.get(0).unwrap_or_default();
            if token.is_empty() || !token.chars().all(|c| c.is_ascii_graphic()) {
                return fail("expected a token of printable characters in the first column");
            }
            if record.get(1).is_some_and(str::is_empty) {
                return fail("expected the name of a user in the second column");
            }
            tokens.push((token.to_owned(), user(&record)));
        }

        if tokens.is_empty() {
            let text = "expected at least one token";
            return Err(TokenFileError { line: 1, text });
        }
        Ok(StaticTokens(tokens))
    }

    /// With one more token.
    pub fn insert(&mut self, token: impl Into<String>, user: User) {
        self.0.push((token.into(), user));
    }

    /// The first token, for a client that needs one.
    pub fn first(&self) -> Option<&str> {
        self.0.first().map(|(token, _)| token.as_str())
    }

    /// Whether there are no tokens.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The user of a token. All tokens are compared, and the time does not depend on how many characters are right.
    pub fn user(&self, token: &str) -> Option<&User> {
        let is_same = |own: &str| bool::from(own.as_bytes().ct_eq(token.as_bytes()));
        // No early end: the place of a token in the file is not shown by the time either.
        let mut found = None;
        for (own, user) in &self.0 {
            if is_same(own) {
                found = Some(user);
            }
        }
        found
    }
}

impl fmt::Debug for StaticTokens {
    /// The names of the users.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.iter().map(|(_, user)| &user.name);
        f.debug_list().entries(names).finish()
    }
}

fn user(record: &csv::StringRecord) -> User {
    let Some(name) = record.get(1) else {
        return User::new("admin", &[MASTERS]);
    };
    // A column without a text has one group without a name, as in Go.
    let groups = record.get(3).map(|groups| groups.split(','));
    let groups: Vec<&str> = groups.into_iter().flatten().collect();
    let mut user = User::new(name, &groups);
    record.get(2).unwrap_or_default().clone_into(&mut user.uid);
    user
}
