"""Digests of the source code that computes a cell."""

import re
import shutil

import pytest

from proxcode import KernelHash, ProximityPreservingCode
from proxcode.experiments import runner
from proxcode.experiments.digests import PACKAGE, classes_of, definitions, digest
from proxcode.experiments.methods import FAIR, JOBS, METHODS
from proxcode.experiments.runner import Cell, run_cells
from proxcode.experiments.variants import VARIANTS

SDH, LSH, PPC = "proxcode.peers.sdh.SDH", "proxcode.peers.lsh.LSH", "proxcode.code.ProximityPreservingCode"


@pytest.fixture
def changed(tmp_path):
    """Return a function that copies the package with a text in a file replaced."""

    def change(file, pattern, replacement):
        copy = tmp_path / str(len(list(tmp_path.iterdir()))) / "proxcode"
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        text = (copy / file).read_text()
        assert re.search(pattern, text)
        (copy / file).write_text(re.sub(pattern, replacement, text, count=1))
        return copy

    return change


def same(root, package):
    return digest(root) == digest(root, package=package)


def test_a_kernel_changes_the_methods_that_use_it(changed):
    package = changed("peers/_kernel_features.py", r"np\.exp\(", "np.exp2(")
    assert not same(SDH, package)
    assert same(LSH, package)


def test_a_cut_changes_codes_but_no_peer_without_cuts(changed):
    package = changed("cut/restarts.py", r"n_starts: int = 1\b", "n_starts: int = 2")
    assert not same(PPC, package)
    assert all(
        same(root, package)
        for name in ("LSH", "ITQ", "SDH", "Hadamard")
        for root in classes_of(METHODS[name].make(8, 0, None))
    )


def test_words_and_types_change_nothing(changed):
    package = changed("peers/sdh.py", r'"""', '"""Other words. ')
    assert same(SDH, package)
    assert same(SDH, changed("peers/sdh.py", r"\nclass SDH", "\n# A comment.\nclass SDH"))
    assert same(SDH, changed("peers/_base.py", r"n_bits: int", "n_bits: float"))


def test_imports_inside_functions_count(changed):
    root = "proxcode.hamming.asymmetric_distances"
    assert not same(
        root, changed("utils/kernels.py", r"(def add_weighted_distances\([^)]*\)[^:]*:\n)", r"\1    1 + 1\n")
    )


def test_names_are_followed_through_packages_to_their_module():
    of_code = definitions(PPC)
    assert ("proxcode.hashing.kernel", "KernelHash") in of_code
    # A function that a package itself defines.
    assert ("proxcode.hashing", "as_hash_function") in of_code
    assert definitions("proxcode.KernelHash") == definitions("proxcode.hashing.kernel.KernelHash")
    # A module used as `cut.Restarts`.
    of_guess = definitions("proxcode.experiments.initial_guess.curves")
    assert ("proxcode.cut.restarts", "Restarts") in of_guess
    assert not any(module.startswith("proxcode.cut.bounds.semidefinite") for module, _ in of_guess)


def test_modules_without_influence_are_left_out():
    modules = {module for module, _ in definitions(PPC)}
    assert not any(module.startswith(("proxcode.storage", "proxcode.model.saving")) for module in modules)
    assert "proxcode.bits.loop" in modules


def test_statements_that_define_nothing_count(changed):
    package = changed("peers/lsh.py", r"\nclass LSH", "\nnp.seterr(all='ignore')\n\n\nclass LSH")
    assert not same(LSH, package)
    assert same(SDH, package)


def test_unknown_names_and_relative_imports_are_errors(changed):
    with pytest.raises(ValueError, match=r"proxcode.peers.lsh.Absent: no such definition"):
        digest("proxcode.peers.lsh.Absent")
    package = changed("peers/lsh.py", r"from proxcode.peers._base", "from ._base")
    with pytest.raises(ValueError, match="relative import of _base"):
        digest(LSH, package=package)


def test_classes_of_components_and_of_float_queries():
    assert "proxcode.hashing.kernel.KernelHash" in classes_of(ProximityPreservingCode(hash_function=KernelHash()))
    names = classes_of(JOBS["PPC-nearest-float"].make(8, 0, None))
    assert {"proxcode.experiments.methods.FloatQueryModel", PPC, "proxcode.proximity.distances.Nearest"} <= set(names)
    assert classes_of(3) == []


def test_every_method_has_a_digest():
    every = {**METHODS, **FAIR, **JOBS, **VARIANTS}
    digests = {name: digest(*classes_of(method.make(8, 0, None))) for name, method in every.items()}
    assert digests["ITQ"] != digests["LSH"]
    assert all(len(value) == 64 for value in digests.values())


def test_a_cell_of_other_code_is_run_again(tmp_path, monkeypatch):
    cell = Cell("labels digits", "LSH", 0, (8,))
    first = run_cells([cell], tmp_path, quick=True)
    groups, original = [], runner._run_group
    monkeypatch.setattr(runner, "_run_group", lambda *a: groups.append(a[1]) or original(*a))
    assert run_cells([cell], tmp_path, quick=True) == first
    assert groups == []
    monkeypatch.setattr(runner, "digest", lambda *roots: "of a changed source")
    run_cells([cell], tmp_path, quick=True)
    assert groups == [[8]]
