//! What an agent says and is told, as ACP writes it.

use std::path::{Path, PathBuf};

use legwork_acp::wire::{ACP_VERSION, BAD_PARAMS, LOOKS, PROGRAM};
use serde_json::{Value, json};

use super::{Answered, End, Greeting, Look, Offer, Program, error};

pub fn greeting(greeting: Greeting) -> Value {
    let Greeting { name, version, loads, looks, logins, program } = greeting;
    let sessions = if loads { json!({ "resume": {} }) } else { json!({}) };
    let logins: Vec<Value> =
        (1..).zip(logins).map(|(n, name)| json!({ "id": format!("{n}"), "name": name })).collect();
    let mut told = json!({
        "protocolVersion": ACP_VERSION,
        "agentInfo": { "name": name, "version": version },
        "agentCapabilities": { "loadSession": loads, "sessionCapabilities": sessions },
        "authMethods": logins,
    });
    if looks {
        told["agentCapabilities"]["_meta"] = json!({ LOOKS: true });
    }
    if let Some(Program { path, version, login }) = program {
        let mut about = json!({ "program": path, "version": version });
        if let Some(login) = login {
            about["login"] = login.into();
        }
        told["_meta"] = json!({ PROGRAM: about });
    }
    told
}

/// The options of a session: its model, if there is a choice.
pub fn options(offer: &Offer) -> Value {
    if offer.models.is_empty() {
        return json!({});
    }
    let model = |(id, name): &(String, String)| json!({ "value": id, "name": name });
    let models: Vec<Value> = offer.models.iter().map(model).collect();
    let model = json!({
        "id": "model", "name": "Model", "category": "model", "type": "select",
        "currentValue": offer.current, "options": models,
    });
    json!({ "configOptions": [model] })
}

pub fn result(end: End) -> Answered<Value> {
    match end {
        End::Stopped { reason, mut result } => {
            result.insert("stopReason".to_owned(), reason.into());
            Ok(result.into())
        }
        End::Failed(error) => Err(error),
        End::Crash(_) => Ok(Value::Null),
    }
}

pub fn looked(look: Look) -> Value {
    match look {
        Look::NotTaken => json!({ "taken": false }),
        Look::Taken => json!({ "taken": true }),
        Look::Over { end, mut result } => {
            let (key, words) = match end {
                Ok(text) => ("text", text),
                Err(why) => ("failure", why),
            };
            result.insert(key.to_owned(), words.into());
            json!({ "taken": true, "end": result })
        }
    }
}

pub fn session_id(params: &Value) -> Answered<String> {
    let id = params["sessionId"].as_str().map(str::to_owned);
    id.ok_or_else(|| error(BAD_PARAMS, "sessionId is missing"))
}

pub fn folder(params: &Value) -> Answered<PathBuf> {
    let cwd = params["cwd"].as_str().map(Path::new).filter(|cwd| cwd.is_absolute());
    cwd.map(Path::to_owned).ok_or_else(|| error(BAD_PARAMS, "cwd has to be an absolute path"))
}

pub fn prompt_text(params: &Value) -> Answered<String> {
    let blocks =
        params["prompt"].as_array().ok_or_else(|| error(BAD_PARAMS, "prompt has to be a list"))?;
    let texts: Vec<&str> = blocks
        .iter()
        .filter(|block| block["type"] == "text")
        .filter_map(|block| block["text"].as_str())
        .collect();
    Ok(texts.join("\n"))
}
