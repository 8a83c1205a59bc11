//! The list of planted defects must still fit the code that it names.

use super::Finding;
use crate::mutants::{LIST, Mutant, list};
use crate::tree;
use std::path::Path;

/// Adds the entries that cannot be read or planted.
pub fn check(root: &Path, findings: &mut Vec<Finding>) {
    let mut add = |line: usize, what: String| {
        findings.push(Finding { file: LIST.to_owned(), line, what });
    };
    let mutants = match tree::read(root, LIST) {
        Ok(text) => list::parse(&text),
        Err(fault) => return add(1, format!("{fault}; the list may be empty but must be there")),
    };
    match mutants {
        Ok(mutants) => {
            for mutant in mutants {
                if let Err(what) = fits(root, &mutant) {
                    add(mutant.line, what);
                }
            }
        }
        Err(wrong) => add(wrong.line, wrong.what),
    }
}

fn fits(root: &Path, mutant: &Mutant) -> Result<(), String> {
    let text = tree::read(root, &mutant.file).map_err(|fault| fault.to_string())?;
    mutant.plant(&text).map(|_| ()).map_err(|fault| fault.to_string())
}
