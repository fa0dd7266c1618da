"""Answers of CodeExplorer, compared with HammingIndex and with what was passed to it."""

import base64
import io
import math

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer

from helpers.explored import Client
from proxcode import CodePipeline, HammingIndex, ProximityPreservingCode
from proxcode.explore import CodeExplorer, ExploreServer, Items
from proxcode.hamming import distances
from proxcode.storage.texts import Texts


def unpacked(record):
    return np.frombuffer(bytes.fromhex(record["bits"]), np.uint8)


@pytest.mark.parametrize("k", [1, 10, 299, 1000])
def test_neighbours_of_an_item_are_those_of_the_index(explored, k):
    explorer, _, y, titles = explored
    codes = explorer.codes
    index = HammingIndex(20).add(codes)
    for row in (0, 7, 299):
        found = explorer.search({"row": row, "k": k})
        expected = index.search(codes[[row]], min(k, 299), exclude=[row])
        assert [one["row"] for one in found["neighbors"]] == expected.neighbor[0].tolist()
        assert [one["distance"] for one in found["neighbors"]] == expected.distance[0].tolist()
        for one in (found["query"], *found["neighbors"]):
            assert (unpacked(one) == codes[one["row"]]).all()
            assert one["cells"] == [titles[one["row"]], str(one["row"] // 10)]
            assert one["label"] == str(y[one["row"]])
        is_near = [one["near"] for one in found["neighbors"]]
        assert is_near == (expected.distance[0] <= explorer.model.radius_).tolist()
        others = np.delete(distances(codes[[row]], codes)[0], row)
        assert found["counts"] == np.bincount(others, minlength=21).tolist()


def test_neighbours_of_a_vector_are_those_of_its_code(explored, new):
    explorer = explored[0]
    index = HammingIndex(20).add(explorer.codes)
    for vector in new[0][:5]:
        code = explorer.model.encode(vector[None])
        expected = index.search(code, 10)
        numbers = [vector.tolist(), ", ".join(map(str, vector)), f"[{'; '.join(map(str, vector))}]", str(vector)]
        for given in numbers:
            found = explorer.search({"vector": given})
            assert (unpacked(found["query"]) == code).all()
            assert "row" not in found["query"]
            assert [one["row"] for one in found["neighbors"]] == expected.neighbor[0].tolist()
            assert [one["distance"] for one in found["neighbors"]] == expected.distance[0].tolist()
            assert sum(found["counts"]) == 300


WRONG = {
    "too short": ("1, 2", "the vector has 2 numbers: expected 64, as the model's samples."),
    "empty": ("[]", "the vector has 0 numbers: expected 64, as the model's samples."),
    "word": ("1, two", "number 2 of the vector is 'two': expected numbers separated by commas or spaces."),
    "underscore": ("1_000", "number 1 of the vector is '1_000': expected numbers separated by commas or spaces."),
    "long word": ("x" * 99, "number 1 of the vector is '" + "x" * 40 + "...': expected numbers"),
    "nan": (f"nan{' 0' * 63}", "number 1 of the vector is nan: expected finite numbers."),
    "infinite": (f"0 -1e999{' 0' * 62}", "number 2 of the vector is -inf: expected finite numbers."),
    "nan in a list": ([0.0] * 63 + [math.nan], "number 64 of the vector is nan: expected finite numbers."),
    "huge integer": ([10**400] + [0] * 63, "number 1 of the vector is inf: expected finite numbers."),
    "text in a list": (["a"], "number 1 of the vector is 'a': expected a number."),
    "truth": ([True], "number 1 of the vector is True: expected a number."),
    "no list": (3, "vector=3: expected a list of numbers, or a text of them."),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_vector_gives_one_sentence(explored, name):
    given, sentence = WRONG[name]
    with pytest.raises((ValueError, TypeError)) as error:
        explored[0].search({"vector": given})
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        ({}, "pass one of row, id and vector"),
        ({"row": 1, "vector": "1"}, "pass one of row, id and vector"),
        ({"row": 300}, "row=300: expected an integer from 0 to 299"),
        ({"row": -1}, "row=-1: expected an integer from 0 to 299"),
        ({"row": "1"}, "row='1': expected an integer"),
        ({"row": 1, "k": 0}, "k=0: expected an integer from 1 to 1000"),
        ({"row": 1, "k": 1001}, "k=1001: expected an integer from 1 to 1000"),
        ({"row": 1, "file": "/etc/passwd"}, "the request has 'file': expected row, id, vector, k"),
        ({"id": "twelve"}, "id twelve is not stored"),
        ({"id": 300}, "id 300 is not stored"),
        ({"id": 10**30}, "is not stored"),
        ({"id": None}, "id=None: expected an integer or a string"),
        ([1], "expected an object"),
    ],
    ids=str,
)
def test_a_wrong_request_gives_one_sentence(explored, request_, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        explored[0].search(request_)


def test_suggestions_are_rows_numbers_and_texts(explored):
    explorer, _, _, titles = explored
    rows = [one["row"] for one in explorer.suggest({"text": "SEVEN"})["suggestions"]]
    assert rows == [row for row, title in enumerate(titles) if "seven" in title][:10]
    # A row number comes before texts that contain it.
    assert explorer.suggest({"text": " 123 "})["suggestions"][0] == {
        "row": 123,
        "cells": [titles[123], "12"],
        "label": str(explored[2][123]),
    }
    assert len(explorer.suggest({"text": "", "limit": 3})["suggestions"]) == 3
    assert explorer.suggest({"text": "no such item"}) == {"suggestions": []}
    for request, sentence in (
        ({"text": 3}, "text=3: expected a string"),
        ({"text": "a" * 1001}, "1,001 characters: expected at most 1,000"),
        ({"text": "a", "limit": 51}, "limit=51: expected an integer from 1 to 50"),
    ):
        with pytest.raises((ValueError, TypeError), match=sentence):
            explorer.suggest(request)


@pytest.mark.parametrize("ids", [np.arange(300) * 7 - 70, [f"sample-{row}" for row in range(300)]], ids=["int", "str"])
def test_codes_are_found_by_their_ids(explored, ids):
    explorer = explored[0]
    known = CodeExplorer(explorer.model, explorer.codes, ids=ids)
    own = str(ids[12])
    assert known.search({"id": own})["query"]["id"] == own
    assert known.search({"id": own})["query"]["row"] == 12
    assert known.suggest({"text": own})["suggestions"][0]["row"] == 12
    neighbors = known.search({"id": own, "k": 5})["neighbors"]
    assert [one["id"] for one in neighbors] == [str(ids[one["row"]]) for one in neighbors]
    for other in ("gone", "a\0b", "\ud800", ""):
        with pytest.raises(ValueError, match="is not stored"):
            known.search({"id": other})
    assert known.suggest({"text": "\ud800\0"}) == {"suggestions": []}


def test_pictures_are_the_vectors(explored):
    image = pytest.importorskip("matplotlib.image")
    explorer, X, _, _ = explored
    address = explorer.search({"row": 3})["query"]["image"]
    assert address.startswith("data:image/png;base64,")
    pixels = image.imread(io.BytesIO(base64.b64decode(address.partition(",")[2])))
    assert pixels.shape[:2] == (8, 8)
    expected = X[3].reshape(8, 8) / X.max()
    np.testing.assert_allclose(pixels if pixels.ndim == 2 else pixels[..., 0], expected, atol=1 / 255)


def test_shorter_codes_have_their_own_radius(explored):
    explorer, X, _, _ = explored
    model = explorer.model
    short = CodeExplorer(model, model.encode(X, 9), n_bits=9)
    assert short.radius == model.history_[8].radius
    assert len(short.search({"row": 0})["counts"]) == 10
    assert (unpacked(short.search({"vector": X[5].tolist()})["query"]) == model.encode(X[5:6], 9)).all()


def test_what_does_not_fit_is_refused(explored):
    explorer, X, y, _ = explored
    model, codes = explorer.model, explorer.codes
    other = ProximityPreservingCode(20, random_state=1).fit(X, y)
    for wrong, sentence in (
        ({"labels": y[:5]}, "labels has 5 rows for 300 codes"),
        ({"vectors": X[:5]}, "vectors has 5 rows for 300 codes"),
        ({"vectors": X[:, :5]}, r"vectors has shape \(300, 5\): expected 64 numbers for each code"),
        ({"vectors": X[:, 0]}, r"vectors has shape \(300,\): expected 64 numbers for each code"),
        ({"labels": csr_matrix(np.eye(10)[y])}, r"labels has shape \(\): expected one label for each code"),
        ({"image_shape": "8x8"}, "image_shape=8x8: pass the vectors that are images"),
        ({"vectors": X, "image_shape": "8x9"}, "image shape 8x9 has 72 numbers"),
        ({"ids": [1, 2]}, "2 entries for 300 codes"),
        ({"fingerprint": other.fingerprint()}, "codes of different models cannot be compared"),
        ({"n_bits": 21}, "n_bits=21: expected an integer from 1 to 20"),
    ):
        with pytest.raises(ValueError, match=sentence):
            CodeExplorer(model, codes, **wrong)
    with pytest.raises(ValueError, match="no rows"):
        CodeExplorer(model, codes[:0])
    with pytest.raises(TypeError, match=r"^model='m': expected a ProximityPreservingCode or a CodePipeline\.$"):
        CodeExplorer("m", codes)
    with pytest.raises(NotFittedError):
        CodeExplorer(ProximityPreservingCode(), codes)
    for columns in ({}, {"a": Texts.of(["x"]), "b": Texts.of(["y", "z"])}):
        with pytest.raises(ValueError, match="expected at least one, all of one length"):
            Items(columns)


def test_vectors_may_be_a_list_and_hold_what_is_no_number(explored):
    explorer, X, _, _ = explored
    vectors = X.tolist()
    vectors[0][3] = math.nan
    other = CodeExplorer(explorer.model, explorer.codes, vectors=vectors, image_shape="8x8")
    pictures = [one.search({"row": 5})["query"]["image"] for one in (explorer, other)]
    assert pictures[0] == pictures[1]
    assert other.search({"row": 0})["query"]["image"].startswith("data:image/png")


def test_negative_ids_of_any_size_are_found(explored):
    explorer = explored.explorer
    ids = -np.arange(300) - (2**63 - 1 - 299)
    other = CodeExplorer(explorer.model, explorer.codes, ids=ids)
    assert other.search({"id": int(ids[-1])})["query"]["row"] == 299
    assert other.suggest({"text": str(ids[7])})["suggestions"][0]["row"] == 7


def test_names_on_the_map_are_short_and_never_empty(explored):
    explorer = explored.explorer
    titles = Texts.of(["", "a" * 100, "two\nlines"])
    some = CodeExplorer(explorer.model, explorer.codes[:3], items=Items({"title": titles}), labels=["x", "", None])
    assert some.names(np.arange(3)) == ["0\nx", f"{'a' * 79}…", "two lines"]


def test_labels_of_an_indicator_matrix_and_missing_labels(explored):
    explorer = explored[0]
    column = CodeExplorer(explorer.model, explorer.codes[:2], labels=np.array([[7], [8]]))
    assert [column.search({"row": row})["query"]["label"] for row in (0, 1)] == ["7", "8"]
    names = CodeExplorer(explorer.model, explorer.codes[:2], labels=["cat", math.nan])
    assert [names.search({"row": row})["query"]["label"] for row in (0, 1)] == ["cat", ""]
    several = CodeExplorer(explorer.model, explorer.codes[:2], labels=np.array([[0, 1, 1], [0, 0, 0]]))
    assert [several.search({"row": row})["query"]["label"] for row in (0, 1)] == ["1, 2", ""]
    some = CodeExplorer(explorer.model, explorer.codes[:2], labels=[3.0, math.nan])
    assert [some.search({"row": row})["query"]["label"] for row in (0, 1)] == ["3", ""]
    assert some.search({"row": 0})["neighbors"][0]["row"] == 1
    one = CodeExplorer(explorer.model, explorer.codes[:1])
    assert one.search({"row": 0})["neighbors"] == []
    rows = CodeExplorer(explorer.model, explorer.codes[:2], labels=list(np.array([[0, 1, 1], [0, 0, 0]])))
    assert [rows.search({"row": row})["query"]["label"] for row in (0, 1)] == ["1, 2", ""]
    pairs = CodeExplorer(explorer.model, explorer.codes[:2], labels=[("red", "s"), ("blue", "m")])
    assert [pairs.search({"row": row})["query"]["label"] for row in (0, 1)] == ["('red', 's')", "('blue', 'm')"]


def test_the_smallest_id_is_found(explored):
    explorer = explored.explorer
    other = CodeExplorer(explorer.model, explorer.codes[:2], ids=[-(2**63), 2**63 - 1])
    assert [other.search({"id": one})["query"]["row"] for one in (-(2**63), 2**63 - 1)] == [0, 1]


def test_a_model_of_texts_is_explored_by_its_items():
    texts = ["red apple", "green apple", "red pear", "blue car", "fast car", "slow car"] * 5
    steps = [("words", TfidfVectorizer()), ("dense", TruncatedSVD(4, random_state=0))]
    pipeline = CodePipeline([*steps, ("code", ProximityPreservingCode(8, random_state=0))])
    pipeline.fit(texts, [text.split()[1] == "car" for text in texts])
    with ExploreServer(CodeExplorer(pipeline, pipeline.encode(texts))) as server:
        page = Client(server).send("GET", Client(server).path).text
    assert 'id="vector"' not in page
    assert "paste a vector" not in page
    explorer = CodeExplorer(pipeline, pipeline.encode(texts))
    assert len(explorer.search({"row": 0, "k": 3})["neighbors"]) == 3
    with pytest.raises(
        ValueError, match=r"^the number of features of this model is not known: leave out vectors, search by a st"
    ):
        explorer.search({"vector": [0.0]})
    with pytest.raises(ValueError, match=r"^the number of features of this model is not known"):
        CodeExplorer(pipeline, pipeline.encode(texts), vectors=np.zeros((30, 4)))
