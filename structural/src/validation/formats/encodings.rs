//! Bytes as text.

/// Whether a text has hexadecimal digits alone, and one of these numbers of them.
pub(super) fn is_hexadecimal(text: &str, lengths: &[usize]) -> bool {
    lengths.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether a text is base64 in its standard alphabet, padded, of at least one byte.
pub(super) fn is_base64(text: &str) -> bool {
    let symbol = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let bare = text.trim_end_matches('=');
    let is_whole = !text.is_empty() && text.len().is_multiple_of(4);
    is_whole && text.len() - bare.len() <= 2 && bare.bytes().all(symbol)
}
