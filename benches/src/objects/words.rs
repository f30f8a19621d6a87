//! Random but reproducible words and sentences.

const WORDS: [&str; 32] = [
    "the",
    "number",
    "of",
    "replicas",
    "that",
    "are",
    "kept",
    "while",
    "a",
    "rollout",
    "is",
    "under",
    "way",
    "name",
    "secret",
    "in",
    "same",
    "namespace",
    "holds",
    "credentials",
    "for",
    "server",
    "default",
    "is",
    "empty",
    "which",
    "means",
    "no",
    "limit",
    "duration",
    "after",
    "request",
];

/// Draws words.
pub(super) struct Words(u64);

impl Words {
    pub(super) fn new(seed: u64) -> Self {
        Words(seed)
    }

    /// A number below a limit.
    pub(super) fn number(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// A sentence.
    pub(super) fn sentence(&mut self, words: usize) -> String {
        let words: Vec<&str> = (0..words)
            .map(|_| WORDS[self.number(32) as usize])
            .collect();
        words.join(" ")
    }

    /// Hexadecimal digits, as in names that are hashes.
    pub(super) fn hex(&mut self, length: usize) -> String {
        (0..length)
            .map(|_| char::from(b"0123456789abcdef"[self.number(16) as usize]))
            .collect()
    }

    /// A uid.
    pub(super) fn uid(&mut self) -> String {
        [8, 4, 4, 4, 12].map(|length| self.hex(length)).join("-")
    }
}
