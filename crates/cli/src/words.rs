//! Times and durations as a person says and types them: local, short.

use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use legwork_protocol::Time;
pub use legwork_protocol::amounts::{ago, counted, duration};
pub use legwork_views::model::words::{age, clock, moment};

/// How long ago this moment was.
pub fn since(time: Time) -> u64 {
    Time(legwork_machine::epoch_ms()).since(time)
}

/// A duration as a person types it: `90s`, `10m`, `1h 30m`; a bare number is seconds.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || "write it like 90s, 10m or 1h30m".to_owned();
    let mut seconds: u64 = 0;
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(wrong());
    }
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number: u64 = rest[..digits].parse().map_err(|_| wrong())?;
        let after = rest[digits..].trim_start();
        let unit = match after.chars().next() {
            None | Some('s') => 1,
            Some('m') => 60,
            Some('h') => 3600,
            Some('d') => 86_400,
            Some(_) => return Err(wrong()),
        };
        let step = number.checked_mul(unit).ok_or_else(wrong)?;
        seconds = seconds.checked_add(step).ok_or_else(wrong)?;
        rest = after.get(1..).unwrap_or_default().trim_start();
    }
    Ok(Duration::from_secs(seconds))
}

/// A moment as a person names it: a day (`2026-11-01`), or a time ago (`24h`, `7d`).
pub fn parse_since(text: &str) -> Result<Time, String> {
    moment_in(text, Timestamp::now(), TimeZone::system())
}

fn moment_in(text: &str, now: Timestamp, zone: TimeZone) -> Result<Time, String> {
    let wrong = || "write a day like 2026-11-01, or a time ago like 24h or 7d".to_owned();
    let moment = match text.trim().parse::<Date>() {
        Ok(day) => day.to_zoned(zone).map_err(|_| wrong())?.timestamp(),
        Err(_) => {
            let ago = parse_duration(text).map_err(|_| wrong())?;
            now.checked_sub(ago).map_err(|_| wrong())?
        }
    };
    Ok(Time(u64::try_from(moment.as_millisecond()).unwrap_or(0)))
}

/// Bytes as a person says them.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "kB", "MB", "GB", "TB"];
    let (mut value, mut unit) = (bytes as f64, 0);
    while value >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 || value >= 100.0 {
        return format!("{value:.0} {}", UNITS[unit]);
    }
    format!("{value:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, seconds) in [("90", 90), ("90s", 90), ("10m", 600), ("1h 30m", 5400)] {
            assert_eq!(parse_duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "m", "10x", "-1", "1.5m", "99999999999999999999", "999999999999999999d"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn p4_a_moment_in_the_past_is_a_day_or_a_time_ago() {
        let now = Timestamp::from_second(1_700_000_000).unwrap();
        let read = |text| moment_in(text, now, TimeZone::UTC).map(|time| time.0 / 1000);
        assert_eq!(read("2023-11-14"), Ok(1_699_920_000));
        assert_eq!(read("24h"), Ok(1_700_000_000 - 86_400));
        assert_eq!(read("7d"), Ok(1_700_000_000 - 7 * 86_400));
        for text in ["", "yesterday", "2023-13-01", "14.11.2023", "99999999999d"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_said_as_people_say_them() {
        for (bytes, said) in
            [(0, "0 bytes"), (999, "999 bytes"), (1_500, "1.5 kB"), (123_456_789, "123 MB")]
        {
            assert_eq!(size(bytes), said);
        }
        assert!(size(u64::MAX).ends_with(" TB"));
    }
}
