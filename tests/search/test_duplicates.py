"""Near-duplicates among codes against a comparison of all pairs."""

import tracemalloc
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from helpers.codes import random_codes
from proxcode import find_duplicates, pack
from proxcode.hamming import distances
from proxcode.search import _group_kernels, _join_kernels, self_join
from proxcode.search import duplicates as duplicates_module
from proxcode.search._scan_kernels import CHUNK
from proxcode.search.self_join import EVERYTHING, SelfJoin, choose_keys


@pytest.fixture
def by_keys(monkeypatch):
    """Hash tables also for few codes, and whatever they cost."""
    monkeypatch.setattr(self_join, "MIN_PAIRS", 1)
    monkeypatch.setattr(self_join, "ENTRY_COST", 0.0)
    monkeypatch.setattr(self_join, "PAIR_COST", 1e-9)
    monkeypatch.setattr(self_join, "NEAR_COST", 0.0)
    monkeypatch.setattr(self_join, "MAX_KEYS", 60)


def all_pairs(found):
    """Return rows (first, second, distance) of all pairs, in their order."""
    blocks = [np.column_stack(block) for block in found.pairs()]
    return np.concatenate([np.empty((0, 3), np.int64), *blocks])


def in_order(pairs):
    return pairs[np.lexsort(pairs.T[::-1])]


def reference(codes, radius):
    """Return all pairs, and the position of the first code of the group of each code."""
    n, d = len(codes), distances(codes, codes)
    first, second = np.nonzero(np.triu(d <= radius, 1))
    graph = coo_array((np.ones(len(first)), (first, second)), shape=(n, n))
    component = connected_components(graph, directed=False)[1] if n else np.empty(0, np.int64)
    firsts = np.unique(component, return_index=True)[1]
    return np.column_stack([first, second, d[first, second]]), firsts[component]


def assert_exact(found, codes, radius):
    pairs, representative = reference(codes, radius)
    np.testing.assert_array_equal(in_order(all_pairs(found)), pairs)
    np.testing.assert_array_equal(found.representative, representative)
    sizes = np.bincount(representative, minlength=len(codes))
    firsts = np.flatnonzero(sizes > 1)
    number = np.full(len(codes), -1)
    number[firsts] = np.arange(len(firsts))
    np.testing.assert_array_equal(found.group, number[representative] if len(codes) else number)
    np.testing.assert_array_equal(found.kept, np.flatnonzero(sizes))
    assert found.n_groups == len(firsts)
    assert found.n_duplicates == len(codes) - len(found.kept)
    assert found.n_distinct == len(np.unique(codes, axis=0))


def planted(rng, n, n_bits, n_centers, noise):
    """Return random codes of which most are near another: noisy copies of some centers, and copies of copies."""
    codes = random_codes(rng, n, n_bits, n_centers, noise)
    source, target = rng.integers(0, max(1, n), (2, n // 3))
    codes[target] = codes[source]
    return codes


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_any_codes_give_what_a_comparison_of_all_pairs_gives(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**31), label="seed"))
    n_bits = data.draw(st.one_of(st.sampled_from([8, 16, 64, 128, 256]), st.integers(1, 260)), label="bits")
    n = data.draw(st.one_of(st.integers(0, 3), st.integers(4, 300)), label="codes")
    n_centers = data.draw(st.sampled_from([None, 1, 3, 40]), label="centers")
    codes = planted(rng, n, n_bits, n_centers, data.draw(st.sampled_from([0.0, 0.01, 0.05, 0.3]), label="noise"))
    radius = data.draw(st.one_of(st.integers(0, 8), st.integers(0, n_bits + 1)), label="radius")
    n_threads = data.draw(st.sampled_from([None, 1, 2, 3]), label="threads")
    with pytest.MonkeyPatch.context() as patch:
        if data.draw(st.booleans(), label="keys"):
            patch.setattr(self_join, "MIN_PAIRS", 1)
            patch.setattr(self_join, "ENTRY_COST", 0.0)
            patch.setattr(self_join, "NEAR_COST", 0.0)
            patch.setattr(self_join, "PAIR_COST", data.draw(st.sampled_from([1e-9, 1.0]), label="cost of a pair"))
        patch.setattr(self_join, "PARTITION", data.draw(st.sampled_from([4, 64, 4096]), label="partition"))
        patch.setattr(self_join, "TASK_PAIRS", data.draw(st.sampled_from([1, 50, 2**24]), label="task"))
        patch.setattr(self_join, "TILE_ROWS", data.draw(st.sampled_from([1, 7, 2048]), label="rows"))
        patch.setattr(self_join, "TILE_COLUMNS", data.draw(st.sampled_from([5, 100, 16384]), label="columns"))
        block = data.draw(st.sampled_from([CHUNK, 100, 2**16]), label="block")
        patch.setattr(self_join, "BLOCK", block)
        patch.setattr(duplicates_module, "BLOCK", block)
        assert_exact(find_duplicates(codes, radius, n_bits=n_bits, n_threads=n_threads), codes, radius)


@pytest.mark.parametrize("n_bits", [8, 13, 24, 63, 64, 65, 100, 128, 256])
@pytest.mark.parametrize("radius", [*range(9), 20])
@pytest.mark.usefixtures("by_keys")
def test_lengths_and_radii(rng, n_bits, radius):
    codes = planted(rng, 700, n_bits, 60, 0.03)
    found = find_duplicates(codes, radius, n_bits=n_bits)
    assert_exact(found, codes, radius)
    if radius <= 3 and n_bits > 8:
        assert EVERYTHING not in found._join.keys.chosen


@pytest.mark.parametrize("n_codes", [0, 1, 2])
@pytest.mark.parametrize("radius", [0, 3, 64, 1000])
def test_hardly_any_codes(rng, n_codes, radius):
    codes = random_codes(rng, n_codes, 64)
    assert_exact(find_duplicates(codes, radius), codes, radius)


@pytest.mark.parametrize("n_chunks", range(4, 9))
def test_every_number_of_chunks_finds_each_pair_once(rng, n_chunks):
    codes = planted(rng, 2000, 64, 30, 0.04)
    radius = 3
    found = find_duplicates(codes, radius)
    order = rng.permutation(64)
    found._join.keys = self_join._divided(order, n_chunks, radius, 1)
    assert len(found._join.keys.chosen) == [4, 10, 20, 35, 56][n_chunks - 4]
    assert_exact(found, codes, radius)


@pytest.mark.usefixtures("by_keys")
def test_codes_that_share_most_chunks(rng):
    # One chunk differs, the others are equal for all codes: every bucket of their keys has all codes.
    codes = np.zeros((1500, 32), np.uint8)
    codes[:, 7:10] = rng.integers(0, 256, (1500, 3), dtype=np.uint8)
    for radius in (0, 1, 2, 5):
        assert_exact(find_duplicates(codes, radius), codes, radius)


def test_hash_tables_that_turn_out_to_cost_too_much_give_way_to_comparing_all(rng, monkeypatch):
    codes = planted(rng, 3000, 64, 50, 0.03)
    keys = self_join._divided(np.arange(64), 5, 3, 1)
    for n_affordable in (0, 1, 4):
        found = find_duplicates(codes, 3)
        found._join.keys, n = keys, found.n_distinct
        monkeypatch.setattr(self_join, "PAIR_COST", 0.0)
        monkeypatch.setattr(self_join, "ENTRY_COST", self_join._scan_cost(n) / n / (n_affordable + 0.5))
        assert [key for key, _ in found._join._tables()] == [*keys.chosen[:n_affordable], EVERYTHING]
        assert_exact(found, codes, 3)


def test_a_large_bucket_costs_no_more_than_comparing_all(rng):
    # Half of the codes agree in most bits, so that they are in one bucket of each key.
    codes = rng.integers(0, 256, (20_000, 8), dtype=np.uint8)
    codes[::2, :6] = 0
    join = find_duplicates(codes, 3)._join
    cost = sum(self_join.ENTRY_COST * 20_000 + self_join.PAIR_COST * table.n_pairs.sum() for _, table in join._tables())
    assert cost < 2.5 * self_join._scan_cost(20_000)


def test_codes_with_many_near_pairs_are_compared_without_keys(rng):
    # A near pair agrees in several keys, and would be met in each of them.
    rows = random_codes(rng, 50_000, 64, 5, 0.06).view("<u8")
    assert len(choose_keys(rows, 64, 2).chosen) > 1
    assert choose_keys(rows, 64, 10).chosen.tolist() == [EVERYTHING]


def test_keys_are_those_of_the_smallest_cost(rng):
    few, many = (random_codes(rng, n, 64).view("<u8") for n in (1000, 300_000))
    assert choose_keys(few, 64, 3).chosen.tolist() == [EVERYTHING]
    assert len(choose_keys(many, 64, 3).chosen) == 4
    assert len(choose_keys(many, 64, 8).chosen) > 9
    assert choose_keys(many, 64, 30).chosen.tolist() == [EVERYTHING]
    # Constant bits make up no chunk of their own.
    constant = many & np.uint64(0xFFFFFFFF)
    bits_of_chunks = [
        int(np.bitwise_count(chunk & np.uint64(0xFFFFFFFF)).sum()) for chunk in choose_keys(constant, 64, 3).chunks
    ]
    assert max(bits_of_chunks) - min(bits_of_chunks) <= 1


@pytest.mark.parametrize("radius", [0, 2, 7, 40])
def test_pairs_their_order_and_groups_do_not_depend_on_threads(rng, radius):
    codes = np.vstack([planted(rng, 6000, 64, 500, 0.03), random_codes(rng, 4000, 64)])
    one, *others = (find_duplicates(codes, radius, n_threads=n) for n in (1, 2, 5, None))
    blocks = [np.column_stack(block) for block in islice(one.pairs(), 20)]
    for other in others:
        np.testing.assert_array_equal(other.group, one.group)
        for block, expected in zip(islice(other.pairs(), 20), blocks, strict=True):
            np.testing.assert_array_equal(np.column_stack(block), expected)


def test_chains_are_one_group(rng):
    # Each code differs from the one before it in two further bits.
    codes = rng.permutation(pack(np.arange(64) < 2 * np.arange(33)[:, None]))
    found = find_duplicates(codes, 2)
    assert found.n_groups == 1
    assert (found.group == 0).all()
    assert len(all_pairs(found)) == len(codes) - 1
    assert find_duplicates(codes, 1).n_groups == 0


def test_equal_codes_are_collapsed_before_they_are_compared(rng):
    # A million codes of ten values, as codes learned from labels are: half a trillion pairs.
    values = random_codes(rng, 10, 32)
    codes = values[rng.integers(0, 10, 1_000_000)]
    found = find_duplicates(codes, 3)
    assert (found.n_distinct, found.n_groups, found.n_duplicates) == (10, 10, 999_990)
    first = {bytes(code): position for position, code in reversed(list(enumerate(codes[:1000])))}
    assert sorted(first.values()) == found.kept.tolist()
    blocks = list(islice(found.pairs(), 3))
    assert [len(block.first) for block in blocks] == [self_join.BLOCK] * 3
    for block in blocks:
        assert (codes[block.first] == codes[block.second]).all()
        assert (block.first < block.second).all()
        assert (block.distance == 0).all()


def test_all_codes_equal_and_all_codes_within_the_radius(rng):
    codes = np.repeat(random_codes(rng, 1, 64), 200_000, axis=0)
    found = find_duplicates(codes, 0)
    assert (found.n_groups, found.n_duplicates, found.kept.tolist()) == (1, 199_999, [0])
    # Everything is linked after a few rows: the other 2 * 10^10 pairs are not compared.
    codes = random_codes(rng, 200_000, 64)
    for radius in (40, 64, 10**6):
        found = find_duplicates(codes, radius)
        assert (found.n_groups, found.kept.tolist()) == (1, [0])


def test_memory_of_pairs_does_not_grow_with_their_number(rng):
    codes = random_codes(rng, 4000, 64)
    list(find_duplicates(codes[:100], 64).pairs())  # compiles
    found, n_pairs = find_duplicates(codes, 64), 0
    tracemalloc.start()
    for block in found.pairs():
        n_pairs += len(block.first)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n_pairs == 4000 * 3999 // 2
    # Five blocks of pairs, at most, and the pairs of a sample; all pairs would be 160 MB.
    assert peak < 32e6


def test_pairs_may_be_left_before_their_end(rng):
    found = find_duplicates(random_codes(rng, 4000, 64), 30)
    for _ in range(3):
        pairs = found.pairs()
        first = next(pairs)
        pairs.close()
        assert len(first.first) == self_join.BLOCK


def test_ids(rng):
    codes = planted(rng, 500, 32, 20, 0.02)
    ids = rng.permutation(10**12 + np.arange(500))
    found, by_position = find_duplicates(codes, 2, ids=ids), find_duplicates(codes, 2)
    np.testing.assert_array_equal(found.ids, ids)
    np.testing.assert_array_equal(by_position.ids, np.arange(500))
    np.testing.assert_array_equal(found.group, by_position.group)
    np.testing.assert_array_equal(found.kept, by_position.kept)
    np.testing.assert_array_equal(found.representative, ids[by_position.representative])
    pairs, expected = all_pairs(found), all_pairs(by_position)
    np.testing.assert_array_equal(pairs, np.column_stack([ids[expected[:, 0]], ids[expected[:, 1]], expected[:, 2]]))
    names = np.array([f"é{one}" for one in ids], object)
    named = find_duplicates(codes, 2, ids=names.tolist())
    assert named.ids.tolist() == names.tolist()
    assert named.representative.tolist() == names[by_position.representative].tolist()
    for block, other in zip(named.pairs(), by_position.pairs(), strict=True):
        assert (block.first.tolist(), block.second.tolist()) == (
            names[other.first].tolist(),
            names[other.second].tolist(),
        )


@pytest.mark.parametrize("n_bits", [24, 64, 128])
def test_codes_in_any_memory(rng, tmp_path, n_bits):
    codes = planted(rng, 3000, n_bits, 100, 0.02)
    expected = find_duplicates(codes, 2)
    np.save(tmp_path / "codes.npy", codes)
    read_only = codes.copy()
    read_only.flags.writeable = False
    wide = np.zeros((3000, n_bits // 8 + 3), np.uint8)
    wide[:, 3:] = codes
    for form in (np.load(tmp_path / "codes.npy", mmap_mode="r"), read_only, np.asfortranarray(codes), wide[:, 3:]):
        found = find_duplicates(form, 2)
        np.testing.assert_array_equal(found.group, expected.group)
        np.testing.assert_array_equal(all_pairs(found), all_pairs(expected))
    np.testing.assert_array_equal(codes, np.load(tmp_path / "codes.npy"))


def test_kernels_are_compiled_once_for_whatever_codes(rng):
    def find_among(codes, radius):
        found = find_duplicates(codes, radius)
        found.group  # noqa: B018
        list(found.pairs())

    def find(n, n_bits, radius):
        find_among(planted(rng, n, n_bits, 20, 0.02), radius)

    # Random codes have few near pairs and are joined by keys, planted ones are all compared.
    find_among(random_codes(rng, 5000, 64), 2)
    find(5000, 64, 2)
    values = [*vars(_join_kernels).values(), *vars(_group_kernels).values()]
    compiled = [value for value in values if getattr(value, "signatures", None)]
    # At least the kernels called from Python: those that they call are compiled here where no cache has them.
    assert len(compiled) >= 10
    before = [len(value.signatures) for value in compiled]
    for n, n_bits, radius in [(0, 8, 0), (1, 64, 3), (5000, 200, 3), (5000, 64, 4), (300, 24, 24)]:
        find(n, n_bits, radius)
    assert [len(value.signatures) for value in compiled] == before


def test_progress_is_shown_where_it_is_asked_for(rng, monkeypatch, capsys):
    monkeypatch.setattr("proxcode.utils.progress.INTERVAL", 0.0)
    codes = random_codes(rng, 5000, 64)
    find_duplicates(codes, 2).group  # noqa: B018
    assert capsys.readouterr().err == ""
    find_duplicates(codes, 2, verbose=True).group  # noqa: B018
    n_keys = len(find_duplicates(codes, 2)._join.keys.chosen)
    assert capsys.readouterr().err.splitlines()[-1] == f"compared {5000 * n_keys:,} of {5000 * n_keys:,} codes"


def test_representation():
    assert repr(find_duplicates(np.zeros((1200, 2), np.uint8), 3, n_bits=12)) == (
        "Duplicates(radius=3), 1,200 codes of 12 bits"
    )


CODES = np.zeros((4, 2), np.uint8)
WRONG = {
    "radius below 0": (ValueError, "radius=-1: expected an integer of at least 0", CODES, -1, {}),
    "radius no integer": (TypeError, "radius=2.5: expected an integer", CODES, 2.5, {}),
    "radius a flag": (TypeError, "radius=True: expected an integer", CODES, True, {}),
    "codes as numbers": (ValueError, "codes has dtype float64", np.zeros((4, 2)), 1, {}),
    "one code alone": (ValueError, r"codes has dtype uint8 and shape \(2,\)", CODES[0], 1, {}),
    "codes without bits": (ValueError, "n_bits=0: expected an integer from 1 to 1024", CODES[:, :0], 1, {}),
    "other length": (ValueError, "codes has 2 bytes per row: expected 3 bytes for 20 bits", CODES, 1, {"n_bits": 20}),
    "later bits": (ValueError, "nonzero bits after the first 12", CODES + 1, 1, {"n_bits": 12}),
    "too few ids": (ValueError, "ids has 3 entries for 4 codes", CODES, 1, {"ids": [1, 2, 3]}),
    "repeated ids": (ValueError, "ids contains 2 more than once", CODES, 1, {"ids": [1, 2, 2, 3]}),
    "ids as text": (ValueError, "ids contains b more than once", CODES, 1, {"ids": list("abbd")}),
    "ids of two kinds": (ValueError, "ids contains 1 beside strings", CODES, 1, {"ids": ["a", 1, 2, 3]}),
    "ids as numbers": (ValueError, "expected a vector of integers", CODES, 1, {"ids": np.arange(4.0)}),
    "no threads": (ValueError, "n_threads=0: expected an integer from 1", CODES, 1, {"n_threads": 0}),
    "threads as text": (TypeError, "n_threads='2': expected an integer", CODES, 1, {"n_threads": "2"}),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments(name):
    kind, message, codes, radius, options = WRONG[name]
    with pytest.raises(kind, match=message):
        find_duplicates(codes, radius, **options)


def test_an_error_in_a_task_is_raised(rng, monkeypatch):
    monkeypatch.setattr(SelfJoin, "_table", lambda *_: (_ for _ in ()).throw(MemoryError("full")))
    with pytest.raises(MemoryError, match="full"):
        find_duplicates(random_codes(rng, 100, 64), 2).group  # noqa: B018
