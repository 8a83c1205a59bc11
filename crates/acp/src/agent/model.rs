//! The models that an agent offers for a session, and how one is chosen. ACP has two ways: an
//! option of the session, and before that was agreed on a list of its own with a method of its own.

use legwork_protocol::refusal::plain;
use serde_json::{Value, json};

use crate::limits::{MODELS_MAX, NAME_MAX_CHARS};
use legwork_protocol::json_rpc::ID_MAX_BYTES;

/// Models that are named when somebody chose another.
const NAMED: usize = 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    how: How,
    current: Option<String>,
    /// Each with the name that people see.
    models: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum How {
    /// `session/set_config_option`, with this id.
    Option(String),
    /// `session/set_model`.
    Method,
}

impl Offer {
    /// Of the answer to a session that was opened or taken up.
    pub fn of(answer: &Value) -> Option<Self> {
        Self::option(answer).or_else(|| Self::list(answer))
    }

    fn option(answer: &Value) -> Option<Self> {
        let options = answer["configOptions"].as_array()?;
        let is_model = |option: &&Value| option["category"] == "model" || option["id"] == "model";
        let option = options.iter().find(is_model)?;
        let id = word(&option["id"])?;
        // They may stand in groups.
        let listed = option["options"].as_array().into_iter().flatten();
        let values = listed.flat_map(|one| match one["options"].as_array() {
            Some(group) => group.iter().collect(),
            None => vec![one],
        });
        let models = values.filter_map(|one| named(&one["value"], &one["name"]));
        let models = models.take(MODELS_MAX).collect();
        Some(Self { how: How::Option(id), current: word(&option["currentValue"]), models })
    }

    fn list(answer: &Value) -> Option<Self> {
        let models = answer.get("models").filter(|models| models.is_object())?;
        let listed = models["availableModels"].as_array().into_iter().flatten();
        let listed = listed.filter_map(|one| named(&one["modelId"], &one["name"]));
        let current = word(&models["currentModelId"]);
        Some(Self { how: How::Method, current, models: listed.take(MODELS_MAX).collect() })
    }

    /// The model of the session as it is, for people.
    pub fn current(&self) -> Option<String> {
        let current = plain(self.current.as_ref()?, NAME_MAX_CHARS);
        Some(current).filter(|model| !model.trim().is_empty())
    }

    pub fn is_current(&self, model: &str) -> bool {
        self.current.as_deref() == Some(model)
    }

    /// The id of the model that somebody names by its id or its name.
    pub fn find(&self, wanted: &str) -> Option<&str> {
        let by_id = self.models.iter().find(|(id, _)| id == wanted);
        let by_name = || self.models.iter().find(|(_, name)| name.eq_ignore_ascii_case(wanted));
        by_id.or_else(by_name).map(|(id, _)| id.as_str())
    }

    /// The request that chooses this model.
    pub fn choosing(&self, session: &str, model: &str) -> (&'static str, Value) {
        match &self.how {
            How::Option(id) => (
                "session/set_config_option",
                json!({ "sessionId": session, "configId": id, "value": model }),
            ),
            How::Method => ("session/set_model", json!({ "sessionId": session, "modelId": model })),
        }
    }

    /// Which there are, in words.
    pub fn named(&self) -> String {
        if self.models.is_empty() {
            return "no other".to_owned();
        }
        let ids = self.models.iter().take(NAMED).map(|(id, _)| plain(id, NAME_MAX_CHARS));
        let ids = ids.collect::<Vec<_>>().join(", ");
        match self.models.len().saturating_sub(NAMED) {
            0 => ids,
            more => format!("{ids} and {more} more"),
        }
    }
}

fn word(told: &Value) -> Option<String> {
    told.as_str().filter(|word| !word.is_empty() && word.len() <= ID_MAX_BYTES).map(str::to_owned)
}

fn named(id: &Value, name: &Value) -> Option<(String, String)> {
    let id = word(id)?;
    let name = word(name).unwrap_or_else(|| id.clone());
    Some((id, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_found_in_options_in_groups_and_in_the_older_list() {
        let small = json!({ "value": "p/small", "name": "Small" });
        let large = json!({ "value": "p/large", "name": "Large" });
        let groups = json!([{ "group": "p", "name": "P", "options": [small, large] }]);
        for options in [json!([small, large]), groups] {
            let option = json!({
                "id": "m", "category": "model", "type": "select",
                "currentValue": "p/small", "options": options,
            });
            let mode = json!({ "id": "mode", "category": "mode", "options": [] });
            let offer = Offer::of(&json!({ "configOptions": [mode, option] })).unwrap();
            assert_eq!(
                (offer.current().as_deref(), offer.find("large")),
                (Some("p/small"), Some("p/large"))
            );
            assert_eq!((offer.find("p/large"), offer.find("other")), (Some("p/large"), None));
            let (method, params) = offer.choosing("s", "p/large");
            assert_eq!(method, "session/set_config_option");
            assert_eq!(params, json!({ "sessionId": "s", "configId": "m", "value": "p/large" }));
            assert_eq!(offer.named(), "p/small, p/large");
        }
        let listed = json!([{ "modelId": "a", "name": "A" }, { "modelId": "b" }]);
        let models = json!({ "currentModelId": "a", "availableModels": listed });
        let offer = Offer::of(&json!({ "models": models })).unwrap();
        assert!(offer.is_current("a") && offer.find("b") == Some("b"));
        assert_eq!(offer.choosing("s", "b").0, "session/set_model");
    }

    #[test]
    fn g2_rubbish_offers_nothing() {
        for answer in
            [json!(null), json!({}), json!({ "configOptions": 3 }), json!({ "models": [] })]
        {
            assert_eq!(Offer::of(&answer), None);
        }
        let odd =
            json!({ "configOptions": [{ "id": "model", "options": [7, { "options": [{}] }] }] });
        assert_eq!(Offer::of(&odd).unwrap().named(), "no other");
    }
}
