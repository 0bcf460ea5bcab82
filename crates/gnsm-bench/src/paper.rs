//! What the paper says of its seven sets. Table 1: how many rows they have. Table 2: average precision over five seeds,
//! mean ± standard deviation.

/// The columns of Table 2.
pub const METHODS: [&str; 5] = ["IForest", "ECOD", "DAGMM", "DSVDD", "GNSM"];

const TABLE: [(&str, [&str; 5]); 7] = [
    ("bank", ["63.24 ± 1.74", "66.52 ± 0.57", "57.62 ± 3.36", "67.18 ± 6.94", "65.58 ± 3.45"]),
    ("census", ["40.64 ± 2.07", "40.96 ± 0.15", "32.90 ± 5.00", "41.18 ± 3.44", "47.79 ± 2.29"]),
    ("chess", ["2.31 ± 1.36", "1.43 ± 0.05", "1.08 ± 0.44", "1.47 ± 0.54", "1.60 ± 0.68"]),
    ("cmc", ["22.72 ± 1.57", "23.79 ± 1.75", "24.99 ± 5.75", "21.99 ± 6.15", "25.87 ± 9.93"]),
    ("probe", ["92.95 ± 2.28", "95.39 ± 0.38", "66.40 ± 9.43", "89.16 ± 8.40", "97.48 ± 0.62"]),
    ("solar", ["67.99 ± 3.48", "72.23 ± 0.91", "50.84 ± 5.19", "51.21 ± 3.94", "63.34 ± 5.41"]),
    ("u2r", ["52.74 ± 12.88", "67.84 ± 1.39", "10.06 ± 6.47", "71.17 ± 24.65", "82.35 ± 5.45"]),
];

/// Inliers and anomalies, from Table 1.
const ROWS: [(&str, [usize; 2]); 7] = [
    ("bank", [36_548, 4_640]),
    ("census", [280_717, 18_568]),
    ("chess", [28_029, 27]),
    ("cmc", [1_444, 29]),
    ("probe", [60_593, 4_166]),
    ("solar", [1_023, 43]),
    ("u2r", [60_593, 228]),
];

/// How many inliers and anomalies a set has, if it is one of the paper's.
pub fn rows(set: &str) -> Option<[usize; 2]> {
    ROWS.iter().find(|(name, _)| *name == set).map(|(_, rows)| *rows)
}

/// The figures for a set, in the order of [`METHODS`], if the table has it.
pub fn average_precision(set: &str) -> Option<[&'static str; 5]> {
    TABLE.iter().find(|(name, _)| *name == set).map(|(_, figures)| *figures)
}
