//! The page: files that are built in. A file that is not in the list is not there.

/// A file of the page.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    pub kind: &'static str,
    pub text: &'static str,
}

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

/// Each file by the path that a browser asks for.
macro_rules! pages {
    ($($path:literal, $file:literal, $kind:expr;)*) => {
        &[$(($path, Page { kind: $kind, text: include_str!(concat!("../page/", $file)) }),)*]
    };
}

const PAGES: &[(&str, Page)] = pages! {
    "/", "index.html", HTML;
    "/app.js", "app.js", SCRIPT;
    "/icon.svg", "icon.svg", PICTURE;
};

pub fn page(path: &str) -> Option<Page> {
    PAGES.iter().find(|(known, _)| *known == path).map(|(_, page)| *page)
}
