//! What ACP adds to JSON-RPC.

pub use legwork_protocol::json_rpc::{
    BAD_PARAMS, BAD_REQUEST, INTERNAL, Message, NO_SUCH_METHOD, RpcError, Unread, answer,
    notification, read, refusal, request,
};

pub const ACP_VERSION: u64 = 1;
/// Somebody has to log in first.
pub const LOGIN_NEEDED: i64 = -32000;
/// There is no such session or file.
pub const NOT_FOUND: i64 = -32002;

/// Extensions of ours. Names that begin like this are free for anybody, and an agent that knows
/// none of them is an agent like any other.
///
/// In `_meta` of `session/prompt`: the id of the message that the prompt is.
pub const MESSAGE: &str = "legwork.dev/message";
/// In `_meta` of `initialize`: `true` if the agent is only to say who it is, for people.
pub const CHECK: &str = "legwork.dev/check";
/// In `_meta` of an agent's capabilities: `true` if it answers [`LOOK`].
pub const LOOKS: &str = "legwork.dev/look";
/// Asks what became of a prompt: `{sessionId, message}` is answered by `{taken}`, and with its
/// `end` if the turn is over.
pub const LOOK: &str = "_legwork/look";
/// In `_meta` of a result, of the data of an error and of a look's `end`: what the turn took, as
/// `{model?, cost?}`. The cost is that of the turn alone.
pub const SPENT: &str = "legwork.dev/spent";
/// In `_meta` of an answer to `initialize`: the program that does the work, as `{program, version,
/// login?}`.
pub const PROGRAM: &str = "legwork.dev/program";
/// In `_meta` of `session/request_permission`: `{kind: "question" | "permission", words: bool}`,
/// and of its answer: the words of the person.
pub const WORDS: &str = "legwork.dev/words";
