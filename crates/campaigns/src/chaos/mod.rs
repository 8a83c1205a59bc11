//! stub
use crate::{Verdict, fault::Done};
#[derive(clap::Args)]
pub struct Chaos {}
impl Chaos {
    pub fn run(self) -> Done<Verdict> {
        Ok(Verdict::Held)
    }
}
