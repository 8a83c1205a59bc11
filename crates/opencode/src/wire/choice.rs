//! Which agent and model are to answer: read where OpenCode tells it, sent with each prompt. A
//! prompt that names none is answered by the default agent, whatever the session had (1.18.33).

use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    provider: String,
    name: String,
    variant: Option<String>,
}

/// An agent and a model, as far as they are known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Choice {
    pub agent: Option<String>,
    pub model: Option<Model>,
}

impl Model {
    /// Messages and agents say `modelID`, sessions say `id`, and `default` for no variant.
    pub fn read(told: &Value) -> Option<Self> {
        let word = |key: &str| told[key].as_str().filter(|word| !word.is_empty());
        Some(Self {
            provider: word("providerID")?.to_owned(),
            name: word("modelID").or(word("id"))?.to_owned(),
            variant: word("variant").filter(|word| *word != "default").map(str::to_owned),
        })
    }

    /// As `read` reads it.
    pub fn told(&self) -> Value {
        let mut told = json!({ "providerID": self.provider, "modelID": self.name });
        if let Some(variant) = &self.variant {
            told["variant"] = json!(variant);
        }
        told
    }
}

impl Choice {
    /// What a message or a session says of itself.
    pub fn read(told: &Value) -> Self {
        Self {
            agent: told["agent"].as_str().map(str::to_owned),
            model: Model::read(&told["model"]),
        }
    }

    /// In the body of a prompt the variant stands beside the model.
    pub fn put_into(self, body: &mut Value) {
        if let Some(agent) = self.agent {
            body["agent"] = json!(agent);
        }
        if let Some(model) = self.model {
            body["model"] = json!({ "providerID": model.provider, "modelID": model.name });
            if let Some(variant) = model.variant {
                body["variant"] = json!(variant);
            }
        }
    }
}
