//! The methods for masks: with the feature `masks` those that have a network, and in any case those that have none.

pub use built::{device_name, gnsm, methods, paper_head};

#[cfg(feature = "masks")]
mod built {
    use anyhow::Result;
    use gnsm::mask::MaskMethod;
    use gnsm_masks::{MaskGnsm, MaskGnsmConfig};

    use super::super::arguments::{MaskHeadName, MaskPreset};

    pub use gnsm_masks::{device_name, methods};

    /// gnsm with a preset and a head.
    #[expect(clippy::unnecessary_wraps, reason = "without the feature there is none")]
    pub fn gnsm(preset: Option<MaskPreset>, head: Option<MaskHeadName>) -> Result<Box<dyn MaskMethod>> {
        let config = match preset {
            None | Some(MaskPreset::Fast) => MaskGnsmConfig::fast(),
            Some(MaskPreset::Quick) => MaskGnsmConfig::quick(),
            Some(MaskPreset::Paper) => MaskGnsmConfig::paper(),
        };
        let config = match head {
            None => config,
            Some(MaskHeadName::Norms) => config.with_paper_head(),
            Some(MaskHeadName::Evidence) => config.with_default_head(),
        };
        Ok(Box::new(MaskGnsm { config }))
    }

    /// gnsm with the paper's own head.
    pub fn paper_head() -> Result<Box<dyn MaskMethod>> {
        gnsm(None, Some(MaskHeadName::Norms))
    }
}

#[cfg(not(feature = "masks"))]
mod built {
    use anyhow::{Result, bail};
    use gnsm::mask::MaskMethod;

    use super::super::arguments::{MaskHeadName, MaskPreset};

    pub use gnsm::mask::references as methods;

    /// There are no networks, and nothing runs anywhere else.
    pub fn device_name() -> String {
        "the CPU".into()
    }

    /// There is none.
    pub fn gnsm(_: Option<MaskPreset>, _: Option<MaskHeadName>) -> Result<Box<dyn MaskMethod>> {
        bail!("this program was built without networks for masks; build it with the feature `masks`")
    }

    /// There is none.
    pub fn paper_head() -> Result<Box<dyn MaskMethod>> {
        gnsm(None, None)
    }
}
