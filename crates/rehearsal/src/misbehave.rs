//! What a bad agent does that no script can say, because it happens before the first prompt.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misbehaviour {
    Exit,
    Rubbish,
    Version,
    Silent,
    NeverNew,
    NeedLogin,
    NoLoad,
    FloodStart,
    FloodStderr,
    DieOnLoad,
}

impl Misbehaviour {
    /// Each as it is written on the command line, and what it does.
    pub const ALL: [(Self, &str, &str); 10] = [
        (Self::Exit, "exit", "Write to stderr and end at once with code 3"),
        (Self::Rubbish, "rubbish", "Answer with lines that are no messages"),
        (Self::Version, "version", "Claim to speak version 99 of the protocol"),
        (Self::Silent, "silent", "Read everything and answer nothing"),
        (Self::NeverNew, "never-new", "Answer everything but session/new"),
        (Self::NeedLogin, "need-login", "Demand a login before the first session"),
        (Self::NoLoad, "no-load", "Keep the memory but offer no way to load it"),
        (Self::FloodStart, "flood-start", "Begin with one line of 100 MB on stdout"),
        (Self::FloodStderr, "flood-stderr", "Begin with 100 MB on stderr"),
        (Self::DieOnLoad, "die-on-load", "End with code 3 when a session is to be loaded"),
    ];

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, known, _)| *known == name).map(|(one, ..)| one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back_to_its_own() {
        for (one, name, _) in Misbehaviour::ALL {
            assert_eq!(Misbehaviour::named(name), Some(one));
        }
        assert_eq!(Misbehaviour::named("well"), None);
    }
}
