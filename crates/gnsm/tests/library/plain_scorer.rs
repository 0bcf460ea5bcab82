//! A scorer that is slow and obviously right, against the product's.
//!
//! It reads the weights from a model file and follows the definitions in double precision, one row, one level and one sum at a time: no tiles, no panels, no vectors, no
//! shared work. The product rounds to single precision and sums in another order, so scores agree within [`TOLERANCE`], relative to the
//! score or to 1; across batches and numbers of threads the product agrees with itself to the bit.

use std::f64::consts::{SQRT_2, TAU};
use std::fmt::Write;
use std::io::Cursor;

use gnsm::internals::columns::UNSEEN;
use gnsm::settings::{GnsmConfig, Head, Smoothing};
use gnsm::{Method, Model, ReadOptions, Table, TableReader};
use safetensors::SafeTensors;

const TOLERANCE: f64 = 2e-5;

/// A matrix, [rows][columns].
type Matrix = Vec<Vec<f64>>;

struct Dense {
    weight: Matrix,
    bias: Vec<f64>,
}

struct Block {
    film: Dense,
    gain: Vec<f64>,
    shift: Vec<f64>,
    first: Dense,
    second: Dense,
}

struct PlainNetwork {
    frequencies: Vec<f64>,
    embed: [Dense; 2],
    projection: Dense,
    blocks: Vec<Block>,
    head_gain: Vec<f64>,
    head_shift: Vec<f64>,
    head: Dense,
}

impl PlainNetwork {
    /// The weights in the order of `docs/format.md`.
    fn new(config: &GnsmConfig, width: usize, parameters: &[f64], frequencies: Vec<f64>) -> Self {
        let (units, depth, embedding) = (config.network.width, config.network.depth, config.network.embedding);
        let mut rest = parameters;
        let mut vector = |n: usize| {
            let (taken, left) = rest.split_at(n);
            rest = left;
            taken.to_vec()
        };
        let mut matrix = |rows: usize, columns: usize| -> Matrix { (0..rows).map(|_| vector(columns)).collect() };
        let embed: [(Matrix, Matrix); 2] =
            std::array::from_fn(|_| (matrix(embedding, embedding), matrix(1, embedding)));
        let films: Vec<_> = (0..depth).map(|_| (matrix(embedding, 2 * units), matrix(1, 2 * units))).collect();
        let projection = matrix(width, units);
        let dense: Vec<_> = (0..depth).map(|_| (matrix(units, units), matrix(units, units))).collect();
        let head = matrix(units, width);
        let projection_bias = vector(units);
        let blocks = films.into_iter().zip(dense).map(|((film, mut film_bias), (first, second))| Block {
            film: Dense { weight: film, bias: film_bias.remove(0) },
            gain: vector(units),
            shift: vector(units),
            first: Dense { weight: first, bias: vector(units) },
            second: Dense { weight: second, bias: vector(units) },
        });
        let blocks = blocks.collect();
        let (head_gain, head_shift, head_bias) = (vector(units), vector(units), vector(width));
        assert!(rest.is_empty(), "{} weights are left", rest.len());
        Self {
            frequencies,
            embed: embed.map(|(weight, mut bias)| Dense { weight, bias: bias.remove(0) }),
            projection: Dense { weight: projection, bias: projection_bias },
            blocks,
            head_gain,
            head_shift,
            head: Dense { weight: head, bias: head_bias },
        }
    }

    fn logits(&self, input: &[f64], level: usize) -> Vec<f64> {
        let angles = self.frequencies.iter().map(|frequency| TAU * level as f64 * frequency);
        let mut t: Vec<f64> = angles.clone().map(f64::sin).chain(angles.map(f64::cos)).collect();
        for layer in &self.embed {
            t = layer.apply(&t).into_iter().map(|u| u / (1.0 + (-u).exp())).collect();
        }
        let mut x = self.projection.apply(input);
        for block in &self.blocks {
            let activated: Vec<f64> = layer_norm(&x, &block.gain, &block.shift).into_iter().map(gelu).collect();
            let hidden = block.first.apply(&activated);
            let film = block.film.apply(&t);
            let (gamma, beta) = film.split_at(hidden.len());
            let modulated: Vec<f64> = (0..hidden.len()).map(|i| gamma[i] * hidden[i] + beta[i]).collect();
            let change = block.second.apply(&modulated);
            x.iter_mut().zip(change).for_each(|(x, change)| *x += change);
        }
        let normalised = layer_norm(&x, &self.head_gain, &self.head_shift);
        let activated: Vec<f64> = normalised.into_iter().map(|u| if u > 0.0 { u } else { 0.01 * u }).collect();
        self.head.apply(&activated)
    }
}

impl Dense {
    fn apply(&self, x: &[f64]) -> Vec<f64> {
        let output = |j: usize| self.bias[j] + x.iter().zip(&self.weight).map(|(x, row)| x * row[j]).sum::<f64>();
        (0..self.bias.len()).map(output).collect()
    }
}

fn layer_norm(x: &[f64], gain: &[f64], shift: &[f64]) -> Vec<f64> {
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    let normalised = x.iter().map(|x| (x - mean) / (variance + 1e-5).sqrt());
    normalised.zip(gain.iter().zip(shift)).map(|(x, (gain, shift))| gain * x + shift).collect()
}

/// u·Φ(u), Φ by the power series of the error function, which is exact to ten digits this side of 6.
fn gelu(u: f64) -> f64 {
    if u.abs() > 6.0 {
        return u.max(0.0);
    }
    let z = u / SQRT_2;
    let (mut term, mut sum) = (z, z);
    for n in 1..200 {
        term *= -z * z / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    u * 0.5 * (1.0 + sum * 2.0 / std::f64::consts::PI.sqrt())
}

fn softmax(logits: &[f64]) -> Vec<f64> {
    let total: f64 = logits.iter().map(|x| x.exp()).sum();
    logits.iter().map(|x| x.exp() / total).collect()
}

/// The mean over the levels of the summed surprise of a row's categories.
fn plain_score(config: &GnsmConfig, network: &PlainNetwork, sizes: &[usize], codes: &[u32], n_rows: u64) -> f64 {
    let count = config.levels.count;
    let Smoothing::Growing { first, last } = config.levels.smoothing else { panic!("the default smoothing") };
    let mut total = 0.0;
    for level in 0..count {
        let at = level as f64 / (count - 1) as f64;
        let lambda = config.levels.lambda_max * (config.levels.lambda_min / config.levels.lambda_max).powf(at);
        let delta = first + at * (last - first);
        let mut input = Vec::new();
        for (&k, &code) in sizes.iter().zip(codes) {
            let alpha = |i| delta / k as f64 + if i == code as usize { 1.0 - delta } else { 0.0 };
            let centre: Vec<f64> = match code {
                UNSEEN => vec![0.0; k],
                _ => (0..k).map(|i| alpha(i).ln() / lambda).collect(),
            };
            let x: Vec<f64> = softmax(&centre).iter().map(|p| p.ln()).collect();
            let mean = x.iter().sum::<f64>() / k as f64;
            input.extend(x.iter().map(|x| lambda * (x - mean)));
        }
        let logits = network.logits(&input, level);
        let mut start = 0;
        for (&k, &code) in sizes.iter().zip(codes) {
            total += match code {
                UNSEEN => (n_rows as f64 + 1.0).ln(),
                _ => -softmax(&logits[start..start + k])[code as usize].ln(),
            };
            start += k;
        }
    }
    total / count as f64
}

/// Three columns of 3, 2 and 41 categories, with `unseen` in the first one of some rows.
fn table(rows: std::ops::Range<usize>, unseen: bool) -> Table {
    let mut text = String::from("colour,shape,place\n");
    for row in rows {
        let colour = if unseen && row % 7 == 0 { "violet" } else { ["red", "green", "blue"][row % 3] };
        let shape = ["disc", "square"][usize::from(row % 3 == 0 || row % 11 == 0)];
        writeln!(text, "{colour},{shape},p{}", row * row % 83 % 41).expect("written");
    }
    let input = Box::new(Cursor::new(text.into_bytes()));
    let mut reader = TableReader::from_reader("rows.csv", input, &ReadOptions::default()).expect("readable");
    reader.next_batch(usize::MAX).expect("readable").expect("not empty")
}

fn tensor(file: &SafeTensors<'_>, name: &str) -> Vec<f64> {
    let bytes = file.tensor(name).expect("a tensor").data();
    bytes.as_chunks::<4>().0.iter().map(|bytes| f64::from(f32::from_le_bytes(*bytes))).collect()
}

#[test]
fn scores_agree_with_a_plain_scorer_and_with_themselves() {
    let mut config = GnsmConfig::fast();
    config.head = Head::Surprise;
    (config.network.width, config.network.depth, config.network.embedding) = (40, 2, 8);
    (config.levels.count, config.training.steps, config.training.batch) = (5, 150, 200);
    let builder = Model::builder().settings(Method::Gnsm(config));
    let mut model = builder.fit(&table(0..1200, false)).expect("a model");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model.gnsm");
    model.save(&path).expect("saved");
    let bytes = std::fs::read(&path).expect("read");
    let file = SafeTensors::deserialize(&bytes).expect("a model file");

    let rows = table(2000..2300, true);
    let encoded = model.encoder().encode(&rows).expect("encoded");
    let layout = model.encoder().layout();
    let sizes: Vec<usize> = (0..layout.n_groups()).map(|group| layout.size(group)).collect();
    let frequencies = tensor(&file, "network.frequencies");
    let network = PlainNetwork::new(&config, layout.width(), &tensor(&file, "network.parameters"), frequencies);
    let [training, validation, _] = model.report().rows;

    let scores: Vec<f64> = model.score(&rows).expect("scores").iter().map(|scored| scored.score).collect();
    for (row, score) in scores.iter().enumerate() {
        let plain = plain_score(&config, &network, &sizes, encoded.codes(row), training + validation);
        assert!((score - plain).abs() < TOLERANCE * plain.max(1.0), "row {row}: {score} and {plain}");
    }
    for threads in [1, 2, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a thread pool");
        assert_eq!(scores, pool.install(|| model.fitted().detector().score(&encoded)), "{threads} threads");
    }
    for row in [0, 7, 150, 299] {
        assert_eq!(model.fitted().detector().score(&encoded.select(&[row])), [scores[row]], "row {row} alone");
    }
}
