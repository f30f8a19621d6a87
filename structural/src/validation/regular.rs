//! Regular expressions in the syntax of RE2, as Go has them.
//!
//! A pattern is compiled when a value needs it, and compiled patterns are in one cache of the process: a definition of a
//! few kilobytes can have hundreds of patterns of megabytes each, and all definitions and rules share the memory.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use fieldmanager_value::Str;
use fieldmanager_value::internal::{Stopped, proceed, with_stack};
use regex::{Regex, RegexBuilder};
use regex_automata::hybrid::dfa::{Cache as Scratch, DFA};
use regex_automata::nfa::thompson::{NFA, WhichCaptures};
use regex_automata::util::syntax;
use regex_automata::{Input, MatchKind};

use crate::schema::pattern::{Translated, translate};

/// What all patterns of one cache take together, in bytes, but for those that other threads use at the moment.
const MAX_COMPILED: usize = 64 << 20;
/// What the search for a pattern may remember, in bytes. A large pattern needs more.
const SCRATCH: usize = 64 << 10;
/// How many times its estimate a compiled [`expression`] takes: it has an automaton for each direction and for captures.
const EXPRESSION: usize = 3;
/// The size beyond which the crates refuse a pattern. The estimate is exceeded first.
const REFUSED: usize = 256 << 20;
/// The nesting beyond which the crates refuse a pattern: some levels for each of Go.
const NESTING: u32 = 10_000;
/// The stack for compiling a pattern of that nesting, of which the system provides what is used.
const STACK: usize = if cfg!(debug_assertions) {
    64 << 20
} else {
    16 << 20
};
/// The number of bytes that are searched between two looks at the work of the thread.
const CHUNK: usize = 64;

/// Compiles a regular expression of Go, for searches that need the place of a match. It is kept in a cache.
///
/// In Go, `\d`, `\s`, `\w` and `\b` are about ASCII, a brace that begins no repetition is a literal, and so are `[`,
/// `&`, `~` and a second `-` in a class.
///
/// ```
/// # use fieldmanager_structural::internal::expression;
/// assert!(expression(r"^\w{2}$")?.is_match("ab"));
/// assert!(!expression(r"^\w{2}$")?.is_match("äö"));
/// assert!(expression("^{a}[[]$")?.is_match("{a}["));
/// assert!(expression("(?=a)").is_err());
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
///
/// The reason why the expression is refused, as Go gives it, or that the work of the thread was stopped.
pub fn expression(pattern: &str) -> Result<Regex, String> {
    if let Some(known) = lock(&EXPRESSIONS).get(pattern) {
        return Ok(known.pattern.clone());
    }

    let Translated { text, size } = translate(pattern).map_err(|fault| fault.to_string())?;
    // Compiling takes as long as the result is large, so the estimate counts as work before it begins.
    let size = size.saturating_mul(EXPRESSION);
    if !proceed(size as u64 / 8) {
        return Err(Stopped.to_string());
    }
    let regex = with_stack(STACK, || {
        let mut builder = RegexBuilder::new(&text);
        builder
            .size_limit(REFUSED)
            .nest_limit(NESTING)
            .build()
            .map_err(|error| error.to_string())
    })?;
    lock(&EXPRESSIONS).insert(pattern.into(), &Arc::new(Cached::new(regex.clone(), size)));

    Ok(regex)
}

/// A valid pattern, which is compiled when it is needed.
///
/// ```
/// # use fieldmanager_structural::internal::Pattern;
/// let pattern = Pattern::new(r"^\p{Greek}+$")?;
/// assert!(pattern.is_match("αβγ") && !pattern.is_match("abc"));
/// assert_eq!(Pattern::new("(").unwrap_err(), "error parsing regexp: missing closing ): `(`");
/// # Ok::<(), String>(())
/// ```
#[derive(Debug)]
pub struct Pattern {
    text: Str,
    /// The compiled pattern, while it is in the cache.
    compiled: Mutex<Weak<Cached<Matcher>>>,
}

impl Pattern {
    /// Checks a pattern, without compiling it.
    ///
    /// # Errors
    ///
    /// The reason why the pattern is refused, as Go gives it. A pattern that would take more than 16 MiB is "too large".
    pub fn new(text: &str) -> Result<Self, String> {
        match translate(text) {
            Ok(_) => Ok(Pattern {
                text: text.into(),
                compiled: Mutex::default(),
            }),
            Err(fault) => Err(fault.to_string()),
        }
    }

    /// The pattern as it was given.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether a part of a string matches. The work of the thread can stop the search.
    pub fn is_match(&self, text: &str) -> bool {
        self.compiled()
            .is_some_and(|compiled| compiled.pattern.is_match(text))
    }

    /// The compiled pattern; `None` if the work of the thread was stopped.
    fn compiled(&self) -> Option<Arc<Cached<Matcher>>> {
        let known = lock(&self.compiled).upgrade();
        if let Some(known) = known {
            known.is_used.store(true, Ordering::Relaxed);
            return Some(known);
        }

        let found = lock(&MATCHERS).get(&self.text);
        let compiled = match found {
            Some(found) => found,
            None => {
                // Other threads can use the cache in the meantime.
                let compiled = Arc::new(Matcher::compile(&self.text)?);
                lock(&MATCHERS).insert(self.text.clone(), &compiled);
                compiled
            }
        };
        *lock(&self.compiled) = Arc::downgrade(&compiled);

        Some(compiled)
    }
}

/// The compiled patterns of the process. They change no result, only the time until it is there.
static MATCHERS: Mutex<Cache<Matcher>> = Mutex::new(Cache {
    patterns: BTreeMap::new(),
    size: 0,
});
/// The compiled expressions of the process.
static EXPRESSIONS: Mutex<Cache<Regex>> = Mutex::new(Cache {
    patterns: BTreeMap::new(),
    size: 0,
});

struct Cache<T> {
    patterns: BTreeMap<Str, Arc<Cached<T>>>,
    size: usize,
}

/// A compiled pattern.
#[derive(Debug)]
struct Cached<T> {
    pattern: T,
    /// What the pattern and its search take at most, in bytes.
    size: usize,
    is_used: AtomicBool,
}

impl<T> Cached<T> {
    fn new(pattern: T, size: usize) -> Self {
        Cached {
            pattern,
            size,
            is_used: AtomicBool::new(true),
        }
    }
}

impl<T> Cache<T> {
    fn get(&self, text: &str) -> Option<Arc<Cached<T>>> {
        let known = self.patterns.get(text)?;
        known.is_used.store(true, Ordering::Relaxed);
        Some(known.clone())
    }

    /// Adds a pattern. Patterns that were not used since the last time that the cache was full leave it.
    fn insert(&mut self, text: Str, compiled: &Arc<Cached<T>>) {
        let room = MAX_COMPILED.saturating_sub(compiled.size);
        // The second round finds all patterns unused.
        for _ in 0..2 {
            self.patterns.retain(|_, known| {
                let stays = self.size <= room || known.is_used.swap(false, Ordering::Relaxed);
                if !stays {
                    self.size -= known.size;
                }
                stays
            });
        }

        let replaced = self.patterns.insert(text, compiled.clone());
        self.size += compiled.size;
        self.size -= replaced.map_or(0, |replaced| replaced.size);
    }
}

/// Says whether a string has a match.
#[derive(Debug)]
struct Matcher {
    automaton: DFA,
    /// What the last search remembers for the next one.
    scratch: Mutex<Option<Scratch>>,
}

impl Matcher {
    fn compile(pattern: &str) -> Option<Cached<Self>> {
        let Translated { text, size } = translate(pattern).ok()?;
        if !proceed(size as u64 / 8) {
            return None;
        }

        // `translate` limits patterns already; these limits are for one that takes more than it estimates.
        let syntax = syntax::Config::new().nest_limit(NESTING);
        let program = NFA::config()
            .nfa_size_limit(Some(REFUSED))
            .which_captures(WhichCaptures::None);
        let compiler = || {
            NFA::compiler()
                .syntax(syntax)
                .configure(program)
                .build(&text)
                .ok()
        };
        let program = with_stack(STACK, compiler)?;

        // All matches, since an empty one in the middle of a character does not count.
        let config = DFA::config()
            .match_kind(MatchKind::All)
            .skip_cache_capacity_check(true);
        let scratch = SCRATCH.max(config.get_minimum_cache_capacity(&program).ok()?);
        let size = pattern.len() + program.memory_usage() + scratch;
        let config = config.cache_capacity(scratch);
        let automaton = DFA::builder()
            .configure(config)
            .build_from_nfa(program)
            .ok()?;

        Some(Cached::new(
            Matcher {
                automaton,
                scratch: Mutex::default(),
            },
            size,
        ))
    }

    fn is_match(&self, text: &str) -> bool {
        let scratch = lock(&self.scratch).take();
        let mut scratch = scratch.unwrap_or_else(|| self.automaton.create_cache());
        let is_match = self.search(text, &mut scratch).unwrap_or(false);
        *lock(&self.scratch) = Some(scratch);
        is_match
    }

    /// Whether a part of a string matches; `None` if the work of the thread was stopped.
    fn search(&self, text: &str, scratch: &mut Scratch) -> Option<bool> {
        let mut state = self
            .automaton
            .start_state_forward(scratch, &Input::new(text))
            .ok()?;
        let mut known = scratch.memory_usage();

        for (at, byte) in text.bytes().enumerate() {
            if at % CHUNK == 0 {
                // A new state of the automaton takes as long as it is large.
                let now = scratch.memory_usage();
                let made = now.checked_sub(known).unwrap_or(now);
                known = now;
                proceed(1 + made as u64 / 8).then_some(())?;
            }

            state = self.automaton.next_state(scratch, state, byte).ok()?;
            // A match is known one byte after its end.
            if state.is_match() && text.is_char_boundary(at) {
                return Some(true);
            }
            if state.is_dead() {
                return Some(false);
            }
        }
        // The end of the text can complete a match, such as one of `$`.
        let end = self.automaton.next_eoi_state(scratch, state).ok()?;

        Some(end.is_match())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns() -> Vec<String> {
        let table = include_str!("../../tests/data/patterns.jsonl")
            .lines()
            .skip(1);
        let rows = table.map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        rows.map(|row| row["pattern"].as_str().unwrap().to_owned())
            .collect()
    }

    /// The bounds hold if no pattern is larger than its estimate.
    #[test]
    fn compiled_pattern_is_at_most_as_large_as_its_estimate() {
        let classes = (0..0x3000).step_by(7).flat_map(|low| {
            [1, 40, 900, 20_000].map(|size| format!(r"(?i)[\x{{{low:x}}}-\x{{{:x}}}]", low + size))
        });
        let mut checked = 0;
        for pattern in patterns().into_iter().chain(classes) {
            let Ok(translated) = translate(&pattern) else {
                continue;
            };
            let compiled = Matcher::compile(&pattern)
                .unwrap_or_else(|| panic!("{pattern:?} does not compile"));
            let size = compiled.pattern.automaton.get_nfa().memory_usage();
            let estimate = translated.size + 2048;
            assert!(
                size <= estimate,
                "{pattern:?} takes {size} bytes, estimated {estimate}"
            );
            checked += 1;
        }
        assert!(checked > 8000, "{checked}");
    }

    #[test]
    fn all_compiled_patterns_together_are_bounded() {
        // Each takes about 10 MB, in 15 kB of patterns.
        let patterns: Vec<Pattern> = (0..250)
            .map(|n| Pattern::new(&format!(r"^\pL{{300}}{n}$")).unwrap())
            .collect();
        for pattern in &patterns[..12] {
            assert!(!pattern.is_match("abc"));
            let cache = lock(&MATCHERS);
            let size: usize = cache.patterns.values().map(|pattern| pattern.size).sum();
            assert!(size == cache.size && size <= MAX_COMPILED, "{size}");
        }
        let is_kept = |pattern: &Pattern| lock(&pattern.compiled).upgrade().is_some();
        assert!(!is_kept(&patterns[0]) && is_kept(&patterns[11]) && !is_kept(&patterns[12]));
        assert!(patterns[0].is_match(&format!("{}0", "a".repeat(300))));
    }

    #[test]
    fn all_compiled_expressions_together_are_bounded() {
        for number in 0..4 {
            let regex = expression(&format!(r"^\pL{{300}}{number}$")).unwrap();
            assert!(!regex.is_match("abc"));
            let cache = lock(&EXPRESSIONS);
            assert!(cache.size <= MAX_COMPILED, "{}", cache.size);
        }
        assert!(lock(&EXPRESSIONS).patterns.len() < 4);
    }

    #[test]
    fn a_stopped_search_ends() {
        use fieldmanager_value::internal::Work;
        // Each byte makes a new state of the automaton, as large as the pattern.
        let pattern = Pattern::new("a.{1000}[bc].{1000}$").unwrap();
        let mut random = 1_u32;
        let mut letter = || {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if random >> 31 == 0 { 'a' } else { 'b' }
        };
        let text: String = (0..500_000).map(|_| letter()).collect();
        let work = Work::with_limit(10_000_000);
        assert_eq!(work.run(|| pattern.is_match(&text)), Err(Stopped));
        assert!(work.steps() < 11_000_000, "{}", work.steps());
    }
}
