//! Where the public data sets lie that some tests read.

use std::path::PathBuf;

/// A folder of the data: `tabular`, `segmentation`. It lies in `../shared/data`, seen from the repository, or in `data`
/// under the folder that `GNSM_SHARED` names.
///
/// Without it a test is skipped and says so. In CI, where the variable `CI` is set, that is a failure: a test that never
/// runs must not look as if it passed.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub fn folder(name: &str) -> Option<PathBuf> {
    let beside = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared"));
    let folder = std::env::var_os("GNSM_SHARED").map_or_else(beside, PathBuf::from).join("data").join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    let missing = format!("no data: {} is not there; GNSM_SHARED names another folder", folder.display());
    assert!(std::env::var_os("CI").is_none(), "{missing}");
    eprintln!("skipped: {missing}");
    None
}
