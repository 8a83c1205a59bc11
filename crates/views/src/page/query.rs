//! The query of an address.

/// Names and values, in their order.
#[derive(Debug, Default)]
pub struct Query(Vec<(String, String)>);

impl Query {
    pub fn of(text: Option<&str>) -> Self {
        Self(form_urlencoded::parse(text.unwrap_or_default().as_bytes()).into_owned().collect())
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_lose_their_escapes() {
        let query = Query::of(Some("search=caf%C3%A9+%26%25&after=&broken=%&odd=%zz%+1&=x"));
        assert_eq!(query.get("search"), Some("café &%"));
        assert_eq!(query.get("after"), Some(""));
        assert_eq!(query.get("broken"), Some("%"));
        assert_eq!(query.get("odd"), Some("%zz% 1"));
        assert_eq!(query.get("limit"), None);
        assert_eq!(Query::of(None).get(""), None);
    }
}
