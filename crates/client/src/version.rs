//! Which of two builds is the newer one.

/// Whether a build is newer than another, by the three numbers of each. What has no such numbers is
/// not.
pub fn is_newer(build: &str, than: &str) -> bool {
    match (numbers(build), numbers(than)) {
        (Some(theirs), Some(others)) => theirs > others,
        _ => false,
    }
}

fn numbers(build: &str) -> Option<[u64; 3]> {
    let release = build.split(['-', '+']).next()?;
    let mut numbers = release.split('.').map(|number| number.parse::<u64>().ok());
    let all = [numbers.next()??, numbers.next()??, numbers.next()??];
    numbers.next().is_none().then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_are_compared_by_their_numbers() {
        assert!(is_newer("0.10.0", "0.9.9"));
        assert_eq!(numbers("1.2.3-rc.1+g1"), Some([1, 2, 3]));
        for text in ["", "1.2", "1.2.3.4", "v1.2.3", "1.2.x", "rubbish"] {
            assert_eq!(numbers(text), None, "{text}");
            assert!(!is_newer(text, "0.0.1") && !is_newer("999.0.0", text), "{text}");
        }
        assert!(!is_newer("1.2.3", "1.2.3"));
    }
}
