"""Sign, SGH, SDH, KSH, COSDISH and TSH against slow transcriptions of their formulae."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from proxcode.hashing.kernel import default_landmarks
from proxcode.peers._arrays import squared_distances
from proxcode.peers._kernel_features import AnchorKernel, Centred, UnitRows, leading, whitener
from proxcode.peers.cosdish import COSDISH, _bits_of_omega, _flip
from proxcode.peers.ksh import KSH, LinearKSH
from proxcode.peers.sdh import SDH, coordinate_descent
from proxcode.peers.sgh import SGH, _transform
from proxcode.peers.sign import Sign
from proxcode.peers.tsh import TSH, infer, pair_weights


@pytest.fixture
def clouds(rng):
    """Three classes in six dimensions of different spread, not centred."""
    y = rng.permutation(np.repeat([7, 3, 5], 25))
    centres = 2 * rng.normal(size=(8, 6))
    return (centres[y] + rng.normal(size=(75, 6))) * [3, 1, 2, 0.5, 2, 1.5] + 1, y


def sign(values):
    return np.array([1.0 if v >= 0 else -1.0 for v in values])


def unit(x):
    return x / np.sqrt(sum(v * v for v in x))


def rbf(samples, anchors, width):
    return np.array([[np.exp(-sum((x - a) ** 2) / width) for a in anchors] for x in samples])


def centred_rbf(samples, anchors):
    """The features of SGH and KSH: width twice the mean squared distance, columns of mean 0."""
    mean = np.mean([[sum((x - a) ** 2) for a in anchors] for x in samples])
    K = rbf(samples, anchors, 2 * mean)
    return K - K.mean(axis=0)


def leading_pair(A, Z):
    """The eigenvector of Z^-1 A of the largest eigenvalue."""
    values, vectors = np.linalg.eig(np.linalg.inv(Z) @ A)
    return vectors[:, np.argmax(values.real)].real


def same_up_to_sign(bits, others):
    """Which end of an eigenvector is 1 is not in the formulae."""
    return [(a == b).all() or (a != b).all() for a, b in zip(bits.T, others.T, strict=True)]


def test_sign_is_the_sign_of_each_feature(clouds):
    X = clouds[0] - clouds[0].mean(axis=0)
    expected = np.array([[int(v > 0) for v in x] for x in X])
    np.testing.assert_array_equal(Sign().fit(X).transform(X), expected)
    np.testing.assert_array_equal(Sign(4).fit(X).transform(X), expected[:, :4])
    assert Sign().fit(X).get_feature_names_out()[-1] == "sign5"


def test_sign_of_centred_features_is_that_of_features_minus_their_mean(clouds):
    X = np.abs(clouds[0])
    model = Sign(4, centred=True).fit(X[:50])
    np.testing.assert_array_equal(model.transform(X), Sign(4).fit(X).transform(X - X[:50].mean(axis=0)))
    assert Sign(4).fit(X).transform(X).all()


def test_sign_refuses_more_bits_than_features(clouds):
    with pytest.raises(ValueError, match=r"n_bits=7: .* from 1 to 6, the number of features; None uses all features"):
        Sign(7).fit(clouds[0])


def test_the_feature_transformation_of_sgh_is_near_the_similarities(rng):
    X = np.array([unit(x) for x in rng.normal(size=(30, 5))])
    P = _transform(X)
    product = P @ np.diag([1.0] * 6 + [-1.0]) @ P.T
    similarity = np.array([[np.exp(-sum((x - z) ** 2) / 2) for z in X] for x in X])
    linear = np.array([[((np.e**2 - 1) * (x @ z) + np.e**2 + 1) / (2 * np.e) / np.e for z in X] for x in X])
    np.testing.assert_allclose(product, 2 * linear - 1)
    # The chord of e^t on [-1, 1] lies at most 0.557 above it.
    assert (
        -1e-12
        < (product - (2 * similarity - 1)).min()
        <= (product - (2 * similarity - 1)).max()
        < 0.557 * 2 / np.e + 1e-3
    )


def slow_sgh(X, n_bits, m, seed):
    """Bits of SGH with the whole n x n residual."""
    draws = np.random.RandomState(seed)
    X = np.array([unit(x) for x in X - X.mean(axis=0)])
    K = centred_rbf(X, X[draws.permutation(len(X))[:m]])
    g, e, rho = [np.exp(-(x @ x) / 2) for x in X], np.e, 2
    top, level = np.sqrt(2 * (e**2 - 1) / (e * rho)), np.sqrt((e**2 + 1) / e)
    P = np.array([[*(top * g[i] * x), level * g[i], 1] for i, x in enumerate(X)])
    Q = np.array([[*(top * g[i] * x), level * g[i], -1] for i, x in enumerate(X)])
    R, Z = n_bits * P @ Q.T, K.T @ K + 1e-6 * np.eye(len(K.T))
    B = np.zeros((len(X), n_bits))
    for t in [*range(n_bits), *draws.permutation(n_bits)]:
        R += np.outer(B[:, t], B[:, t])
        B[:, t] = sign(K @ leading_pair(K.T @ R @ K, Z))
        R -= np.outer(B[:, t], B[:, t])
    return B > 0


def test_sgh_follows_the_paper(clouds):
    X, _ = clouds
    bits = SGH(5, n_anchors=12, random_state=2).fit(X).transform(X)
    assert all(same_up_to_sign(bits, slow_sgh(X, 5, 12, seed=2)))


def slow_descent(Q, W, rounds):
    B = np.zeros_like(Q)
    for _ in range(rounds):
        for k in range(B.shape[1]):
            others = [j for j in range(B.shape[1]) if j != k]
            for i in range(len(B)):
                B[i, k] = 1.0 if Q[i, k] - B[i, others] @ W[others] @ W[k] >= 0 else -1.0
    return B


def test_discrete_coordinate_descent_ends_where_no_bit_helps(rng):
    Y, W, F = rng.normal(size=(20, 4)), rng.normal(size=(6, 4)), rng.normal(size=(20, 6))
    B = coordinate_descent(Y @ W.T + F, W, 100)
    np.testing.assert_array_equal(coordinate_descent(Y @ W.T + F, W, 1), slow_descent(Y @ W.T + F, W, 1))
    np.testing.assert_array_equal(B, slow_descent(Y @ W.T + F, W, 100))

    def objective(bits):
        return ((Y - bits @ W) ** 2).sum() - 2 * (bits * F).sum()

    for i, k in np.ndindex(B.shape):
        flipped = B.copy()
        flipped[i, k] *= -1
        assert objective(flipped) >= objective(B) - 1e-9


def slow_sdh(X, y, n_bits, m, seed):
    draws = np.random.RandomState(seed)
    X = np.array([unit(x) for x in X])
    phi = rbf(X, X[draws.permutation(len(X))[:m]], 2 * 0.4**2)
    phi = np.array([[*row, 1.0] for row in phi])
    Y = np.array([[float(label == c) for c in np.unique(y)] for label in y])
    B = np.array([sign(row) for row in draws.standard_normal((len(X), n_bits))])
    for step in range(6):
        P = np.linalg.inv(phi.T @ phi + 1e-2 * np.eye(m + 1)) @ phi.T @ B
        W = np.linalg.inv(B.T @ B + np.eye(n_bits)) @ B.T @ Y
        if step < 5:
            B = slow_descent(Y @ W.T + 1e-5 * phi @ P, W, 10)
    return phi @ P >= 0


def test_sdh_follows_the_paper(clouds):
    X, y = clouds
    bits = SDH(6, n_anchors=20, random_state=1).fit(X, y).transform(X)
    np.testing.assert_array_equal(bits, slow_sdh(X, y, 6, 20, seed=1))


def slow_nesterov(K, R, a):
    def cost(v):
        h = 2 / (1 + np.exp(-(K @ v))) - 1
        return -h @ R @ h

    costs, delta, beta, before = [cost(a)], [0.0, 1.0], 1.0, a
    for _ in range(500):
        v = a + (delta[-2] - 1) / delta[-1] * (a - before)
        h = 2 / (1 + np.exp(-(K @ v))) - 1
        slope = -K.T @ ((R @ h) * (1 - h * h))
        while cost(v - slope / beta) > cost(v) - slope @ slope / beta + slope @ slope / (2 * beta):
            beta *= 2
        before, a = a, v - slope / beta
        costs.append(cost(a))
        delta.append((1 + np.sqrt(1 + 4 * delta[-1] ** 2)) / 2)
        if abs(costs[-1] - costs[-2]) / len(K) <= 0.01:
            break
    return a


def slow_ksh(X, y, n_bits, m, n_labelled, seed):
    draws = np.random.RandomState(seed)
    anchors = X[draws.permutation(len(X))[:m]]
    return slow_ksh_of_features(centred_rbf(X, anchors), y, n_bits, n_labelled, draws)


def slow_ksh_of_features(features, y, n_bits, n_labelled, draws):
    m = features.shape[1]
    labelled = sorted(draws.permutation(len(features))[:n_labelled])
    K = features[labelled]
    R = n_bits * np.array([[1.0 if y[i] == y[j] else -1.0 for j in labelled] for i in labelled])
    bits = []
    for _ in range(n_bits):
        a = leading_pair(K.T @ R @ K, K.T @ K + 1e-6 * np.eye(m))
        a *= np.sqrt(n_labelled / (a @ K.T @ K @ a))
        end = slow_nesterov(K, R, a)
        b, b_end = sign(K @ a), sign(K @ end)
        if b_end @ R @ b_end > b @ R @ b:
            a, b = end, b_end
        R -= np.outer(b, b)
        bits.append(features @ a >= 0)
    return np.array(bits).T


def test_ksh_follows_the_paper(clouds):
    X, y = clouds
    bits = KSH(5, n_anchors=8, n_labelled=50, random_state=3).fit(X, y).transform(X)
    assert all(same_up_to_sign(bits, slow_ksh(X, y, 5, 8, 50, seed=3)))


def test_linear_ksh_is_ksh_of_the_centred_samples(clouds):
    X, y = clouds[0] / 20, clouds[1]
    bits = LinearKSH(5, n_labelled=50, random_state=3).fit(X, y).transform(X)
    slow = slow_ksh_of_features(X - X.mean(axis=0), y, 5, 50, np.random.RandomState(3))
    assert all(same_up_to_sign(bits, slow))


@pytest.mark.parametrize("peer", [SDH, SGH, KSH])
def test_as_many_anchors_as_kernel_hash_has_landmarks(peer, rng):
    X, y = rng.random((1200, 3)), rng.integers(2, size=1200)
    assert len(peer(2, n_anchors=None, random_state=0).fit(X, y).kernel_.anchors) == default_landmarks(
        1200, True, False
    )


def slow_cosdish(X, y, n_bits, seed):
    draws = np.random.RandomState(seed)
    B = np.array([sign(row) for row in draws.standard_normal((len(X), n_bits))])
    for _ in range(10):
        omega = sorted(draws.permutation(len(X))[:n_bits])
        gamma = [i for i in range(len(X)) if i not in omega]
        near = np.array([[y[i] == y[j] for j in omega] for i in range(len(X))])
        S = np.where(near, 1.0, -near.sum() / (~near).sum())
        for _ in range(3):
            rest = n_bits * S
            for k in range(n_bits):
                B[omega, k] = slow_flips(B[omega, k], rest[omega], rest[gamma], B[gamma, k])
                rest -= np.outer(B[:, k], B[omega, k])
            pull = S[gamma] @ B[omega]
            B[gamma] = np.where(abs(pull) < 1e-5, B[gamma], np.where(pull > 0, 1, -1))
    return B


def slow_flips(b, R_omega, R_gamma, b_gamma):
    """The best flip by both Frobenius norms, until none lowers their sum."""

    def loss(bit):
        off = (R_omega - np.outer(bit, bit)) ** 2
        return off.sum() - np.trace(off) + ((R_gamma - np.outer(b_gamma, bit)) ** 2).sum()

    while True:
        flips = [np.where(np.arange(len(b)) == i, -b, b) for i in range(len(b))]
        best = min(flips, key=loss)
        if loss(best) >= loss(b) - 1e-5:
            return b
        b = best


def test_cosdish_follows_the_paper(clouds):
    X, y = clouds
    model = COSDISH(6, random_state=4).fit(X, y)
    B = slow_cosdish(X, y, 6, seed=4)
    np.testing.assert_array_equal(model.training_bits_, B > 0)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_array_equal(model.transform(X), Z @ np.linalg.inv(Z.T @ Z + np.eye(6)) @ Z.T @ B >= 0)


def test_the_sampled_bits_of_cosdish_do_not_flip_for_the_better(rng):
    Q = rng.normal(size=(9, 9))
    Q = (Q + Q.T) * (1 - np.eye(9))
    p, start = rng.normal(size=9), sign(rng.normal(size=9))
    b = _flip(Q, p, start)
    values = [f @ Q @ f + p @ f for f in b * (1 - 2 * np.eye(9))]
    assert b @ Q @ b + p @ b <= min([*values, start @ Q @ start + p @ start]) + 1e-9
    before = sign(rng.normal(size=8)).reshape(4, 2)
    copy = before.copy()
    _bits_of_omega(before, sign(rng.normal(size=12)).reshape(6, 2), np.ones((4, 4)), np.ones((6, 4)))
    np.testing.assert_array_equal(before, copy)


def slow_loss(near, d, r):
    return d**2 if near else max(0.0, r / 2 - d) ** 2


@pytest.mark.parametrize("r", [1, 2, 5, 8])
def test_the_bit_that_tsh_infers_is_best_for_each_class_and_code(r, rng):
    n = 24
    y = rng.integers(0, 4, n)
    bits = rng.choice(np.array([-1, 1], np.int8), (n, r - 1))
    bits[1::2] = bits[::2]
    z = infer(bits, y)

    def loss(bit):
        codes = np.column_stack([bits, bit])
        return sum(slow_loss(y[i] == y[j], (codes[i] != codes[j]).sum(), r) for i in range(n) for j in range(n))

    for row in np.unique(np.column_stack([y, bits]), axis=0):
        block = (np.column_stack([y, bits]) == row).all(axis=1)
        assert len(set(z[block])) == 1
        assert loss(np.where(block, -z, z)) >= loss(z) - 1e-9


def test_the_weights_of_tsh_are_what_parting_a_pair_costs():
    for r in (1, 4, 7):
        for d in range(r):
            for near in (True, False):
                weight = pair_weights(np.array([float(d)]), np.array([near]), r)[0]
                assert weight == slow_loss(near, d, r) - slow_loss(near, d + 1, r)


def test_tsh_builds_on_what_the_classifier_learned(clouds):
    X, y = clouds
    bits = np.empty((len(X), 0), np.int8)
    for _ in range(6):
        classifier = LogisticRegression().fit(X, infer(bits, np.unique(y, return_inverse=True)[1]))
        bits = np.column_stack([bits, np.where(classifier.decision_function(X) >= 0, 1, -1).astype(np.int8)])
    model = TSH(6, hash_function=LogisticRegression(), random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.transform(X), bits > 0)


def test_features_by_blocks_are_those_of_the_formula(rng):
    X, anchors = rng.normal(size=(5000, 3)) + 7, rng.normal(size=(4, 3))
    for scale, slow in [(Centred(np.ones(3)), lambda x: x - 1), (UnitRows(np.ones(3)), lambda x: unit(x - 1))]:
        kernel = AnchorKernel(scale, anchors, 3.0, np.arange(4.0))
        features = kernel.features(X)
        np.testing.assert_allclose(features[::500], rbf([slow(x) for x in X[::500]], anchors, 3.0) - np.arange(4))
        directions = rng.normal(size=(5, 2))
        np.testing.assert_allclose(kernel.project(X, directions), features @ directions[:4] + directions[4])
    assert not UnitRows(np.ones(3))(np.ones((1, 3))).any()
    assert squared_distances(anchors, anchors).diagonal().max() < 1e-12


def test_the_whitened_leading_eigenvector_solves_the_generalised_problem(rng):
    F, A = rng.normal(size=(20, 5)), rng.normal(size=(5, 5))
    T = whitener(F, 0.1)
    Z = F.T @ F + 0.1 * np.eye(5)
    np.testing.assert_allclose(T.T @ Z @ T, np.eye(5), atol=1e-12)
    w, slow = T @ leading(T.T @ (A + A.T) @ T), leading_pair(A + A.T, Z)
    np.testing.assert_allclose(w / w[0], slow / slow[0])


@parametrize_with_checks([Sign()])
def test_estimator_checks_of_sign_without_a_number_of_bits(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (SGH(4, n_anchors=0), ValueError, "n_anchors=0: expected an integer of at least 1"),
        (SGH(4, n_anchors=2.5), TypeError, r"n_anchors=2\.5: expected an integer"),
        (SDH(4, n_anchors=-1), ValueError, "n_anchors=-1: expected an integer of at least 1"),
        (SDH(4, n_anchors=2.5), TypeError, r"n_anchors=2\.5: expected an integer"),
        (SDH(4, n_rounds=0), ValueError, "n_rounds=0: expected an integer of at least 1"),
        (SDH(4, n_rounds=2.5), TypeError, r"n_rounds=2\.5: expected an integer"),
        (KSH(4, n_anchors=2.5), TypeError, r"n_anchors=2\.5: expected an integer"),
        (KSH(4, n_labelled=1), ValueError, "n_labelled=1: expected an integer of at least 2"),
        (KSH(4, n_labelled=2.5), TypeError, r"n_labelled=2\.5: expected an integer"),
        (TSH(4, n_labelled=1), ValueError, "n_labelled=1: expected an integer of at least 2"),
        (TSH(4, n_labelled=2.5), TypeError, r"n_labelled=2\.5: expected an integer"),
    ],
)
def test_parameters_of_kernel_peers_out_of_range_are_refused(model, error, message, clouds):
    with pytest.raises(error, match=message):
        model.fit(*clouds)
