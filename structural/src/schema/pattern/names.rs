//! The names of character classes.

/// The POSIX classes.
pub(super) const POSIX: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
    "space", "upper", "word", "xdigit",
];

/// The general categories of Unicode.
const CATEGORIES: &str = "\
    C Cc Cf Cn Co Cs L LC Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs";

/// The scripts of Unicode 15 whose names are a single word. Since version 1.25, Go does not find the others.
const SCRIPTS: &str = "\
    Adlam Ahom Arabic Armenian Avestan Balinese Bamum Batak Bengali Bhaiksuki Bopomofo Brahmi Braille Buginese \
    Buhid Carian Chakma Cham Cherokee Chorasmian Common Coptic Cuneiform Cypriot Cyrillic Deseret Devanagari \
    Dogra Duployan Elbasan Elymaic Ethiopic Georgian Glagolitic Gothic Grantha Greek Gujarati Gurmukhi Han \
    Hangul Hanunoo Hatran Hebrew Hiragana Inherited Javanese Kaithi Kannada Katakana Kawi Kharoshthi Khmer \
    Khojki Khudawadi Lao Latin Lepcha Limbu Lisu Lycian Lydian Mahajani Makasar Malayalam Mandaic Manichaean \
    Marchen Medefaidrin Miao Modi Mongolian Mro Multani Myanmar Nabataean Nandinagari Newa Nko Nushu Ogham Oriya \
    Osage Osmanya Palmyrene Phoenician Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham Sinhala Sogdian \
    Soyombo Sundanese Syriac Tagalog Tagbanwa Takri Tamil Tangsa Tangut Telugu Thaana Thai Tibetan Tifinagh \
    Tirhuta Toto Ugaritic Vai Vithkuqi Wancho Yezidi Yi";

/// Aliases of the categories.
const ALIASES: &str = "\
    Cased_Letter Close_Punctuation Combining_Mark Connector_Punctuation Control Currency_Symbol Dash_Punctuation \
    Decimal_Number Enclosing_Mark Final_Punctuation Format Initial_Punctuation Letter Letter_Number \
    Line_Separator Lowercase_Letter Mark Math_Symbol Modifier_Letter Modifier_Symbol Nonspacing_Mark Number \
    Open_Punctuation Other Other_Letter Other_Number Other_Punctuation Other_Symbol Paragraph_Separator \
    Private_Use Punctuation Separator Space_Separator Spacing_Mark Surrogate Symbol Titlecase_Letter Unassigned \
    Uppercase_Letter cntrl digit punct";

/// Whether Go has a Unicode class with this name. Case, underscores, hyphens and spaces are ignored.
pub(super) fn is_unicode_class(name: &str) -> bool {
    let plain = |name: &str| -> String {
        name.chars()
            .filter(|c| !matches!(c, '_' | '-' | ' '))
            .map(|c| c.to_ascii_lowercase())
            .collect()
    };
    let name = plain(name);

    ["Any Assigned ASCII", CATEGORIES, SCRIPTS, ALIASES]
        .into_iter()
        .flat_map(str::split_ascii_whitespace)
        .any(|known| plain(known) == name)
}
