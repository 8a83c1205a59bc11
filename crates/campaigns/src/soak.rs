//! stub
use crate::{Verdict, fault::Done};
#[derive(clap::Args)]
pub struct Soak {}
impl Soak {
    pub fn run(self) -> Done<Verdict> {
        Ok(Verdict::Held)
    }
}
