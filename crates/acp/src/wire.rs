//! What ACP adds to JSON-RPC.

pub use legwork_protocol::json_rpc::{
    BAD_PARAMS, INTERNAL, Message, NO_SUCH_METHOD, RpcError, Unread, answer, notification, read,
    refusal, request,
};

pub const ACP_VERSION: u64 = 1;
/// Somebody has to log in first.
pub const LOGIN_NEEDED: i64 = -32000;
/// There is no such session or file.
pub const NOT_FOUND: i64 = -32002;
