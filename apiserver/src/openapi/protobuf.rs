//! Messages of protocol buffers.

use fieldmanager_value::Value;

/// The bytes of a message.
#[derive(Default)]
pub(super) struct Message(Vec<u8>);

const VARINT: u32 = 0;
const FIXED64: u32 = 1;
const BYTES: u32 = 2;

impl Message {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn tag(&mut self, field: u32, wire: u32) {
        self.varint(u64::from(field << 3 | wire));
    }

    /// A string or a message, also if it is empty.
    pub(super) fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.tag(field, BYTES);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn message(&mut self, field: u32, message: Message) {
        self.bytes(field, &message.0);
    }

    /// A string member of an object, if it is there and not empty.
    pub(super) fn text(&mut self, field: u32, object: &Value, name: &str) {
        if let Some(text) = object.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()) {
            self.bytes(field, text.as_bytes());
        }
    }

    /// A list of strings.
    pub(super) fn texts(&mut self, field: u32, object: &Value, name: &str) {
        for text in object.get(name).and_then(Value::as_list).into_iter().flatten().filter_map(Value::as_str)
        {
            self.bytes(field, text.as_bytes());
        }
    }

    /// A boolean, if it is true.
    pub(super) fn flag(&mut self, field: u32, object: &Value, name: &str) {
        if object.get(name).and_then(Value::as_bool) == Some(true) {
            self.tag(field, VARINT);
            self.varint(1);
        }
    }

    /// An integer, if it is not zero.
    pub(super) fn integer(&mut self, field: u32, object: &Value, name: &str) {
        if let Some(number) = object.get(name).and_then(Value::as_i64).filter(|number| *number != 0) {
            self.tag(field, VARINT);
            self.varint(number as u64);
        }
    }

    /// A floating-point number, if it is not zero.
    pub(super) fn double(&mut self, field: u32, object: &Value, name: &str) {
        let number = match object.get(name) {
            Some(Value::Int(number)) => *number as f64,
            Some(Value::Float(number)) => *number,
            _ => return,
        };
        if number != 0.0 {
            self.tag(field, FIXED64);
            self.0.extend_from_slice(&number.to_le_bytes());
        }
    }
}
