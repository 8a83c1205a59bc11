//! However a stream is cut into chunks, the lines are the same.

use legwork_machine::{LineReader, TooLong};
use proptest::collection::vec;
use proptest::prelude::*;

type Split = Result<Vec<u8>, TooLong>;

fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    // A failing input is printed whole and becomes a test of its own; no files of seeds.
    ProptestConfig {
        cases: cases.unwrap_or(2_000),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    vec(prop_oneof![2 => Just(b'\n'), 1 => Just(b'\r'), 5 => any::<u8>()], 0..120)
}

fn in_chunks(lines: &mut LineReader, bytes: &[u8], sizes: &[usize]) -> Vec<Split> {
    let mut rest = bytes;
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (chunk, later) = rest.split_at((*size).min(rest.len()));
        lines.push(chunk);
        rest = later;
    }
    std::iter::from_fn(|| lines.pop()).collect()
}

/// What should be found, in the plainest way.
fn split_plainly(bytes: &[u8], max_bytes: usize) -> Vec<Split> {
    let ends = bytes.iter().filter(|byte| **byte == b'\n').count();
    let mut found = Vec::new();
    for (number, piece) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if piece.len() > max_bytes {
            found.push(Err(TooLong { max_bytes, begin: piece[..max_bytes].to_vec() }));
            continue;
        }
        let line = piece.strip_suffix(b"\r").unwrap_or(piece);
        if number < ends && !line.is_empty() {
            found.push(Ok(line.to_vec()));
        }
    }
    found
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn g2_chunks_do_not_matter(
        bytes in stream(),
        sizes in vec(1_usize..20, 1..8),
        max_bytes in 0_usize..24,
    ) {
        let whole = in_chunks(&mut LineReader::new(max_bytes), &bytes, &[usize::MAX]);
        prop_assert_eq!(&whole, &split_plainly(&bytes, max_bytes));
        let mut lines = LineReader::new(max_bytes);
        prop_assert_eq!(in_chunks(&mut lines, &bytes, &sizes), whole);
        prop_assert_eq!(lines.is_inside_line(), bytes.last().is_some_and(|byte| *byte != b'\n'));
        // Whatever came before, a good line after a line break is read.
        lines.push(b"\n");
        prop_assert!(!lines.is_inside_line());
    }
}
