"""Peers against slow transcriptions of their formulae."""

import joblib
import numpy as np
import pytest
from scipy.linalg import hadamard
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from threadpoolctl import threadpool_limits

from proxcode import KernelHash
from proxcode.hamming import unpack
from proxcode.metrics import area_under_curve, precision_recall, ranking_counts
from proxcode.peers import ITQ, LSH, PEERS, ClassifierCode, Hadamard, SpectralHashing
from proxcode.peers._anchor_graph import AnchorGraphPeer
from proxcode.peers._arrays import principal_axes, project
from proxcode.peers._base import SupervisedPeer
from proxcode.peers.hadamard import hadamard_codewords, hadamard_order
from proxcode.utils import blocks as _blocks

LEARN_FROM_EITHER = {"BRE", "MLH"}
ON_ANCHORS = {name for name, peer in PEERS.items() if issubclass(peer, AnchorGraphPeer)}
SUPERVISED = {name for name, peer in PEERS.items() if issubclass(peer, SupervisedPeer)}


@pytest.fixture
def clouds(rng):
    """Three classes in six dimensions of different spread."""
    y = np.repeat([7, 3, 5], 40)
    centres = 4 * rng.normal(size=(8, 6))
    return (centres[y] + rng.normal(size=(120, 6))) * [5, 1, 2, 0.5, 3, 1.5], y


def pca(X, n_axes):
    """Eigenvectors of the covariance, each entry by a sum over samples; the largest entry of each is positive."""
    mean = [sum(column) / len(X) for column in X.T]
    pairs = [(i, j) for i in range(len(mean)) for j in range(len(mean))]
    covariance = np.reshape([np.mean((X[:, i] - mean[i]) * (X[:, j] - mean[j])) for i, j in pairs], (len(mean), -1))
    values, vectors = np.linalg.eig(covariance)
    axes = vectors.real[:, np.argsort(-values.real)[:n_axes]]
    return np.array(mean), np.column_stack([axis * np.sign(axis[np.argmax(abs(axis))]) for axis in axes.T])


def hamming(bits):
    return (bits[:, None] != bits[None]).sum(axis=2)


def test_principal_axes_are_the_eigenvectors_of_the_covariance(clouds):
    X, _ = clouds
    for mine, slow in zip(principal_axes(X, 4), pca(X, 4), strict=True):
        np.testing.assert_allclose(mine, slow, atol=1e-10)


def test_principal_axes_and_projections_over_many_blocks(rng):
    X = (rng.normal(size=(5000, 4)) * [4, 3, 2, 1] + 100).astype(np.float32)
    mean, axes = principal_axes(X, 3)
    np.testing.assert_allclose(axes, pca(X.astype(np.float64), 3)[1], atol=1e-6)
    np.testing.assert_allclose(project(X, mean, axes), (X - X.astype(np.float64).mean(axis=0)) @ axes)


def test_lsh_is_the_side_of_each_random_hyperplane(clouds):
    X, _ = clouds
    directions = np.random.RandomState(3).standard_normal((6, 9))
    bits = [[int(np.dot(x - X.mean(axis=0), w) >= 0) for w in directions.T] for x in X]
    np.testing.assert_array_equal(LSH(9, random_state=3).fit(X).transform(X), bits)


def slow_itq(X, n_bits, n_rotations, seed):
    """Bits of ITQ, by the formulae of Gong and Lazebnik."""
    mean, axes = pca(X, n_bits)
    V = (X - mean) @ axes
    R = np.linalg.qr(np.random.RandomState(seed).standard_normal((n_bits, n_bits)))[0]
    losses = []
    for _ in range(n_rotations):
        B = np.array([[1.0 if v >= 0 else -1.0 for v in row] for row in V @ R])
        losses.append(((B - V @ R) ** 2).sum())
        U_B, _, U_A_transposed = np.linalg.svd(B.T @ V)
        R = U_A_transposed.T @ U_B.T
    return (V @ R >= 0).astype(int), losses


@pytest.mark.parametrize("n_rotations", [0, 1, 50])
def test_itq_follows_the_paper(n_rotations, clouds):
    X, _ = clouds
    bits, losses = slow_itq(X, 5, n_rotations, seed=1)
    np.testing.assert_array_equal(ITQ(5, n_rotations=n_rotations, random_state=1).fit(X).transform(X), bits)
    assert np.all(np.diff(losses) <= 1e-9)


def test_itq_directions_are_orthonormal(clouds):
    directions = ITQ(6, random_state=0).fit(clouds[0]).directions_
    np.testing.assert_allclose(directions.T @ directions, np.eye(6), atol=1e-12)


def slow_spectral_hashing(X, n_bits):
    """Bits by the authors' enumeration: the modes of each axis up to the longest, sorted by their eigenvalue."""
    mean, axes = pca(X, min(n_bits, X.shape[1]))
    V = (X - mean) @ axes
    low, high = V.min(axis=0), V.max(axis=0)
    modes = []
    for i in range(V.shape[1]):
        n_modes = int(np.ceil((n_bits + 1) * (high[i] - low[i]) / (high - low).max()))
        modes += [((k * np.pi / (high[i] - low[i])) ** 2, i, k) for k in range(1, n_modes)]
    chosen = sorted(modes)[:n_bits]
    return np.array([[np.sin(np.pi / 2 + k * np.pi * (v[i] - low[i]) / (high[i] - low[i])) >= 0 for _, i, k in chosen]
                     for v in V])  # fmt: skip


@pytest.mark.parametrize("n_bits", [1, 4, 6, 25])
def test_spectral_hashing_follows_the_authors_code(n_bits, clouds):
    X, _ = clouds
    np.testing.assert_array_equal(SpectralHashing(n_bits).fit(X).transform(X), slow_spectral_hashing(X, n_bits))


def test_spectral_hashing_cuts_a_long_axis_more_often_than_a_short_one(rng):
    X = rng.random((500, 2)) * [4, 1]
    model = SpectralHashing(5).fit(X)
    assert sorted(zip(model.axis_, model.mode_, strict=True))[:3] == [(0, 1), (0, 2), (0, 3)]
    assert (model.axis_ == 1).sum() == 1


def test_spectral_hashing_leaves_axes_without_extent_alone(rng):
    X = np.column_stack([rng.random(50), np.ones(50), np.zeros(50)])
    model = SpectralHashing(8).fit(X)
    assert (model.axis_ == 0).all()
    assert len(np.unique(SpectralHashing(8).fit(np.ones((5, 3))).encode(np.ones((5, 3))))) == 1


def slow_codewords(n_classes, n_bits, seed):
    """Codewords column by column out of SciPy's matrix."""
    order = hadamard_order(n_classes, n_bits)
    rows = np.random.RandomState(seed).permutation(order)[:n_classes]
    matrix = hadamard(order)[rows]
    chosen = []
    for _ in range(n_bits):
        costs = {}
        for c in set(range(1, order)) - set(chosen):
            h, before = matrix[:, c], matrix[:, chosen]
            costs[c] = sum(
                h[i] * h[j] * 0.5 ** (before[i] != before[j]).sum() for i in range(n_classes) for j in range(n_classes)
            )
        chosen.append(min(costs, key=lambda c: (costs[c], c)))
    return matrix[:, chosen]


def test_hadamard_codewords_out_of_the_full_matrix():
    np.testing.assert_array_equal(hadamard_codewords(4, 10, np.random.RandomState(2)), slow_codewords(4, 10, 2))


@pytest.mark.parametrize(("n_classes", "n_bits"), [(10, 127), (77, 127), (129, 255)])
def test_all_columns_of_a_hadamard_matrix_keep_classes_at_equal_distance(n_classes, n_bits):
    words = hadamard_codewords(n_classes, n_bits, np.random.RandomState(0))
    distance = hamming(words)[np.triu_indices(n_classes, 1)]
    assert (distance == (n_bits + 1) // 2).all()


@pytest.mark.parametrize("n_classes", [2, 10, 77])
def test_hadamard_codewords_begin_alike_and_keep_classes_apart_at_every_length(n_classes):
    longest = hadamard_codewords(n_classes, 96, np.random.RandomState(0))
    for n_bits in (1, 12, 16, 32, 64):
        words = hadamard_codewords(n_classes, n_bits, np.random.RandomState(0))
        np.testing.assert_array_equal(words, longest[:, :n_bits])
        if n_bits >= 12:
            assert hamming(words)[np.triu_indices(n_classes, 1)].min() >= n_bits / 6


@pytest.mark.parametrize("hash_function", [None, KernelHash(n_landmarks=20), LogisticRegression()])
def test_hadamard_learns_the_codeword_of_each_class(hash_function, clouds):
    X, y = clouds
    model = Hadamard(11, hash_function=hash_function, random_state=0).fit(X, y)
    words = {label: (word > 0).astype(int) for label, word in zip(model.classes_, model.codewords_, strict=True)}
    right = model.transform(X) == np.array([words[label] for label in y])
    assert right.mean() > 0.97


def test_hadamard_bits_are_those_of_a_least_squares_fit_to_each_column(clouds):
    X, y = clouds
    model = Hadamard(6, hash_function=RidgeClassifier(alpha=3.0), random_state=0).fit(X, y)
    word = dict(zip(model.classes_, model.codewords_, strict=True))
    B = np.array([word[label] for label in y], dtype=float)
    centred = X - X.mean(axis=0)
    coefficients = np.linalg.inv(centred.T @ centred + 3.0 * np.eye(6)) @ centred.T @ (B - B.mean(axis=0))
    margins = B.mean(axis=0) + centred @ coefficients
    clear = np.abs(margins) > 1e-9
    np.testing.assert_array_equal(model.transform(X)[clear], (margins >= 0)[clear])


def test_classifier_code_is_the_class_of_largest_margin(clouds):
    X, y = clouds
    model = ClassifierCode(5, hash_function=LogisticRegression(), random_state=0).fit(X, y)
    one_against_rest = [LogisticRegression().fit(X, np.where(y == label, 1, -1)) for label in (3, 5, 7)]
    for x, bits in zip(X, model.transform(X), strict=True):
        margins = [classifier.decision_function([x])[0] for classifier in one_against_rest]
        expected = [0] * 5
        expected[int(np.argmax(margins))] = 1
        assert bits.tolist() == expected


def test_classifier_code_shorter_than_the_classes_gives_each_a_codeword(digits):
    X, y = digits
    model = ClassifierCode(6, random_state=0).fit(X, y)
    codes = model.encode(X)[:, 0]
    assert len(np.unique(codes)) == len(np.unique(model.codewords_, axis=0)) == 10
    assert np.mean([len(np.unique(codes[y == label])) == 1 for label in range(10)]) > 0.5


@pytest.fixture
def with_workers(monkeypatch):
    """Blocks of 100 rows; returns a function that sets the number of workers."""
    monkeypatch.setattr(_blocks.map_blocks, "__defaults__", (100,))
    return lambda n: monkeypatch.setattr(joblib, "cpu_count", lambda: n)


@pytest.mark.parametrize(
    ("name", "with_classes"),
    [*((name, True) for name in PEERS), *((name, False) for name in sorted(LEARN_FROM_EITHER))],
)
def test_same_seed_same_digits_for_any_number_of_threads(name, with_classes, digits, with_workers):
    X, y = (part[:700] for part in digits)
    y = y if with_classes else None

    def margins(seed):
        return PEERS[name](n_bits=16, random_state=seed).fit(X, y)._margins(X)

    with_workers(4)
    first = margins(5)
    with_workers(1)
    with threadpool_limits(1):
        np.testing.assert_array_equal(margins(5), first)
    if name not in ("SH", "Sign", "ClassifierCode", "TSH", "KMH", "FastHash"):
        assert (margins(6) != first).any()


@pytest.mark.parametrize("name", PEERS)
def test_transform_encode_and_single_precision_agree(name, digits):
    X, y = (part[:900] for part in digits)
    model = PEERS[name](n_bits=13, random_state=0).fit(X, y)
    assert model.encode(X).shape == (len(X), 2)
    np.testing.assert_array_equal(unpack(model.encode(X), 13), model.transform(X))
    np.testing.assert_array_equal(unpack(model.encode(X, n_bits=9), 9), model.transform(X)[:, :9])
    np.testing.assert_array_equal(model.scores(X, 9) >= 0, model.transform(X)[:, :9])
    with pytest.raises(ValueError, match="n_bits=14: expected an integer from 1 to 13"):
        model.encode(X, n_bits=14)
    single = clone(model).fit(X.astype(np.float32), y).transform(X.astype(np.float32))
    assert (single == model.transform(X)).mean() > 0.99


@pytest.mark.parametrize("name", sorted(SUPERVISED))
def test_labels_may_be_strings(name, clouds):
    X, y = clouds
    numbers, names = (PEERS[name](6, random_state=0).fit(X, labels).encode(X) for labels in (y, [f"no {k}" for k in y]))
    np.testing.assert_array_equal(numbers, names)


@pytest.mark.parametrize("name", sorted(set(PEERS) - ON_ANCHORS))
def test_equal_samples_or_few_samples_do_not_fail(name, clouds):
    X, y = clouds
    alike, labels = np.ones((9, 5)), y[::14]
    model = PEERS[name](n_bits=4, random_state=0)
    assert len(np.unique(model.fit(alike, labels if name in SUPERVISED else None).encode(alike))) == 1
    assert model.fit(X[[0, 1, 40, 80]], y[[0, 1, 40, 80]]).transform(X).shape == (120, 4)


@pytest.mark.parametrize(("better", "worse"), [("ITQ", "LSH"), ("Hadamard", "ITQ"), ("ClassifierCode", "ITQ")])
def test_peers_rank_as_known_on_digits(better, worse, digits):
    X, y = digits

    def auc(name):
        codes = PEERS[name](n_bits=32, random_state=0).fit(X[:1200], y[:1200]).encode(X[1200:])
        near, far = ranking_counts(codes, codes, y[1200:], y[1200:], same_set=True)
        return area_under_curve(precision_recall(near.sum(axis=0), far.sum(axis=0)))

    assert auc(better) > auc(worse) + 0.05


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize(("n_bits", "error"), [(0, ValueError), (-3, ValueError), (2.5, TypeError), (True, TypeError)])
def test_invalid_code_lengths_are_refused(name, n_bits, error, clouds):
    with pytest.raises(error, match=f"n_bits={n_bits}: expected an integer "):
        PEERS[name](n_bits=n_bits).fit(*clouds)


def test_itq_refuses_more_bits_than_features_or_samples(clouds):
    with pytest.raises(ValueError, match=r"n_bits=7: .* 1 to 6, the smaller of n_samples=120 and n_features=6"):
        ITQ(7).fit(clouds[0])
    with pytest.raises(ValueError, match=r"n_bits=5: .* 1 to 4, the smaller of n_samples=4 and n_features=6"):
        ITQ(5).fit(clouds[0][:4])
    with pytest.raises(ValueError, match="n_rotations=-1: expected an integer of at least 0"):
        ITQ(2, n_rotations=-1).fit(clouds[0])
    with pytest.raises(TypeError, match=r"n_rotations=2\.5: expected an integer"):
        ITQ(2, n_rotations=2.5).fit(clouds[0])


@pytest.mark.parametrize("name", PEERS)
def test_values_whose_squares_overflow_are_refused(name, clouds):
    X, y = clouds
    model = PEERS[name](n_bits=4, random_state=0)
    with pytest.raises(ValueError, match=r"X contains -?\d.*e\+20\d: squares of values beyond 1e\+140 may overflow"):
        model.fit(1e200 * X, y)
    with pytest.raises(ValueError, match="squares of values beyond"):
        model.fit(X, y).transform(-1e200 * X)


@pytest.mark.parametrize("name", sorted(SUPERVISED | LEARN_FROM_EITHER))
@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 2], "X has 120 samples but y has 2 labels: pass one label per sample"),
        ([1] * 120, "y has 1 class"),
        ([np.nan] + [1.0] * 119, "y contains nan: .* needs a string or an integer for every sample"),
        ([np.inf] + [1.0] * 119, "y contains inf: .* needs a string or an integer for every sample"),
        ([0.5] + [1.0] * 119, r"y contains 0\.5: .* needs a string or an integer for every sample"),
    ],
)
def test_invalid_labels_are_refused(name, y, message, clouds):
    with pytest.raises(ValueError, match=message):
        PEERS[name](n_bits=4).fit(clouds[0], y)


@pytest.mark.parametrize("name", sorted(SUPERVISED))
def test_supervised_peers_require_labels(name, clouds):
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None: pass one label"):
        PEERS[name](n_bits=4).fit(clouds[0])


@pytest.mark.parametrize("name", sorted(set(PEERS) - SUPERVISED - LEARN_FROM_EITHER))
def test_unsupervised_peers_ignore_labels(name, clouds):
    X, y = clouds
    with_labels, without = (PEERS[name](n_bits=4, random_state=0).fit(X, labels).encode(X) for labels in (y, None))
    np.testing.assert_array_equal(with_labels, without)
