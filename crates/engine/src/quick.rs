//! Keys for large maps: compared by a hash first, so that a search does not have to fetch the text
//! of every key on its way. Such a map is never walked in order.

use legwork_protocol::{CallKey, SessionId};

/// A key with its number in front.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Quick<T>(u64, T);

impl From<&SessionId> for Quick<SessionId> {
    fn from(id: &SessionId) -> Self {
        Self(number(id.as_str()), id.clone())
    }
}

impl From<&CallKey> for Quick<CallKey> {
    fn from(key: &CallKey) -> Self {
        Self(number(key.as_str()), key.clone())
    }
}

fn number(text: &str) -> u64 {
    fnv(text.bytes())
}

/// FNV-1a: the same on every machine and in every process.
pub(crate) fn fnv(bytes: impl Iterator<Item = u8>) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325_u64;
    bytes.fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
