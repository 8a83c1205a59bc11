//! Pages that are not ours, in a real browser, where somebody has ours open.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;

use legwork_testkit::legwork::eventually;
use legwork_testkit::{Page, REBOUND};
use serde_json::Value;

use crate::stage::{LIVE, Stage};

/// A site of somebody else on this machine. It answers everything with one page, and remembers what
/// it was asked for.
struct Site {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Site {
    fn new(page: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let (page, heard) = (page.to_owned(), asked.clone());
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut reader = BufReader::new(stream);
                let mut line = String::new();
                let mut length = 0;
                while reader.read_line(&mut line).is_ok_and(|count| count > 2) {
                    let last = line.lines().last().unwrap_or_default().to_ascii_lowercase();
                    if let Some(said) = last.strip_prefix("content-length: ") {
                        length = said.parse().unwrap_or(0);
                    }
                }
                let _ = reader.by_ref().take(length).read_to_end(&mut Vec::new());
                heard.lock().unwrap().push(line.lines().next().unwrap_or_default().to_owned());
                let length = page.len();
                let _ = write!(
                    reader.get_mut(),
                    "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {length}\r\n\
                     connection: close\r\n\r\n{page}"
                );
            }
        });
        Self { port, asked }
    }
}

/// What each request to our front came to in this page.
fn statuses(page: &Page, port: u16) -> Vec<(String, u64)> {
    let ours = |url: &str| url.contains(&format!(":{port}/"));
    let all = page.requests().into_iter().filter(|asked| ours(&asked.url));
    all.filter_map(|asked| Some((asked.url, asked.status?))).collect()
}

fn try_all(page: &Page, script: &str) -> Value {
    page.eval(&format!("Promise.all([{script}].map((it) => it.catch((why) => String(why))))"))
}

#[test]
fn v3_a_page_whose_name_was_made_to_lead_here_gets_nothing() {
    let stage = Stage::new();
    let ours = stage.open();
    let port = stage.front().port;
    // The browser takes the name for ours, so everything there is of the same origin.
    let page = stage.context.open(&format!("http://{REBOUND}:{port}/"));
    page.wait_for("document.readyState === 'complete' && location.hostname");
    let got = page.eval(
        "Promise.all(['/', '/api/tasks', '/api/board'].map((path) => fetch(path, { headers: { \
         authorization: 'Bearer x' } }).then((answer) => answer.status)))",
    );
    assert_eq!(got, serde_json::json!([421, 421, 421]));
    let posted = page.eval(
        "fetch('/api/enter', { method: 'POST', body: '{}' }).then((answer) => answer.status)",
    );
    assert_eq!(posted, 421);
    assert_eq!(page.eval("localStorage.length"), 0);
    let page = stage.context.open(&format!("http://localhost:{port}/"));
    page.wait_for("document.readyState === 'complete' && location.hostname === 'localhost'");
    assert_eq!(page.eval("fetch('/').then((answer) => answer.status)"), 421);
    ours.wait_for(LIVE);
}

#[test]
fn v3_a_page_of_another_port_reads_nothing_and_does_nothing() {
    let stage = Stage::new();
    let ours = stage.open();
    let token = ours.eval("Object.values(localStorage).find((it) => /^[0-9a-f]{64}$/.test(it))");
    let token = token.as_str().unwrap();
    let (task, port) = (stage.launch("ask to go on"), stage.front().port);
    let site = Site::new("<!doctype html><title>theirs</title><p>theirs");
    let page = stage.context.open(&format!("http://127.0.0.1:{}/", site.port));
    page.wait_for("document.title === 'theirs'");
    // Even with the token, which it cannot know.
    let at = |path: &str| format!("'http://127.0.0.1:{port}{path}'");
    let bearer = format!("{{ authorization: 'Bearer {token}' }}");
    let cancel = at(&format!("/api/task/{task}/cancel"));
    let all = try_all(
        &page,
        &format!(
            "fetch({cancel}, {{ method: 'POST', mode: 'no-cors', body: '{{}}' }}).then((it) => \
             it.type), fetch({cancel}, {{ method: 'POST', body: '{{}}', headers: {bearer} }}), \
             fetch({}, {{ headers: {bearer} }}), fetch({}), navigator.sendBeacon({cancel}, '{{}}') \
             ? Promise.resolve('sent') : Promise.reject('not sent')",
            at("/api/tasks"),
            at("/app.js"),
        ),
    );
    let all = all.as_array().unwrap();
    assert!(all[..4].iter().all(|it| it.to_string().contains("TypeError")), "{all:?}");
    let refused = |what: &str, count: usize| {
        let seen =
            eventually(what, || Some(statuses(&page, port)).filter(|seen| seen.len() >= count));
        assert!(seen.iter().all(|(_, status)| *status == 403), "{what}: {seen:?}");
    };
    refused("fetches are answered", 3);
    // A form that a click would send, as text, with a name that makes it JSON.
    page.eval(&format!(
        "document.body.innerHTML = `<iframe name=hidden></iframe><form method=post \
         enctype=text/plain target=hidden action=${{{cancel}}}><input name='{{\"a\":\"' \
         value='\"}}'></form>`; document.forms[0].submit()"
    ));
    refused("the form is answered", 4);
    assert_ne!(stage.task(&task)["status"], "cancelled");
    ours.wait_for(LIVE);
    assert!(!site.asked.lock().unwrap().is_empty());
}

#[test]
fn v3_a_page_elsewhere_cannot_load_or_frame_ours() {
    let stage = Stage::new();
    let port = stage.front().port;
    let site = Site::new("<!doctype html><title>theirs</title><p>theirs");
    let page = stage.context.open(&format!("http://127.0.0.1:{}/", site.port));
    page.wait_for("document.title === 'theirs'");
    let loaded = page.eval(&format!(
        "Promise.all(['script', 'img', 'link'].map((kind) => new Promise((tell) => {{ const it = \
         document.createElement(kind); it.onload = () => tell('loaded'); it.onerror = () => \
         tell('refused'); if (kind === 'link') {{ it.rel = 'stylesheet'; it.href = \
         'http://127.0.0.1:{port}/style.css'; }} else it.src = 'http://127.0.0.1:{port}/' + (kind \
         === 'img' ? 'icon.svg' : 'app.js'); document.head.append(it); }})))"
    ));
    assert_eq!(loaded, serde_json::json!(["refused", "refused", "refused"]));
    let framed = page.eval(&format!(
        "new Promise((tell) => {{ const it = document.createElement('iframe'); it.src = \
         'http://127.0.0.1:{port}/'; it.onload = () => {{ try {{ tell(it.contentDocument?.title ?? \
         'closed'); }} catch (why) {{ tell('closed'); }} }}; document.body.append(it); }})"
    ));
    assert_eq!(framed, "closed");
    assert!(statuses(&page, port).iter().all(|(_, status)| *status == 403));
    // A window of theirs has no hold of ours.
    let opened = format!("window.kept = open('http://127.0.0.1:{port}/'); !!window.kept");
    page.eval(&opened);
    page.wait_for("kept.closed");
}

#[test]
fn v3_a_code_is_used_up_and_nothing_of_it_stays_in_the_address() {
    let stage = Stage::new();
    let address = stage.address();
    let page = stage.context.open(&address);
    page.wait_for(LIVE);
    let shown = page.eval("location.href");
    assert_eq!(shown, format!("{}/", stage.origin()));
    let entries = page.send("Page.getNavigationHistory", serde_json::json!({}));
    let entries = entries["entries"].as_array().unwrap();
    assert!(entries.iter().all(|it| !it["url"].to_string().contains("code=")), "{entries:?}");
    // Somebody else with the same address.
    let other = legwork_testkit::Browser::get().context();
    let second = other.open(&address);
    second.wait_for("/Run .?legwork ui.? again/.test(document.body.innerText)");
    // The one that was first stays in, also in another tab and after a reload.
    page.reload();
    page.wait_for(LIVE);
    let tab = stage.context.open(&format!("{}/", stage.origin()));
    tab.wait_for(LIVE);
}

#[test]
fn v3_the_page_asks_nobody_but_its_own_front() {
    let stage = Stage::new();
    let page = stage.open();
    let task = stage.launch("say ![x](http://evil.test/x.png) <img src=http://evil.test/y.png>");
    page.wait_for(&format!("document.body.innerText.includes('{task}')"));
    let origin = format!("{}/", stage.origin());
    let requests = page.requests();
    assert!(requests.len() > 2, "{requests:?}");
    let elsewhere: Vec<_> = requests.iter().filter(|it| !it.url.starts_with(&origin)).collect();
    assert!(elsewhere.is_empty(), "{elsewhere:?}");
    assert!(page.complaints().is_empty(), "{:?}", page.complaints());
    // And it could not.
    let site = Site::new("theirs");
    let tried = page.eval(&format!(
        "fetch('http://127.0.0.1:{}/', {{ mode: 'no-cors' }}).then(() => 'sent', () => 'refused')",
        site.port
    ));
    assert_eq!(tried, "refused");
    assert!(site.asked.lock().unwrap().is_empty());
}

#[test]
fn v3_texts_make_no_elements_in_the_page_itself() {
    let stage = Stage::new();
    let page = stage.open();
    // What the debugger runs is free of the rules, so the page itself has to.
    for script in [
        "document.body.innerHTML = '<b>x</b>'",
        "eval('1')",
        "document.write('<b>x</b>')",
        "new Function('1')",
    ] {
        let quoted = serde_json::json!(script);
        let thrown = page.eval(&format!(
            "new Promise((tell) => {{ const timer = setTimeout; timer(() => {{ try {{ (() => {{ \
             {script} }})(); tell('ran ' + {quoted}); }} catch (why) {{ tell('refused'); }} }}, 0); \
             }})"
        ));
        assert_eq!(thrown, "refused", "{script}");
    }
    let inline = page.eval(
        "(() => { try { const it = document.createElement('p'); it.setAttribute('onclick', \
         'window.ran = 1'); document.body.append(it); it.click(); } catch (why) {} return \
         window.ran ?? 'refused'; })()",
    );
    assert_eq!(inline, "refused");
}
