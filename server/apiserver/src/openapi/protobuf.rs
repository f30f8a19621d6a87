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

    /// An integer or a flag, if it is not zero.
    pub(super) fn integer(&mut self, field: u32, number: i64) {
        if number != 0 {
            self.tag(field, VARINT);
            self.varint(number as u64);
        }
    }

    /// A floating-point number, if it is not zero.
    pub(super) fn double(&mut self, field: u32, number: &Value) {
        let number = match number {
            Value::Int(number) => *number as f64,
            Value::Float(number) => *number,
            _ => return,
        };
        if number != 0.0 {
            self.tag(field, FIXED64);
            self.0.extend_from_slice(&number.to_le_bytes());
        }
    }

    /// The fields of another message.
    pub(super) fn append(&mut self, mut other: Message) {
        self.0.append(&mut other.0);
    }
}
