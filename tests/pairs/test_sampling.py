"""Bits learned from some points: sampled units, forms and codes against those of all points."""

import numpy as np
import pytest
import scipy.sparse as sp
from proxcode.pairs.relations import EXACT_SHARE, ListedNear, ListedPairs, SameClass, SharedClass
from proxcode.pairs.units import SampledForm

from proxcode import GivenPairs, KernelHash, LinearHash, ProximityPreservingCode, SVMHash, WithinRadius
from proxcode.hamming import GrowingCode, pack, to_words, unpack

N_BITS = [1, 12, 70]


def random_code(rng, n, n_bits):
    return GrowingCode.from_packed(pack(rng.integers(0, 2, (n, n_bits))), n_bits)


def random_tables(rng, n_bits):
    return rng.uniform(0.1, 1, n_bits + 1), -rng.uniform(0.1, 1, n_bits + 1)


def random_near(rng, n, share=0.1):
    return ListedNear(*np.nonzero(np.triu(rng.random((n, n)) < share, 1)), n)


def near_within_radius(rng, n):
    X = rng.normal(size=(n, 3))
    return WithinRadius(radius=1.0).fit(X).relate(X, None).relation


def sampled_form(relation, code, tables, points):
    return SampledForm(relation.lists, code, tables, points, relation.n_samples / (2 * len(points)))


def pairs_of(classes):
    upper = np.triu_indices(len(classes), 1)
    near = (classes[:, None] == classes)[upper]
    return int(near.sum()), int((~near).sum())


# SampledForm


@pytest.mark.parametrize("n_bits", N_BITS)
@pytest.mark.parametrize("make", [random_near, near_within_radius])
def test_a_form_with_every_point_drawn_is_the_graph(make, n_bits, rng):
    relation, code, tables = make(rng, 90), random_code(rng, 90, n_bits), random_tables(rng, n_bits)
    x = rng.normal(size=90)
    form = SampledForm(relation.lists, code, tables, np.arange(90), 0.5)
    graph = relation.units(code).graph(*tables)
    np.testing.assert_allclose(form.matvec(x), graph.matvec(x), atol=1e-10)
    assert form.value(x) == pytest.approx(graph.value(x))


@pytest.mark.parametrize("n_bits", N_BITS)
def test_a_sampled_form_is_the_dense_matrix_of_pairs_weighted_by_their_drawn_points(n_bits, rng):
    relation, code, tables = random_near(rng, 50), random_code(rng, 50, n_bits), random_tables(rng, n_bits)
    points = np.sort(rng.choice(50, 20, replace=False))
    bits = unpack(code.packed(), n_bits)
    H = (bits[:, None] != bits).sum(axis=2)
    near = np.zeros((50, 50), bool)
    near[relation.first, relation.second] = near[relation.second, relation.first] = True
    drawn = np.isin(np.arange(50), points).astype(float)
    W = np.where(near, tables[0][H], 50 / 40 * (drawn[:, None] + drawn) * tables[1][H])
    np.fill_diagonal(W, 0)
    form = sampled_form(relation, code, tables, points)
    np.testing.assert_allclose(np.column_stack([form.matvec(column) for column in np.eye(50)]), W, atol=1e-12)


@pytest.mark.parametrize("n_bits", N_BITS)
def test_a_sampled_form_is_symmetric(n_bits, rng):
    relation, code, tables = random_near(rng, 90), random_code(rng, 90, n_bits), random_tables(rng, n_bits)
    form = sampled_form(relation, code, tables, np.sort(rng.choice(90, 25, replace=False)))
    x, y = rng.normal(size=(2, 90))
    assert x @ form.matvec(y) == pytest.approx(y @ form.matvec(x))


def test_a_sampled_form_is_the_graph_on_average(rng):
    relation, code, tables = random_near(rng, 60), random_code(rng, 60, 12), random_tables(rng, 12)
    x = rng.normal(size=60)
    exact = relation.units(code).graph(*tables).matvec(x)
    draws = [np.sort(rng.choice(60, 15, replace=False)) for _ in range(400)]
    products = np.array([sampled_form(relation, code, tables, points).matvec(x) for points in draws])
    assert (np.abs(products.mean(axis=0) - exact) < 5 * products.std(axis=0) / np.sqrt(400)).all()


def test_draws_that_share_out_the_points_average_to_the_graph(rng):
    relation, code, tables = random_near(rng, 60), random_code(rng, 60, 12), random_tables(rng, 12)
    x = rng.normal(size=60)
    parts = np.sort(rng.permutation(60).reshape(4, 15), axis=1)
    products = [sampled_form(relation, code, tables, points).matvec(x) for points in parts]
    np.testing.assert_allclose(np.mean(products, axis=0), relation.units(code).graph(*tables).matvec(x), atol=1e-10)


# ListedNear


@pytest.mark.parametrize("n_bits", N_BITS)
def test_listed_near_pairs_are_all_counted_and_far_ones_scaled_up(n_bits, rng):
    relation, code = random_near(rng, 200), random_code(rng, 200, n_bits)
    units = relation.sampled_units(code, 60, np.random.default_rng(1))
    (near, far), (exact_near, exact_far) = units.counts(), relation.units(code).counts()
    np.testing.assert_array_equal(near, exact_near)
    assert abs(far.sum() - exact_far.sum()) <= (n_bits + 1) / 2
    part_far = relation.take(units.points).units(code.take(units.points)).counts()[1]
    np.testing.assert_allclose(far / exact_far.sum(), part_far / part_far.sum(), atol=1 / exact_far.sum())


def test_the_form_over_listed_near_pairs_is_over_all_points(rng):
    relation, code, tables = random_near(rng, 200), random_code(rng, 200, 12), random_tables(rng, 12)
    units = relation.sampled_units(code, 60, np.random.default_rng(1))
    form, points = units.form(*tables)
    x = rng.normal(size=200)
    assert points is None
    np.testing.assert_allclose(form.matvec(x), sampled_form(relation, code, tables, units.points).matvec(x))
    part = relation.take(units.points).units(code.take(units.points))
    np.testing.assert_allclose(units.graph(*tables).matvec(x[:60]), part.graph(*tables).matvec(x[:60]))


def test_listed_near_pairs_of_few_more_points_than_drawn_are_exact(rng):
    relation, code, tables = random_near(rng, 200), random_code(rng, 200, 12), random_tables(rng, 12)
    exact = relation.units(code)
    units = relation.sampled_units(code, int(200 / EXACT_SHARE), np.random.default_rng(1))
    for sampled, expected in zip(units.counts(), exact.counts(), strict=True):
        np.testing.assert_array_equal(sampled, expected)
    form, points = units.form(*tables)
    x = rng.normal(size=200)
    assert points is None
    np.testing.assert_allclose(form.matvec(x), exact.graph(*tables).matvec(x))
    assert units.graph(*tables).n_nodes == 80


# SameClass


def test_points_of_few_large_classes_are_drawn_alike():
    relation = SameClass(np.arange(300) % 4)
    n_draws = 400
    draws = [relation.draw(100, np.random.default_rng(seed)) for seed in range(n_draws)]
    assert {len(np.unique(points)) for points in draws} == {100}
    times = np.bincount(np.concatenate(draws), minlength=300)
    assert (np.abs(times - n_draws / 3) < 5 * np.sqrt(n_draws * 2 / 9)).all()


def test_small_classes_are_drawn_whole(rng):
    classes = rng.permutation(np.repeat(np.arange(3000), rng.integers(2, 4, 3000)))
    points = SameClass(classes).draw(500, rng)
    assert len(np.unique(points)) == 500
    drawn, whole = np.bincount(classes[points], minlength=3000), np.bincount(classes)
    assert ((drawn > 0) & (drawn < whole)).sum() <= 1  # the last one may be cut short


def test_one_large_class_among_single_points_still_gives_near_pairs(rng):
    relation = SameClass(np.concatenate([np.zeros(1000, int), np.arange(1, 1001)]))
    for _ in range(5):
        units = relation.sampled_units(random_code(rng, 2000, 4), 300, rng)
        near, far = units.counts()
        assert near.sum() > 0
        assert far.sum() > 0


def test_a_rare_class_still_gives_far_pairs(rng):
    relation = SameClass(np.repeat([0, 1], [1997, 3]))
    for _ in range(20):
        assert set(relation.classes[relation.draw(100, rng)]) == {0, 1}


def test_one_class_only_is_refused_with_cut_points(train):
    X, _ = train
    with pytest.raises(ValueError, match="there is no far pair among 50 of the 500 points"):
        ProximityPreservingCode(2, cut_points=50).fit(X, np.zeros(len(X), int))


@pytest.mark.parametrize("n_classes", [4, 700])
def test_the_near_factor_restores_the_ratio_of_near_to_far_pairs(n_classes, rng):
    classes = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, 2 * n_classes + 200)])
    relation, code = SameClass(classes), random_code(rng, len(classes), 12)
    units = relation.sampled_units(code, 150, rng)
    near, far = units.part.counts()
    assert (near.sum(), far.sum()) == pairs_of(classes[units.points])
    n_near, n_far = pairs_of(classes)
    assert units.near_factor * near.sum() / far.sum() == pytest.approx(n_near / n_far)
    scaled_near, same_far = units.counts()
    np.testing.assert_array_equal(scaled_near, np.ceil(units.near_factor * near))
    np.testing.assert_array_equal(same_far, far)


def test_the_graph_between_drawn_points_weighs_near_pairs_by_their_factor(rng):
    classes = rng.integers(0, 5, 200)
    relation, code, (near, far) = SameClass(classes), random_code(rng, 200, 12), random_tables(rng, 12)
    units = relation.sampled_units(code, 40, rng)
    part = relation.take(units.points).units(code.take(units.points))
    x = rng.normal(size=40)
    expected = part.graph(units.near_factor * near, far).matvec(x)
    form, points = units.form(near, far)
    np.testing.assert_array_equal(points, units.points)
    np.testing.assert_allclose(units.graph(near, far).matvec(x), expected)
    np.testing.assert_allclose(form.matvec(x), expected)


@pytest.mark.parametrize("n_classes", [4, 400])
def test_draws_rise_and_follow_the_generator(n_classes, rng):
    relation, code = SameClass(np.arange(1000) % n_classes), random_code(rng, 1000, 5)
    first, again, other = (relation.sampled_units(code, 200, np.random.default_rng(seed)).points for seed in (3, 3, 4))
    assert (np.diff(first) > 0).all()
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


# Other relations


def test_listed_pairs_are_exact(rng):
    signs = np.triu(rng.choice([-1, 0, 1], size=(80, 80)), 1)
    first, second = np.nonzero(signs)
    relation = ListedPairs(first, second, signs[first, second] > 0, 80)
    code, tables = random_code(rng, 80, 12), random_tables(rng, 12)
    units, exact = relation.sampled_units(code, 10, rng), relation.units(code)
    for sampled, expected in zip(units.counts(), exact.counts(), strict=True):
        np.testing.assert_array_equal(sampled, expected)
    x = rng.normal(size=80)
    np.testing.assert_array_equal(units.graph(*tables).matvec(x), exact.graph(*tables).matvec(x))
    assert units.points is None


def test_shared_classes_are_counted_between_the_drawn_points(rng):
    relation = SharedClass(to_words(pack(rng.random((200, 70)) < 0.02)))
    code = random_code(rng, 200, 12)
    units = relation.sampled_units(code, 50, rng)
    assert len(units.points) == 50
    assert (np.diff(units.points) > 0).all()
    expected = relation.take(units.points).units(code.take(units.points)).counts()
    for sampled, exact in zip(units.counts(), expected, strict=True):
        np.testing.assert_array_equal(sampled, exact)


# ProximityPreservingCode


def given_pairs(n):
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 5, n)
    first, second = np.nonzero(np.triu(rng.random((n, n)) < 0.2, 1))
    signs = np.where(classes[first] == classes[second], 1, -1)
    return GivenPairs(sp.coo_array((signs, (first, second)), shape=(n, n)).tocsr())


PROBLEMS = {
    "labels": lambda y: (None, y),
    "multi-labels": lambda y: (None, np.column_stack([np.eye(10)[y], y % 2 == 0]).astype(int)),
    "radius": lambda y: (WithinRadius(), None),
    "pairs": lambda y: (given_pairs(len(y)), None),
}


@pytest.fixture(params=PROBLEMS)
def problem(request, train):
    """Return what fits so many bits to the training points of a problem."""
    proximity, y = PROBLEMS[request.param](train[1])
    settings = {"cut_points": 120, "hash_function": KernelHash(n_landmarks=60), "random_state": 0}

    def fit(n_bits, **parameters):
        model = ProximityPreservingCode(n_bits, proximity=proximity, **(settings | parameters))
        return model.fit(train[0], y)

    return fit


def test_codes_learned_from_some_points_are_reproducible_begin_alike_and_extend(problem, new):
    long, again, short = problem(16), problem(16), problem(8)
    codes = long.encode(new[0])
    np.testing.assert_array_equal(again.encode(new[0]), codes)
    np.testing.assert_array_equal(short.encode(new[0]), long.encode(new[0], n_bits=8))
    assert not np.array_equal(problem(8, random_state=1).encode(new[0]), codes[:, :1])
    np.testing.assert_array_equal(short.extend(16).encode(new[0]), codes)
    np.testing.assert_array_equal(long.codes_, again.codes_)


def test_cut_points_of_all_points_are_exact(problem, new):
    exact = problem(8, cut_points=None)
    np.testing.assert_array_equal(problem(8, cut_points=500).encode(new[0]), exact.encode(new[0]))
    np.testing.assert_array_equal(problem(8, cut_points=np.int64(600)).encode(new[0]), exact.encode(new[0]))


@pytest.mark.parametrize("hash_function", [LinearHash(), SVMHash()], ids=lambda h: type(h).__name__)
def test_any_hash_function_learns_from_some_points(hash_function, train, new):
    model = ProximityPreservingCode(12, cut_points=150, hash_function=hash_function, random_state=0).fit(*train)
    assert model.score(*new) > 0.6


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"cut_points": 1}, ValueError, "cut_points=1: give at least 2"),
        ({"cut_points": 0}, ValueError, "cut_points=0: give at least 2"),
        ({"cut_points": 2.5}, TypeError, "cut_points=2.5: give a whole number"),
        ({"cut_points": "all"}, TypeError, "cut_points='all': give a whole number"),
        ({"cut_points": 50, "error_correction": False}, ValueError, "cut_points=50 needs error_correction=True"),
    ],
)
def test_bad_cut_points_are_refused(parameters, error, message, train):
    with pytest.raises(error, match=message):
        ProximityPreservingCode(2, **parameters).fit(*train)


@pytest.mark.parametrize("by_labels", [True, False])
def test_few_cut_points_lose_little(by_labels, digits):
    X, y = digits[0], digits[1] if by_labels else None
    settings = {"n_bits": 24, "hash_function": KernelHash(n_landmarks=300), "random_state": 0}
    new = (X[1000:], y[1000:] if by_labels else None)
    exact, sampled = (
        ProximityPreservingCode(cut_points=cut_points, **settings)
        .fit(X[:1000], y[:1000] if by_labels else None)
        .score(*new)
        for cut_points in (None, 300)
    )
    assert sampled > exact - 0.05
