//! OpenCode, reached through the plugin inside of it.

use legwork_engine::text::toast::Toast;
use legwork_engine::{Deed, Finding, HostError};

use crate::driver::Driver;
use crate::link::Link;

pub use legwork_opencode::{KIND, Memory, Overheard, hints, wanted};

impl Driver for Link {
    async fn perform(&self, deed: &Deed) -> Result<Finding, HostError> {
        legwork_opencode::perform(self, deed).await
    }

    async fn toast(&self, toast: &Toast) {
        legwork_opencode::toast(self, toast).await;
    }
}
