//! A tab: what it shows, what is done in it as a person does, and what it asked for.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::find::axe;
use super::pipe::Pipe;
use crate::kit::DEADLINE;

/// Between two looks at a page.
const PAUSE: Duration = Duration::from_millis(15);

/// A request of a page, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// What was asked for.
    pub url: String,
    /// The status; nothing if there was no answer.
    pub status: Option<u64>,
}

/// A tab of the browser. Stays open until its context goes, or [`Page::close`].
#[derive(Debug)]
pub struct Page {
    pipe: Arc<Pipe>,
    target: String,
    session: String,
}

impl Page {
    pub(crate) fn new(pipe: Arc<Pipe>, context: &str) -> Self {
        let wanted = json!({ "url": "about:blank", "browserContextId": context });
        let made = pipe.send(None, "Target.createTarget", wanted);
        let target = made["targetId"].as_str().expect("its id").to_owned();
        let attached = json!({ "targetId": target, "flatten": true });
        let attached = pipe.send(None, "Target.attachToTarget", attached);
        let session = attached["sessionId"].as_str().expect("its id").to_owned();
        let page = Self { pipe, target, session };
        for domain in ["Page", "Runtime", "Network", "Log"] {
            page.send(&format!("{domain}.enable"), json!({}));
        }
        page
    }

    /// Any command of the browser's protocol, about this tab.
    #[track_caller]
    pub fn send(&self, method: &str, params: Value) -> Value {
        self.pipe.send(Some(&self.session), method, params)
    }

    /// What happened so far: the values of these events of the browser's protocol.
    pub fn events(&self, method: &str) -> Vec<Value> {
        self.pipe.events(&self.session, method)
    }

    /// Shows this. Waits until the answer begins to come, not until it is shown.
    #[track_caller]
    pub fn open(&self, url: &str) {
        self.send("Page.navigate", json!({ "url": url }));
    }

    /// Shows the same anew. Waits until the new document is there and its scripts have run: until
    /// then the old one is what is looked at, and what is clicked.
    #[track_caller]
    pub fn reload(&self) {
        self.eval("window.isOld = true");
        self.send("Page.reload", json!({}));
        self.wait_for("!window.isOld && document.readyState === 'complete'");
    }

    /// Closes it as a person does.
    pub fn close(self) {
        self.pipe.send(None, "Target.closeTarget", json!({ "targetId": self.target }));
    }

    /// The value of an expression in the page. A promise is waited for.
    #[track_caller]
    pub fn eval(&self, script: &str) -> Value {
        self.try_eval(script).unwrap_or_else(|why| panic!("{why}\nin {script:.300}"))
    }

    /// The same, or what went wrong.
    pub fn try_eval(&self, script: &str) -> Result<Value, String> {
        let params = json!({
            "expression": script,
            "awaitPromise": true,
            "returnByValue": true,
            "userGesture": true,
        });
        let mut did = self.pipe.try_send(Some(&self.session), "Runtime.evaluate", params)?;
        match did.get("exceptionDetails") {
            Some(thrown) => {
                let what = &thrown["exception"]["description"];
                Err(what.as_str().map_or_else(|| thrown.to_string(), str::to_owned))
            }
            None => Ok(did["result"]["value"].take()),
        }
    }

    /// Waits until an expression is true, and gives back its value.
    #[track_caller]
    pub fn wait_for(&self, condition: &str) -> Value {
        self.wait_within(DEADLINE, condition)
    }

    /// The same with a time of its own.
    #[track_caller]
    pub fn wait_within(&self, within: Duration, condition: &str) -> Value {
        let deadline = Instant::now() + within;
        loop {
            // While it goes from one document to another nothing can be asked.
            let seen = self.try_eval(condition);
            match &seen {
                Ok(value) if is_true(value) => return value.clone(),
                _ if Instant::now() < deadline => thread::sleep(PAUSE),
                _ => {
                    let shown = self.try_eval("document.body.innerText").unwrap_or_default();
                    let complaints = self.complaints();
                    panic!(
                        "not within {within:?}: {condition}\nlast: {seen:?}\nthe page: {shown}\n\
                         complaints: {complaints:?}"
                    );
                }
            }
        }
    }

    /// What a person reads in the first element that fits, once it is there.
    #[track_caller]
    pub fn text(&self, selector: &str) -> String {
        self.wait_for(&format!("!!{}", query(selector)));
        let text = self.eval(&format!("{}.innerText", query(selector)));
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Clicks in the middle of the first element that fits, once it can be seen.
    #[track_caller]
    pub fn click(&self, selector: &str) {
        self.click_times(selector, 1);
    }

    /// The same twice in a row.
    #[track_caller]
    pub fn double_click(&self, selector: &str) {
        self.click_times(selector, 1);
        self.click_times(selector, 2);
    }

    fn click_times(&self, selector: &str, count: u32) {
        let element = query(selector);
        let place = format!(
            "(() => {{ const it = {element}; if (!it) return null; \
             it.scrollIntoView({{ block: 'nearest', inline: 'nearest' }}); \
             const box = it.getBoundingClientRect(); \
             return box.width && box.height && {{ x: box.x + box.width / 2, \
             y: box.y + box.height / 2 }}; }})()"
        );
        let place = self.wait_for(&place);
        self.mouse("mouseMoved", &place, 0);
        self.mouse("mousePressed", &place, count);
        self.mouse("mouseReleased", &place, count);
    }

    /// Moves the pointer over the first element that fits.
    #[track_caller]
    pub fn hover(&self, selector: &str) {
        let box_of = format!("{}.getBoundingClientRect()", query(selector));
        let place = format!(
            "(({{ x, y, width, height }}) => ({{ x: x + width / 2, y: y + height / 2 }}))({box_of})"
        );
        self.mouse("mouseMoved", &self.wait_for(&place), 0);
    }

    fn mouse(&self, kind: &str, place: &Value, count: u32) {
        let button = if count > 0 { "left" } else { "none" };
        let params = json!({
            "type": kind,
            "x": place["x"],
            "y": place["y"],
            "button": button,
            "clickCount": count,
        });
        self.send("Input.dispatchMouseEvent", params);
    }

    /// Writes a text where the cursor is.
    pub fn type_text(&self, text: &str) {
        self.send("Input.insertText", json!({ "text": text }));
    }

    /// Presses a key by its name in the browser: `j`, `?`, `Enter`, `Escape`, `ArrowDown`, `Tab`.
    pub fn key(&self, key: &str) {
        self.key_with(key, 0);
    }

    /// The same with others held: 1 for Alt, 2 for Control, 4 for Meta, 8 for Shift, or a sum.
    pub fn key_with(&self, key: &str, held: u32) {
        let text = match key {
            "Enter" => "\r",
            one if one.chars().count() == 1 => one,
            _ => "",
        };
        let mut params = json!({
            "type": if text.is_empty() { "rawKeyDown" } else { "keyDown" },
            "key": key,
            "modifiers": held,
            "windowsVirtualKeyCode": number_of(key),
        });
        if !text.is_empty() && held & 7 == 0 {
            params["text"] = json!(text);
        }
        self.send("Input.dispatchKeyEvent", params.clone());
        params["type"] = json!("keyUp");
        self.send("Input.dispatchKeyEvent", params);
    }

    /// Gives the page this size, as of a device.
    pub fn resize(&self, width: u32, height: u32) {
        let size = json!({
            "width": width,
            "height": height,
            "deviceScaleFactor": 1,
            "mobile": false,
        });
        self.send("Emulation.setDeviceMetricsOverride", size);
    }

    /// What the person's system wishes, by the names of media queries: `prefers-color-scheme` and
    /// `dark`, `prefers-reduced-motion` and `reduce`.
    pub fn prefer(&self, wishes: &[(&str, &str)]) {
        let wish = |(name, value): &(&str, &str)| json!({ "name": name, "value": value });
        let features: Vec<Value> = wishes.iter().map(wish).collect();
        self.send("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    /// A dark system or a light one.
    pub fn dark(&self, yes: bool) {
        self.prefer(&[("prefers-color-scheme", if yes { "dark" } else { "light" })]);
    }

    /// Runs a script in every document from now on, before its own.
    pub fn add_script(&self, script: &str) {
        self.send("Page.addScriptToEvaluateOnNewDocument", json!({ "source": script }));
    }

    /// Writes what it looks like, for eyes: fonts differ between machines.
    pub fn screenshot(&self, path: &Path) {
        let shot = self.send("Page.captureScreenshot", json!({ "format": "png" }));
        let bytes = decoded(shot["data"].as_str().unwrap_or_default());
        fs::write(path, bytes).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    }

    /// Everything that the page asked for.
    pub fn requests(&self) -> Vec<Answered> {
        // What the browser keeps from the page has these only.
        let answers = self.events("Network.responseReceivedExtraInfo");
        let sent = self.events("Network.requestWillBeSent");
        let answered = |sent: &Value| {
            let answer = answers.iter().find(|answer| answer["requestId"] == sent["requestId"]);
            let status = answer.and_then(|answer| answer["statusCode"].as_u64());
            let url = sent["request"]["url"].as_str().unwrap_or_default().to_owned();
            Answered { url, status }
        };
        sent.iter().map(answered).collect()
    }

    /// Everything that went wrong in it, as the browser's console has it.
    pub fn complaints(&self) -> Vec<String> {
        let entries = self.events("Log.entryAdded");
        let entries = entries.iter().map(|event| &event["entry"]);
        let logged = entries.filter(|entry| entry["level"] == "error").map(|entry| {
            format!("{} {}", entry["text"].as_str().unwrap_or_default(), entry["url"])
        });
        let thrown = self.events("Runtime.exceptionThrown");
        let thrown = thrown.iter().map(|event| {
            let what = &event["exceptionDetails"]["exception"]["description"];
            what.as_str().unwrap_or("something was thrown").to_owned()
        });
        let printed = self.events("Runtime.consoleAPICalled");
        let printed = printed.iter().filter(|event| event["type"] == "error");
        let printed = printed.map(|event| event["args"].to_string());
        logged.chain(thrown).chain(printed).collect()
    }

    /// What axe-core finds wrong with what is shown now: each rule, and the elements that break it.
    #[track_caller]
    pub fn violations(&self) -> Vec<String> {
        if self.eval("typeof axe") == "undefined" {
            self.eval(&format!("{}; null", axe()));
        }
        let found = self.eval("axe.run().then((found) => found.violations)");
        let all = found.as_array().cloned().unwrap_or_default();
        let told = |violation: &Value| {
            let nodes = violation["nodes"].as_array().cloned().unwrap_or_default();
            let nodes: Vec<String> = nodes.iter().map(|node| node["html"].to_string()).collect();
            format!("{}: {} {}", violation["id"], violation["help"], nodes.join(", "))
        };
        all.iter().map(told).collect()
    }
}

fn query(selector: &str) -> String {
    format!("document.querySelector({})", json!(selector))
}

fn is_true(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false)) && value != "" && value != 0
}

/// The number of a key on Windows, by which pages know some of them.
fn number_of(key: &str) -> u32 {
    match key {
        "Backspace" => 8,
        "Tab" => 9,
        "Enter" => 13,
        "Escape" => 27,
        " " => 32,
        "PageUp" => 33,
        "PageDown" => 34,
        "End" => 35,
        "Home" => 36,
        "ArrowLeft" => 37,
        "ArrowUp" => 38,
        "ArrowRight" => 39,
        "ArrowDown" => 40,
        "Delete" => 46,
        _ => key.chars().next().map_or(0, |c| u32::from(c.to_ascii_uppercase())),
    }
}

/// Base64 to bytes.
fn decoded(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |byte: u8| DIGITS.iter().position(|known| *known == byte);
    let (mut bytes, mut held, mut bits) = (Vec::new(), 0_usize, 0);
    for digit in text.bytes().filter_map(digit) {
        held = held << 6 | digit;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits & 0xff) as u8);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn base64_becomes_bytes() {
        assert_eq!(decoded("aGVsbG8="), b"hello");
        assert_eq!(decoded("/+8="), [0xff, 0xef]);
        assert_eq!(decoded(""), b"");
    }
}
