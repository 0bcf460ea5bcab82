"""Prints the values that the tests of gnsm's densities quote, computed by scikit-learn and numpy."""

import numpy as np
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity, NearestNeighbors

np.set_printoptions(precision=17)

print("whitening of a 3 x 3 covariance")
covariance = np.array([[4, 2, 0.6], [2, 5, 1], [0.6, 1, 2]])
print(np.linalg.inv(np.linalg.cholesky(covariance)).tolist())

covariances = np.array(
    [
        [[1.0, 0.5, 0.1], [0.5, 2.0, -0.3], [0.1, -0.3, 0.5]],
        [[0.3, 0.0, 0.1], [0.0, 0.4, 0.2], [0.1, 0.2, 3.0]],
    ]
)
rows = np.array([[0, 0, 0], [1, -1, 0.5], [2, 2, 2], [-30, 40, 10], [0.25, 0.5, -0.75]])
mixture = GaussianMixture(n_components=2)
mixture.weights_ = np.array([0.3, 0.7])
mixture.means_ = np.array([[0.0, 1.0, -1.0], [2.0, -0.5, 0.25]])
mixture.covariances_ = covariances
factors = np.array([np.linalg.inv(np.linalg.cholesky(c)) for c in covariances])
mixture.precisions_cholesky_ = np.transpose(factors, (0, 2, 1))
print("mixture: whitening matrices", factors.tolist())
print("mixture: score_samples", mixture.score_samples(rows).tolist())
print("mixture: predict_proba", mixture.predict_proba(rows).tolist())

points = np.array([[0.0, 0.0], [1.0, 0.5], [-1.0, 2.0], [0.5, -0.75], [3.0, 3.0]])
counts = np.array([3, 1, 2, 1, 1])
queries = np.array([[0.0, 0.0], [0.4, 0.4], [-2.0, 1.5], [10.0, -10.0]])
bandwidth = counts.sum() ** (-1 / (points.shape[1] + 4))
kernel = KernelDensity(bandwidth=bandwidth).fit(points, sample_weight=counts)
print("kernel: bandwidth", bandwidth)
print("kernel: score_samples", kernel.score_samples(queries).tolist())

repeated = np.repeat(points, counts, axis=0)
for k in (1, 2, 4, 8):
    distances, _ = NearestNeighbors(n_neighbors=k).fit(repeated).kneighbors(queries)
    print("neighbours: distance to neighbour", k, distances[:, -1].tolist())
