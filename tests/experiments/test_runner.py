"""The runner of experiments: cells, splits, stored results and resumed runs."""

import json
import re
from functools import partial

import numpy as np
import pytest

from proxcode.experiments import runner as runner_module
from proxcode.experiments.curves import mean_curve, where_above
from proxcode.experiments.judging import judge
from proxcode.experiments.methods import FITS, METHODS, SLOW, Method, fit_each
from proxcode.experiments.protocols import QUICK, Size, labels_split, radius_split, unseen_split
from proxcode.experiments.report import left_out, reasons
from proxcode.experiments.runner import Cell, histograms, run_cells
from proxcode.experiments.table import BITS, PAPER, markdown, summary
from proxcode.hamming import distances, pack
from proxcode.metrics import area_under_curve, precision_recall
from proxcode.peers import ITQ

CELL = Cell("labels digits", "LSH", 0, (8, 16))


def test_two_cells_with_the_same_file_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"two cells have the same protocol, method and seed"):
        run_cells([CELL, CELL._replace(bits=(32,))], tmp_path, quick=True)


def test_rows_are_what_the_method_gives_on_the_split(tmp_path):
    rows = run_cells([CELL], tmp_path, quick=True)
    split = labels_split("digits", 0, QUICK)
    model = METHODS["LSH"].make(16, 0, None).fit(split.train)
    codes = pack(model.transform(split.test))
    pairs = np.triu_indices(len(codes), k=1)
    near = (split.test_labels[:, None] == split.test_labels)[pairs]
    by_distance = distances(codes, codes)[pairs]
    counts = [np.bincount(by_distance[of], minlength=17) for of in (near, ~near)]
    assert [row["bits"] for row in rows] == [8, 16]
    assert rows[1]["auc"] == pytest.approx(area_under_curve(precision_recall(*counts)))
    kept_near, kept_far = histograms(CELL, tmp_path)[16]
    np.testing.assert_array_equal(kept_near, 2 * counts[0])  # each pair from both ends
    np.testing.assert_array_equal(kept_far, 2 * counts[1])


def test_a_finished_cell_is_not_run_again_but_new_lengths_are(tmp_path, monkeypatch):
    first = run_cells([CELL], tmp_path, quick=True)
    groups = []
    original = runner_module._run_group
    monkeypatch.setattr(runner_module, "_run_group", lambda *a: groups.append(a[1]) or original(*a))
    assert run_cells([CELL], tmp_path, quick=True) == first
    assert groups == []
    longer = run_cells([CELL._replace(bits=(8, 16, 24))], tmp_path, quick=True)
    assert groups == [[24]]
    assert longer[:2] == first


def test_an_interrupted_run_loses_only_the_current_fit(tmp_path, monkeypatch):
    cells = [CELL, CELL._replace(method="ITQ")]
    original = runner_module._run_group

    def run_until_long_itq(method, group, *arguments):
        if method is METHODS["ITQ"] and group == [16]:
            raise KeyboardInterrupt
        return original(method, group, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(runner_module, "_run_group", run_until_long_itq)
        with pytest.raises(KeyboardInterrupt):
            run_cells(cells, tmp_path, quick=True)
    files = sorted(path.name for path in (tmp_path / "cells" / "labels_digits").iterdir())
    assert files == ["ITQ-seed0.json", "LSH-seed0.json", "split-seed0.npz"]
    groups = []
    monkeypatch.setattr(runner_module, "_run_group", lambda *a: groups.append(a[1]) or original(*a))
    assert len(run_cells(cells, tmp_path, quick=True)) == 4
    assert groups == [[16]]


def test_a_cell_of_other_settings_is_run_again(tmp_path, monkeypatch):
    cell = CELL._replace(method="ITQ", bits=(8,))
    quick = run_cells([cell], tmp_path, quick=True)
    monkeypatch.setitem(METHODS, "ITQ", Method(lambda n, seed, _: ITQ(n, n_rotations=1, random_state=seed), fit_each))
    other = run_cells([cell], tmp_path, quick=True)
    assert other[0]["auc"] != quick[0]["auc"]
    whole = run_cells([cell], tmp_path, quick=False)
    assert (quick[0]["n_test"], whole[0]["n_test"]) == (300, 500)
    assert sum(map(np.sum, histograms(cell, tmp_path)[8])) == 500 * 499


def test_a_failure_is_no_reason_to_leave_a_length_out(tmp_path, monkeypatch):
    class Singular(ITQ):
        def fit(self, X, y=None):
            raise np.linalg.LinAlgError("SVD did not converge")

    monkeypatch.setitem(METHODS, "ITQ", Method(lambda n, seed, _: Singular(n), fit_each))
    with pytest.raises(np.linalg.LinAlgError):
        run_cells([CELL._replace(method="ITQ")], tmp_path, quick=True)


def test_a_cell_records_its_conditions(tmp_path):
    run_cells([CELL], tmp_path, quick=True)
    record = json.loads(CELL.path(tmp_path / "cells").read_text())
    assert record["seed"] == 0
    assert {"proxcode", "numpy", "python"} <= set(record["versions"])
    assert record["machine"]["cores"] >= 1
    rows = np.load(CELL.path(tmp_path / "cells").with_name("split-seed0.npz"))
    assert len(rows["test"]) == QUICK.n_test
    assert len(np.intersect1d(rows["train"], rows["test"])) == 0


def test_lengths_that_a_method_does_not_support_are_left_out_with_a_reason(tmp_path):
    cell = Cell("labels digits", "ITQ", 0, (8, 100))
    assert [row["bits"] for row in run_cells([cell], tmp_path, quick=True)] == [8]
    lengths = json.loads(cell.path(tmp_path / "cells").read_text())["lengths"]
    assert "100" in lengths["100"]["left_out"]
    assert re.fullmatch(r"\nLeft out:\n\n- ITQ at 100 bits: n_bits=100: .*\n", reasons(left_out([cell], tmp_path)))
    assert reasons(left_out([CELL], tmp_path)) == ""


def test_supervised_methods_are_left_out_without_labels(tmp_path):
    split = radius_split("digits", 0, Size(300, 50), mean_neighbors=20)
    run = partial(runner_module._run_group, group=[8], split=split, seed=0)
    assert run(METHODS["Hadamard"]) == {"8": {"left_out": "needs labels"}}
    assert 0 < run(METHODS["PPC"])["8"]["auc"] <= 1
    near, far = judge(split, METHODS["LSH"].make(16, 0, None).fit(split.train)).counts(16)
    euclidean = np.linalg.norm(split.test[:, None] - split.train[None], axis=2)
    np.testing.assert_array_equal(near.sum(axis=1), (euclidean <= split.proximity.radius_).sum(axis=1))
    assert (near + far).sum() == 50 * 300


def test_unseen_classes_are_not_in_the_training_samples():
    split = unseen_split("digits", 0, Size(None, 400), n_seen=7)
    assert len(np.unique(split.labels)) == 7
    assert len(np.unique(split.test_labels)) == 3
    assert not set(split.labels) & set(split.test_labels)


def test_the_table_lists_the_values_of_the_paper():
    rows = [
        {"method": name, "bits": b, "auc": 0.1 * seed} for name in ("PPC", "LSH") for b in BITS for seed in (1, 2, 3)
    ]
    table = summary(rows, ["PPC", "LSH", "SDH"], BITS, PAPER)
    assert len(table) == 3 * len(BITS)
    text = markdown(table, BITS)
    assert "| PPC | 0.200 ± 0.100 |" in text
    assert "| PPC, the paper's | 0.284 | 0.312 | 0.309 | 0.329 | 0.343 | 0.352 | 0.354 | 0.356 |" in text
    assert "| SDH, the paper's | 0.249" in text
    assert "LSH, the paper's" not in text


@pytest.mark.parametrize("name", ["PPC", *sorted(set(FITS) - {"LSH", *SLOW})])
def test_lengths_of_a_shared_fit_are_the_same_as_fitted_alone(name, tmp_path):
    together = Cell("labels digits", name, 0, (12, 32))
    assert METHODS[name].groups(together.bits, n_classes=10) == [[12, 32]]
    alone = together._replace(bits=(12,))
    figures = [run_cells([cell], tmp_path / str(len(cell.bits)), quick=True)[0] for cell in (together, alone)]
    assert figures[0]["fit_bits"] == 32
    assert figures[1]["fit_bits"] == 12
    assert figures[0]["auc"] == figures[1]["auc"]
    assert figures[0]["map"] == figures[1]["map"]


def test_lengths_without_a_common_prefix_are_fitted_separately():
    assert METHODS["ClassifierCode"].groups((6, 8, 12, 16), n_classes=10) == [[6], [8], [12, 16]]
    assert METHODS["Hadamard"].groups((128, 96), n_classes=10) == [[96], [128]]
    assert METHODS["KSH"].groups((8, 16), n_classes=10) == [[8], [16]]


def test_mean_curves_take_the_first_of_equal_recalls():
    at_once = precision_recall(np.array([90, 10, 0, 0]), np.array([0, 0, 100, 900]))
    curve = mean_curve([at_once, at_once])
    np.testing.assert_array_equal(curve.precision, 1)
    late = precision_recall(np.array([0, 0, 50, 50]), np.array([0, 50, 0, 950]))
    both = mean_curve([at_once, late])
    assert both.precision[0] == pytest.approx((1 + 0) / 2, abs=0.02)
    assert both.precision[-1] == pytest.approx((1 + 100 / 1100) / 2)
    assert where_above(late, at_once) == []
    (everywhere,) = where_above(at_once, late)
    assert everywhere.startswith("recall .01 to 1.00 by ")


def test_a_damaged_record_is_named_with_a_remedy(tmp_path):
    run_cells([CELL], tmp_path, quick=True)
    CELL.path(tmp_path / "cells").write_text('{"settings"')
    with pytest.raises(ValueError, match=r"LSH-seed0.json is not a valid JSON record; delete it"):
        run_cells([CELL], tmp_path, quick=True)
