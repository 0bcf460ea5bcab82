//! Homophily couplings: odd values keep company with odd values, so what is odd is dense in the graph of values.
//!
//! The idea is that of Pang, Cao and Chen, *Homophily Outlier Detection in Non-IID Categorical Data*, Data Mining and
//! Knowledge Discovery, 2021. **The formulas are our reading of it.** The paper's abstract and the authors' feature
//! selection by dense subgraphs (ICDM 2016) were at hand, its formulas were not. Lift as the coupling, the peeling as
//! the subgraphs and s(v) as the factor are ours. Figures need not be the paper's.
//!
//! It is a walk between the values of all columns. [`super::value_graph`] has the walk, the score, and what becomes of
//! numbers, missing and unseen values. The paper has two detectors: the first is [`super::cbrw`], and this is the
//! second, which augments the walk by the densities of subgraphs. The homophily of two values of different columns is
//!
//! A(u, v) = δ(u)·lift(u, v)·δ(v), lift(u, v) = p(u, v)/(p(u) p(v)),
//!
//! with δ the outlierness of a value within its column, as there: high where both are rare and yet go together. A set S
//! of values has the density
//!
//! den(S) = ½ Σ_{u, v ∈ S} A(u, v)/|S|.
//!
//! Taking away again and again the values with the least Σᵥ A(u, v) within what is left (equals, to 10⁻⁹, together)
//! peels the graph from V = S₀ ⊃ S₁ ⊃ … down to its dense heart, and passes a set within a factor of 2 of the densest
//! there is (Charikar, *Greedy Approximation Algorithms for Finding Dense Components in a Graph*, 2000). A value is as
//! dense as the densest of these sets that it is part of, s(v) = max {den(Sᵢ) : v ∈ Sᵢ}, and the walker moves from u to
//! v with a probability proportional to
//!
//! s(v)·A(u, v).
//!
//! With equal densities this is the walk of `cbrw`: δ(v)·p(u | v) is A(u, v) but for a factor that depends on u alone.
//!
//! By the paper's protocol the AUROC is 62.7 on bank, 63.9 on census, 79.5 on chess, 63.4 on cmc, 98.8 on probe, 87.8
//! on solar and 96.4 on u2r.

use super::value_graph::{Coupling, ValueGraph, ValueWalk};
use crate::error::stop_point;

/// Two values are connected equally strongly to the rest if they differ by at most this share.
const EQUAL: f64 = 1e-9;

/// A walk that likes odd values in odd company.
pub type Homophily = ValueWalk<HomophilyCoupling>;

/// s(v)·A(u, v).
#[derive(Debug, Clone, Copy)]
pub struct HomophilyCoupling;

impl Coupling for HomophilyCoupling {
    fn weights(graph: &ValueGraph) -> Vec<f64> {
        let n = graph.nodes.len().max(1);
        let factors: Vec<f64> =
            graph.biases().iter().zip(&graph.nodes).map(|(bias, node)| bias * graph.n_rows / node.count).collect();
        let mut weights = graph.together.clone();
        for (row, from) in weights.chunks_exact_mut(n).zip(&factors) {
            for (weight, to) in row.iter_mut().zip(&factors) {
                *weight *= from * to / graph.n_rows;
            }
        }
        let densities = densities(&weights, graph.nodes.len());
        for row in weights.chunks_exact_mut(n) {
            row.iter_mut().zip(&densities).for_each(|(weight, density)| *weight *= density);
        }
        weights
    }
}

/// s(v) of every value, from A.
fn densities(homophily: &[f64], n: usize) -> Vec<f64> {
    let mut degrees: Vec<f64> = homophily.chunks_exact(n.max(1)).map(|row| row.iter().sum()).collect();
    let mut left: Vec<usize> = (0..n).collect();
    let mut densities = vec![0.0; n];
    let mut densest: f64 = 0.0;
    while !left.is_empty() {
        stop_point();
        // Summed anew, since subtracting would leave rounding errors.
        densest = densest.max(0.5 * left.iter().map(|v| degrees[*v]).sum::<f64>() / left.len() as f64);
        let least = left.iter().map(|v| degrees[*v]).fold(f64::INFINITY, f64::min);
        let (gone, stay): (Vec<usize>, Vec<usize>) = left.iter().partition(|v| degrees[**v] <= least * (1.0 + EQUAL));
        for u in gone {
            densities[u] = densest;
            for v in &stay {
                degrees[*v] = (degrees[*v] - homophily[u * n + v]).max(0.0);
            }
        }
        left = stay;
    }
    densities
}

#[cfg(test)]
mod tests;
