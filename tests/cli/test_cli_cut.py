"""`proxcode cut` against its own partition and exhaustive search."""

from itertools import product

import numpy as np
import pytest

from helpers.command_line import read_columns, record_of
from proxcode.cli.cut import cut_weights
from proxcode.cut import SemidefiniteBound, frustration
from proxcode.files import read_graph


@pytest.mark.parametrize("max_cut", [False, True])
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "npz"])
def test_the_record_of_a_cut_is_that_of_the_written_partition(max_cut, suffix, folder, tmp_path):
    output = tmp_path / f"partition.{suffix}"
    options = ("--max-cut",) if max_cut else ()
    record = record_of("cut", folder / "graph.csv", "-o", output, "--force", *options)
    written = read_columns(output)
    side = {str(node): int(side) for node, side in zip(written["node"], written["partition"], strict=True)}
    edges = [line.split(",") for line in (folder / "graph.csv").read_text().splitlines()]
    weights = [(side[a] * side[b], float(weight)) for a, b, weight in edges]
    assert set(side.values()) <= {-1, 1}
    assert record["value"] == pytest.approx(2 * sum(sign * weight for sign, weight in weights))
    assert record["cut weight"] == pytest.approx(sum(weight for sign, weight in weights if sign < 0))
    objective = -1 if max_cut else 1  # the cut of --max-cut is that of the negated weights
    frustrated = [abs(weight) for sign, weight in weights if objective * sign * weight < 0]
    assert record["frustrated weight"] == pytest.approx(sum(frustrated))
    assert "frustrated edges" not in record
    assert record["proved"] is True
    assert (record["partition +1"], record["partition -1"]) == tuple(list(side.values()).count(b) for b in (1, -1))
    assert record["nodes"] == len(side) == 5
    values = [
        2 * sum(float(weight) * bit[a] * bit[b] for a, b, weight in edges)
        for bit in (dict(zip(side, bits, strict=True)) for bits in product((-1, 1), repeat=5))
    ]
    assert record["value"] == pytest.approx(min(values) if max_cut else max(values))
    assert record["upper bound"] == pytest.approx(record["cut weight"] if max_cut else record["value"])


def test_a_dense_graph_is_bounded_by_a_semidefinite_program(folder, tmp_path, monkeypatch):
    called = []

    def noted(self, *arguments, bound=SemidefiniteBound.bound):
        called.append(type(self))
        return bound(self, *arguments)

    monkeypatch.setattr(SemidefiniteBound, "bound", noted)
    W = np.triu(np.random.default_rng(0).normal(size=(40, 40)), 1)
    np.save(tmp_path / "dense.npy", W + W.T)
    record = record_of("cut", tmp_path / "dense.npy", "--starts", 1, "--prove")
    assert called  # once as JSON, once as text
    assert record["value"] < record["upper bound"] < 2 * np.abs(W).sum()


@pytest.mark.parametrize("n_starts", [None, 20])
@pytest.mark.parametrize("max_cut", [False, True])
def test_progress_bound_and_gap_of_a_cut_have_one_unit(max_cut, n_starts, tmp_path):
    W = np.triu(np.random.default_rng(0).integers(-1, 2, (40, 40)), 1)
    np.save(tmp_path / "dense.npy", W + W.T)
    told = []
    weights = read_graph(tmp_path / "dense.npy").weights
    settings = {"n_starts": n_starts, "time_limit": None, "prove": True, "random_state": 0, "frustration": False}
    partition, facts = cut_weights(weights, told.append, max_cut=max_cut, **settings)
    assert facts["cut weight"] == W[partition[:, None] != partition].sum()
    reached = facts["cut weight"] if max_cut else facts["value"]
    assert (told[-1], facts["edges"]) == (reached, np.count_nonzero(W))
    assert facts["gap"] == pytest.approx(facts["upper bound"] / reached - 1)
    assert facts["gap"] > 0


def test_edges_of_weight_zero_are_not_counted(tmp_path):
    (tmp_path / "zero.csv").write_text("a,b,0\nb,c,1\nb,d,1\nb,d,-1\n")
    record = record_of("cut", tmp_path / "zero.csv")
    assert (record["nodes"], record["edges"], record["value"]) == (4, 1, 2)


@pytest.mark.parametrize("prove", [False, True])
def test_frustration_counts_signs_alone_as_python_does(prove, folder, tmp_path):
    edges = [line.split(",") for line in (folder / "graph.csv").read_text().splitlines()]
    output = tmp_path / "partition.csv"
    options = ("--prove",) if prove else ()
    record = record_of("cut", folder / "graph.csv", "--frustration", *options, "-o", output, "--force")
    written = read_columns(output)
    side = dict(zip(written["node"], written["partition"], strict=True))
    n_frustrated = sum(side[a] * side[b] * float(weight) < 0 for a, b, weight in edges)
    expected = frustration(read_graph(folder / "graph.csv").weights, random_state=0)
    assert record["frustrated edges"] == n_frustrated == expected.index
    assert record["lower bound"] == expected.lower_bound == n_frustrated
    assert (record["nodes"], record["edges"], record["proved"], record["gap"]) == (5, 5, True, 0)
    assert not {"value", "upper bound", "cut weight", "frustrated weight"} & set(record)


def test_frustration_reports_the_number_of_frustrated_edges(tmp_path):
    W = np.triu(np.random.default_rng(0).integers(-3, 4, (30, 30)), 1)
    np.save(tmp_path / "dense.npy", W + W.T)
    told = []
    settings = {"n_starts": 5, "time_limit": None, "prove": False, "random_state": 0, "max_cut": False}
    weights = read_graph(tmp_path / "dense.npy").weights
    partition, facts = cut_weights(weights, told.append, frustration=True, **settings)
    assert told[-1] == facts["frustrated edges"] == (np.multiply.outer(partition, partition) * W < 0).sum()
    assert facts["lower bound"] <= facts["frustrated edges"] <= facts["edges"] == np.count_nonzero(W)


@pytest.mark.parametrize(("directed", "weight"), [("sum", -2.0), ("mean", -1.0), ("sign", 0.0)])
def test_directed_edges_are_combined(directed, weight, tmp_path):
    (tmp_path / "directed.csv").write_text("a,b,1\nb,a,-3\nb,c,5\n")
    record = record_of("cut", tmp_path / "directed.csv", "--directed", directed)
    assert record["edges"] == 1 + (weight != 0)
    assert record["value"] == 2 * ((1 if directed == "sign" else 5) + abs(weight))
