//! How a host was started, so that one without a window can take its place.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::environment::Environment;
use super::words::bounded;
use crate::limits::{COMMAND_MAX_WORDS, DIRECTORY_MAX_BYTES};

/// A program with its folder and its environment. Kept in memory only: an environment has keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are what they are called")]
pub struct Startup {
    /// The program, and the script if it is an interpreter.
    #[serde(deserialize_with = "command")]
    pub command: Vec<String>,
    #[serde(deserialize_with = "bounded::<_, DIRECTORY_MAX_BYTES>")]
    pub directory: String,
    pub environment: Environment,
}

fn command<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<String>, D::Error> {
    let words = Vec::<String>::deserialize(input)?;
    let fits = |word: &String| word.len() <= DIRECTORY_MAX_BYTES && !word.contains('\0');
    if words.is_empty() || words.len() > COMMAND_MAX_WORDS || !words.iter().all(fits) {
        return Err(D::Error::custom("a command has a few words, the first one a program"));
    }
    Ok(words)
}
