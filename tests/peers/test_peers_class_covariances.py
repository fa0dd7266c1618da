"""WCW-ITQ, LDA-ITQ, CCA-ITQ and FastHash against slow transcriptions of their formulae."""

import numpy as np
import pytest
from scipy.linalg import sqrtm
from sklearn.cross_decomposition import CCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier

from proxcode.peers import CCAITQ, ITQ, LDAITQ, WCWITQ, FastHash
from proxcode.peers._class_covariances import class_covariances
from proxcode.peers.tsh import infer


@pytest.fixture
def clouds(rng):
    """Four classes in six dimensions, correlated within classes."""
    y = np.repeat([7, 3, 5, 9], [40, 30, 30, 20])
    mixing = rng.normal(size=(6, 6))
    return 2 * rng.normal(size=(10, 6))[y] + rng.normal(size=(120, 6)) @ mixing, y


def slow_within(X, y):
    deviations = [x - X[y == label].mean(axis=0) for x, label in zip(X, y, strict=True)]
    return sum(np.outer(v, v) for v in deviations) / len(X)


def slow_shrunk(S, shrinkage):
    return (1 - shrinkage) * S + shrinkage * np.mean(np.diag(S)) * np.eye(len(S))


def same_subspace(A, B):
    return np.linalg.matrix_rank(np.column_stack([A, B]), tol=1e-6) == A.shape[1] == B.shape[1]


def test_class_covariances_are_sums_over_samples(clouds):
    X, y = clouds
    mean, within, between = class_covariances(X, np.unique(y, return_inverse=True)[1])
    np.testing.assert_allclose(mean, X.mean(axis=0))
    np.testing.assert_allclose(within, slow_within(X, y))
    np.testing.assert_allclose(within + between, np.cov(X.T, bias=True))


def test_wcw_itq_is_itq_of_whitened_samples_of_unit_length(clouds):
    X, y = clouds
    whitening = np.linalg.inv(sqrtm(slow_shrunk(slow_within(X, y), 0.1)))
    Z = np.array([whitening @ (x - X.mean(axis=0)) for x in X])
    Z = np.array([z / np.sqrt(sum(z**2)) for z in Z])
    expected = ITQ(5, random_state=2).fit(Z).transform(Z)
    np.testing.assert_array_equal(WCWITQ(5, random_state=2).fit(X, y).transform(X), expected)


def test_lda_itq_rotates_the_discriminant_axes(clouds):
    X, y = clouds
    lda = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    directions = LDAITQ(3, shrinkage=1e-9, random_state=0).fit(X, y).directions_
    assert same_subspace(directions, lda.scalings_[:, :3])


def test_lda_itq_goes_on_with_whitened_directions(clouds):
    X, y = clouds
    S = slow_shrunk(slow_within(X, y), 0.1)
    directions = LDAITQ(6, random_state=0).fit(X, y).directions_
    np.testing.assert_allclose(directions.T @ S @ directions, np.eye(6), atol=1e-9)
    # Five axes: three discriminants, and the two of largest variance orthogonal to them.
    whitening = np.linalg.inv(sqrtm(S))
    Z = (X - X.mean(axis=0)) @ whitening
    means = np.array([Z[y == label].mean(axis=0) for label in np.unique(y)])
    discriminants = np.linalg.qr(means[:3].T - means[3:].T)[0]
    residual = Z - Z @ discriminants @ discriminants.T
    axes = np.linalg.svd(residual)[2][:2].T
    five = LDAITQ(5, random_state=0).fit(X, y).directions_
    assert same_subspace(five, whitening @ np.column_stack([discriminants, axes]))


def test_cca_itq_rotates_canonical_variables_scaled_by_their_correlations(clouds):
    X, y = clouds
    indicators = (y[:, None] == np.unique(y)[:3]).astype(float)
    cca = CCA(n_components=3, scale=False, max_iter=5000, tol=1e-12).fit(X, indicators)
    A, B = cca.transform(X, indicators)
    correlations = [np.corrcoef(a, b)[0, 1] for a, b in zip(A.T, B.T, strict=True)]
    V = A / A.std(axis=0) * correlations
    directions = CCAITQ(3, ridge=1e-9, random_state=0).fit(X, y).directions_
    ours = (X - X.mean(axis=0)) @ directions
    # A rotation keeps the eigenvalues of the covariance, and the space of the variables.
    np.testing.assert_allclose(np.linalg.eigvalsh(ours.T @ ours), np.linalg.eigvalsh(V.T @ V), rtol=1e-4)
    np.testing.assert_allclose(ours @ np.linalg.lstsq(ours, V)[0], V, atol=1e-3)


def test_cca_itq_goes_on_with_uncorrelated_principal_components(clouds):
    X, y = clouds
    ours = (X - X.mean(axis=0)) @ CCAITQ(6, ridge=1e-9, random_state=0).fit(X, y).directions_
    W = (X - X.mean(axis=0)) @ CCAITQ(3, ridge=1e-9, random_state=0).fit(X, y).directions_
    centred = X - X.mean(axis=0)
    residual = centred - W @ np.linalg.lstsq(W, centred)[0]
    variances = np.linalg.eigvalsh(residual.T @ residual)[::-1][:3]
    last = np.linalg.eigvalsh(W.T @ W)[0]
    expected = np.sort([*np.linalg.eigvalsh(W.T @ W), *(variances / variances[0] * last)])
    np.testing.assert_allclose(np.linalg.eigvalsh(ours.T @ ours), expected, rtol=1e-4)


def test_fasthash_builds_on_what_boosted_trees_learned(clouds):
    X, y = clouds
    numbers = np.unique(y, return_inverse=True)[1]
    bits = np.empty((len(X), 0), np.int8)
    for _ in range(3):
        trees = HistGradientBoostingClassifier(max_iter=200, max_depth=4, early_stopping=False)
        margins = trees.fit(X, infer(bits, numbers)).decision_function(X)
        bits = np.column_stack([bits, np.where(margins >= 0, 1, -1).astype(np.int8)])
    np.testing.assert_array_equal(FastHash(3, random_state=0).fit(X, y).transform(X), bits > 0)


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (WCWITQ(4, shrinkage=0), ValueError, "shrinkage=0: expected a number above 0 and below 1"),
        (LDAITQ(4, shrinkage=1), ValueError, "shrinkage=1: expected a number above 0 and below 1"),
        (LDAITQ(4, n_rotations=-1), ValueError, "n_rotations=-1: expected an integer of at least 0"),
        (CCAITQ(4, power=-1), ValueError, "power=-1: expected a number of at least 0"),
        (CCAITQ(4, ridge=0), ValueError, "ridge=0: expected a number above 0"),
        (CCAITQ(4, n_rotations=2.5), TypeError, r"n_rotations=2\.5: expected an integer"),
        (WCWITQ(7), ValueError, "n_bits=7: .* 1 to 6, the smaller of n_samples=120 and n_features=6"),
        (FastHash(4, n_labelled=1), ValueError, "n_labelled=1: expected an integer of at least 2"),
    ],
)
def test_parameters_out_of_range_are_refused(model, error, message, clouds):
    with pytest.raises(error, match=message):
        model.fit(*clouds)
