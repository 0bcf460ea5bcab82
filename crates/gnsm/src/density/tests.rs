//! Densities against scikit-learn (`reference/mixture.py` in the benchmarks), finite differences and themselves.

use std::f64::consts::TAU;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::error::Result;

/// Rows of three well-separated components in three dimensions, each row once.
pub(super) fn mixture_rows(n_rows: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = move || (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt() * (TAU * rng.random::<f64>()).cos();
    let values = (0..n_rows)
        .flat_map(|n| {
            let (a, b, c) = (normal(), normal(), normal());
            match n % 10 {
                0..5 => [a, 0.5 * a + b, c],
                5..8 => [6.0 + 0.5 * a, -4.0 + b, 0.3 * c - 0.2 * b],
                _ => [-5.0 + a, 5.0 + 0.7 * b, 4.0 + 2.0 * c],
            }
        })
        .collect();
    (values, vec![1.0; n_rows])
}

/// Two clusters of a few repeated rows in two dimensions.
pub(super) fn two_clusters() -> (Vec<f64>, Vec<f64>) {
    (vec![0.0, 0.0, 5.0, 5.0, 0.5, -0.25, 5.25, 4.5, -0.25, 0.5, 4.5, 5.5], vec![4.0, 3.0, 1.0, 2.0, 5.0, 1.0])
}

fn known_mixture() -> GaussianMixture {
    GaussianMixture {
        dimension: 3,
        weights: vec![0.3, 0.7],
        means: vec![0.0, 1.0, -1.0, 2.0, -0.5, 0.25],
        whitening: [
            [1.0, 0.0, 0.0],
            [-0.377_964_473_009_227_2, 0.755_928_946_018_454_4, 0.0],
            [-0.308_606_699_924_183_77, 0.308_606_699_924_183_7, 1.543_033_499_620_919],
            [1.825_741_858_350_553_8, 0.0, 0.0],
            [0.0, 1.581_138_830_084_189_5, 0.0],
            [-0.196_874_807_739_539_44, -0.295_312_211_609_309_15, 0.590_624_423_218_618_3],
        ]
        .concat(),
    }
}

const POINTS: [f64; 10] = [0.0, 0.0, 1.0, 0.5, -1.0, 2.0, 0.5, -0.75, 3.0, 3.0];
const POINT_COUNTS: [f64; 5] = [3.0, 1.0, 2.0, 1.0, 1.0];
const QUERIES: [f64; 8] = [0.0, 0.0, 0.4, 0.4, -2.0, 1.5, 10.0, -10.0];

fn densities() -> Result<[Density; 3]> {
    let (values, counts) = mixture_rows(500, 5);
    let rows = Rows::new(&values, 3, &counts)?;
    Ok([
        Density::Mixture(GaussianMixture::fit(rows, &MixtureConfig::default(), 1)?),
        Density::Kernel(KernelDensity::fit(rows, 200, 1)?),
        Density::Neighbours(NearestNeighbours::fit(rows, 7, 200, 1)?),
    ])
}

fn assert_close(values: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(values.len(), expected.len());
    for (value, expected) in values.iter().zip(expected) {
        assert!((value - expected).abs() <= tolerance * expected.abs().max(1.0), "{value} is not {expected}");
    }
}

#[test]
fn mixture_agrees_with_scikit_learn() {
    let mixture = known_mixture();
    assert_eq!(mixture.validate(), Ok(()));
    let rows = [0.0, 0.0, 0.0, 1.0, -1.0, 0.5, 2.0, 2.0, 2.0, -30.0, 40.0, 10.0, 0.25, 0.5, -0.75];
    let expected = [
        -4.845_495_946_124_044,
        -4.591_422_857_848_234,
        -10.427_021_467_003_922,
        -2_019.140_179_347_388_3,
        -3.955_644_050_573_322,
    ];
    assert_close(&mixture.log_likelihoods(&rows), &expected, 1e-12);
    assert_close(&mixture.responsibilities(&rows[..3]), &[0.991_070_986_982_260_6, 0.008_929_013_017_739_143], 1e-12);
}

#[test]
fn kernel_density_agrees_with_scikit_learn() -> Result<()> {
    let kernel = KernelDensity::fit(Rows::new(&POINTS, 2, &POINT_COUNTS)?, 100, 0)?;
    let expected = [-1.904_089_516_806_578_6, -2.075_253_385_061_427, -3.770_868_515_620_887, -179.036_671_229_929_94];
    assert_close(&kernel.log_likelihoods(&QUERIES), &expected, 1e-12);
    Ok(())
}

#[test]
fn neighbours_agree_with_scikit_learn_on_repeated_rows() -> Result<()> {
    let rows = Rows::new(&POINTS, 2, &POINT_COUNTS)?;
    let farthest = [4.242_640_687_119, 3.676_955_262_170, 5.220_153_254_455, 16.278_820_596_1];
    for (neighbour, expected) in [
        (1, [0.0, 0.565_685_424_949, 1.118_033_988_750, 13.259_430_606_176]),
        (2, [0.0, 0.565_685_424_949, 1.118_033_988_750, 13.829_316_685_939]),
        (4, [0.901_387_818_866, 0.608_276_253_030, 2.5, 14.142_135_623_731]),
        (8, farthest),
        (80, farthest), // more than there are rows
    ] {
        assert_close(&NearestNeighbours::fit(rows, neighbour, 100, 0)?.distances(&QUERIES), &expected, 1e-11);
    }
    Ok(())
}

#[test]
fn gradients_agree_with_finite_differences() -> Result<()> {
    let row = [0.7, -0.4, 1.9];
    let known = Density::Mixture(known_mixture());
    for density in densities()?.iter().chain([&known]) {
        let gradient = density.gradient(&row);
        for (column, slope) in gradient.iter().enumerate() {
            let moved = |step: f64| {
                let mut moved = row;
                moved[column] += step;
                density.anomaly(&moved)
            };
            let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((difference - slope).abs() < 1e-6 * slope.abs().max(1.0), "{difference} {slope}");
        }
    }
    Ok(())
}

#[test]
fn a_row_has_the_same_bits_alone_and_in_any_batch() -> Result<()> {
    let (values, _) = mixture_rows(77, 6);
    for density in densities()? {
        let together = density.anomalies(&values);
        for (row, anomaly) in values.chunks_exact(3).zip(&together) {
            assert_eq!(density.anomaly(row).to_bits(), anomaly.to_bits());
        }
        assert_eq!(density.anomalies(&values[9..]), together[3..]);
        assert!(density.anomalies(&[]).is_empty());
    }
    Ok(())
}

#[test]
fn fit_recovers_a_known_mixture() -> Result<()> {
    let (values, counts) = mixture_rows(20_000, 3);
    let rows = Rows::new(&values, 3, &counts)?;
    let config = MixtureConfig { components: 3, tolerance: 1e-6, ..MixtureConfig::default() };
    let mixture = GaussianMixture::fit(rows, &config, 9)?;
    for (weight, mean, determinant) in
        [(0.5, [0.0, 0.0, 0.0], 1.0), (0.3, [6.0, -4.0, 0.0], 0.5 * 0.3), (0.2, [-5.0, 5.0, 4.0], 0.7 * 2.0)]
    {
        let found = (0..3).find(|&k| mixture.component(k).0.iter().zip(mean).all(|(a, b)| (a - b).abs() < 0.1));
        let k = found.unwrap_or_else(|| panic!("no component near {mean:?}"));
        assert!((mixture.weights[k] - weight).abs() < 0.01);
        let (_, whitening) = mixture.component(k);
        // The product of the diagonal is 1 / √det Σ, with Σ = A Aᵀ for the matrix A the rows were made with.
        assert!((1.0 / (whitening[0] * whitening[4] * whitening[8]) - determinant).abs() < 0.06);
    }
    Ok(())
}

#[test]
fn counts_equal_repeated_rows() -> Result<()> {
    let (distinct, _) = mixture_rows(400, 8);
    let counts: Vec<f64> = (0..400).map(|n| f64::from(1 + n % 4)).collect();
    let repeated: Vec<f64> =
        distinct.chunks_exact(3).zip(&counts).flat_map(|(row, &count)| row.repeat(count as usize)).collect();
    let ones = vec![1.0; repeated.len() / 3];
    let config = MixtureConfig { components: 4, starts: 2, ..MixtureConfig::default() };
    let (counted, repeated) = (Rows::new(&distinct, 3, &counts)?, Rows::new(&repeated, 3, &ones)?);
    let pairs = [
        (
            Density::Mixture(GaussianMixture::fit(counted, &config, 2)?),
            Density::Mixture(GaussianMixture::fit(repeated, &config, 2)?),
        ),
        (
            Density::Kernel(KernelDensity::fit(counted, 5000, 2)?),
            Density::Kernel(KernelDensity::fit(repeated, 5000, 2)?),
        ),
        (
            Density::Neighbours(NearestNeighbours::fit(counted, 6, 5000, 2)?),
            Density::Neighbours(NearestNeighbours::fit(repeated, 6, 5000, 2)?),
        ),
    ];
    for (counted, repeated) in pairs {
        assert_close(&counted.anomalies(&distinct), &repeated.anomalies(&distinct), 1e-8);
    }
    Ok(())
}

#[test]
fn degenerate_rows_do_not_break_a_fit() -> Result<()> {
    let many = |row: &[f64]| row.repeat(50);
    let (usual, _) = mixture_rows(200, 4);
    let with_constant_column: Vec<f64> = usual.chunks_exact(3).flat_map(|row| [row[0], 7.0, row[0]]).collect();
    let large: Vec<f64> = usual.iter().map(|value| 1e6 + 1e6 * value).collect();
    let outlier = [usual.clone(), vec![1e6, -1e6, 1e6]].concat();
    let grid: Vec<f64> = (0..300).map(|n| f64::from(n * n % 5)).collect();
    for values in [vec![1.0, 2.0, 3.0], many(&[0.1, 0.2, 0.3]), with_constant_column, large, outlier, grid] {
        let counts = vec![1.0; values.len() / 3];
        let rows = Rows::new(&values, 3, &counts)?;
        let config = MixtureConfig { components: 9, ..MixtureConfig::default() };
        for density in [
            Density::Mixture(GaussianMixture::fit(rows, &config, 0)?),
            Density::Mixture(GaussianMixture::fit_best(rows, &SelectionConfig::default(), &config, 0)?),
            Density::Kernel(KernelDensity::fit(rows, 100, 0)?),
            Density::Neighbours(NearestNeighbours::fit(rows, 5, 100, 0)?),
        ] {
            assert_eq!(density.validate(), Ok(()));
            assert!(density.anomalies(&values).iter().all(|anomaly| anomaly.is_finite()));
            let far = [1e200, -1e200, 1e200];
            assert!(density.anomaly(&far) == f64::INFINITY);
            assert!(density.gradient(&far).iter().all(|slope| slope.is_finite()));
        }
    }
    Ok(())
}

#[test]
fn fewer_distinct_rows_than_components_give_fewer_components() -> Result<()> {
    let values = [0.0, 0.0, 0.0, 0.0, 9.0, 9.0];
    let rows = Rows::new(&values, 2, &[1.0, 4.0, 2.0])?;
    assert_eq!(GaussianMixture::fit(rows, &MixtureConfig::default(), 0)?.components(), 2);
    Ok(())
}

#[test]
fn cross_validation_finds_the_number_of_components() -> Result<()> {
    let (values, counts) = mixture_rows(3000, 12);
    let rows = Rows::new(&values, 3, &counts)?;
    for criterion in [Criterion::Mean, Criterion::LowestTenth] {
        let selection =
            SelectionConfig { candidates: vec![6, 1, 3, 2], criterion, most_rows: 1500, ..SelectionConfig::default() };
        let mixture = GaussianMixture::fit_best(rows, &selection, &MixtureConfig::default(), 4)?;
        assert!((3..=6).contains(&mixture.components()), "{criterion:?}: {}", mixture.components());
        if criterion == Criterion::Mean {
            assert_eq!(mixture.components(), 3);
        }
    }
    Ok(())
}

#[test]
fn the_number_of_threads_changes_no_bit() -> Result<()> {
    let (values, counts) = mixture_rows(5000, 21);
    let rows = Rows::new(&values, 3, &counts)?;
    let selection = SelectionConfig { candidates: vec![2, 4], most_rows: 2500, ..SelectionConfig::default() };
    let fit = || -> Result<(GaussianMixture, Vec<u64>)> {
        let mixture = GaussianMixture::fit_best(rows, &selection, &MixtureConfig::default(), 17)?;
        let bits = mixture.log_likelihoods(&values).iter().map(|value| value.to_bits()).collect();
        Ok((mixture, bits))
    };
    let mut results = Vec::new();
    for threads in [1, 2, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        results
            .push(pool.map_err(|problem| crate::error::Error::config("threads", problem.to_string()))?.install(fit)?);
    }
    assert!(results.iter().all(|result| *result == results[0]));
    Ok(())
}

#[test]
fn damaged_densities_are_refused() -> Result<()> {
    let mixture = known_mixture();
    for damaged in [
        GaussianMixture { dimension: 2, ..mixture.clone() },
        GaussianMixture { dimension: usize::MAX, ..mixture.clone() },
        GaussianMixture { weights: vec![0.3, 0.8], ..mixture.clone() },
        GaussianMixture { weights: vec![1.3, -0.3], ..mixture.clone() },
        GaussianMixture { means: vec![f64::NAN; 6], ..mixture.clone() },
        GaussianMixture { whitening: vec![1.0; 18], ..mixture },
    ] {
        assert!(Density::Mixture(damaged).validate().is_err());
    }
    let kernel = KernelDensity::fit(Rows::new(&POINTS, 2, &POINT_COUNTS)?, 100, 0)?;
    assert!(KernelDensity { bandwidth: 0.0, ..kernel.clone() }.validate().is_err());
    assert!(KernelDensity { dimension: 3, ..kernel }.validate().is_err());
    let neighbours = NearestNeighbours::fit(Rows::new(&POINTS, 2, &POINT_COUNTS)?, 2, 100, 0)?;
    assert!(NearestNeighbours { neighbour: 0, ..neighbours.clone() }.validate().is_err());
    assert!(NearestNeighbours { counts: vec![1.0], ..neighbours }.validate().is_err());
    Ok(())
}

#[test]
fn a_density_survives_toml_to_the_bit() -> Result<()> {
    for density in densities()? {
        let text = toml::to_string(&density).unwrap_or_default();
        assert_eq!(toml::from_str::<Density>(&text).ok(), Some(density));
    }
    Ok(())
}
