//! Numbers made of many numbers. Only what the campaigns print; no claims about distributions.

/// How a set of samples is spread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// How many there are.
    pub count: usize,
    /// The middle one; between the middle two when their number is even.
    pub median: f64,
    /// The smallest sample that 95 of 100 do not exceed.
    pub p95: f64,
    /// The largest.
    pub max: f64,
}

/// The spread of samples; nothing when there are none.
pub fn spread(samples: &[f64]) -> Option<Spread> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len();
    let max = *sorted.last()?;
    let median = f64::midpoint(sorted[(count - 1) / 2], sorted[count / 2]);
    let p95 = sorted[(count * 95).div_ceil(100) - 1];
    Some(Spread { count, median, p95, max })
}

/// The middle one; 0 when there is none.
pub fn median(samples: &[f64]) -> f64 {
    spread(samples).map_or(0.0, |spread| spread.median)
}

/// A straight line through points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    /// How much y grows for each x.
    pub slope: f64,
    /// y where x is 0.
    pub at_zero: f64,
}

/// The line that has the median slope of all pairs of points (Theil and Sen): one outlier, such as
/// a collection of garbage, does not tilt it. Nothing when all points have the same x.
pub fn fit(points: &[(f64, f64)]) -> Option<Fit> {
    let mut slopes = Vec::new();
    for (place, (x, y)) in points.iter().enumerate() {
        let later = points[place + 1..].iter().filter(|(later, _)| (later - x).abs() > 0.0);
        slopes.extend(later.map(|(later, then)| (then - y) / (later - x)));
    }
    let slope = spread(&slopes)?.median;
    let rests: Vec<f64> = points.iter().map(|(x, y)| y - slope * x).collect();
    Some(Fit { slope, at_zero: median(&rests) })
}

/// What grows while something warms up says nothing of what follows: the points without the first
/// quarter.
pub fn warm(points: &[(f64, f64)]) -> &[(f64, f64)] {
    &points[points.len() / 4..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_the_almost_largest_and_the_largest_are_found() {
        let samples: Vec<f64> = (1..=20).rev().map(f64::from).collect();
        let expected = Spread { count: 20, median: 10.5, p95: 19.0, max: 20.0 };
        assert_eq!(spread(&samples), Some(expected));
        let one = Spread { count: 1, median: 7.0, p95: 7.0, max: 7.0 };
        assert_eq!(spread(&[7.0]), Some(one));
        assert_eq!(spread(&[]), None);
        assert_eq!((median(&[3.0, 1.0, 2.0]), median(&[])), (2.0, 0.0));
    }

    #[test]
    fn a_line_is_fitted_and_an_outlier_does_not_tilt_it() {
        let mut points: Vec<(f64, f64)> =
            (0..20).map(|x| (f64::from(x), 5.0 + 2.0 * f64::from(x))).collect();
        assert_eq!(fit(&points), Some(Fit { slope: 2.0, at_zero: 5.0 }));
        points[19].1 = 1000.0;
        assert_eq!(fit(&points).map(|fit| fit.slope), Some(2.0));
        assert_eq!(fit(&[(1.0, 1.0), (1.0, 2.0)]), None);
    }

    #[test]
    fn the_first_quarter_is_left_out() {
        let points: Vec<(f64, f64)> = (0..8).map(|x| (f64::from(x), 0.0)).collect();
        assert_eq!(warm(&points).len(), 6);
        assert_eq!(warm(&points)[0].0, 2.0);
    }
}
