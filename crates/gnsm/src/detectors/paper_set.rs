//! The data sets for which the paper's appendix has settings of their own.

/// A data set of the paper, as far as settings differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaperSet {
    /// All others.
    Any,
    /// Bank.
    Bank,
    /// Census.
    Census,
    /// CMC and Solar, which are small.
    Cmc,
    /// Probe and U2R, whose inliers are the same rows.
    Probe,
}

impl PaperSet {
    /// The set with this name, in lower case.
    pub fn named(name: &str) -> Self {
        match name {
            "bank" => Self::Bank,
            "census" => Self::Census,
            "cmc" | "solar" => Self::Cmc,
            "probe" | "u2r" => Self::Probe,
            _ => Self::Any,
        }
    }
}
