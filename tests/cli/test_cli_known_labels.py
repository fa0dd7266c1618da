"""Labels of update, extend and drift are those that the model knows, whatever type their file gives them."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from proxcode import ProximityPreservingCode, SameLabel
from proxcode.cli import main
from proxcode.cli.inputs import as_known_labels
from proxcode.files import Taken, TakenLabels


@pytest.mark.parametrize(
    ("known", "labels", "expected"),
    [
        # All known labels are strings.
        (["0", "8", "x"], [0, 8, 9], ["0", "8", "9"]),
        (["0", "8", "x"], [0.0, np.nan, 2.5], ["0", None, "2.5"]),
        (["007", "7"], [7, 8], ["7", "8"]),
        (["007", "x"], [7, 8], ["007", "8"]),
        (["1.50", "x"], [1.5], ["1.50"]),
        (["0", "x"], [0, -1], ["0", None]),
        (["-1", "x"], [0, -1], ["0", "-1"]),
        (["0", "x"], ["00", "-1", "y"], ["00", "-1", "y"]),
        # Numbers, or of both types.
        ([0, 8], ["0", "8", "9", "x"], [0, 8, "9", "x"]),
        ([0, 8], ["0.0", "08", "", "-1"], [0, 8, None, None]),
        ([0.5, 8.0], ["0.5", "8", "1_0"], [0.5, 8, "1_0"]),
        ([2**60 + 1], [str(2**60 + 1), str(2**60)], [2**60 + 1, str(2**60)]),
        ([0, "9", "x"], [0, 9, 5], [0, "9", 5]),
        ([9, "9", "x"], [9, 10], [9, 10]),
        ([9, "9", "x"], ["9", "09", "z"], ["9", 9, "z"]),
    ],
)
def test_labels_are_those_known(known, labels, expected):
    proximity = SameLabel().fit(np.zeros((len(known), 1)), known)
    found = as_known_labels(TakenLabels(np.array(labels), Taken()), proximity).labels
    numbers, classes = proximity.numbered(found)
    assert [None if number < 0 else classes[number] for number in numbers] == expected
    assert [type(label) is str for label in classes] == [
        type(label) is str for label in dict.fromkeys([*known, *(label for label in expected if label is not None)])
    ]


def test_labels_that_need_no_change_are_the_same_array():
    proximity = SameLabel().fit(np.zeros((2, 1)), [0, 1])
    for labels in (np.array([1, 0, 5]), np.array([[0, 1], [1, 0]]), np.array([0.0, np.nan])):
        taken = TakenLabels(labels, Taken())
        assert as_known_labels(taken, proximity) is taken
    assert as_known_labels(None, proximity) is None


def run(*arguments):
    result = CliRunner().invoke(main, [*map(str, arguments), "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize("are_strings", [True, False])
def test_a_file_of_the_other_type_adds_no_class_twice(are_strings, digits, tmp_path):
    X, y = digits
    text = y.astype(str)
    fitted_labels, new_labels = text[:500].copy(), text[500:700].copy()
    if are_strings:
        fitted_labels[:20] = "x"
    else:
        new_labels[:20] = "x"
    for name, labels in {"labels": fitted_labels, "new": new_labels}.items():
        (tmp_path / f"{name}.txt").write_text("\n".join(labels) + "\n")
    np.save(tmp_path / "new.npy", X[500:700])
    path, new = tmp_path / "my.proxcode", (tmp_path / "new.npy", "--labels", tmp_path / "new.txt")
    labels = fitted_labels if are_strings else fitted_labels.astype(int)
    model = ProximityPreservingCode(16, random_state=0).fit(X[:500], labels)
    model.save(path)
    added = [] if are_strings else ["x"]
    assert run("drift", path, *new)["new classes"] == added
    assert run("update", path, *new, "-o", tmp_path / "updated.proxcode")["new classes"] == added
    run("extend", path, *new, "--bits", 18, "-o", tmp_path / "longer.proxcode")
    for name in ("updated", "longer"):
        found = ProximityPreservingCode.load(tmp_path / f"{name}.proxcode")
        assert found.proximity_.classes_ == [*model.proximity_.classes_, *added]
