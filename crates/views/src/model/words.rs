//! Times as a person says them: local, short.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use legwork_protocol::Time;

/// The time of day.
pub fn clock(time: Time) -> String {
    in_zone(time, "%H:%M:%S", TimeZone::system())
}

/// The day and the time of day.
pub fn moment(time: Time) -> String {
    in_zone(time, "%a %e %b %Y, %H:%M:%S", TimeZone::system())
}

/// A moment in a narrow column: the hour and minute on the day of `now`, else the day.
pub fn day(time: Time, now: Time) -> String {
    match is_same_day(time, now) {
        true => in_zone(time, "%H:%M", TimeZone::system()),
        false => in_zone(time, "%-d %b", TimeZone::system()),
    }
}

/// The time of day, with the day in front unless it is that of `now`.
pub fn clock_or_moment(time: Time, now: Time) -> String {
    if is_same_day(time, now) { clock(time) } else { moment(time) }
}

fn is_same_day(one: Time, other: Time) -> bool {
    let day = |time| in_zone(time, "%F", TimeZone::system());
    day(one) == day(other)
}

/// How long ago, in one unit, for a column: `12s`, `5m`, `3h`, `2d`, `9w`.
pub fn age(ms: u64) -> String {
    let seconds = ms / 1000;
    match (seconds / 604_800, seconds / 86_400, seconds / 3600, seconds / 60) {
        (0, 0, 0, 0) => format!("{seconds}s"),
        (0, 0, 0, minutes) => format!("{minutes}m"),
        (0, 0, hours, _) => format!("{hours}h"),
        (0, days, _, _) => format!("{days}d"),
        (weeks, ..) => format!("{weeks}w"),
    }
}

fn in_zone(time: Time, format: &str, zone: TimeZone) -> String {
    let ms = i64::try_from(time.0).unwrap_or(i64::MAX);
    match Timestamp::from_millisecond(ms) {
        Ok(moment) => moment.to_zoned(zone).strftime(format).to_string(),
        Err(_) => "?".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p5_an_age_has_one_unit() {
        let all = [0, 59_999, 60_000, 3_600_000, 86_400_000, 604_800_000, 31_536_000_000];
        assert_eq!(all.map(age), ["0s", "59s", "1m", "1h", "1d", "1w", "52w"]);
    }

    #[test]
    fn v2_a_moment_of_another_day_is_named_by_its_day() {
        let (now, later) = (Time(1_700_000_000_000), Time(1_700_172_800_000));
        assert_eq!(day(now, now), clock(now)[..5]);
        assert_eq!(clock_or_moment(now, now), clock(now));
        assert!(day(now, later).ends_with(" Nov"), "{}", day(now, later));
        assert_eq!(clock_or_moment(now, later), moment(now));
    }

    #[test]
    fn times_of_day_are_short_and_a_time_out_of_reach_is_no_crash() {
        let said = |time| in_zone(time, "%a %e %b %Y, %H:%M:%S", TimeZone::UTC);
        assert_eq!(said(Time(1_700_000_000_000)), "Tue 14 Nov 2023, 22:13:20");
        assert_eq!(said(Time(u64::MAX)), "?");
    }
}
