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
    pub const ALL: [Self; 10] = [
        Self::Exit,
        Self::Rubbish,
        Self::Version,
        Self::Silent,
        Self::NeverNew,
        Self::NeedLogin,
        Self::NoLoad,
        Self::FloodStart,
        Self::FloodStderr,
        Self::DieOnLoad,
    ];

    /// As it is written on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exit => "exit",
            Self::Rubbish => "rubbish",
            Self::Version => "version",
            Self::Silent => "silent",
            Self::NeverNew => "never-new",
            Self::NeedLogin => "need-login",
            Self::NoLoad => "no-load",
            Self::FloodStart => "flood-start",
            Self::FloodStderr => "flood-stderr",
            Self::DieOnLoad => "die-on-load",
        }
    }

    pub fn says(self) -> &'static str {
        match self {
            Self::Exit => "Write to stderr and end at once with code 3",
            Self::Rubbish => "Answer with lines that are no messages",
            Self::Version => "Claim to speak version 99 of the protocol",
            Self::Silent => "Read everything and answer nothing",
            Self::NeverNew => "Answer everything but session/new",
            Self::NeedLogin => "Demand a login before the first session",
            Self::NoLoad => "Keep the memory but offer no way to load it",
            Self::FloodStart => "Begin with one line of 100 MB on stdout",
            Self::FloodStderr => "Begin with 100 MB on stderr",
            Self::DieOnLoad => "End with code 3 when a session is to be loaded",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back_to_its_own() {
        for one in Misbehaviour::ALL {
            assert_eq!(Misbehaviour::named(one.name()), Some(one));
        }
        assert_eq!(Misbehaviour::named("well"), None);
    }
}
