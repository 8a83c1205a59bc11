//! How unpleasant the host is. Each field is one thing that was seen in the real one (or read in
//! its source) and can be switched by a scenario; nothing here decides anything.

/// From and to, in milliseconds, both included.
pub type Span = (u64, u64);

/// The host's habits. The default has all of them; [`Nasty::calm`] none.
#[derive(Debug, Clone)]
pub struct Nasty {
    /// `session.idle` comes twice after an error or an abort (seen in 1.18.33).
    pub idle_twice: bool,
    /// The error and the first idle come before the message with the error can be read (seen in
    /// 1.18.33).
    pub error_before_message: bool,
    /// How long after the first idle the second one and the readable error come.
    pub second_idle_ms: Span,
    /// An unknown agent or model is told twice (seen in 1.18.33).
    pub errors_twice: bool,
    /// A busy status is announced again for each model call (seen in 1.18.33).
    pub busy_repeats: bool,
    /// How long after the 204 a prompt to a quiet session is stored: the route answers first and
    /// stores afterwards (source of 1.18.18).
    pub store_ms: Span,
    /// How long after that the session is busy (seen in 1.18.33).
    pub busy_ms: Span,
    /// An abort between the 204 and the first busy stops nothing.
    pub abort_misses_gap: bool,
    /// A message sent again becomes the newest, because its time is refreshed. 1.18.33 refreshes it
    /// and keeps the place; a version that sorts would not. An old one that was answered long ago
    /// is answered again (seen in 1.18.33).
    pub resend_reorders: bool,
    /// A prompt that arrives between an error's first idle and its end is stored, and nobody
    /// answers it (seen in 1.18.33).
    pub error_swallows: bool,
    /// A turn in a deleted session goes on (seen in 1.18.33).
    pub deleted_runs_on: bool,
    /// The question of an aborted turn stays in the list (seen in 1.18.33).
    pub stale_questions: bool,
    /// So many model calls in a thousand break off without being told to by a script.
    pub drop_per_mille: u32,
    /// So many model calls in a thousand need a provider retry without a script's word.
    pub retry_per_mille: u32,
    /// How long a model thinks.
    pub think_ms: Span,
    /// How long a tool takes when its script does not say.
    pub tool_ms: Span,
    /// How long a turn is still busy after its last message is complete.
    pub settle_ms: Span,
    /// The waits before the provider is tried again; after the last one it is given up.
    pub retry_ms: [u64; 5],
}

impl Default for Nasty {
    fn default() -> Self {
        Self {
            idle_twice: true,
            error_before_message: true,
            second_idle_ms: (40, 300),
            errors_twice: true,
            busy_repeats: true,
            store_ms: (0, 40),
            busy_ms: (0, 800),
            abort_misses_gap: true,
            resend_reorders: true,
            error_swallows: true,
            deleted_runs_on: true,
            stale_questions: true,
            drop_per_mille: 5,
            retry_per_mille: 10,
            think_ms: (50, 3_000),
            tool_ms: (20, 5_000),
            settle_ms: (0, 60),
            retry_ms: [2_000, 5_000, 9_000, 18_000, 38_000],
        }
    }
}

impl Nasty {
    /// A host that behaves as one would hope, for tests of other things.
    pub fn calm() -> Self {
        Self {
            idle_twice: false,
            error_before_message: false,
            second_idle_ms: (0, 0),
            errors_twice: false,
            busy_repeats: false,
            store_ms: (0, 0),
            busy_ms: (0, 0),
            abort_misses_gap: false,
            resend_reorders: false,
            error_swallows: false,
            deleted_runs_on: false,
            stale_questions: false,
            drop_per_mille: 0,
            retry_per_mille: 0,
            think_ms: (100, 100),
            tool_ms: (100, 100),
            settle_ms: (0, 0),
            ..Self::default()
        }
    }

    /// All that was seen, and nothing that happens by itself: for contract tests.
    pub fn scripted() -> Self {
        Self { drop_per_mille: 0, retry_per_mille: 0, ..Self::default() }
    }
}
