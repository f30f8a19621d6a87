//! The wire format of protobuf: keys, varints, and payloads.

/// The payload of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Payload<'b> {
    Varint(u64),
    Fixed64([u8; 8]),
    Bytes(&'b [u8]),
    Fixed32,
}

/// What makes bytes malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum WireError {
    #[error("the message ends within a field")]
    Truncated,
    #[error("a varint exceeds 64 bits")]
    Varint,
    #[error("the field number {0} is not in 1 to 2147483647")]
    Number(u64),
    #[error("the wire type {0} is unknown")]
    Type(u64),
    #[error("a group ends that did not start")]
    EndGroup,
}

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;
const START_GROUP: u64 = 3;
const END_GROUP: u64 = 4;
const FIXED32: u64 = 5;

/// Reads the fields of a message in order, without those in groups. Stops after the first error.
pub(super) struct Fields<'b>(pub(super) &'b [u8]);

impl<'b> Iterator for Fields<'b> {
    type Item = Result<(u32, Payload<'b>), WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        let field = self.field().transpose()?;
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

impl<'b> Fields<'b> {
    fn field(&mut self) -> Result<Option<(u32, Payload<'b>)>, WireError> {
        // The groups that are open. No API type has groups, and Go skips them.
        let mut groups = 0_usize;
        while !self.0.is_empty() {
            let key = self.varint()?;
            let number = u32::try_from(key >> 3)
                .ok()
                .filter(|number| (1..=i32::MAX as u32).contains(number));
            let number = number.ok_or(WireError::Number(key >> 3))?;
            let payload = match key & 7 {
                VARINT => Payload::Varint(self.varint()?),
                FIXED64 => Payload::Fixed64(self.array()?),
                BYTES => Payload::Bytes(self.bytes()?),
                FIXED32 => self.array::<4>().map(|_| Payload::Fixed32)?,
                START_GROUP => {
                    groups += 1;
                    continue;
                }
                END_GROUP => {
                    groups = groups.checked_sub(1).ok_or(WireError::EndGroup)?;
                    continue;
                }
                other => return Err(WireError::Type(other)),
            };

            // A field in a group is read to find its end, and skipped.
            if groups == 0 {
                return Ok(Some((number, payload)));
            }
        }

        // The message may not end within a group.
        if groups == 0 {
            Ok(None)
        } else {
            Err(WireError::Truncated)
        }
    }

    /// Reads a varint. Go ignores the bits of its tenth byte that exceed 64.
    pub(super) fn varint(&mut self) -> Result<u64, WireError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(WireError::Varint)
    }

    fn bytes(&mut self) -> Result<&'b [u8], WireError> {
        let length = usize::try_from(self.varint()?).map_err(|_| WireError::Truncated)?;
        let (bytes, rest) = self
            .0
            .split_at_checked(length)
            .ok_or(WireError::Truncated)?;
        self.0 = rest;
        Ok(bytes)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let (array, rest) = self.0.split_first_chunk().ok_or(WireError::Truncated)?;
        self.0 = rest;
        Ok(*array)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Vec<(u32, Payload<'_>)>, WireError> {
        Fields(bytes).collect()
    }

    #[test]
    fn fields_of_all_wire_types_are_read() {
        assert_eq!(
            read(&[0x08, 0xAC, 0x02]),
            Ok(vec![(1, Payload::Varint(300))])
        );
        assert_eq!(
            read(&[0x12, 2, 7, 8, 0x1D, 1, 2, 3, 4]),
            Ok(vec![(2, Payload::Bytes(&[7, 8])), (3, Payload::Fixed32)])
        );
        assert_eq!(
            read(&[0x09, 1, 2, 3, 4, 5, 6, 7, 8]),
            Ok(vec![(1, Payload::Fixed64([1, 2, 3, 4, 5, 6, 7, 8]))])
        );
        let minus_one = [
            0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01,
        ];
        assert_eq!(read(&minus_one), Ok(vec![(1, Payload::Varint(u64::MAX))]));
    }

    #[test]
    fn groups_are_skipped() {
        assert_eq!(
            read(&[0x0B, 0x10, 5, 0x13, 0x14, 0x0C, 0x08, 1]),
            Ok(vec![(1, Payload::Varint(1))])
        );
    }

    #[test]
    fn malformed_bytes_are_errors() {
        for (bytes, error) in [
            (&[0x08][..], WireError::Truncated),
            (&[0x12, 3, 1, 2], WireError::Truncated),
            (
                &[
                    0x12, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01,
                ],
                WireError::Truncated,
            ),
            (&[0x0B, 0x10, 5], WireError::Truncated),
            (&[0x0C], WireError::EndGroup),
            (&[0x0E], WireError::Type(6)),
            (&[0x02, 0], WireError::Number(0)),
            (
                &[
                    0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
                ],
                WireError::Varint,
            ),
        ] {
            assert_eq!(read(bytes), Err(error), "{bytes:?}");
        }
    }
}
