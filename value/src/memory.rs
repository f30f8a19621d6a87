//! What a reader remembers of a document.
//!
//! The items of a list mostly have the same fields in the same order, and the same texts. So the reader knows
//! which name to expect, and takes names and texts that it has seen from here: that is less work than making them, and
//! less memory. What is remembered decides no result.

use crate::Str;
use crate::common::Common;
use crate::names::Name;
use crate::typical::typical;
use crate::word::Word;

/// The number of the document itself, and of the empty name.
pub(crate) const ROOT: u16 = 0;

/// The number of a name that is not remembered.
pub(crate) const UNKNOWN: u16 = u16::MAX;

/// So many names that are not common are remembered; the others are texts like others.
const NAMES: usize = 1024;

/// No longer texts are remembered: they seldom come again, and to make them is not what takes the time.
const LONGEST: usize = 32;

/// Longer texts are hardly ever common: they are names of Pods, identifiers and the like.
const LONGEST_COMMON: usize = 24;

/// How many names of one hash are looked at.
const LOOKS: usize = 4;

/// A place where a name is read.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    /// In the map, or in one of the maps, in the field of that name.
    FirstIn(u16),
    /// After the field of that name.
    After(u16),
}

impl Place {
    /// A number of its own.
    pub(crate) fn code(self) -> usize {
        match self {
            Place::FirstIn(name) => 2 * usize::from(name) + 1,
            Place::After(name) => 2 * usize::from(name) + 2,
        }
    }
}

/// Where a [`Memory`] keeps things: on the stack, because it is gone with the document.
pub(crate) struct Tables<const N: usize> {
    slots: [u16; N],
    links: [(u32, u16); N],
    texts: [(u32, Option<Str>); N],
}

impl<const N: usize> Tables<N> {
    /// A power of two.
    pub(crate) const fn new() -> Self {
        Tables { slots: [ROOT; N], links: [(0, ROOT); N], texts: [const { (0, None) }; N] }
    }

    pub(crate) fn memory(&mut self) -> Memory<'_> {
        Memory {
            common: Common::get(),
            typical: typical(),
            names: Vec::new(),
            slots: &mut self.slots,
            links: &mut self.links,
            texts: &mut self.texts,
        }
    }
}

pub(crate) struct Memory<'t> {
    common: &'static Common,
    /// The names that are not common; their numbers follow those of these. A number stands for one name in all of a
    /// document. With each is the number of the one before it with the same hash.
    names: Vec<(Name, u16)>,
    /// By the code of a place, the number of the name that mostly comes there.
    typical: &'static [u16],
    /// The code of a place where another name came last, and the number of that.
    links: &'t mut [(u32, u16)],
    /// The number of the last of these names with a hash.
    slots: &'t mut [u16],
    /// The last hash of a slot, and its text once it was seen twice.
    texts: &'t mut [(u32, Option<Str>)],
}

impl Memory<'_> {
    fn numbered(&self, number: u16) -> Option<&Name> {
        let (number, common) = (usize::from(number), self.common.texts());
        common.get(number).or_else(|| Some(&self.names.get(number.checked_sub(common.len())?)?.0))
    }

    /// The name that came last at a place, and its number, if a text begins with it and a quote and a colon.
    pub(crate) fn expected(&self, place: Place, text: &[u8]) -> Option<(&Name, u16)> {
        let code = place.code();
        let number = match self.links.get(code & (self.links.len() - 1))? {
            (known, number) if *known as usize == code => *number,
            _ => *self.typical.get(code)?,
        };
        let name = self.numbered(number)?;
        name.begins(text).then_some((name, number))
    }

    /// What was read at a place, for the next time.
    pub(crate) fn came(&mut self, place: Place, number: u16) {
        let code = place.code();
        let slot = code & (self.links.len() - 1);
        if let Some(link) = self.links.get_mut(slot) {
            *link = (code as u32, number);
        }
    }

    /// A name without special characters, its number and its order. The document goes on with it.
    pub(crate) fn name(&mut self, word: &Word<'_>, rest: &[u8]) -> (Str, u16, u64) {
        if let Some((name, number)) = self.common.find(word) {
            return (name.clone(), number, word.order());
        }
        let text = word.text();
        let slot = word.hash() as usize & (self.slots.len() - 1);
        let latest = self.slots.get(slot).copied().unwrap_or_default();
        let first = self.common.texts().len();
        let mut number = latest;
        for _ in 0..LOOKS {
            let Some(at) = usize::from(number).checked_sub(first) else { break };
            let Some((name, older)) = self.names.get(at) else { break };
            if name.text == *text {
                return (name.text.clone(), number, name.order);
            }
            number = *older;
        }
        let number = u16::try_from(first + self.names.len()).unwrap_or(UNKNOWN);
        let (Some(slot), true) = (self.slots.get_mut(slot), self.names.len() < NAMES) else {
            return (self.text(word), UNKNOWN, word.order());
        };
        let name = Name::read(Str::uncommon(text), rest);
        let (text, order) = (name.text.clone(), name.order);
        *slot = number;
        self.names.push((name, latest));
        (text, number, order)
    }

    /// A longer text, or a name.
    pub(crate) fn text(&mut self, word: &Word<'_>) -> Str {
        if word.len() > LONGEST {
            return Str::uncommon(word.text());
        }
        let (text, hash) = (word.text(), word.hash());
        let slot = hash as usize & (self.texts.len() - 1);
        let Some((tag, known)) = self.texts.get_mut(slot) else { return Str::uncommon(text) };
        let again = *tag == hash;
        if let Some(known) = known
            && again
            && *known == *text
        {
            return known.clone();
        }
        let common = if text.len() <= LONGEST_COMMON { self.common.find(word) } else { None };
        let made = common.map_or_else(|| Str::uncommon(text), |(common, _)| common.clone());
        // A text that is seen only once is not worth a count of its users.
        *known = again.then(|| made.clone());
        *tag = hash;
        made
    }
}
