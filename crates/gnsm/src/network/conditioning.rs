//! Turns the index of a level into the scale γ and shift β of every block, for all levels at once; and the gradient of
//! that.
//!
//! There are about 20 levels where a batch has hundreds of rows. So this costs next to nothing beside the blocks.

use rayon::prelude::*;

use super::dense;
use super::parameters::{Ends, NetworkSize, Slots};
use crate::math::silu;

/// What is computed on the way, kept for the backward pass.
#[derive(Debug, Clone)]
pub(super) struct Conditioning {
    levels: usize,
    embedding: usize,
    /// sin and cos features, [levels, embedding].
    features: Vec<f32>,
    hidden: Vec<f32>,
    hidden_slope: Vec<f32>,
    embedded: Vec<f32>,
    embedded_slope: Vec<f32>,
    /// Gradient of the embedding as each block sees it, [depth, levels, embedding].
    d_embedded: Vec<f32>,
    d_hidden: Vec<f32>,
}

impl Conditioning {
    pub fn new(size: NetworkSize, ends: Ends, frequencies: &[f32]) -> Self {
        let zeros = || vec![0.0; ends.levels * size.embedding];
        Self {
            levels: ends.levels,
            embedding: size.embedding,
            features: fourier(ends.levels, frequencies),
            hidden: zeros(),
            hidden_slope: zeros(),
            embedded: zeros(),
            embedded_slope: zeros(),
            d_embedded: vec![0.0; size.depth.max(1) * ends.levels * size.embedding],
            d_hidden: zeros(),
        }
    }

    /// Fills `films`, [depth, levels, 2·width].
    pub fn forward(&mut self, slots: &Slots, parameters: &[f32], films: &mut [f32]) {
        let embedding = self.embedding;
        let weights = |range: &std::ops::Range<usize>| &parameters[range.clone()];
        dense::forward(
            &mut self.hidden,
            &self.features,
            weights(&slots.embed_1),
            weights(&slots.embed_bias_1),
            embedding,
        );
        activate(&mut self.hidden, &mut self.hidden_slope);
        dense::forward(
            &mut self.embedded,
            &self.hidden,
            weights(&slots.embed_2),
            weights(&slots.embed_bias_2),
            embedding,
        );
        activate(&mut self.embedded, &mut self.embedded_slope);
        let embedded = &self.embedded;
        let film_length = films.len() / slots.blocks.len().max(1);
        films.par_chunks_mut(film_length.max(1)).zip(&slots.blocks).for_each(|(film, block)| {
            dense::forward(film, embedded, weights(&block.film_weight), weights(&block.film_bias), embedding);
        });
    }

    /// From the gradient of γ and β, [depth, levels, 2·width], to that of the conditioning weights, which lie at the
    /// start of the parameter vector.
    pub fn backward(&mut self, slots: &Slots, parameters: &[f32], d_films: &[f32], gradient: &mut [f32]) {
        let (levels, embedding) = (self.levels, self.embedding);
        let film_width = d_films.len() / (slots.blocks.len().max(1) * levels);
        let (mlp, films) = gradient.split_at_mut(slots.films.start);
        let embedded = &self.embedded;
        let film_slots = (embedding + 1) * film_width;
        films
            .par_chunks_mut(film_slots)
            .zip(d_films.par_chunks(levels * film_width))
            .zip(self.d_embedded.par_chunks_mut(levels * embedding))
            .zip(&slots.blocks)
            .for_each(|(((d_film_slots, d_film), d_embedded), block)| {
                let (d_weight, d_bias) = d_film_slots.split_at_mut(embedding * film_width);
                dense::backward_weight(d_weight, embedded, d_film, (embedding, film_width), 0, false);
                d_bias.fill(0.0);
                dense::backward_bias(d_bias, d_film);
                let weight = &parameters[block.film_weight.clone()];
                dense::backward_input(d_embedded, d_film, weight, embedding, film_width);
            });
        let (total, rest) = self.d_embedded.split_at_mut(levels * embedding);
        for d_embedded in rest.chunks_exact(levels * embedding) {
            crate::math::add(total, d_embedded);
        }
        multiply(total, &self.embedded_slope);
        let shape = (embedding, embedding);
        let mut layer = |weight: &std::ops::Range<usize>, bias: &std::ops::Range<usize>, x: &[f32], dy: &[f32]| {
            dense::backward_weight(&mut mlp[weight.clone()], x, dy, shape, 0, false);
            mlp[bias.clone()].fill(0.0);
            dense::backward_bias(&mut mlp[bias.clone()], dy);
        };
        layer(&slots.embed_2, &slots.embed_bias_2, &self.hidden, total);
        let weight = &parameters[slots.embed_2.clone()];
        dense::backward_input(&mut self.d_hidden, total, weight, embedding, embedding);
        multiply(&mut self.d_hidden, &self.hidden_slope);
        layer(&slots.embed_1, &slots.embed_bias_1, &self.features, &self.d_hidden);
    }
}

/// sin and cos of 2π·level·frequency, [levels, 2·frequencies].
fn fourier(levels: usize, frequencies: &[f32]) -> Vec<f32> {
    let angle = |level: usize, frequency: &f32| std::f64::consts::TAU * level as f64 * f64::from(*frequency);
    let of_level = |level: usize| {
        let sines = frequencies.iter().map(move |frequency| angle(level, frequency).sin() as f32);
        sines.chain(frequencies.iter().map(move |frequency| angle(level, frequency).cos() as f32))
    };
    (0..levels).flat_map(of_level).collect()
}

fn activate(values: &mut [f32], slopes: &mut [f32]) {
    for (value, slope) in values.iter_mut().zip(slopes) {
        (*value, *slope) = silu(*value);
    }
}

fn multiply(to: &mut [f32], by: &[f32]) {
    for (to, by) in to.iter_mut().zip(by) {
        *to *= by;
    }
}
