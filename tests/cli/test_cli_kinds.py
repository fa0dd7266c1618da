"""The kinds of code on the command line: for top-k search, for float queries, for new classes, for rare classes."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from helpers.command_line import call, record_of
from proxcode import Nearest, NewClassHash, ProximityPreservingCode, ReconstructionHash, RotationHash, SameLabel
from proxcode.cli import main


@pytest.mark.parametrize(
    ("options", "parameters", "hash_class", "kind"),
    [
        ((), {}, RotationHash, "for top-k search, learned without labels"),
        (
            ("--hash", "reconstruction"),
            {"hash_function": ReconstructionHash()},
            ReconstructionHash,
            "for float queries (search --float), learned without labels",
        ),
        (
            ("--labels", "labels.npy", "--new-classes"),
            {"proximity": SameLabel(new_classes=True)},
            NewClassHash,
            "for classes that are not in fit",
        ),
    ],
    ids=["top-k", "float", "new classes"],
)
def test_fit_learns_the_kind_that_options_ask_for(options, parameters, hash_class, kind, folder, train, tmp_path):
    options = [folder / option if option.endswith(".npy") else option for option in options]
    call("fit", folder / "train.npy", "--bits", 16, *options, "-o", tmp_path / "m.proxcode")
    y = train[1] if "--labels" in options else None
    expected = ProximityPreservingCode(16, random_state=0, **parameters).fit(train[0], y)
    loaded = ProximityPreservingCode.load(tmp_path / "m.proxcode")
    assert type(loaded.hash_function_) is hash_class
    np.testing.assert_array_equal(loaded.codes_, expected.codes_)
    assert record_of("info", tmp_path / "m.proxcode")["kind of code"] == kind


def test_without_options_near_means_among_the_nearest(folder, tmp_path):
    call("fit", folder / "train.npy", "--bits", 8, "-o", tmp_path / "m.proxcode")
    assert isinstance(ProximityPreservingCode.load(tmp_path / "m.proxcode").proximity_, Nearest)


@pytest.mark.parametrize("with_labels", [True, False])
def test_float_searches_by_the_query_vectors(with_labels, folder, model, train, new, tmp_path):
    fitted = model if with_labels else ProximityPreservingCode(16, random_state=0).fit(train[0])
    fitted.save(tmp_path / "m.proxcode")
    np.save(tmp_path / "codes.npy", fitted.codes_)
    arguments = (tmp_path / "codes.npy", folder / "queries.npy", "--model", tmp_path / "m.proxcode", "--float")
    found = json.loads(call("search", *arguments, "-k", 5, "--json"))
    distances = fitted.query(new[0][:30]).distances(fitted.codes_)
    order = np.argsort(distances, axis=1, kind="stable")[:, :5]
    np.testing.assert_array_equal(np.reshape(found["neighbor"], (30, 5)), order)
    expected = np.take_along_axis(distances, order, axis=1).ravel()
    np.testing.assert_allclose(found["distance"], expected, rtol=1e-5)


def test_balanced_is_that_of_the_api(folder, train, tmp_path):
    arguments = ("--labels", folder / "labels.npy", "--balanced", "-o", tmp_path / "m.proxcode")
    call("fit", folder / "train.npy", "--bits", 8, *arguments)
    expected = ProximityPreservingCode(8, proximity=SameLabel(balanced=True), random_state=0).fit(*train)
    np.testing.assert_array_equal(ProximityPreservingCode.load(tmp_path / "m.proxcode").codes_, expected.codes_)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("fit", "train.npy", "-o", "m", "--new-classes"), "--balanced and --unlabelled apply to classes"),
        (("fit", "train.npy", "-o", "m", "--hash", "rotation", "--refine-steps", "3"), "pass one of them"),
        (("search", "codes.npy", "queries.npy", "--float"), "pass --model"),
        (
            ("search", "codes.npy", "queries.npy", "--model", "api.proxcode", "--float", "--radius", "3"),
            "none of --near, --radius",
        ),
    ],
    ids=["no labels", "refine", "no model", "radius"],
)
def test_options_that_contradict_each_other_are_refused(arguments, sentence, folder):
    files = [folder / argument if "." in argument else argument for argument in arguments]
    result = CliRunner().invoke(main, [str(argument) for argument in files])
    assert result.exit_code == 2
    assert sentence in result.stderr.splitlines()[-1]
