"""`proxcode search` against exhaustive search."""

import json

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from helpers.command_line import call, fails, read_columns, rows_of
from proxcode import HammingIndex
from proxcode.hamming import asymmetric_distances


def hamming(queries, codes):
    return np.bitwise_count(queries[:, None] ^ codes[None]).sum(axis=2)


def nearest(distance, k):
    """Return query, neighbour and distance of the k smallest of each row, of equals the first."""
    order = np.argsort(distance, axis=1, kind="stable")[:, :k]
    query = np.repeat(np.arange(len(distance)), k)
    return {"query": query, "neighbor": order.ravel(), "distance": distance[query, order.ravel()]}


def assert_found(found, expected):
    for name, column in expected.items():
        np.testing.assert_allclose(found[name], column, rtol=1e-5, err_msg=name)


def test_search_finds_the_exhaustive_neighbours_in_all_forms(folder, model, new, tmp_path):
    queries, codes = np.load(folder / "query_codes.npy"), np.load(folder / "codes.npy")
    expected = nearest(hamming(queries, codes), 7)
    arguments = ("search", folder / "codes.npy", folder / "queries.npy", "--model", folder / "api.proxcode", "-k", 7)
    assert_found(json.loads(call(*arguments, "--json")), expected)
    printed = rows_of(call(*arguments, "--threads", 1))
    assert_found({name: [int(row[name]) for row in printed] for name in expected}, expected)
    assert_found(
        json.loads(call("search", folder / "codes.npy", folder / "query_codes.npy", "-k", 7, "--json")), expected
    )
    for suffix in ("csv", "tsv", "jsonl", "npz", "parquet"):
        output = tmp_path / f"found.{suffix}"
        record = json.loads(call(*arguments, "-o", output, "--json"))
        assert list(record.pop("read")) == ["codes", "queries"]
        assert record == {"neighbors": str(output), "rows": 210, "queries with neighbors": 30}
        assert_found(read_columns(output), expected)


@pytest.mark.parametrize("n_bits", [9, 16, 20])
def test_near_and_radius_find_all_codes_so_close(n_bits, folder, model, train, new, tmp_path):
    np.save(tmp_path / "codes.npy", model.encode(train[0], n_bits))
    distance = hamming(model.encode(new[0][:30], n_bits), model.encode(train[0], n_bits))
    arguments = ("search", tmp_path / "codes.npy", folder / "queries.npy", "--model", folder / "api.proxcode", "--json")
    learned = max(0, int(np.floor(model.history_[n_bits - 1].alpha / 2)))
    for radius, option in ((2, ("--radius", 2)), (0, ("--radius", 0)), (learned, ("--near",))):
        found = json.loads(call(*arguments, "--bits", n_bits, *option))
        pairs = list(zip(found["query"], found["neighbor"], strict=True))
        assert sorted(pairs) == list(zip(*(where.tolist() for where in np.nonzero(distance <= radius)), strict=True))
        assert found["distance"] == [distance[pair] for pair in pairs]
        for query in range(30):
            own = [d for q, d in zip(found["query"], found["distance"], strict=True) if q == query]
            assert own == sorted(own)


def test_asymmetric_orders_by_the_margins_of_the_query(folder, model, new):
    named = ("--model", folder / "api.proxcode", "-k", 6, "--asymmetric", "--oversample", 100)
    found = json.loads(call("search", folder / "codes.npy", folder / "queries.npy", *named, "--json"))
    expected = nearest(asymmetric_distances(model.scores(new[0][:30]), model.codes_), 6)
    np.testing.assert_allclose(found["distance"], expected["distance"], rtol=1e-4)


def test_vectors_order_by_their_own_distance_whatever_the_ids(folder, train, new, tmp_path):
    ids = np.random.default_rng(0).permutation(len(train[0])) * 10
    np.save(tmp_path / "ids.npy", ids)
    arguments = ("search", folder / "codes.npy", folder / "queries.npy", "--model", folder / "api.proxcode")
    named = ("--vectors", folder / "train.npy", "--oversample", 100, "-k", 5, "--json")
    expected = nearest(cdist(new[0][:30], train[0]), 5)
    assert_found(json.loads(call(*arguments, *named)), expected)
    own = {**expected, "neighbor": ids[expected["neighbor"]]}
    assert_found(json.loads(call(*arguments, *named, "--ids", tmp_path / "ids.npy")), own)


def test_ids_stand_for_the_codes(folder, model, new, tmp_path):
    (tmp_path / "ids.csv").write_text("name,number\n" + "".join(f"n{k},{900 - k}\n" for k in range(500)))
    arguments = ("search", folder / "codes.npy", folder / "query_codes.npy", "-k", 4, "--json")
    found = json.loads(call(*arguments, "--ids", f"{tmp_path / 'ids.csv'}:number"))
    plain = json.loads(call(*arguments))
    assert found == {**plain, "neighbor": [900 - neighbor for neighbor in plain["neighbor"]]}


def test_a_saved_index_is_searched_as_the_api_does(folder, model, new):
    index = HammingIndex.load(folder / "saved.index")
    distance, neighbor = index.search(model.encode(new[0][:30]), k=3)
    arguments = ("search", folder / "saved.index", folder / "queries.npy", "--model", folder / "api.proxcode")
    found = json.loads(call(*arguments, "-k", 3, "--json"))
    assert_found(found, {"neighbor": neighbor.ravel(), "distance": distance.ravel()})
    assert min(found["neighbor"]) >= 1000
    by_vectors = json.loads(call(*arguments, "-k", 1, "--vectors", folder / "train.npy", "--oversample", 500, "--json"))
    exact = cdist(new[0][:30], np.load(folder / "train.npy")).argmin(axis=1)
    assert by_vectors["neighbor"] == (exact + 1000).tolist()


def test_a_folder_or_a_pattern_of_indexes_is_searched_as_one(folder, tmp_path):
    codes, one = np.load(folder / "codes.npy"), tmp_path / "one.index"
    HammingIndex(20).add(codes).save(one)
    shards = tmp_path / "shards"
    shards.mkdir()
    for number, part in enumerate(np.array_split(codes, 3)):
        HammingIndex(20).add(part).save(shards / f"{number}.index")
    with_model = (folder / "queries.npy", "--model", folder / "api.proxcode", "--json")
    for options in (
        (folder / "query_codes.npy", "--json"),
        (*with_model, "--near"),
        (*with_model, "-k", 3, "--asymmetric"),
        (*with_model, "-k", 3, "--vectors", folder / "train.npy"),
    ):
        expected = call("search", one, *options)
        assert call("search", shards, *options, "--renumber") == expected
        assert call("search", shards / "*.index", *options, "--renumber") == expected


def test_ids_may_be_text(folder, train, tmp_path):
    (tmp_path / "ids.csv").write_text("name\n" + "".join(f"bild {k}.jpg\n" for k in range(500)))
    arguments = ("search", folder / "codes.npy", folder / "query_codes.npy", "-k", 4)
    plain = json.loads(call(*arguments, "--json"))
    named = (*arguments, "--ids", f"{tmp_path / 'ids.csv'}:name")
    expected = [f"bild {neighbor}.jpg" for neighbor in plain["neighbor"]]
    assert json.loads(call(*named, "--json")) == {**plain, "neighbor": expected}
    assert f"  {expected[0]}  " in call(*named).splitlines()[1]
    for suffix in ("csv", "npz", "parquet"):
        output = tmp_path / f"found.{suffix}"
        call(*named, "-o", output)
        if suffix == "csv":
            assert [line.split(",")[1] for line in output.read_text().splitlines()[1:]] == expected
        else:
            assert list(read_columns(output)["neighbor"]) == expected
    by_vectors = ("--model", folder / "api.proxcode", "--vectors", folder / "train.npy", "--oversample", 100)
    arguments = ("search", folder / "codes.npy", folder / "queries.npy", "-k", 4, "--json", *by_vectors)
    plain, named = json.loads(call(*arguments)), json.loads(call(*arguments, "--ids", tmp_path / "ids.csv"))
    assert named["neighbor"] == [f"bild {neighbor}.jpg" for neighbor in plain["neighbor"]]


def test_no_query_finds_itself(folder, tmp_path):
    codes = np.load(folder / "codes.npy")
    distance = hamming(codes, codes)
    np.fill_diagonal(distance, 10_000)
    expected = nearest(distance, 4)
    same = ("search", folder / "codes.npy", folder / "codes.npy", "--json", "--exclude-self")
    assert_found(json.loads(call(*same, "-k", 4)), expected)
    found = json.loads(call(*same, "--radius", 2))
    pairs = sorted(zip(found["query"], found["neighbor"], strict=True))
    assert pairs == list(zip(*(where.tolist() for where in np.nonzero(distance <= 2)), strict=True))
    with_model = ("search", folder / "codes.npy", folder / "train.npy", "--model", folder / "api.proxcode", "--json")
    for options in ((), ("--float",), ("--asymmetric",), ("--vectors", folder / "train.npy")):
        found = json.loads(call(*with_model, *options, "--exclude-self", "-k", 3))
        assert len(found["query"]) == 1500
        assert all(query != neighbor for query, neighbor in zip(found["query"], found["neighbor"], strict=True))
    rows = np.array([7, 3, 400])
    np.save(tmp_path / "some.npy", codes[rows])
    np.save(tmp_path / "rows.npy", rows + 1000)
    some = ("search", folder / "saved.index", tmp_path / "some.npy", "-k", 4, "--json")
    found = json.loads(call(*some, "--exclude-self", "--query-ids", tmp_path / "rows.npy"))
    expected = nearest(distance[rows], 4)
    assert_found(found, {**expected, "neighbor": expected["neighbor"] + 1000})
    assert fails(*some, "--exclude-self") == (
        "--exclude-self: there are 500 ids for 3 queries; pass QUERIES that are CODES row by row, or one of "
        "--query-ids for each query."
    )
    assert fails(*some, "--query-ids", tmp_path / "rows.npy").startswith("--query-ids are the ids that --exclude-self")
