//! Secrets: made from the system's random source, compared without telling how much of them was
//! right, and never shown by accident.

use std::fmt;
use std::io;

use legwork_machine::random_hex;

const BYTES: usize = 32;

/// 32 bytes that nobody can guess, as hexadecimal digits.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new() -> io::Result<Self> {
        random_hex::<BYTES>().map(Self)
    }

    /// Whether this is it. Takes the same time wherever they differ.
    pub fn is(&self, given: &str) -> bool {
        let (ours, theirs) = (self.0.as_bytes(), given.as_bytes());
        let differ = ours.iter().zip(theirs).fold(0, |differ, (a, b)| differ | (a ^ b));
        // The length is no secret.
        ours.len() == theirs.len() && std::hint::black_box(differ) == 0
    }

    /// For whoever may have it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v3_a_secret_is_long_random_and_not_shown() {
        let (one, other) = (Secret::new().unwrap(), Secret::new().unwrap());
        assert_eq!(one.reveal().len(), 2 * BYTES);
        assert_ne!(one, other);
        assert!(one.is(one.reveal()));
        for wrong in ["", other.reveal(), &one.reveal()[1..], &format!("{}0", one.reveal())] {
            assert!(!one.is(wrong), "{wrong}");
        }
        assert!(!format!("{one:?}").contains(one.reveal()));
    }
}
