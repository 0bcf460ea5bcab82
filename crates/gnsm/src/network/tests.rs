//! The whole network against PyTorch and against finite differences, and its independence of the number of threads.

use rand::SeedableRng;

use super::parameters::Slots;
use super::*;

const SIZE: NetworkSize = NetworkSize { width: 24, depth: 2, embedding: 8 };
const ENDS: Ends = Ends { inputs: 7, outputs: 5, levels: 3 };
const ROWS: usize = 130;

/// The sum of logits times fixed weights: every logit has a gradient of its own.
struct Weighted;

fn weight(row: usize, output: usize) -> f32 {
    (0.53 * (row * ENDS.outputs + output) as f64).cos() as f32
}

fn input(row: usize, input: usize) -> f32 {
    (0.91 * (row * ENDS.inputs + input) as f64).sin() as f32
}

impl Task for Weighted {
    fn perturb(&self, _: u64, tile_index: usize, tile: &mut Tile) {
        for position in 0..tile.rows {
            let row = tile_index * TILE + position;
            tile.levels[position] = (row % ENDS.levels) as u32;
            tile.sources[position] = row as u32;
            for i in 0..ENDS.inputs {
                tile.inputs[position * ENDS.inputs + i] = input(row, i);
            }
        }
    }

    fn loss(&self, tile: &mut Tile) {
        tile.loss = 0.0;
        for position in 0..tile.rows {
            for output in 0..ENDS.outputs {
                let at = position * ENDS.outputs + output;
                let weight = weight(tile.sources[position] as usize, output);
                tile.d_logits[at] = weight;
                tile.loss += f64::from(tile.logits[at]) * f64::from(weight);
            }
        }
    }
}

fn network() -> ResidualNetwork {
    let total = Slots::new(SIZE, ENDS).total;
    let parameters = (0..total).map(|i| (0.3 * (0.37 * i as f64 + 0.1).sin()) as f32).collect();
    let frequencies = (0..SIZE.embedding / 2).map(|i| (1.7 * i as f64 + 0.3).sin() as f32).collect();
    ResidualNetwork::from_parts(SIZE, ENDS, frequencies, parameters)
}

fn assert_close(name: &str, actual: f64, expected: f64) {
    let error = (actual - expected).abs();
    assert!(error < 2e-5 + 2e-4 * expected.abs(), "{name}: {actual} instead of {expected}");
}

// Values: crates/gnsm-bench/reference/network.py, PyTorch 2.15, float64.
#[test]
fn logits_loss_and_gradients_agree_with_pytorch() {
    let mut trainer = Trainer::new(network(), ROWS);
    let loss = trainer.compute_gradient(0, &Weighted);
    assert_close("loss", loss, 0.337_590_371_086_444_35);
    let slots = Slots::new(SIZE, ENDS);
    let blocks = &slots.blocks;
    let expected = [
        ("embed_1", &slots.embed_1, 0.016_242_349_900_190_38),
        ("embed_bias_1", &slots.embed_bias_1, -0.002_973_493_046_078_003),
        ("embed_2", &slots.embed_2, 0.032_413_844_575_836_376),
        ("embed_bias_2", &slots.embed_bias_2, -0.058_804_872_832_602_52),
        ("film_weight", &blocks[1].film_weight, -0.027_175_995_455_878_676),
        ("film_bias", &blocks[0].film_bias, 1.754_255_005_451_838_7),
        ("projection", &slots.projection, 26.869_719_993_210_502),
        ("dense_1", &blocks[0].dense_1, -0.009_597_086_785_903_486),
        ("dense_2", &blocks[1].dense_2, 0.859_244_696_684_239_1),
        ("head", &slots.head, 0.106_773_250_198_349_8),
        ("projection_bias", &slots.projection_bias, 11.937_084_452_976_432),
        ("gain", &blocks[0].gain, -0.005_083_624_937_419_533),
        ("shift", &blocks[1].shift, -0.001_960_699_069_644_342),
        ("bias_1", &blocks[0].bias_1, 0.031_097_756_042_203_217),
        ("bias_2", &blocks[1].bias_2, 11.937_663_528_103_348),
        ("head_gain", &slots.head_gain, -0.550_226_538_580_845_1),
        ("head_shift", &slots.head_shift, -0.779_839_587_108_772_7),
        ("head_bias", &slots.head_bias, 1.074_301_646_021_846),
    ];
    for (name, range, expected) in expected {
        let check: f64 =
            trainer.gradient()[range.clone()].iter().enumerate().map(|(i, g)| f64::from(*g) * (i as f64).cos()).sum();
        assert_close(name, check, expected);
    }

    let network = network();
    let mut logits = [0.0; ENDS.outputs];
    network.for_each_row(
        &mut logits,
        ENDS.outputs,
        0..1,
        |row, _, inputs| inputs.iter_mut().enumerate().for_each(|(i, x)| *x = input(row, i)),
        |out, _, _, values| out.copy_from_slice(values),
    );
    let expected = [-0.054_922_056, -0.143_214_55, -0.212_123_63, -0.252_322_76, -0.258_371_2];
    for (actual, expected) in logits.iter().zip(expected) {
        assert_close("logit", f64::from(*actual), expected);
    }
}

#[test]
fn folded_blocks_say_the_same() {
    let network = network();
    let logits = |level: usize, folded: Option<&super::folded::Folded>| {
        let mut tile = Tile::for_inference(SIZE, ENDS);
        tile.levels.fill(level as u32);
        tile.inputs.iter_mut().enumerate().for_each(|(i, x)| *x = input(i / ENDS.inputs, i % ENDS.inputs));
        network.forward(&mut tile, folded);
        tile.logits
    };
    for level in 0..ENDS.levels {
        let folded = network.folded(level);
        assert!(folded.is_some());
        for (plain, folded) in logits(level, None).iter().zip(logits(level, folded)) {
            assert!((plain - folded).abs() < 2e-6, "{plain} {folded}");
        }
    }
    let paper = ResidualNetwork::new(
        NetworkSize { width: 1024, depth: 1, embedding: 2 },
        Ends { inputs: 1, outputs: 1, levels: 20 },
        None,
        &mut rand_chacha::ChaCha8Rng::seed_from_u64(1),
    );
    assert!(paper.folded(0).is_none(), "too large to fold");
}

#[test]
fn every_tensor_passes_finite_differences() {
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(3);
    let mut base = ResidualNetwork::new(SIZE, ENDS, None, &mut rng);
    let slots = Slots::new(SIZE, ENDS);
    // Shifts far from zero keep the differences clear of the leaky kink before the last layer.
    let mut parameters = base.parameters().to_vec();
    for (i, shift) in parameters[slots.head_shift.clone()].iter_mut().enumerate() {
        *shift = if i % 2 == 0 { 4.0 } else { -4.0 };
    }
    base.set_parameters(&parameters);
    let mut trainer = Trainer::new(base.clone(), ROWS);
    trainer.compute_gradient(0, &Weighted);
    let gradient = trainer.gradient().to_vec();
    let mut ranges = vec![
        &slots.embed_1,
        &slots.embed_bias_1,
        &slots.embed_2,
        &slots.embed_bias_2,
        &slots.projection,
        &slots.projection_bias,
        &slots.head,
        &slots.head_gain,
        &slots.head_shift,
        &slots.head_bias,
    ];
    for b in &slots.blocks {
        ranges.extend([&b.film_weight, &b.film_bias, &b.dense_1, &b.dense_2, &b.gain, &b.shift, &b.bias_1, &b.bias_2]);
    }
    for range in ranges {
        // A random direction within the tensor: one number checks all of its elements.
        let mut direction: Vec<f32> = range.clone().map(|i| (i as f32 * 2.3).sin()).collect();
        let length = direction.iter().map(|d| d * d).sum::<f32>().sqrt();
        for d in &mut direction {
            *d /= length;
        }
        let loss_at = |distance: f32| {
            let mut parameters = base.parameters().to_vec();
            for (parameter, d) in parameters[range.clone()].iter_mut().zip(&direction) {
                *parameter += distance * d;
            }
            let mut moved = base.clone();
            moved.set_parameters(&parameters);
            Trainer::new(moved, ROWS).compute_gradient(0, &Weighted)
        };
        // The four-point formula: its error is of fourth order, so the step can stay above single-precision noise.
        let step = 2e-3;
        let numeric = (8.0 * (loss_at(step) - loss_at(-step)) - (loss_at(2.0 * step) - loss_at(-2.0 * step)))
            / (12.0 * f64::from(step));
        let analytic: f64 =
            gradient[range.clone()].iter().zip(&direction).map(|(g, d)| f64::from(*g) * f64::from(*d)).sum();
        let error = (numeric - analytic).abs();
        assert!(error < 0.02 * analytic.abs().max(0.5), "{range:?}: {analytic} {numeric}");
    }
}

#[test]
fn a_step_has_the_same_bits_on_any_number_of_threads() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a small pool");
        pool.install(|| {
            let mut trainer = Trainer::new(network(), ROWS);
            let config = OptimiserConfig {
                beta_1: 0.9,
                beta_2: 0.999,
                weight_decay: 1e-4,
                clip: 1.0,
                average: 0.999,
                average_warmup: true,
            };
            let mut optimiser = Optimiser::new(config, trainer.network.parameters());
            for step in 0..3 {
                trainer.compute_gradient(step, &Weighted);
                trainer.update(&mut optimiser, 1e-3);
            }
            (trainer.network.parameters().to_vec(), optimiser.average)
        })
    };
    let one = run(1);
    for threads in [2, 3] {
        assert!(one == run(threads), "{threads} threads give other bits than one");
    }
}

// torch.optim.AdamW with clip_grad_norm_: crates/gnsm-bench/reference/network.py.
#[test]
fn adamw_clipping_and_average_agree_with_pytorch() {
    let config = OptimiserConfig {
        beta_1: 0.9,
        beta_2: 0.999,
        weight_decay: 0.1,
        clip: 1.0,
        average: 0.9,
        average_warmup: false,
    };
    let mut parameters = [0.5f32, -1.0, 2.0];
    let mut optimiser = Optimiser::new(config, &parameters);
    for step in 0..3 {
        optimiser.update(&mut parameters, &[3.0, -0.2, 0.1 * step as f32], 1e-2);
    }
    let expected = [0.468_532_411_640_607_16, -0.967_033_915_347_272_5, 1.978_284_835_923_851_6];
    let average = [0.494_113_699_192_579_8, -0.993_833_394_929_364_5, 1.996_636_940_736_031_4];
    for i in 0..3 {
        assert!((f64::from(parameters[i]) - expected[i]).abs() < 2e-6);
        assert!((f64::from(optimiser.average[i]) - average[i]).abs() < 2e-6);
    }
}
