"""Samples as float queries of a fitted model."""

import numpy as np
import pytest

from proxcode import (
    FloatQueries,
    KernelHash,
    LinearHash,
    ProximityPreservingCode,
    ReconstructionHash,
    RotationHash,
    SameLabel,
    SVMHash,
    WithinRadius,
)
from proxcode.hamming import asymmetric_distances

WITH_MARGINS = [
    {"hash_function": SVMHash(max_samples=100)},
    {"proximity": WithinRadius(), "hash_function": KernelHash(n_landmarks=40)},
]
DECODED = [
    {"hash_function": RotationHash(n_landmarks=40)},
    {"hash_function": ReconstructionHash(4, 2)},
    {"proximity": SameLabel(new_classes=True)},
]


def fitted(parameters, train, n_bits=13):
    X, y = train
    y = None if isinstance(parameters.get("proximity"), WithinRadius) else y
    return ProximityPreservingCode(n_bits, random_state=0, **parameters).fit(X, y)


@pytest.mark.parametrize("parameters", WITH_MARGINS, ids=repr)
def test_bits_are_weighted_by_margins_as_in_asymmetric_distances(parameters, train, new):
    model = fitted(parameters, train)
    expected = asymmetric_distances(model.scores(new[0][:20]), model.codes_)
    found = model.query(new[0][:20]).distances(model.codes_)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    nearest = model.index(model.codes_).search(model.query(new[0][:20]), k=4)
    np.testing.assert_allclose(nearest.distance, np.sort(expected, axis=1)[:, :4], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("hash_function", [KernelHash(n_landmarks=200), LinearHash()], ids=repr)
def test_with_labels_bits_are_those_to_expect_of_a_near_sample(hash_function, train, new):
    model = fitted({"hash_function": hash_function}, train)
    learned = model.hash_function_
    shares = learned.posteriors_.probabilities(learned.label_scores(new[0]))
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    expected = FloatQueries.from_weights(shares @ learned.label_codes_).distances(model.codes_)
    np.testing.assert_allclose(model.query(new[0]).distances(model.codes_), expected, rtol=1e-5, atol=1e-5)
    assert np.abs(learned.label_codes_).max() <= 1
    index = model.index(model.encode(train[0]))
    precision = [
        (train[1][index.search(queries, 5).neighbor] == new[1][:, None]).mean()
        for queries in (model.query(new[0]), model.encode(new[0]))
    ]
    assert precision[0] > precision[1]


@pytest.mark.parametrize("n_bits", [8, 13])
@pytest.mark.parametrize("parameters", DECODED[:2], ids=repr)
def test_the_distance_is_that_to_the_decoded_code(parameters, n_bits, train, new):
    model = fitted(parameters, train, n_bits)
    decoder, queries = model.hash_function_.decoder_, new[0][:20]
    decoded = decoder.mean + decoder.decode(model.codes_).astype(np.float64)
    expected = ((queries[:, None] - decoded) ** 2).sum(axis=2)
    np.testing.assert_allclose(model.query(queries).distances(model.codes_), expected, rtol=1e-4, atol=1e-2)
    nearest = model.index(model.codes_, np.arange(500) + 7).search(model.query(queries), k=4)
    np.testing.assert_allclose(nearest.distance, np.sort(expected, axis=1)[:, :4], rtol=1e-4, atol=1e-2)
    assert nearest.neighbor.min() >= 7


@pytest.mark.parametrize("parameters", [*WITH_MARGINS, *DECODED], ids=repr)
def test_a_loaded_model_gives_equal_tables(parameters, train, new, tmp_path):
    model = fitted(parameters, train)
    model.save(tmp_path / "model.proxcode")
    loaded = ProximityPreservingCode.load(tmp_path / "model.proxcode")
    ours, theirs = model.query(new[0]), loaded.query(new[0])
    np.testing.assert_array_equal(ours.tables, theirs.tables)
    np.testing.assert_array_equal(ours.distances(model.codes_[:50]), theirs.distances(model.codes_[:50]))


@pytest.mark.parametrize("parameters", [WITH_MARGINS[0], *DECODED], ids=repr)
def test_queries_alone_and_together(parameters, train, new):
    model = fitted(parameters, train)
    together = model.query(new[0][:30])
    assert isinstance(together, FloatQueries)
    assert len(together) == 30
    assert together.tables.shape == (30, 2, 256)
    alone = np.vstack([model.query(sample[None]).tables for sample in new[0][:30]])
    scale = np.abs(together.tables).max()
    np.testing.assert_allclose(alone, together.tables, rtol=1e-4, atol=1e-5 * scale)


@pytest.mark.parametrize("parameters", DECODED, ids=repr)
def test_offsets_are_computed_once_per_index(parameters, train, new, monkeypatch):
    model = fitted(parameters, train)
    index = model.index(model.codes_)
    decoder, calls = type(model.hash_function_.decoder_), []
    norms = decoder.norms
    monkeypatch.setattr(decoder, "norms", lambda self, codes: calls.append(len(codes)) or norms(self, codes))
    for _ in range(3):
        index.search(model.query(new[0][:2]), k=1)
    assert sum(calls) == 500


def test_single_precision_and_lists(train, new):
    model = fitted(DECODED[0], train)
    expected = model.query(new[0][:5]).tables
    np.testing.assert_allclose(model.query(new[0][:5].astype(np.float32)).tables, expected, rtol=1e-4, atol=0.1)
    np.testing.assert_array_equal(model.query(new[0][:5].tolist()).tables, expected)


@pytest.mark.parametrize("parameters", [WITH_MARGINS[0], DECODED[0], DECODED[1]], ids=repr)
def test_errors_are_one_clear_sentence(parameters, train):
    model = ProximityPreservingCode(8, random_state=0, **parameters)
    with pytest.raises(ValueError, match="is not fitted yet"):
        model.query(train[0])
    model.fit(*train)
    with pytest.raises(ValueError, match=r"^X has 63 features, but ProximityPreservingCode is expecting 64 features"):
        model.query(train[0][:, 1:])
    with pytest.raises(ValueError, match="X contains NaN or infinity, first nan in row 1, column 2"):
        model.query(np.where(np.arange(64 * 3).reshape(3, 64) == 66, np.nan, 1.0))
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        model.query(train[0][0])


def test_codes_of_another_length_are_refused(train, new):
    model = fitted(DECODED[0], train, n_bits=24)
    with pytest.raises(ValueError, match=r"\b2\b|\b3\b"):
        model.index(model.encode(new[0], n_bits=13), n_bits=13).search(model.query(new[0][:2]), k=1)
