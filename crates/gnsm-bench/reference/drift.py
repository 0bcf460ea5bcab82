"""Prints the values that `crates/gnsm/src/drift/statistics.rs` quotes: the population stability index with half a row
added to each bin, by its definition."""

from fractions import Fraction
from math import log


def psi(before, now):
    half = Fraction(1, 2)
    n, m = (sum(counts) + half * len(counts) for counts in (before, now))
    shares = [((b + half) / n, (a + half) / m) for b, a in zip(before, now)]
    return sum(float(p - q) * log(p / q) for q, p in shares)


for before, now in [([100, 200, 300, 400], [50, 60, 40, 50]), ([1000, 0], [0, 10])]:
    print(before, now, f"{psi(before, now):.12f}")
