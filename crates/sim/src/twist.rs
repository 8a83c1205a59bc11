//! Worlds in which something is not as everybody takes it to be.

use crate::host::Dice;

/// What is unusual about a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Twist {
    /// Nothing.
    None,
    /// Some windows have another database, and say so.
    OtherDatabase,
    /// Some have another database, and nobody knows.
    HiddenDatabase,
    /// The provider's ids of calls repeat, and the plugin trusts them.
    RepeatedIds,
    /// There is a host of another place that serves everyone.
    Shared,
    /// Windows run where the daemon cannot see whether they have ended.
    Unseen,
}

impl Twist {
    /// By the dice: mostly nothing.
    pub fn pick(dice: &mut Dice) -> Self {
        match dice.below(100) {
            0..=9 => Self::OtherDatabase,
            10..=24 => Self::HiddenDatabase,
            25..=32 => Self::RepeatedIds,
            33..=39 => Self::Unseen,
            40..=64 => Self::Shared,
            _ => Self::None,
        }
    }
}
