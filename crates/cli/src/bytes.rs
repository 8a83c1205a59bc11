//! Bytes as a person says them.

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
    fn sizes_are_said_as_people_say_them() {
        for (bytes, said) in
            [(0, "0 bytes"), (999, "999 bytes"), (1_500, "1.5 kB"), (123_456_789, "123 MB")]
        {
            assert_eq!(size(bytes), said);
        }
        assert!(size(u64::MAX).ends_with(" TB"));
    }
}
