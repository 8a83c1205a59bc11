//! What stands behind the question mark of an address.

/// Names and values, in their order.
#[derive(Debug, Default)]
pub struct Query(Vec<(String, String)>);

impl Query {
    pub fn of(text: Option<&str>) -> Self {
        let pairs = text.unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (plain(name), plain(value))
        };
        Self(pairs.map(pair).collect())
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A text without its escapes. What is no escape stays as it is.
fn plain(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let [first, behind @ ..] = rest {
        let escaped = behind.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped =
            escaped.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let byte = match (first, escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok())) {
            (b'%', Some(byte)) => {
                rest = &behind[2..];
                byte
            }
            (b'+', _) => {
                rest = behind;
                b' '
            }
            _ => {
                rest = behind;
                *first
            }
        };
        bytes.push(byte);
    }
    String::from_utf8_lossy(&bytes).into_owned()
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
