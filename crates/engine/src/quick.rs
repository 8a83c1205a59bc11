//! Keys for large maps: compared by a hash first, so that a search does not have to fetch the text
//! of every key on its way. Such a map is never walked in order.

/// A key with its number in front.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Quick<T>(u64, T);

impl<T: AsRef<str> + Clone> From<&T> for Quick<T> {
    fn from(key: &T) -> Self {
        Self(fnv(key.as_ref().bytes()), key.clone())
    }
}

/// FNV-1a: the same on every machine and in every process.
pub(crate) fn fnv(bytes: impl Iterator<Item = u8>) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325_u64;
    bytes.fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
