//! A helper's own shell: the daemon has given it a variable. A helper may look at what goes on, but
//! what a person decides is not its to decide. The daemon refuses it too, by who has started whom;
//! this says so at once, and before anything is touched.

use legwork_machine::process::INSIDE;

use crate::fault::Fault;

pub fn is_inside() -> bool {
    legwork_machine::var(INSIDE).is_some()
}

/// The error of commands that only a person may run.
pub fn refusal() -> Fault {
    Fault::Refused(
        "This is a helper's own shell. A helper may look, but not answer, launch, resume, cancel, \
         clear or stop: that is for the person, in a terminal of their own."
            .to_owned(),
    )
}
