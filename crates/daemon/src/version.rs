//! Which of two builds is the newer one.

pub const BUILD: &str = env!("CARGO_PKG_VERSION");

/// Whether a build is newer than this one, by its three numbers. What has no such numbers is not.
pub fn is_newer(build: &str) -> bool {
    match (numbers(build), numbers(BUILD)) {
        (Some(theirs), Some(ours)) => theirs > ours,
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
        assert!(numbers("0.10.0") > numbers("0.9.9"));
        assert_eq!(numbers("1.2.3-rc.1+g1"), Some([1, 2, 3]));
        for text in ["", "1.2", "1.2.3.4", "v1.2.3", "1.2.x"] {
            assert_eq!(numbers(text), None, "{text}");
        }
        assert!(is_newer("999.0.0"));
        assert!(!is_newer(BUILD));
        assert!(!is_newer("rubbish"));
    }
}
