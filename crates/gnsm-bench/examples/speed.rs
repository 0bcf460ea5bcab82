//! Our side of `reference/speed.py`: does a piece of work each time it is asked to, and says how long it took.
//!
//!     speed train WIDTH DEPTH EMBEDDING BATCH INPUTS LEVELS     steps of training
//!     speed gemm SIZE                                           products of two square matrices
//!     speed score MODEL FILE OUT                                scores of the distinct rows
//!     speed reuse MODEL FILE                                    scores of all rows, with and without reuse of repeats
//!     speed read MODEL FILE                                     a file to codes
//!
//! Every line on standard input is a number of repetitions; the answer is a line of JSON with the seconds of one. So the script can let
//! both sides take turns. The number of threads is `RAYON_NUM_THREADS`.

use std::error::Error;
use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Instant;

use gnsm::internals::columns::{Encoded, Encoder};
use gnsm::internals::network::{
    Ends, NetworkSize, Optimiser, OptimiserConfig, ResidualNetwork, TILE, Task, Tile, Trainer,
};
use gnsm::{Model, ReadOptions, TableReader, read_table};
use rayon::prelude::*;
use serde_json::{Value, json};

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["train", sizes @ ..] => train(&sizes.iter().map(|size| size.parse()).collect::<Result<Vec<_>, _>>()?),
        ["gemm", size] => multiply(size.parse()?),
        ["score", model, file, out] => score(model.as_ref(), file.as_ref(), out.as_ref()),
        ["reuse", model, file] => reuse(model.as_ref(), file.as_ref()),
        ["read", model, file] => read(model.as_ref(), file.as_ref()),
        _ => Err("see the head of speed.rs".into()),
    }
}

/// Answers every line until the input ends.
fn serve(mut work: impl FnMut(usize) -> Result<Value, Box<dyn Error>>) -> Outcome {
    for line in std::io::stdin().lock().lines() {
        let answer = work(line?.trim().parse()?)?;
        writeln!(std::io::stdout(), "{answer}")?;
    }
    Ok(())
}

/// Seconds that one of `n` repetitions takes.
fn seconds(n: usize, mut work: impl FnMut()) -> f64 {
    let start = Instant::now();
    (0..n).for_each(|_| work());
    start.elapsed().as_secs_f64() / n as f64
}

/// Weights and rows that the other side can make too: waves.
fn wave(index: usize, frequency: f64, height: f64) -> f32 {
    (height * (frequency * index as f64 + 0.1).sin()) as f32
}

/// Half the mean squared distance between the logits and a wave.
struct Regression {
    ends: Ends,
    batch: usize,
}

impl Task for Regression {
    fn perturb(&self, _: u64, tile_index: usize, tile: &mut Tile) {
        for position in 0..tile.rows {
            let row = tile_index * TILE + position;
            tile.sources[position] = row as u32;
            tile.levels[position] = (row % self.ends.levels) as u32;
        }
        let first = tile_index * TILE * self.ends.inputs;
        for (i, input) in tile.inputs.iter_mut().enumerate() {
            *input = ((first + i) % 7) as f32 - 3.0;
        }
    }

    fn loss(&self, tile: &mut Tile) {
        let used = tile.rows * self.ends.outputs;
        tile.loss = 0.0;
        for (i, (d, logit)) in tile.d_logits.iter_mut().zip(&tile.logits).take(used).enumerate() {
            let error = logit - (i % self.ends.outputs % 3) as f32;
            *d = error / self.batch as f32;
            tile.loss += 0.5 * f64::from(error) * f64::from(error);
        }
    }
}

fn train(sizes: &[usize]) -> Outcome {
    let &[width, depth, embedding, batch, inputs, levels] = sizes else { return Err("six sizes".into()) };
    let ends = Ends { inputs, outputs: inputs, levels };
    let mut size = NetworkSize::default();
    (size.width, size.depth, size.embedding) = (width, depth, embedding);
    let parameters = (0..ResidualNetwork::n_parameters(size, ends)?).map(|i| wave(i, 0.37, 0.05)).collect();
    let frequencies = (0..embedding / 2).map(|i| wave(i, 1.7, 1.0)).collect();
    let mut trainer = Trainer::new(ResidualNetwork::from_parts(size, ends, frequencies, parameters), batch);
    let mut config = OptimiserConfig::default();
    (config.average, config.average_warmup) = (0.999, false);
    let mut optimiser = Optimiser::new(config, trainer.network.parameters());
    let task = Regression { ends, batch };
    serve(|n| {
        let mut loss = 0.0;
        // On one of the pool's threads, where the training loop runs too.
        let seconds = rayon::scope(|_| {
            seconds(n, || {
                loss = trainer.compute_gradient(optimiser.step, &task) / batch as f64;
                trainer.update(&mut optimiser, 1e-4);
            })
        });
        Ok(json!({ "seconds": seconds, "loss": loss }))
    })
}

/// One product, its rows dealt out evenly to the threads.
fn multiply(size: usize) -> Outcome {
    let (a, b) = (vec![0.5f32; size * size], vec![0.25f32; size * size]);
    let mut c = vec![0.0f32; size * size];
    let rows = size.div_ceil(rayon::current_num_threads());
    serve(|n| {
        let seconds = seconds(n, || {
            c.par_chunks_mut(rows * size).zip(a.par_chunks(rows * size)).for_each(|(c, a)| {
                let stride = size as isize;
                // SAFETY: `c` and `a` hold whole rows of `size`, as many in one as in the other, and `b` is square.
                unsafe {
                    // The kernels write columns: cᵀ = bᵀ·aᵀ.
                    gemm_f32::gemm::f32::get_gemm_fn()(
                        size,
                        c.len() / size,
                        size,
                        c.as_mut_ptr(),
                        stride,
                        1,
                        false,
                        b.as_ptr(),
                        stride,
                        1,
                        a.as_ptr(),
                        stride,
                        1,
                        0.0f32,
                        1.0f32,
                        false,
                        false,
                        false,
                        gemm_common::Parallelism::None,
                    );
                }
            });
        });
        Ok(json!({ "seconds": seconds }))
    })
}

/// Writes the codes of the distinct rows and, after the last line, their scores, as raw little-endian arrays.
fn score(model: &Path, file: &Path, out: &Path) -> Outcome {
    let model = Model::load(model)?;
    let rows = model.encoder().encode(&read_table(file)?)?;
    let rows = rows.select(&rows.distinct().0);
    let codes = (0..rows.n_rows()).flat_map(|row| rows.codes(row)).flat_map(|code| code.to_le_bytes());
    std::fs::write(out.join("codes"), codes.collect::<Vec<u8>>())?;
    let layout = model.encoder().layout();
    let sizes: Vec<usize> = (0..layout.n_groups()).map(|group| layout.size(group)).collect();
    std::fs::write(out.join("sizes.json"), json!(sizes).to_string())?;
    let mut scores = Vec::new();
    serve(|n| {
        let seconds = seconds(n, || scores = model.fitted().detector().score(&rows));
        Ok(json!({ "seconds": seconds, "rows": rows.n_rows() }))
    })?;
    std::fs::write(out.join("scores"), scores.iter().flat_map(|score| score.to_le_bytes()).collect::<Vec<u8>>())?;
    Ok(())
}

fn reuse(model: &Path, file: &Path) -> Outcome {
    let model = Model::load(model)?;
    let rows = model.encoder().encode(&read_table(file)?)?;
    let distinct = rows.distinct().0.len();
    serve(|n| {
        let (mut with, mut without) = (Vec::new(), Vec::new());
        let with_seconds = seconds(n, || with = model.fitted().score_distinct(&rows));
        let without_seconds = seconds(n, || without = model.fitted().detector().score(&rows));
        if with != without {
            return Err("reuse changed a score".into());
        }
        Ok(json!({ "with": with_seconds, "without": without_seconds, "rows": rows.n_rows(), "distinct": distinct }))
    })
}

fn read(model: &Path, file: &Path) -> Outcome {
    let encoder = Encoder::new(Model::load(model)?.encoder().schema().clone());
    serve(|n| {
        let start = Instant::now();
        let mut rows = 0;
        for _ in 0..n {
            let mut reader = TableReader::open(file, &ReadOptions::default())?;
            while let Some(batch) = reader.next_batch(BATCH)? {
                let encoded: Encoded = encoder.encode(&batch)?;
                rows += encoded.n_rows();
                reader.recycle(batch);
            }
        }
        Ok(json!({ "seconds": start.elapsed().as_secs_f64() / n as f64, "rows": rows / n }))
    })
}

/// Rows that the command line reads at a time, unless told otherwise.
const BATCH: usize = 65_536;
