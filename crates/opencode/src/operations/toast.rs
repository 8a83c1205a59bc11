//! Shows a toast in OpenCode's terminal UI, if there is one.

use legwork_engine::text::toast::{Toast, ToastKind};
use legwork_host::Request;
use serde_json::json;

use crate::wire::transport::{Transport, ask};

/// Nothing depends on a toast, so whether it was shown is not reported.
pub async fn toast<T: Transport>(host: &T, toast: &Toast) {
    let variant = match toast.kind {
        ToastKind::Info => "info",
        ToastKind::Success => "success",
        ToastKind::Warning => "warning",
        ToastKind::Error => "error",
    };
    let body = json!({
        "title": toast.title,
        "message": toast.message,
        "variant": variant,
        "duration": toast.duration_ms,
    });
    drop(ask(host, Request::post("/tui/show-toast", body)).await);
}
