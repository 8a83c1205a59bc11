//! What every answer carries, so that a browser keeps the page to itself: it loads nothing from
//! elsewhere, runs no script but ours, makes no HTML of texts, and nobody can frame it, read it or
//! keep it.

use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderMap, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};

const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                   img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                   require-trusted-types-for 'script'; trusted-types 'none'";

const ALL: [(HeaderName, &str); 7] = [
    (CONTENT_SECURITY_POLICY, CSP),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (X_FRAME_OPTIONS, "DENY"),
    (CACHE_CONTROL, "no-store"),
];

/// Puts them on, whatever the answer.
pub fn protect(headers: &mut HeaderMap) {
    for (name, value) in ALL {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
