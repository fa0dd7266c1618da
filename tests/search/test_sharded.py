"""ShardedIndex against one HammingIndex with all codes."""

import pickle
import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.codes import random_codes
from proxcode import ShardedIndex
from proxcode.engines import DaskEngine, LocalEngine
from proxcode.search import ByDistance, ByFloatQueries, ByMargins, FloatQueries, HammingIndex
from proxcode.search import sharded as sharded_module
from proxcode.search import shards as shards_module
from proxcode.utils.engine import Engine


class Reversed(Engine):
    """Computes all tasks in reverse order, from copies that went through pickle, as a cluster may."""

    def map(self, function, tasks):
        import cloudpickle

        function, tasks = cloudpickle.loads(cloudpickle.dumps((function, list(tasks))))
        results = [function(task) for task in reversed(tasks)]
        yield from reversed(results)


@dataclass(frozen=True)
class Ones:
    """An offset for each code: a multiple of its number of ones."""

    factor: float

    def __call__(self, codes):
        return self.factor * np.bitwise_count(codes).sum(axis=1)


def queries_of(kind, rng, n_queries, n_bits, n_centers=None):
    """Return packed codes, float queries with many ties, or float queries with random tables and offsets."""
    if kind == "codes":
        return random_codes(rng, n_queries, n_bits, n_centers)
    if kind == "weights":
        return FloatQueries.from_weights(rng.integers(-1, 2, (n_queries, n_bits)))
    return FloatQueries(rng.normal(size=(n_queries, -(-n_bits // 8), 256)), Ones(-0.5))


def rescoring_of(kind, rng, n_queries, n_bits, ids):
    if kind == "margins":
        return ByMargins(rng.integers(-2, 3, (n_queries, n_bits)))
    if kind == "float":
        return ByFloatQueries(queries_of("tables", rng, n_queries, n_bits))
    # Vectors with many ties, found by their ids.
    vectors = rng.integers(0, 2, (len(ids), 3))
    order = np.argsort(ids)
    of_ids = lambda found: vectors[order[np.searchsorted(ids, found, sorter=order)]]  # noqa: E731
    return ByDistance(queries=rng.integers(0, 2, (n_queries, 3)), vectors=of_ids)


def save_shards(folder, n_bits, codes, ids, edges):
    """Write the codes between edges to one file each; return the names of the files."""
    paths = [Path(folder, f"{number:02}.index") for number in range(len(edges) - 1)]
    for path, (start, stop) in zip(paths, pairwise(edges), strict=True):
        own = None if ids is None else ids[start:stop]
        HammingIndex(n_bits).add(codes[start:stop], own).save(path)
    return paths


def assert_equal(found, expected):
    for array, of_one in zip(found, expected, strict=True):
        assert array.dtype == of_one.dtype
        np.testing.assert_array_equal(array, of_one)


def assert_same_within(shards, one, queries, radius):
    found, expected = shards.within(queries, radius), one.within(queries, radius)
    assert_equal(
        (found.offsets, found.distance, found.neighbor), (expected.offsets, expected.distance, expected.neighbor)
    )


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_shards_give_what_one_index_gives(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**31), label="seed"))
    n_bits = data.draw(st.one_of(st.sampled_from([8, 16, 64, 256]), st.integers(1, 256)), label="bits")
    n_centers = data.draw(st.sampled_from([None, 1, 3]), label="centers")
    sizes = data.draw(st.lists(st.integers(0, 60), min_size=1, max_size=5), label="sizes")
    edges = np.cumsum([0, *sizes])
    n = int(edges[-1])
    codes = random_codes(rng, n, n_bits, n_centers)
    ids = rng.permutation(np.arange(-5, 3 * n))[:n] if data.draw(st.booleans(), label="own ids") else None
    tables = data.draw(st.sampled_from([None, True]), label="tables")
    engine = data.draw(st.sampled_from([None, LocalEngine(), Reversed()]), label="engine")
    one = HammingIndex(n_bits).add(codes, ids)
    n_queries, k = data.draw(st.sampled_from([0, 1, 7, 33]), label="queries"), data.draw(st.integers(1, 350), label="k")
    queries = queries_of(data.draw(st.sampled_from(["codes", "weights", "tables"])), rng, n_queries, n_bits, n_centers)
    with tempfile.TemporaryDirectory() as folder:
        save_shards(folder, n_bits, codes, ids, edges)
        shards = ShardedIndex(folder, engine=engine, renumber=ids is None, tables=tables)
        assert (len(shards), shards.n_bits) == (n, n_bits)
        np.testing.assert_array_equal(shards.ids, one.ids)
        assert_equal(shards.search(queries, k), one.search(queries, k))
        radius = data.draw(st.integers(0, n_bits), label="radius")
        assert_same_within(shards, one, queries, radius)
        rescore = rescoring_of(
            data.draw(st.sampled_from(["margins", "float", "distance"])), rng, n_queries, n_bits, one.ids
        )
        oversample = data.draw(st.sampled_from([1, 1.5, 4, 1000]), label="oversample")
        options = {"rescore": rescore, "oversample": oversample}
        assert_equal(shards.search(queries, k, **options), one.search(queries, k, **options))


@pytest.fixture(name="codes")
def codes_with_ties(rng):
    return random_codes(rng, 900, 20, 5)


@pytest.fixture(name="paths")
def paths_of_shards(codes, tmp_path):
    """Return three index files whose ids are 0 to 899 in the order of the files."""
    return save_shards(tmp_path, 20, codes, np.arange(900), [0, 100, 600, 900])


def test_a_list_a_folder_and_a_pattern_stand_for_the_same_files(paths, codes, tmp_path, monkeypatch):
    (tmp_path / ".partial").write_bytes(b"being written")
    one = HammingIndex(20).add(codes)
    monkeypatch.chdir(tmp_path)
    for source in (paths, map(str, paths), tmp_path, str(tmp_path), tmp_path / "*.index", "0?.index"):
        shards = ShardedIndex(source)
        assert shards.paths == paths
        assert_equal(shards.search(codes[:9], 30), one.search(codes[:9], 30))
    assert repr(shards) == "ShardedIndex(n_bits=20), 900 codes in 3 files"
    assert repr(ShardedIndex(paths[0])) == "ShardedIndex(n_bits=20), 100 codes in 1 file"
    # The ids of the first file are 0, 1, 2, ..., which take no memory.
    assert shards.nbytes == 900 * 3 + 800 * 8


@pytest.mark.parametrize("engine", [None, Reversed()])
@pytest.mark.parametrize("n_queries", [0, 3])
def test_an_empty_first_shard_leaves_strings_strings(n_queries, engine, rng, tmp_path):
    codes, ids = random_codes(rng, 20, 64), [f"name {number}" for number in range(20)]
    save_shards(tmp_path, 64, codes, ids, [0, 0, 12, 20])
    shards, one = ShardedIndex(tmp_path, engine=engine), HammingIndex(64).add(codes, ids)
    assert_equal(shards.search(codes[:n_queries], 4), one.search(codes[:n_queries], 4))
    far = random_codes(rng, n_queries, 64)
    assert len(one.within(far, 3).neighbor) == 0
    assert_same_within(shards, one, far, 3)


def test_files_in_another_order_order_ties_so(paths, codes):
    order = np.r_[600:900, 0:100, 100:600]
    one = HammingIndex(20).add(codes[order], ids=order)
    shards = ShardedIndex([paths[2], paths[0], paths[1]])
    assert_equal(shards.search(codes[:20], 200), one.search(codes[:20], 200))
    renumbered = ShardedIndex([paths[2], paths[0], paths[1]], renumber=True)
    assert_equal(renumbered.search(codes[:20], 200), HammingIndex(20).add(codes[order]).search(codes[:20], 200))


def test_a_copy_by_pickle_opens_the_files_again(paths, codes):
    shards = ShardedIndex(paths, renumber=True, n_threads=1)
    pickled = pickle.dumps(shards)
    assert len(pickled) < 2000
    copy = pickle.loads(pickled)
    assert (copy.renumber, copy.n_threads, copy.paths) == (True, 1, paths)
    assert_equal(copy.search(codes[:5]), shards.search(codes[:5]))


def test_it_is_read_only(paths):
    shards = ShardedIndex(paths)
    for name in ("add", "remove", "save"):
        assert not hasattr(shards, name)
        with pytest.raises(
            AttributeError, match=f"^a ShardedIndex is read-only and has no '{name}': change one of its"
        ):
            getattr(shards, name)
    with pytest.raises(AttributeError, match=r"^'ShardedIndex' object has no attribute 'other'$"):
        shards.other  # noqa: B018


@pytest.mark.parametrize("engine", [None, Reversed()])
def test_ids_in_two_files_are_refused(rng, engine, tmp_path):
    def refused(*parts):
        ids = [np.asarray(part) for part in parts]
        edges = np.cumsum([0, *(len(part) for part in ids)])
        save_shards(tmp_path, 9, random_codes(rng, edges[-1], 9), np.concatenate(ids), edges)
        with pytest.raises(ValueError, match=r"^id .*\.index: save them with distinct ids, or pass renumber") as error:
            ShardedIndex(tmp_path, engine=engine)
        assert len(ShardedIndex(tmp_path, engine=engine, renumber=True)) == edges[-1]
        words = str(error.value).split()
        return int(words[1]), Path(words[4]).stem, Path(words[7].rstrip(":")).stem

    assert refused(range(5), range(5)) == (0, "00", "01")
    assert refused([7, 5, 1], range(20, 30), [8, 5, -4]) == (5, "00", "02")
    # The range of the last file is inside that of the first, whose ids are not in it, and of the second.
    assert refused([0, 100], [10, 30, 20], [20, 15]) == (20, "01", "02")
    assert refused(range(20, 30), range(10), range(5, 25)) == (5, "01", "02")


@pytest.mark.parametrize("engine", [None, Reversed()])
def test_distinct_ids_of_overlapping_ranges_are_accepted(rng, engine, tmp_path):
    codes, ids = random_codes(rng, 60, 9), np.r_[0:60:3, 1:60:3, 2:60:3]
    save_shards(tmp_path, 9, codes, ids, [0, 20, 40, 60])
    shards, one = ShardedIndex(tmp_path, engine=engine), HammingIndex(9).add(codes, ids)
    assert_equal(shards.search(codes, 60), one.search(codes, 60))


def test_ids_are_compared_only_where_ranges_overlap(paths, monkeypatch):
    monkeypatch.setattr(sharded_module, "ids_of", None)
    assert len(ShardedIndex(paths)) == 900


def test_wrong_files_are_refused_by_name(paths, tmp_path):
    HammingIndex(32).save(tmp_path / "other.index")
    with pytest.raises(
        ValueError, match=r"other\.index has codes of 32 bits, but .*00\.index of 20: expected files of"
    ):
        ShardedIndex(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"^there is no file .*missing\.index"):
        ShardedIndex([paths[0], tmp_path / "missing.index"])
    with pytest.raises(FileNotFoundError, match=r"\*\.idx has no index file: expected files written by HammingIndex"):
        ShardedIndex(tmp_path / "*.idx")
    with pytest.raises(ValueError, match=r"^the list of index files is empty"):
        ShardedIndex([])
    content = paths[1].read_bytes()
    for damaged in (content[:-1], content.replace(b'"n_bits\\":20', b'"n_bits\\":99')):
        assert damaged != content
        paths[1].write_bytes(damaged)
        with pytest.raises(ValueError, match=r"01\.index (is truncated|cannot be read)") as expected:
            HammingIndex.load(paths[1])
        for engine in (None, Reversed()):
            with pytest.raises(ValueError, match=r"01\.index (is truncated|cannot be read)") as error:
                ShardedIndex(paths, engine=engine)
            assert str(error.value) == str(expected.value)


def test_wrong_arguments_are_refused(paths, codes):
    with pytest.raises(TypeError, match=r"^engine='dask': expected None or an engine of proxcode\.engines\.$"):
        ShardedIndex(paths, engine="dask")
    with pytest.raises(TypeError, match=r"^renumber=1: expected True or False\.$"):
        ShardedIndex(paths, renumber=1)
    shards, one = ShardedIndex(paths), HammingIndex(20).add(codes)
    for call in (
        lambda index: index.search(codes[:, :2]),
        lambda index: index.search(codes, 0),
        lambda index: index.search(codes, oversample=0.5),
        lambda index: index.search(codes, rescore=ByMargins(np.zeros((1, 20)))),
        lambda index: index.within(codes, -1),
        lambda index: index.search(FloatQueries(np.zeros((1, 2, 256)))),
    ):
        with pytest.raises(ValueError, match="expected") as expected:
            call(one)
        with pytest.raises(ValueError, match="expected") as error:
            call(shards)
        assert str(error.value) == str(expected.value)


def test_a_worker_searches_a_file_as_it_was_opened(paths, codes):
    """A file is opened once; replaced before that, it is refused, and afterwards, the old content is searched."""
    shards = ShardedIndex(paths, engine=Reversed())
    before = shards.search(codes[:5])
    HammingIndex(20).save(paths[0])
    assert_equal(shards.search(codes[:5]), before)
    shards_module._opened.cache_clear()
    with pytest.raises(ValueError, match=r"00\.index was replaced or changed after the sharded index was opened"):
        shards.search(codes[:5])


@pytest.fixture(scope="module", name="dask")
def dask_engine():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield DaskEngine(client)


@pytest.mark.parametrize("kind", ["codes", "weights", "tables"])
def test_two_processes_give_what_one_index_gives(kind, dask, paths, codes, rng):
    one, shards = HammingIndex(20).add(codes), ShardedIndex(paths, engine=dask)
    queries = queries_of(kind, rng, 40, 20, 5)
    for k in (1, 150, 2000):
        assert_equal(shards.search(queries, k), one.search(queries, k))
    assert_same_within(shards, one, queries, 4)
    rescore = ByMargins(rng.normal(size=(40, 20)))
    assert_equal(shards.search(queries, 9, rescore=rescore), one.search(queries, 9, rescore=rescore))
    with pytest.raises(ValueError, match=r"^id 0 is in .*00\.index and in .*00\.index: save them"):
        ShardedIndex([paths[0], paths[0]], engine=dask)
    with pytest.raises(FileNotFoundError, match=r"^there is no file .*missing\.index"):
        ShardedIndex([paths[0], "missing.index"], engine=dask)
