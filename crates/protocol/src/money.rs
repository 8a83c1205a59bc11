//! What work costs: an amount and its currency. Amounts are whole millionths, so that sums are
//! exact and the same everywhere.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ids::text_form;

/// Millionths in one unit of a currency.
pub const MICROS: u64 = 1_000_000;

/// An amount of one currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are what they are called")]
pub struct Cost {
    pub micros: u64,
    pub currency: Currency,
}

impl Cost {
    /// An amount as hosts write it, in whole units and parts of one. Nothing if it is none.
    pub fn of(amount: f64, currency: Currency) -> Option<Self> {
        let micros = amount * MICROS as f64;
        (micros.is_finite() && micros >= 0.0)
            .then(|| Self { micros: micros.round() as u64, currency })
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", amount(self.micros), self.currency)
    }
}

/// An amount with four digits behind the point: one answer of a model costs less than a cent. What
/// would read as nothing and is not has six.
pub fn amount(micros: u64) -> String {
    let (whole, part) = (micros / MICROS, micros % MICROS);
    match micros {
        1..100 => format!("{whole}.{part:06}"),
        _ => format!("{whole}.{:04}", part / 100),
    }
}

/// An amount as it stands in the settings: without digits that say nothing.
pub fn setting(micros: u64) -> String {
    let text = format!("{}.{:06}", micros / MICROS, micros % MICROS);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A currency by its three letters (ISO 4217): `USD`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Currency([u8; 3]);

impl Currency {
    /// The one that sorts before all others.
    pub const FIRST: Self = Self(*b"AAA");
    /// The one that sorts after all others.
    pub const LAST: Self = Self(*b"ZZZ");
    /// US dollars.
    pub const USD: Self = Self(*b"USD");

    /// Its letters.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("???")
    }
}

/// What is no currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a currency has three letters, like USD")]
pub struct NoCurrency;

impl FromStr for Currency {
    type Err = NoCurrency;
    fn from_str(text: &str) -> Result<Self, NoCurrency> {
        let letters: [u8; 3] = text.as_bytes().try_into().map_err(|_| NoCurrency)?;
        let letters = letters.map(|letter| letter.to_ascii_uppercase());
        letters.iter().all(u8::is_ascii_uppercase).then_some(Self(letters)).ok_or(NoCurrency)
    }
}

text_form!(Currency);

impl fmt::Display for Currency {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p4_an_amount_is_said_with_its_currency_and_never_as_nothing_when_it_is_something() {
        let said = |micros| Cost { micros, currency: Currency::USD }.to_string();
        assert_eq!(
            [0, 99, 100, 303, 1_234_567].map(said),
            ["0.0000 USD", "0.000099 USD", "0.0001 USD", "0.0003 USD", "1.2345 USD"]
        );
    }

    #[test]
    fn what_is_no_amount_and_no_currency_is_refused() {
        assert_eq!(Cost::of(0.000_02, Currency::USD).map(|cost| cost.micros), Some(20));
        for amount in [-0.1, f64::NAN, f64::INFINITY] {
            assert_eq!(Cost::of(amount, Currency::USD), None, "{amount}");
        }
        assert_eq!("eur".parse::<Currency>().map(|it| it.to_string()), Ok("EUR".to_owned()));
        for text in ["", "US", "DOLLAR", "U$D", "€"] {
            assert!(text.parse::<Currency>().is_err(), "{text}");
        }
    }
}
