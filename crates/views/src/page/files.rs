//! The page: files that are built in. A file that is not in the list is not there.

/// A file of the page.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    pub kind: &'static str,
    pub text: &'static str,
}

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

/// Each file by the path that a browser asks for.
macro_rules! pages {
    ($($path:literal, $file:literal, $kind:expr;)*) => {
        &[$(($path, Page { kind: $kind, text: include_str!(concat!("../../page/", $file)) }),)*]
    };
}

const PAGES: &[(&str, Page)] = pages! {
    "/", "index.html", HTML;
    "/api.js", "api.js", SCRIPT;
    "/app.js", "app.js", SCRIPT;
    "/board.css", "board.css", STYLE;
    "/board.js", "board.js", SCRIPT;
    "/conversation.js", "conversation.js", SCRIPT;
    "/detail.js", "detail.js", SCRIPT;
    "/dialog.js", "dialog.js", SCRIPT;
    "/dom.js", "dom.js", SCRIPT;
    "/filter.js", "filter.js", SCRIPT;
    "/groups.js", "groups.js", SCRIPT;
    "/icon-asks.svg", "icon-asks.svg", PICTURE;
    "/icon.svg", "icon.svg", PICTURE;
    "/keys.js", "keys.js", SCRIPT;
    "/launch.js", "launch.js", SCRIPT;
    "/limits.js", "limits.js", SCRIPT;
    "/markdown.js", "markdown.js", SCRIPT;
    "/opened.js", "opened.js", SCRIPT;
    "/question.js", "question.js", SCRIPT;
    "/result.js", "result.js", SCRIPT;
    "/row.js", "row.js", SCRIPT;
    "/states.js", "states.js", SCRIPT;
    "/store.js", "store.js", SCRIPT;
    "/style.css", "style.css", STYLE;
    "/task.css", "task.css", STYLE;
    "/telling.js", "telling.js", SCRIPT;
    "/theme.js", "theme.js", SCRIPT;
    "/timeline.js", "timeline.js", SCRIPT;
    "/typing.js", "typing.js", SCRIPT;
    "/why.js", "why.js", SCRIPT;
    "/words.js", "words.js", SCRIPT;
};

pub fn page(path: &str) -> Option<Page> {
    PAGES.iter().find(|(known, _)| *known == path).map(|(_, page)| *page)
}
