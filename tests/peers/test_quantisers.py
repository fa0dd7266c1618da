"""FAISS's quantisers as peers, against FAISS itself and plain formulae; judging by levels of distances."""

import importlib
import importlib.util
import json
import pickle
import sys

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

pytest.importorskip("faiss", reason="FAISS is not installed: pip install 'proxcode[faiss]'")

import faiss

from proxcode.experiments import EXPERIMENTS, judging, methods
from proxcode.experiments.curves import MOST_POINTS
from proxcode.experiments.judging import ByHammingDistance, ByOwnDistance, levels
from proxcode.experiments.protocols import QUICK, Size, labels_split, radius_split
from proxcode.experiments.runner import Cell, _figures, histograms, run_cells, write_rows
from proxcode.hamming import distances
from proxcode.peers import LSH, QUANTISERS, FaissITQ, FaissPQ, FaissRaBitQ

SPLITS = {
    "test against test": lambda: labels_split("digits", 0, QUICK),
    "test against train": lambda: labels_split("digits", 0, QUICK, base_is_train=True),
    "radius": lambda: radius_split("digits", 0, Size(400, 300), mean_neighbors=20),
}


@parametrize_with_checks([peer(n_bits=1) for peer in QUANTISERS.values()])
def test_estimator_checks(estimator, check):
    check(estimator)


def test_product_codes_are_those_of_faiss(digits):
    X = digits[0].astype(np.float32)
    model = FaissPQ(32, random_state=3).fit(X)
    index = faiss.IndexPQ(64, 4, 8)
    index.pq.cp.seed = int(np.random.RandomState(3).randint(2**31 - 1))
    index.pq.cp.min_points_per_centroid = 1
    with threadpool_limits(1):
        index.train(X)
    np.testing.assert_array_equal(model.encode(X), index.sa_encode(X))
    index.add(X)
    nearest, found = index.search(X[:20], 50)
    np.testing.assert_allclose(np.take_along_axis(model.distances(X[:20], model.encode(X)), found, 1), nearest, 1e-4)


@pytest.mark.parametrize(("n_bits", "groups", "sub_bits"), [(32, 4, 8), (24, 3, 8), (12, 2, 6), (50, 10, 5), (7, 1, 7)])
def test_product_distances_are_to_the_centroids_that_the_bits_name(n_bits, groups, sub_bits, digits):
    X = digits[0]
    model = FaissPQ(n_bits, random_state=0).fit(X)
    quantiser = faiss.downcast_index(model.index_.index).pq
    assert (quantiser.M, quantiser.nbits, model.code_size_) == (groups, sub_bits, -(-n_bits // 8))
    centroids = faiss.vector_to_array(quantiser.centroids).reshape(groups, 2**sub_bits, -1)
    bits = model.transform(X[:30]).reshape(30, groups, sub_bits)
    words = np.concatenate([centroids[g, bits[:, g] @ 2 ** np.arange(sub_bits)] for g in range(groups)], axis=1)
    is_kept = faiss.vector_to_array(_remap(model).map) >= 0
    assert is_kept.sum() == 64
    assert np.ptp(is_kept.reshape(groups, -1).sum(axis=1)) <= 1  # zeros are spread evenly
    expected = ((X[:9, None] - words[None][:, :, is_kept]) ** 2).sum(axis=2)
    np.testing.assert_allclose(model.distances(X[:9], model.encode(X[:30])), expected, rtol=1e-4)


def _remap(model):
    return faiss.downcast_VectorTransform(model.index_.chain.at(0))


def test_itq_is_faisss_transform_then_signs_and_ranks_as_its_index(digits):
    X = digits[0].astype(np.float32)
    model = FaissITQ(20, random_state=0).fit(X)
    turned = faiss.downcast_VectorTransform(model.index_.chain.at(0)).apply(X)
    np.testing.assert_array_equal(model.transform(X), turned >= 0)
    mine = model.distances(X[:20], model.encode(X))
    model.index_.add(X)
    nearest, found = model.index_.search(X[:20], 50)
    np.testing.assert_array_equal(np.take_along_axis(mine, found, 1), nearest)


@pytest.mark.parametrize(("n_bits", "at_least"), [(16, 0.7), (64, 0.9), (256, 0.97)])
def test_rabitq_estimates_follow_the_true_distances(n_bits, at_least, digits):
    X = digits[0]
    model = FaissRaBitQ(n_bits, random_state=0).fit(X)
    true = ((X[:40, None] - X[None]) ** 2).sum(axis=2)
    estimates = model.distances(X[:40], model.encode(X))
    assert np.corrcoef(true.ravel(), estimates.ravel())[0, 1] > at_least
    assert model.code_size_ == n_bits // 8 + 8 == model.encode(X[:1]).shape[1]
    if n_bits >= 64:  # nothing is lost in the principal components
        assert abs((estimates - true).mean()) < 0.01 * true.mean()


@pytest.mark.parametrize("name", QUANTISERS)
def test_same_seed_same_codes_for_any_number_of_threads_and_after_pickling(name, digits):
    X, n_threads = digits[0], faiss.omp_get_max_threads()
    model = QUANTISERS[name](16, random_state=5).fit(X)
    codes = model.encode(X)
    with threadpool_limits(1):
        np.testing.assert_array_equal(QUANTISERS[name](16, random_state=5).fit(X).encode(X), codes)
    assert (QUANTISERS[name](16, random_state=6).fit(X).encode(X) != codes).any()
    assert faiss.omp_get_max_threads() == n_threads
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.encode(X), codes)
    np.testing.assert_array_equal(copy.distances(X[:3], codes), model.distances(X[:3], codes))
    assert model.distances(X[:3], codes).dtype == np.float32


@pytest.mark.parametrize("n_bits", [3, 13])
@pytest.mark.parametrize("name", QUANTISERS)
def test_bits_are_the_first_of_the_code(name, n_bits, digits):
    model = QUANTISERS[name](n_bits, random_state=0).fit(digits[0])
    bits = np.unpackbits(model.encode(digits[0]), axis=1, bitorder="little")
    np.testing.assert_array_equal(model.transform(digits[0]), bits[:, :n_bits])
    assert (model.transform(digits[0]).mean(axis=0) > 0).all()


def test_bad_input_is_refused_in_one_sentence(digits, monkeypatch):
    X = digits[0]
    with pytest.raises(ValueError, match=r"n_bits=65: expected an integer from 1 to 64, .*n_features=64"):
        FaissITQ(65).fit(X)
    with pytest.raises(ValueError, match=r"n_bits=520: FaissPQ forms 65 groups of 8 bits.* at most 512 bits"):
        FaissPQ(520).fit(X)
    with pytest.raises(ValueError, match=r"learns 256 centroids, and X has n_samples=200; pass at least 256 samples"):
        FaissPQ(16).fit(X[:200])
    with pytest.raises(ValueError, match="n_bits=0: expected an integer of at least 1"):
        FaissRaBitQ(0).fit(X)
    with pytest.raises(ValueError, match="single precision"):
        FaissRaBitQ(8).fit(1e300 * X)
    model = FaissRaBitQ(8).fit(X)
    with pytest.raises(ValueError, match="codes have 1 bytes but encode returns 9"):
        model.distances(X, model.encode(X)[:, :1])
    monkeypatch.setitem(sys.modules, "faiss", None)
    for name, peer in QUANTISERS.items():
        with pytest.raises(ModuleNotFoundError, match=r"Faiss\w+ needs FAISS: pip install 'proxcode\[faiss\]'"):
            peer(8).fit(X)
        assert name in methods.METHODS


def test_without_faiss_methods_go_without_its_quantisers(monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "faiss" else find_spec(name))
    spec = find_spec("proxcode.experiments.methods")
    fresh = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fresh)
    assert set(methods.METHODS) - set(fresh.METHODS) == set(QUANTISERS)


class HammingAsFloats:
    """A code with distances of its own, which are Hamming's."""

    def __init__(self, model):
        self.model, self.encode = model, model.encode

    def distances(self, X, codes):
        return 0.3 * distances(self.encode(X), codes).astype(np.float32) - 1


@pytest.mark.parametrize("name", SPLITS)
def test_levels_of_hamming_distances_give_the_figures_of_hamming_distances(name, monkeypatch):
    monkeypatch.setattr(judging, "SAMPLE", 10**4)  # all queries: every distance is a level
    split = SPLITS[name]()
    model = LSH(20, random_state=0).fit(split.train)
    exact = _figures(*ByHammingDistance(split, model).counts(20), is_hamming=True)
    levelled = _figures(*ByOwnDistance(split, HammingAsFloats(model)).counts(20), is_hamming=False)
    for figure in ("auc", "map", "precision_at_100"):
        assert levelled[figure] == pytest.approx(exact[figure], rel=1e-12)
    assert sum(levelled["near"]) == sum(exact["near"])
    assert sum(levelled["far"]) == sum(exact["far"])
    assert levelled["precision_within_2"] is None


def test_few_levels_come_near_many(monkeypatch):
    split = SPLITS["radius"]()
    model = FaissRaBitQ(64, random_state=0).fit(split.train)
    found = {}
    for n_levels in (512, 10**6):
        monkeypatch.setattr(judging, "LEVELS", n_levels)
        near, far = ByOwnDistance(split, model).counts(64)
        found[n_levels] = _figures(near, far, is_hamming=False)
        assert near.shape[1] <= n_levels
    for figure in ("auc", "map"):
        assert found[512][figure] == pytest.approx(found[10**6][figure], abs=0.003)


def test_levels_are_finest_among_the_nearest(rng, monkeypatch):
    monkeypatch.setattr(judging, "LEVELS", 101)
    limits = levels(rng.random((100, 100)))
    assert (np.diff(limits) > 0).all()
    assert len(limits) == 100
    assert (limits < 0.25).sum() == pytest.approx(50, abs=2)
    np.testing.assert_array_equal(levels(np.array([[2.0, 1.0], [2.0, 2.0]])), [1.0, 2.0])


def test_quantisers_run_as_cells_and_their_records_stay_json(tmp_path):
    cells = [Cell("labels digits", name, 0, (12, 32)) for name in ("LSH", *QUANTISERS)]
    rows = run_cells(cells, tmp_path, quick=True)
    assert [row["method"] for row in rows] == [name for name in ("LSH", *QUANTISERS) for _ in range(2)]
    assert run_cells(cells, tmp_path, quick=True)[:2] == rows[:2]
    area = {(row["method"], row["bits"]): row["auc"] for row in rows}
    assert min(area[name, 32] for name in QUANTISERS) > area["LSH", 32]
    has_radius = {row["method"]: not np.isnan(row["precision_within_2"]) for row in rows}
    assert has_radius == {"LSH": True, "FAISS-PQ": False, "FAISS-ITQ": True, "FAISS-RaBitQ": False}
    for cell in cells:
        json.loads(cell.path(tmp_path / "cells").read_text(), parse_constant=pytest.fail)
        near, far = histograms(cell, tmp_path)[32]
        assert near.sum() + far.sum() == 300 * 299
    write_rows(tmp_path / "rows.csv", rows)
    assert len((tmp_path / "rows.csv").read_text().splitlines()) == 9


def test_curves_are_drawn_from_levels(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    few = {name: methods.METHODS[name] for name in ("LSH", "FAISS-PQ")}
    monkeypatch.setattr("proxcode.experiments.table.METHODS", few)
    monkeypatch.setattr("proxcode.experiments.table.FAIR", {})
    written = EXPERIMENTS["precision-recall"].run(tmp_path, True, False)
    table, text, picture = (tmp_path / f"precision_recall.{ending}" for ending in ("csv", "md", "png"))
    assert {table, text, picture} < set(written)
    lines = [line.split(",")[1] for line in table.read_text().splitlines()]
    assert 100 < lines.count("FAISS-PQ") <= MOST_POINTS + 1
    assert "| FAISS-PQ | 0." in text.read_text()
    assert picture.read_bytes().startswith(b"\x89PNG")
