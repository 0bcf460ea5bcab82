/// The table that the recipes of the cookbook use, in a folder that is removed with the first value.
pub fn claims() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("claims.csv");
    let claim = |row: usize| format!("{},{}\n", ["taxi", "hotel"][row % 2], 20 + 100 * (row % 2) + row * row % 29);
    let rows: String = (0..200).map(claim).collect();
    std::fs::write(&path, format!("category,amount\n{rows}taxi,950\n")).expect("written");
    (folder, path)
}
