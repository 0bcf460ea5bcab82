use super::*;
use crate::math::stream;
use crate::network::{Ends, NetworkSize};
use crate::noise::{LevelsConfig, Smoothing};

const ENDS: Ends = Ends { inputs: 6, outputs: 6, levels: 3 };

fn levels(smoothing: Smoothing) -> Levels {
    let config =
        LevelsConfig { count: 3, lambda_min: 2.0, lambda_max: 20.0, sigma_min: 0.1, sigma_max: 1.0, smoothing };
    Levels::new(&config).expect("a valid schedule")
}

/// Everything again from the definitions, in double precision, one row and level at a time.
struct Plain<'a>(Embedder<'a>);

impl Plain<'_> {
    fn log_alpha(&self, level: usize, k: usize, category: usize) -> Vec<f64> {
        let alpha = self.0.levels.log_alpha(level, k);
        (0..k).map(|i| f64::from(if i == category { alpha.on } else { alpha.off })).collect()
    }

    fn point(&self, level: usize, k: usize, code: u32) -> Vec<f64> {
        let temperature = match self.0.point {
            Point::Clean => 1.0,
            Point::Centre => f64::from(self.0.levels.lambda(level)),
        };
        let logits: Vec<f64> = match code {
            UNSEEN => vec![0.0; k],
            code => self.log_alpha(level, k, code as usize).iter().map(|a| a / temperature).collect(),
        };
        softmax(&logits).iter().map(|p| p.ln()).collect()
    }

    /// (squared norm, surprise) of a group.
    fn group(&self, level: usize, code: u32, logits: &[f64]) -> (f64, f64) {
        let (k, lambda) = (logits.len(), f64::from(self.0.levels.lambda(level)));
        let x = self.point(level, k, code);
        let (posterior, noise) = match self.0.parameterisation {
            Parameterisation::Noise => {
                let shifted: Vec<f64> = logits.iter().zip(&x).map(|(e, x)| e + lambda * x).collect();
                (softmax(&shifted), softmax(logits))
            }
            Parameterisation::Posterior => {
                let posterior = softmax(logits);
                let mut noise = vec![0.0; k];
                for (category, weight) in posterior.iter().enumerate() {
                    let alpha = self.log_alpha(level, k, category);
                    let epsilon: Vec<f64> = alpha.iter().zip(&x).map(|(a, x)| a - lambda * x).collect();
                    noise.iter_mut().zip(softmax(&epsilon)).for_each(|(sum, p)| *sum += weight * p);
                }
                (posterior, noise)
            }
        };
        let norm = noise.iter().map(|p| (-lambda + lambda * k as f64 * p).powi(2)).sum();
        let surprise = if code == UNSEEN { f64::from(self.0.unseen) } else { -posterior[code as usize].ln() };
        (norm, surprise)
    }
}

fn softmax(logits: &[f64]) -> Vec<f64> {
    let total: f64 = logits.iter().map(|x| x.exp()).sum();
    logits.iter().map(|x| x.exp() / total).collect()
}

#[test]
fn embedding_agrees_with_the_definitions() {
    let layout = Layout::new(1, vec![3, 2]);
    let size = NetworkSize { width: 16, depth: 1, embedding: 4 };
    let network = ResidualNetwork::new(size, ENDS, None, &mut stream(1, 2, 3, 4));
    let rows = Encoded::new(3, vec![0, 1, UNSEEN, 0, 2, 1], vec![0.7, -1.5, f32::NAN]);
    let spread = [0.5, 0.25, 2.0];
    for parameterisation in [Parameterisation::Noise, Parameterisation::Posterior] {
        for (point, smoothing) in [
            (Point::Clean, Smoothing::Fixed { delta: 1e-3 }),
            (Point::Centre, Smoothing::Growing { first: 0.9, last: 0.1 }),
        ] {
            let levels = levels(smoothing);
            let (network, levels, layout, spread) = (&network, &levels, &layout, &spread);
            let embedder = Embedder { network, levels, layout, parameterisation, point, spread, unseen: 4.5 };
            let (norms, surprises) = (embedder.norms(&rows), embedder.surprises(&rows, 3));
            let mut logits = vec![0.0; 3 * 3 * 6];
            let keep = |out: &mut [f32], _: usize, level: usize, values: &mut [f32]| {
                out[level * 6..][..6].copy_from_slice(values);
            };
            embedder.for_each_row(&rows, &mut logits, 0..3, keep);
            for row in 0..3 {
                for level in 0..3 {
                    let output: Vec<f64> = logits[row * 18 + level * 6..][..6].iter().map(|v| f64::from(*v)).collect();
                    let sigma = f64::from(levels.sigma(level));
                    let score = match parameterisation {
                        Parameterisation::Noise => output[0],
                        Parameterisation::Posterior => -output[0] / sigma,
                    };
                    let score = if rows.numbers(row)[0].is_nan() { 0.0 } else { score };
                    let distance = (sigma * sigma * score).powi(2);
                    let mut expected = vec![(score * score, 0.5 * distance / f64::from(spread[level]))];
                    for (group, places) in layout.groups().enumerate() {
                        expected.push(Plain(embedder).group(level, rows.codes(row)[group], &output[places]));
                    }
                    for (cell, (norm, surprise)) in expected.into_iter().enumerate() {
                        let at = level * 3 + cell;
                        let (n, s) = (f64::from(norms.row(row)[at]), f64::from(surprises.row(row)[at]));
                        assert!((n - norm).abs() < 1e-3 * norm.max(1.0), "norm {n} {norm}");
                        assert!((s - surprise).abs() < 1e-3 * surprise.max(1.0), "surprise {s} {surprise}");
                    }
                }
            }
        }
    }
}

#[test]
fn expectations_are_distributions() {
    let layout = Layout::new(0, vec![1, 3, 2]);
    let size = NetworkSize { width: 16, depth: 1, embedding: 4 };
    let network = ResidualNetwork::new(size, ENDS, None, &mut stream(1, 2, 3, 4));
    let rows = Encoded::new(2, vec![ABSENT, 2, UNSEEN, 0, 1, 1], Vec::new());
    let embedder = Embedder {
        network: &network,
        levels: &levels(Smoothing::Growing { first: 0.9, last: 0.1 }),
        layout: &layout,
        parameterisation: Parameterisation::Posterior,
        point: Point::Centre,
        spread: &[],
        unseen: 4.5,
    };
    let expected = embedder.expectations(&rows, 0);
    assert!((expected[1..4].iter().sum::<f32>() - 1.0).abs() < 1e-5);
    assert!((expected[4..6].iter().sum::<f32>() - 1.0).abs() < 1e-5);

    // Of three levels one is the last fifth.
    let (last, doubts) = (embedder.expectations(&rows, 2), embedder.doubts(&rows));
    assert_eq!((doubts[0], doubts[2]), (0.0, 1.0), "absent and unseen");
    for (doubt, probability) in [(doubts[1], last[3]), (doubts[4], last[6 + 2]), (doubts[5], last[6 + 5])] {
        assert!((doubt + probability - 1.0).abs() < 1e-5, "{doubt} {probability}");
    }

    let all: Vec<(usize, usize)> = (0..6).map(|cell| (cell / 3, cell % 3)).collect();
    let from_the_rest = |rows: &Encoded| {
        let mut expected = Vec::new();
        embedder.ask_the_rest(rows, &all, |_, probabilities| expected.extend_from_slice(probabilities));
        expected
    };
    let from_rest = from_the_rest(&rows);
    let surprises = embedder.surprises_from_the_rest(&rows, &all);
    assert_eq!(embedder.surprises_from_the_rest(&rows, &[all[4], all[1]]), [surprises[4], surprises[1]]);
    assert_eq!((surprises[0], surprises[2]), (0.0, 4.5), "absent and unseen");
    for (surprise, probability) in
        [(surprises[1], from_rest[3]), (surprises[4], from_rest[6 + 2]), (surprises[5], from_rest[6 + 5])]
    {
        assert!((surprise + probability.ln()).abs() < 1e-5, "{surprise} {probability}");
    }
    let mut other = rows.select(&[1]).concat(&rows.select(&[1]));
    other = Encoded::new(2, [other.codes(0), &[0, 2, 1]].concat(), Vec::new());
    let (one, two) = (from_the_rest(&other)[1..4].to_vec(), from_the_rest(&other)[7..10].to_vec());
    assert_eq!(one, two, "what is expected of a cell does not depend on the cell");
}
