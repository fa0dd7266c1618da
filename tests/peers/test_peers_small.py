"""BRE, MLH and KMH against slow transcriptions of their formulae."""

from itertools import chain, product

import numpy as np
import pytest
from sklearn.base import clone

from proxcode.experiments.methods import METHODS
from proxcode.metrics import mean_average_precision, ranking_counts
from proxcode.peers import BRE, KMH, LSH, MLH
from proxcode.peers._arrays import squared_distances
from proxcode.peers._kernels import best_weight, loss_adjusted
from proxcode.peers.kmh import allocate, codebook, index_bits, nearest, update
from proxcode.peers.mlh import _lines, _within_radius


@pytest.fixture
def clouds(rng):
    """Three classes in six dimensions of different spread, not centred."""
    y = rng.permutation(np.repeat([7, 3, 5], 10))
    centres = 2 * rng.normal(size=(8, 6))
    return (centres[y] + rng.normal(size=(30, 6))) * [3, 1, 2, 0.5, 2, 1.5] + 1, y


def sign(values):
    return np.array([1.0 if v >= 0 else -1.0 for v in np.ravel(values)]).reshape(np.shape(values))


def unit_rows(X):
    centred = X - X.mean(axis=0)
    return np.array([x / np.sqrt(sum(x * x)) for x in centred])


def squared_errors(wanted, bits):
    """Sum over all pairs of (d - d~)^2; bits are rows of -1 and +1."""
    n = len(wanted)
    return sum((wanted[i, j] - np.mean(bits[:, i] != bits[:, j])) ** 2 for i in range(n) for j in range(n) if i != j)


def slow_best_weight(wanted, bits, k, margins, column, weight):
    """The first best of one weight between each two thresholds, below all and above all."""
    at = np.sort([weight - s / c for s, c in zip(margins, column, strict=True)])
    margin = (at[-1] - at[0]) / len(at) + 1e-12
    losses = {}
    for value in [at[0] - margin, *((at[1:] + at[:-1]) / 2), at[-1] + margin]:
        trial = bits.copy()
        trial[k] = sign(margins + (value - weight) * column)
        losses[value] = squared_errors(wanted, trial)
    return next(value for value in losses if losses[value] <= min(losses.values()) + 1e-9)


def wanted_distances(X, y):
    if y is not None:
        return np.array([[float(a != b) for b in y] for a in y])
    samples = unit_rows(X)
    half = np.array([[sum((a - b) ** 2) / 2 for b in samples] for a in samples])
    return half / half.max()


@pytest.mark.parametrize("with_classes", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_the_weight_that_bre_sets_is_the_best_of_all_thresholds(with_classes, seed, clouds):
    X, y = (part[:12] for part in clouds)
    wanted = wanted_distances(X, y if with_classes else None)
    draws = np.random.default_rng(seed)
    margins, column = draws.normal(size=(3, 12)), draws.normal(size=12)
    bits = sign(margins)
    errors = wanted - np.mean(bits[:, :, None] != bits[:, None], axis=0)
    weight, bit = best_weight(errors, bits[1], margins[1], column, 0.3, 3)
    np.testing.assert_array_equal(bit, sign(margins[1] + (weight - 0.3) * column))
    slow = slow_best_weight(wanted, bits, 1, margins[1], column, 0.3)
    by_fast, by_slow = bits.copy(), bits.copy()
    by_fast[1], by_slow[1] = bit, sign(margins[1] + (slow - 0.3) * column)
    assert squared_errors(wanted, by_fast) == pytest.approx(squared_errors(wanted, by_slow))
    assert squared_errors(wanted, by_fast) <= squared_errors(wanted, bits) + 1e-9


def test_a_weight_that_no_sample_depends_on_does_not_change():
    bit = np.array([1.0, -1.0, 1.0])
    weight, same = best_weight(np.ones((3, 3)) - np.eye(3), bit, 2 * bit, np.zeros(3), 0.7, 2)
    assert weight == 0.7
    np.testing.assert_array_equal(same, bit)


def slow_bre(X, y, n_bits, s, n_rounds, seed):
    draws = np.random.RandomState(seed)
    samples = unit_rows(X[sorted(draws.permutation(len(X)))])
    wanted = wanted_distances(X, y)
    anchors = [draws.permutation(len(X))[:s] for _ in range(n_bits)]
    W = 1e-3 * draws.standard_normal((n_bits, s))
    for _ in range(n_rounds):
        chosen = draws.randint(s, size=n_bits)
        for k, q in enumerate(chosen):
            margins = np.array([[sum(W[m] * (samples[anchors[m]] @ x)) for x in samples] for m in range(n_bits)])
            column = samples @ samples[anchors[k][q]]
            W[k, q] = slow_best_weight(wanted, sign(margins), k, margins[k], column, W[k, q])
    return np.array([[sum(W[m] * (samples[anchors[m]] @ x)) >= 0 for m in range(n_bits)] for x in samples])


def test_bre_follows_the_paper(clouds):
    X = clouds[0][:16]
    model = BRE(4, n_anchors=3, n_rounds=3, tolerance=0, random_state=1).fit(X)
    np.testing.assert_array_equal(model.transform(X), slow_bre(X, None, 4, 3, 3, seed=1))


@pytest.mark.parametrize("with_classes", [False, True])
def test_the_loss_of_bre_never_rises_and_is_that_of_the_codes(with_classes, clouds):
    X, y = clouds
    y = y if with_classes else None
    model = BRE(6, n_anchors=8, tolerance=0, random_state=0).fit(X, y)
    assert (np.diff(model.losses_) <= 1e-12).all()
    assert model.losses_[-1] < 0.9 * model.losses_[0]
    of_codes = squared_errors(wanted_distances(X, y), 2.0 * model.transform(X).T - 1)
    assert model.losses_[-1] == pytest.approx(of_codes / len(X) ** 2)


def pair_loss(near, m, q, rho, far_weight):
    return max(0, m - rho + 1) / (q - rho + 1) if near else far_weight * max(0, rho + 1 - m) / (rho + 1)


@pytest.mark.parametrize("q", [1, 2, 3, 4])
@pytest.mark.parametrize("near", [False, True])
def test_the_codes_that_mlh_infers_are_the_best_of_all(q, near, rng):
    codes = [np.array(code) for code in product([-1, 1], repeat=q)]
    for rho, far_weight in product(range(q + 1), (0.3, 1.0)):
        for size in (0.02, 0.2, 2.0):
            u, v = size * rng.normal(size=(2, q))
            line = _lines(q, rho, far_weight)[int(near)]

            def value(g, h, u=u, v=v, rho=rho, far_weight=far_weight):
                return pair_loss(near, (g != h).sum(), q, rho, far_weight) + g @ u + h @ v

            found = value(*loss_adjusted(np.array([u, v]), line[None]))
            assert found == pytest.approx(max(value(g, h) for g in codes for h in codes))
            loss = value(sign(u), sign(v)) - sign(u) @ u - sign(v) @ v
            assert found - abs(u).sum() - abs(v).sum() >= loss - 1e-12


def test_the_lines_of_mlh_are_its_loss_where_that_is_positive():
    for rho, m in product(range(6), range(6)):
        for near, (slope, constant) in enumerate(_lines(5, rho, 0.7)):
            assert max(0, slope * m + constant) == pytest.approx(pair_loss(near, m, 5, rho, 0.7))


def slow_infer(u, v, near, rho):
    """The paper's way: bits sorted by what it gains that they differ, and every number of them tried."""
    q = len(u)
    order = sorted(range(q), key=lambda k: abs(u[k] + v[k]) - abs(u[k] - v[k]))
    gains = np.cumsum([0, *(abs(u[k] - v[k]) - abs(u[k] + v[k]) for k in order)])
    best = max(range(q + 1), key=lambda m: gains[m] + pair_loss(near, m, q, rho, 1.0))
    g, h = np.zeros(q), np.zeros(q)
    for place, k in enumerate(order):
        g[k] = sign(u[k] - v[k]) if place < best else sign(u[k] + v[k])
        h[k] = -g[k] if place < best else g[k]
    return g, h


def slow_mlh(X, near, n_bits, rho, n_epochs, seed):
    draws = np.random.RandomState(seed)
    n = len(X)
    draws.permutation(n)
    samples = unit_rows(X)
    centred = samples - samples.mean(axis=0)
    axes = np.linalg.svd(centred)[2][:4]
    axes = np.array([axis * np.sign(axis[abs(axis).argmax()]) for axis in axes])
    Z = np.array([[*(axes @ x), 1.0] for x in centred])
    W = np.array([*(0.1 * draws.standard_normal((4, n_bits))), np.zeros(n_bits)]).T
    near_pairs = [k for k in range(n * n) if near[k // n][k % n]]
    extra = round(100 * max(0.5 - len(near_pairs) / n**2, 0))
    step, n_batches = np.zeros_like(W), int(np.ceil(n * n / 100))
    n_steps = n_epochs * n_batches
    for t in range(n_steps):
        if t % n_batches == 0:
            any_pairs = draws.randint(n * n, size=(n_batches, 100 - extra))
            extra_pairs = draws.randint(len(near_pairs), size=(n_batches, extra))
        pairs = [*any_pairs[t % n_batches], *(near_pairs[k] for k in extra_pairs[t % n_batches])]
        gradient = np.zeros_like(W)
        for pair in pairs:
            x, z = Z[pair // n], Z[pair % n]
            g, h = slow_infer(W @ x, W @ z, near[pair // n][pair % n], rho)
            gradient += np.outer(g - sign(W @ x), x) + np.outer(h - sign(W @ z), z)
        decay = 0.001 * np.column_stack([W[:, :-1], np.zeros(n_bits)])
        step = 0.9 * step - 0.1 * (1 - t / n_steps) * (gradient / 100 + decay)
        W = W + step
    return Z @ W.T


@pytest.mark.parametrize("with_classes", [False, True])
def test_mlh_follows_the_released_code(with_classes, clouds):
    X, y = clouds
    samples = unit_rows(X)
    distances = np.array([[np.sqrt(sum((a - b) ** 2)) for b in samples] for a in samples])
    radius = np.mean([sorted(row)[5] for row in distances])
    near = [[a == b for b in y] for a in y] if with_classes else distances <= radius
    model = MLH(5, n_components=4, n_neighbors=5, n_epochs=3, random_state=2).fit(X, y if with_classes else None)
    np.testing.assert_allclose(model._margins(X), slow_mlh(X, near, 5, 1, 3, seed=2), atol=1e-9)


def test_near_pairs_of_mlh_are_within_the_mean_distance_to_a_neighbour(rng):
    samples = rng.normal(size=(40, 3))
    near = _within_radius(samples, 5)
    np.testing.assert_array_equal(near, near.T)
    assert near.diagonal().all()
    assert 3 < near.sum(axis=1).mean() - 1 < 8
    assert _within_radius(samples, 100).mean() > 0.5


def slow_codebook(samples, b, affinity, n_rounds):
    """Codewords, and E_quan + lambda E_aff before each assignment and after each codeword."""
    n, k = len(samples), 2**b
    bits = np.array([[int(c) for c in f"{i:0{b}b}"] for i in range(k)])
    s = np.mean([[abs(v) for v in x[:b]] for x in samples])
    c = np.array([[*(s * (2 * row - 1)), *np.zeros(samples.shape[1] - b)] for row in bits])

    def target(i, j):
        return 2 * s * np.sqrt((bits[i] != bits[j]).sum())

    def error(assigned):
        w = np.bincount(assigned, minlength=k) / n
        quantisation = np.mean([((x - c[a]) ** 2).sum() for x, a in zip(samples, assigned, strict=True)])
        pairs = product(range(k), range(k))
        return quantisation + affinity * sum(w[i] * w[j] * (np.linalg.norm(c[i] - c[j]) - target(i, j)) ** 2
                                             for i, j in pairs)  # fmt: skip

    errors = []
    for _ in range(n_rounds):
        assigned = [int(np.argmin([((x - word) ** 2).sum() for word in c])) for x in samples]
        w = np.bincount(assigned, minlength=k) / n
        errors.append(error(assigned))
        for j in range(k):
            members = [x for x, a in zip(samples, assigned, strict=True) if a == j]
            for _ in range(5 if members else 0):
                top, bottom = np.mean(members, axis=0), 1.0
                for i in set(range(k)) - {j}:
                    apart = c[j] - c[i]
                    top = top + 2 * affinity * w[i] * (c[i] + target(i, j) * apart / np.linalg.norm(apart))
                    bottom += 2 * affinity * w[i]
                c[j] = top / bottom
            errors.append(error(assigned))
    return c, np.array(errors)


@pytest.mark.parametrize("affinity", [0.0, 1.0, 10.0])
def test_kmh_follows_the_formulae_and_its_error_does_not_rise_for_given_assignments(affinity, rng):
    samples = rng.normal(size=(40, 4)) * [4, 3, 2, 1]
    slow, errors = slow_codebook(samples, 3, affinity, 4)
    np.testing.assert_allclose(codebook(samples, 3, affinity, 4), slow, atol=1e-9)
    for one_round in errors.reshape(4, 9):
        assert (np.diff(one_round) <= 1e-9).all()
    assert errors[-1] < errors[0]


def test_codewords_of_kmh_without_samples_do_not_change_and_equal_ones_do_not_fail():
    codewords = np.zeros((4, 2))
    update(codewords, np.ones((4, 2)), np.array([0.5, 0.5, 0.0, 0.0]), 1 - np.eye(4), 10.0)
    assert np.isfinite(codewords).all()
    assert not codewords[2:].any()


def test_the_bits_of_kmh_are_those_of_the_nearest_codewords(clouds):
    X, _ = clouds
    model = KMH(5, bits_per_subspace=2, random_state=0).fit(X)
    assert [len(part.codewords) for part in model.subspaces_] == [4, 4, 2]
    axes = np.hstack([part.axes for part in model.subspaces_])
    np.testing.assert_allclose(axes.T @ axes, np.eye(6), atol=1e-12)
    for x, bits in zip(X, model.transform(X), strict=True):
        index = [nearest(((x - X.mean(axis=0)) @ part.axes)[None], part.codewords)[0] for part in model.subspaces_]
        assert "".join(map(str, bits)) == f"{index[0]:02b}{index[1]:02b}{index[2]:01b}"


def test_axes_are_allocated_so_that_subspaces_have_equal_products_of_variances():
    variances = np.geomspace(1000, 1, 12)
    allocated = allocate(variances, [4, 4, 4])
    assert sorted(chain(*allocated)) == list(range(12))
    assert [len(dims) for dims in allocated] == [4, 4, 4]
    logarithms = [np.log(variances[dims]).sum() for dims in allocated]
    assert max(logarithms) - min(logarithms) < np.log(1000) / 3
    for sizes in ([4, 4, 1], [4, 3], [1, 1, 1], [2]):
        for d in range(sum(sizes), 14):
            allocated = allocate(np.linspace(3, 1, d), sizes)
            assert sorted(chain(*allocated)) == list(range(d))
            assert all(len(dims) >= b for dims, b in zip(allocated, sizes, strict=True))
    assert allocate(np.zeros(3), [2, 1])


def test_index_bits_are_those_of_the_binary_number():
    assert index_bits(2).tolist() == [[0], [1]]
    assert index_bits(16)[11].tolist() == [1, 0, 1, 1]


@pytest.mark.parametrize("peer", [BRE, MLH])
def test_labels_are_used_where_given_and_may_be_names(peer, clouds):
    X, y = clouds
    model = peer(n_bits=8, random_state=0)
    numbers, names, none = (clone(model).fit(X, labels) for labels in (y, [f"no {k}" for k in y], None))
    np.testing.assert_array_equal(numbers.encode(X), names.encode(X))
    assert (numbers.encode(X) != none.encode(X)).any()
    assert numbers.classes_.tolist() == [3, 5, 7]
    assert none.classes_ is None


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (BRE(4, n_anchors=0), ValueError, "n_anchors=0: expected an integer of at least 1"),
        (BRE(4, n_samples=1), ValueError, "n_samples=1: expected an integer of at least 2"),
        (BRE(4, n_rounds=-1), ValueError, "n_rounds=-1: expected an integer of at least 0"),
        (BRE(4, n_rounds=1.5), TypeError, "n_rounds=1.5: expected an integer"),
        (MLH(4, rho=5), ValueError, "rho=5: expected an integer from 0 to 4, the code length"),
        (MLH(4, n_components=0), ValueError, "n_components=0: expected an integer of at least 1"),
        (MLH(4, n_neighbors=0), ValueError, "n_neighbors=0: expected an integer of at least 1"),
        (MLH(4, n_epochs=-1), ValueError, "n_epochs=-1: expected an integer of at least 0"),
        (MLH(4, far_weight=-0.5), ValueError, r"far_weight=-0\.5: expected a number of at least 0"),
        (MLH(4, decay=-0.1), ValueError, r"decay=-0\.1: expected a number of at least 0"),
        (KMH(4, bits_per_subspace=11), ValueError, "bits_per_subspace=11: expected an integer from 1 to 10"),
        (KMH(4, affinity=-1.0), ValueError, r"affinity=-1\.0: expected a number of at least 0"),
        (KMH(4, affinity="much"), TypeError, "affinity='much': expected a number of at least 0"),
        (MLH(4, decay=None), TypeError, "decay=None: expected a number of at least 0"),
        (BRE(4, tolerance=float("nan")), ValueError, "tolerance=nan: expected a number"),
        (KMH(4, n_samples=0), ValueError, "n_samples=0: expected an integer of at least 2"),
        (KMH(7), ValueError, "n_bits=7: expected an integer from 1 to 6, .*n_features=6"),
    ],
)
def test_parameters_of_bre_mlh_and_kmh_out_of_range_are_refused(model, error, message, clouds):
    with pytest.raises(error, match=message):
        model.fit(*clouds)


@pytest.mark.parametrize(
    ("model", "with_classes", "margin"),
    [
        (BRE(32, random_state=0), False, 0.08),
        (BRE(32, random_state=0), True, 0.2),
        (MLH(32, n_epochs=3, random_state=0), False, 0.08),
        (MLH(32, n_epochs=3, random_state=0), True, 0.3),
    ],
)
def test_codes_of_digits_are_better_than_those_of_lsh(model, with_classes, margin, digits):
    X, y = digits

    def precision(model):
        codes = clone(model).fit(X[:1200], y[:1200] if with_classes else None).encode(X[1200:])
        return mean_average_precision(*ranking_counts(codes, codes, y[1200:], y[1200:], same_set=True))

    assert precision(model) > np.mean([precision(LSH(32, random_state=seed)) for seed in range(5)]) + margin


def test_codes_of_kmh_find_more_of_the_nearest_digits_than_those_of_lsh(digits):
    """Of the 10 nearest by distance, how many are among the 50 nearest by codes."""
    base, queries = digits[0][:1200], digits[0][1200:]
    wanted = squared_distances(queries, base).argsort(axis=1)[:, :10]

    def recall(model):
        bits, base_bits = (model.fit(base).transform(samples).astype(float) for samples in (queries, base))
        found = squared_distances(bits, base_bits).argsort(axis=1, kind="stable")[:, :50]
        return np.mean([len(set(a) & set(b)) / 10 for a, b in zip(wanted, found, strict=True)])

    kmh = recall(KMH(32))
    assert kmh > np.mean([recall(LSH(32, random_state=seed)) for seed in range(5)]) + 0.06
    assert kmh > recall(KMH(32, n_rounds=0)) + 0.1
    assert kmh > recall(KMH(32, affinity=0.0)) + 0.02


def test_experiments_without_labels_may_use_all_three():
    assert not any(METHODS[name].needs_labels for name in ("BRE", "MLH", "KMH"))
