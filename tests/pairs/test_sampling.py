"""Sums over a random subset of the samples against those over all samples."""

import joblib
import numpy as np
import pytest

from proxcode import ProximityPreservingCode, WithinRadius
from proxcode.hamming import GrowingCode, pack, to_words
from proxcode.pairs import ListedPairs, NearLists, SameClassPairs, SharedLabelPairs
from proxcode.pairs._count_kernels import draw_far
from proxcode.pairs.drawn_far import DrawnForm, shares
from proxcode.pairs.labels import FULL_BITS, MAX_CANDIDATES, MIN_SUBSET
from proxcode.utils.rows import ALL

N_BITS = [1, 12, 70]


def random_code(rng, n, n_bits):
    return GrowingCode.from_packed(pack(rng.integers(0, 2, (n, n_bits))), n_bits)


def random_tables(rng, n_bits):
    return rng.uniform(0.1, 1, n_bits + 1), -rng.uniform(0.1, 1, n_bits + 1)


def random_near(rng, n, share=0.1):
    return NearLists(*np.nonzero(np.triu(rng.random((n, n)) < share, 1)), n)


def near_within_radius(rng, n):
    X = rng.normal(size=(n, 3))
    return WithinRadius(radius=1.0).fit(X).find_pairs(X).pairs


def drawn_form(pairs, code, tables, seed):
    n_far = pairs.with_code(code).counts()[1]
    lists, rng = (pairs.indptr, pairs.indices), np.random.default_rng(seed)
    return DrawnForm((pairs.first, pairs.second), lists, code, *tables, n_far, rng)


def pairs_of(classes):
    upper = np.triu_indices(len(classes), 1)
    near = (classes[:, None] == classes)[upper]
    return int(near.sum()), int((~near).sum())


# DrawnForm


@pytest.mark.parametrize("n_bits", N_BITS)
@pytest.mark.parametrize("make", [random_near, near_within_radius])
def test_the_form_of_all_far_pairs_is_the_graph(make, n_bits, rng):
    # 91 samples: fewer far pairs than would be drawn.
    pairs, code, tables = make(rng, 91), random_code(rng, 91, n_bits), random_tables(rng, n_bits)
    x = rng.normal(size=91)
    form, graph = drawn_form(pairs, code, tables, 0), pairs.with_code(code).graph(*tables)
    np.testing.assert_allclose(form.matvec(x), graph.matvec(x), atol=1e-10)
    assert form.value(x) == pytest.approx(graph.value(x))


@pytest.mark.parametrize("n", [60, 61])
@pytest.mark.parametrize(("n_compared", "n_drawn"), [(7, 1000), (1000, 3), (20, 2)])
def test_a_form_of_drawn_pairs_is_the_graph_on_average(n, n_compared, n_drawn, rng, monkeypatch):
    monkeypatch.setattr("proxcode.pairs.drawn_far.MAX_COMPARED", n_compared)
    monkeypatch.setattr("proxcode.pairs.drawn_far.FAR_PER_SAMPLE", n_drawn)
    pairs, code = random_near(rng, n), random_code(rng, n, 12)
    # Weights that differ by orders of magnitude, as those of a good code do.
    tables = rng.uniform(0.1, 1, 13), -np.exp(-np.arange(13.0))
    x = rng.normal(size=n)
    exact = pairs.with_code(code).graph(*tables).matvec(x)
    products = np.array([drawn_form(pairs, code, tables, seed).matvec(x) for seed in range(1000)])
    assert products.std(axis=0).max() > 0
    assert (np.abs(products.mean(axis=0) - exact) < 5 * products.std(axis=0) / np.sqrt(1000) + 1e-12).all()


def test_drawn_pairs_are_far_and_near_ones_all_there(rng, monkeypatch):
    monkeypatch.setattr("proxcode.pairs.drawn_far.FAR_PER_SAMPLE", 5)
    # Blocks of few rows.
    monkeypatch.setattr("proxcode.pairs.drawn_far.BLOCK_PAIRS", 2000)
    pairs, code, tables = random_near(rng, 301), random_code(rng, 301, 20), random_tables(rng, 20)
    form = drawn_form(pairs, code, tables, 0)
    n_near = len(pairs.first)
    np.testing.assert_array_equal(form.first[:n_near], pairs.first)
    np.testing.assert_array_equal(form.second[:n_near], pairs.second)
    drawn = np.sort([form.first[n_near:], form.second[n_near:]], axis=0)
    keys = drawn[0] * 301 + drawn[1]
    assert len(np.unique(keys)) == len(keys) == pytest.approx(5 * 301, rel=0.1)
    assert not np.isin(keys, pairs.first * 301 + pairs.second).any()
    # Pairs that are not drawn for certain have equal weights.
    assert len(np.unique(form.weight[n_near:].round(12))) < 20


def test_heavy_pairs_are_drawn_for_certain_and_others_by_their_weight():
    weight, counts = np.array([100.0, 2.0, 1.0, 0.0]), np.array([10.0, 100.0, 1000.0, 50.0])
    share = shares(weight, counts, 130)
    assert share[0] == 1
    assert share[1] == pytest.approx(2 * share[2])
    assert share[3] == 0
    assert share @ counts == pytest.approx(130)
    np.testing.assert_array_equal(shares(weight, counts, 5), shares(weight, counts, 5).clip(0, 1))
    assert shares(weight, counts, 5) @ counts == pytest.approx(5)
    np.testing.assert_array_equal(shares(weight, counts, 2000) > 0.99, [True, True, True, False])
    np.testing.assert_array_equal(shares(np.zeros(2), np.ones(2), 5), [0, 0])


def test_any_number_of_threads_draws_the_same_pairs(rng, monkeypatch):
    monkeypatch.setattr("proxcode.pairs.drawn_far.BLOCK_PAIRS", 2000)
    monkeypatch.setattr("proxcode.pairs.drawn_far.FAR_PER_SAMPLE", 5)
    monkeypatch.setattr("proxcode.pairs.groups.PARALLEL_PAIRS", 0)
    pairs, code, tables = random_near(rng, 300), random_code(rng, 300, 20), random_tables(rng, 20)
    x, products = rng.normal(size=300), []
    for n_threads in (1, 3):
        monkeypatch.setattr(joblib, "cpu_count", lambda n=n_threads: n)
        products.append(drawn_form(pairs, code, tables, 0).matvec(x))
    np.testing.assert_array_equal(*products)


# NearLists


@pytest.mark.parametrize("n_bits", N_BITS)
def test_listed_near_pairs_are_all_counted_and_far_ones_scaled_up(n_bits, rng):
    pairs, code = random_near(rng, 200), random_code(rng, 200, n_bits)
    coded = pairs.sampled(code, 60, np.random.default_rng(1))
    (near, far), (exact_near, exact_far) = coded.counts(), pairs.with_code(code).counts()
    np.testing.assert_array_equal(near, exact_near)
    assert abs(far.sum() - exact_far.sum()) <= (n_bits + 1) / 2
    part_far = pairs.take(coded.samples).with_code(code.take(coded.samples)).counts()[1]
    np.testing.assert_allclose(far / exact_far.sum(), part_far / part_far.sum(), atol=1 / exact_far.sum())


def test_the_form_over_listed_near_pairs_is_over_all_samples(rng):
    pairs, code, tables = random_near(rng, 200), random_code(rng, 200, 12), random_tables(rng, 12)
    coded = pairs.sampled(code, 60, np.random.default_rng(1))
    form, samples = coded.form(*tables)
    x = rng.normal(size=200)
    assert samples == ALL
    # So few far pairs are all drawn; of an even number of samples some are counted twice.
    exact = pairs.with_code(code).graph(*tables).matvec(x)
    assert np.corrcoef(form.matvec(x), exact)[0, 1] > 0.98
    np.testing.assert_array_equal(coded.form(*tables).form.matvec(x), form.matvec(x))
    part = pairs.take(coded.samples).with_code(code.take(coded.samples))
    np.testing.assert_allclose(coded.graph(*tables).matvec(x[:60]), part.graph(*tables).matvec(x[:60]))


# SameClassPairs


def test_samples_of_few_large_classes_are_drawn_equally_often():
    pairs = SameClassPairs(np.arange(300) % 4)
    n_draws = 400
    draws = [pairs.draw(100, np.random.default_rng(seed)) for seed in range(n_draws)]
    assert {len(np.unique(samples)) for samples in draws} == {100}
    times = np.bincount(np.concatenate(draws), minlength=300)
    assert (np.abs(times - n_draws / 3) < 5 * np.sqrt(n_draws * 2 / 9)).all()


def test_small_classes_are_drawn_whole(rng):
    classes = rng.permutation(np.repeat(np.arange(3000), rng.integers(2, 4, 3000)))
    samples = SameClassPairs(classes).draw(500, rng)
    assert len(np.unique(samples)) == 500
    drawn, whole = np.bincount(classes[samples], minlength=3000), np.bincount(classes)
    # The last class drawn may be incomplete.
    assert ((drawn > 0) & (drawn < whole)).sum() <= 1


def test_classes_of_one_sample_are_drawn_last(rng):
    classes = rng.permutation(np.concatenate([np.repeat(np.arange(100), 4), np.arange(100, 600)]))
    pairs = SameClassPairs(classes)
    for _ in range(5):
        drawn = pairs.draw(100, rng)
        assert len(drawn) == 100
        assert (classes[drawn] < 100).all()
        assert set(np.bincount(classes[drawn])) == {0, 2}
    assert (np.bincount(classes[pairs.draw(450, rng)])[:100] == 4).all()


def test_one_large_class_among_classes_of_one_sample_still_gives_near_pairs(rng):
    pairs = SameClassPairs(np.concatenate([np.zeros(1000, int), np.arange(1, 1001)]))
    for _ in range(5):
        coded = pairs.sampled(random_code(rng, 2000, 4), 300, rng)
        near, far = coded.counts()
        assert near.sum() > 0
        assert far.sum() > 0


def test_a_rare_class_still_gives_far_pairs(rng):
    pairs = SameClassPairs(np.repeat([0, 1], [1997, 3]))
    for _ in range(20):
        assert set(pairs.classes[pairs.draw(100, rng)]) == {0, 1}


def test_one_class_only_is_refused_with_max_samples(train):
    X, _ = train
    with pytest.raises(
        ValueError, match=r"there is no far pair among 50 of 500 samples, .*raise max_samples or check the proximity"
    ):
        ProximityPreservingCode(2, max_samples=50).fit(X, np.zeros(len(X), int))


@pytest.mark.parametrize("n_classes", [4, 700])
def test_the_near_factor_restores_the_ratio_of_near_to_far_pairs(n_classes, rng):
    classes = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, 2 * n_classes + 200)])
    pairs, code = SameClassPairs(classes), random_code(rng, len(classes), 12)
    coded = pairs.sampled(code, 150, rng)
    near, far = coded.groups.counts()
    assert (near.sum(), far.sum()) == pairs_of(classes[coded.samples])
    n_near, n_far = pairs_of(classes)
    assert coded.near_factor * near.sum() / far.sum() == pytest.approx(n_near / n_far)
    scaled_near, same_far = coded.counts()
    np.testing.assert_array_equal(scaled_near, np.ceil(coded.near_factor * near))
    np.testing.assert_array_equal(same_far, far)


def test_the_graph_between_drawn_samples_weighs_near_pairs_by_their_factor(rng):
    classes = rng.integers(0, 5, 200)
    pairs, code, (near, far) = SameClassPairs(classes), random_code(rng, 200, 12), random_tables(rng, 12)
    coded = pairs.sampled(code, 40, rng)
    part = pairs.take(coded.samples).with_code(code.take(coded.samples))
    x = rng.normal(size=40)
    expected = part.graph(coded.near_factor * near, far).matvec(x)
    form, samples = coded.form(near, far)
    np.testing.assert_array_equal(samples, coded.samples)
    np.testing.assert_allclose(coded.graph(near, far).matvec(x), expected)
    np.testing.assert_allclose(form.matvec(x), expected)


@pytest.mark.parametrize("n_classes", [4, 400])
def test_draws_rise_and_follow_the_generator(n_classes, rng):
    pairs, code = SameClassPairs(np.arange(1000) % n_classes), random_code(rng, 1000, 5)
    first, again, other = (pairs.sampled(code, 200, np.random.default_rng(seed)).samples for seed in (3, 3, 4))
    assert (np.diff(first) > 0).all()
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


# Other pairs


def test_listed_pairs_are_exact(rng):
    signs = np.triu(rng.choice([-1, 0, 1], size=(80, 80)), 1)
    first, second = np.nonzero(signs)
    pairs = ListedPairs(first, second, signs[first, second] > 0, 80)
    code, tables = random_code(rng, 80, 12), random_tables(rng, 12)
    coded, exact = pairs.sampled(code, 10, rng), pairs.with_code(code)
    for sampled, expected in zip(coded.counts(), exact.counts(), strict=True):
        np.testing.assert_array_equal(sampled, expected)
    x = rng.normal(size=80)
    np.testing.assert_array_equal(coded.graph(*tables).matvec(x), exact.graph(*tables).matvec(x))
    assert coded.samples == ALL


def test_shared_classes_are_counted_between_the_drawn_samples(rng):
    pairs = SharedLabelPairs(to_words(pack(rng.random((200, 70)) < 0.02)))
    code = random_code(rng, 200, 12)
    coded = pairs.sampled(code, 50, rng)
    assert len(coded.samples) == 50
    assert (np.diff(coded.samples) > 0).all()
    expected = pairs.take(coded.samples).with_code(code.take(coded.samples)).counts()
    for sampled, exact in zip(coded.counts(), expected, strict=True):
        np.testing.assert_array_equal(sampled, exact)


# Sizes of subsets


@pytest.mark.parametrize(
    "pairs", [SameClassPairs(np.arange(50_000) % 7), SharedLabelPairs(np.ones((1, 50_000), np.uint64))]
)
def test_with_labels_subsets_are_drawn_from_a_pool_and_shrink(pairs):
    pool = pairs.candidates(10_000, np.random.default_rng(0))
    assert len(np.unique(pool)) == len(pool) == MAX_CANDIDATES
    assert (np.diff(pool) > 0).all()
    assert len(pairs.candidates(30_000, np.random.default_rng(0))) == 30_000
    assert pairs.candidates(50_000, np.random.default_rng(0)) == ALL
    assert pairs.take(np.arange(MAX_CANDIDATES)).candidates(10_000, np.random.default_rng(0)) == ALL
    sizes = [pairs.subset_size(10_000, n_bits) for n_bits in range(200)]
    assert sizes[:FULL_BITS] == [10_000] * FULL_BITS
    assert sizes[FULL_BITS] == 10_000 * FULL_BITS // (FULL_BITS + 1)
    assert sizes[-1] == MIN_SUBSET
    assert (np.diff(sizes) <= 0).all()
    assert pairs.subset_size(1000, 150) == 1000


def test_the_subsets_of_listed_pairs_are_drawn_from_all_samples_and_do_not_shrink(rng):
    for pairs in (random_near(rng, 90), ListedPairs(np.array([0]), np.array([1]), np.array([True]), 90)):
        assert pairs.candidates(10, rng) == ALL
        assert [pairs.subset_size(10, n_bits) for n_bits in (0, 20, 900)] == [10, 10, 10]
    assert random_near(rng, 90).subset_size(10_000, 5) == 4000


def test_whole_classes_among_the_candidates_stand_for_all_samples(rng):
    classes = np.arange(100_000) // 5
    pairs = SameClassPairs(classes)
    candidates = pairs.candidates(10_000, rng)
    assert len(candidates) == MAX_CANDIDATES
    subset = pairs.take(candidates).sampled(GrowingCode(MAX_CANDIDATES), 5000, rng)
    near, far = subset.groups.counts()
    n_near = 20_000 * 10
    n_far = 100_000 * 99_999 // 2 - n_near
    assert subset.near_factor * near.sum() / far.sum() == pytest.approx(n_near / n_far)


def test_a_random_subset_stands_for_itself(rng):
    pairs = SameClassPairs(rng.integers(0, 5, 3000))
    taken = pairs.take(np.sort(rng.choice(3000, 1000, replace=False)))
    assert taken.n_pairs == SameClassPairs(taken.classes).n_pairs


def test_balanced_labels_weigh_each_class_alike():
    classes = np.repeat([0, 1, 2], [10, 70, 20])
    pairs = SameClassPairs(classes, balanced=True)
    np.testing.assert_allclose(pairs.labels().sum(axis=0), 1)
    np.testing.assert_array_equal(pairs.labels().toarray() > 0, SameClassPairs(classes).labels().toarray())
    assert pairs.take(np.arange(50)).balanced


def test_rounding_draws_no_pair_beyond_the_last(rng):
    """Sums of shares that round up to 2 stay at 1 after a draw: no further pair may be drawn."""
    n, n_compared = 20, 5
    circle = np.concatenate([np.arange(n), np.arange(n_compared)])
    words = np.ascontiguousarray(random_code(rng, n, 12).words[:, circle])
    starts, none = np.full(n, np.nextafter(1.0, 0.0)), np.zeros(n + 1, np.int64)
    drawn = np.zeros((3, 16 * n), np.int32)
    n_drawn = draw_far(words, circle, n_compared, np.ones(13), none, none[:0], starts, 0, n, *drawn)
    assert n_drawn == n * n_compared
