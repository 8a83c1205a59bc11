//! OpenCode, reached through the plugin inside of it.

use legwork_engine::text::toast::Toast;
use legwork_engine::{Action, Finding, HostError};

use crate::driver::Driver;
use crate::link::Link;

pub use legwork_opencode::{EventCache, KIND, LinkCache, hints, wanted};

impl Driver for Link {
    async fn perform(&self, action: &Action) -> Result<Finding, HostError> {
        legwork_opencode::perform(self, action).await
    }

    async fn toast(&self, toast: &Toast) {
        legwork_opencode::toast(self, toast).await;
    }
}
