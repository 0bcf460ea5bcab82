"""Prints the values that the tests of gnsm's other detectors quote, computed by scikit-learn and PyOD."""

import numpy as np
from pyod.models.ecod import ECOD
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import OneClassSVM

np.set_printoptions(precision=17)
SIZES = [3, 4, 2]


def mixed_rows(n):
    """The rows of `mixed_rows` in the tests: codes and numbers."""
    r = np.arange(n)
    codes = np.stack([r % 3, (r * r + r % 5) % 4, (r % 7 > 2).astype(int)], 1)
    numbers = np.stack([(r * 7 % 11 - 5.0) / 4, (r * r % 13 - 4.0) / 4], 1)
    return codes, numbers


def encode(codes, numbers):
    """Numbers, then one-hots."""
    return np.concatenate([numbers] + [np.eye(size)[codes[:, g]] for g, size in enumerate(SIZES)], 1)


rows = encode(*mixed_rows(60))
query_codes = np.array([[0, 0, 0], [1, 3, 1], [2, 2, 0], [0, 1, 1]])
query_numbers = np.array([[0.25, -1.5], [2.0, 0.5], [-3.0, 4.0], [0.0, 0.0]])
queries = encode(query_codes, query_numbers)

for share in (0.9, 0.6):
    pca = PCA(n_components=share, svd_solver="full").fit(rows)
    errors = ((queries - pca.inverse_transform(pca.transform(queries))) ** 2).sum(1)
    print("pca, residual only", share, pca.n_components_, errors.tolist())

    # The distance: components by their variances, the rest by its mean variance, one-hot groups' constant sums left out.
    centred = queries - rows.mean(0)
    variances, vectors = np.linalg.eigh(np.cov(rows.T, bias=True))
    kept = vectors[:, -pca.n_components_ :]
    left_over = variances[: -pca.n_components_]
    noise = max(left_over[left_over > 1e-9 * variances.mean()].mean(), 1e-3 * variances.mean())
    inside = ((centred @ kept) ** 2 / variances[-pca.n_components_ :]).sum(1)
    outside = (centred**2).sum(1) - ((centred @ kept) ** 2).sum(1)
    print("pca", share, (inside + outside / noise).tolist())

mixture = GaussianMixture(1, tol=0.0, max_iter=1, reg_covar=1e-2, random_state=0).fit(rows)
print("gmm, one component: -score_samples", (-mixture.score_samples(queries)).tolist())
# With equal covariances of two components, parameters are easy to write down in the test.
covariance = mixture.covariances_[0]
two = GaussianMixture(2)
two.weights_ = np.array([0.25, 0.75])
shift = np.zeros(rows.shape[1])
shift[:2] = [0.5, -0.25]
two.means_ = np.stack([mixture.means_[0], mixture.means_[0] + shift])
two.covariances_ = np.stack([covariance, covariance])
two.precisions_cholesky_ = np.stack([mixture.precisions_cholesky_[0]] * 2)
print("gmm, two components: -score_samples", (-two.score_samples(queries)).tolist())

ecod = ECOD().fit(rows)
one_by_one = [ecod.decision_function(query[None, :])[0] for query in queries]
print("ecod, one query at a time", [float(score) for score in one_by_one])

for k in (1, 5):
    distances, _ = NearestNeighbors(n_neighbors=k).fit(rows).kneighbors(queries)
    print("knn, distance to neighbour", k, distances[:, -1].tolist())

for nu, gamma in ((0.1, 0.1), (0.5, 0.5)):
    svm = OneClassSVM(nu=nu, gamma=gamma, tol=1e-10).fit(rows)
    print("ocsvm", nu, gamma, len(svm.support_), (-svm.decision_function(queries)).tolist())
