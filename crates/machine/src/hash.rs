//! A short name for a long text. The same in every build, because names made with it are kept; no
//! protection against somebody who wants two texts to share one.

/// Eight hex digits of the text's FNV-1a hash.
pub fn hash8(bytes: &[u8]) -> String {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{:08x}", (hash ^ (hash >> 32)) & 0xffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_the_same_name_in_every_build() {
        assert_eq!(hash8(b""), "4fd0bfc1");
        assert_eq!(hash8(b"/projects/a"), hash8(b"/projects/a"));
        assert_ne!(hash8(b"/projects/a"), hash8(b"/projects/b"));
    }
}
