//! How amounts are said, to people and models alike.

/// A duration in its two largest units: `950ms`, `13s`, `2m 13s`, `1h 3m`, `2d 4h`.
pub fn duration(ms: u64) -> String {
    let seconds = ms / 1000;
    match (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0, 0) => format!("{ms}ms"),
        (0, 0, 0, s) => format!("{s}s"),
        (0, 0, m, s) => format!("{m}m {s}s"),
        (0, h, m, _) => format!("{h}h {m}m"),
        (d, h, _, _) => format!("{d}d {h}h"),
    }
}

/// So many of something: `1 task`, `2 tasks`.
pub fn counted(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}

/// How long ago something was.
pub fn ago(ms: u64) -> String {
    if ms < 1000 { "just now".to_owned() } else { format!("{} ago", duration(ms)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short() {
        let all = [0, 999, 1000, 59_999, 60_000, 133_000, 3_600_000, 90_000_000, 187_200_000];
        let said = ["0ms", "999ms", "1s", "59s", "1m 0s", "2m 13s", "1h 0m", "1d 1h", "2d 4h"];
        assert_eq!(all.map(duration), said);
    }
}
