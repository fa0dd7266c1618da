"""The list of mutations fits the code; `make mutants` runs them."""

import ast
from functools import cache
from pathlib import Path

import pytest

import mutants
from mutants import Mutation

MUTATIONS = mutants.read_mutations()
SOURCE = Path(mutants.ROOT, "src")


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: f"{mutation.file}: {mutation.name}")
def test_a_mutation_fits_the_code_and_names_tests_that_exist(mutation):
    ast.parse(mutation.applied(SOURCE))
    assert mutation.search != mutation.replace
    assert mutation.tests
    for test in mutation.tests:
        file, _, function = test.partition("::")
        assert function in functions_of(file) if function else functions_of(file)


@cache
def functions_of(file):
    """Return the names of the tests of a file."""
    nodes = ast.parse(Path(mutants.TESTS, file).read_text()).body
    return [node.name for node in nodes if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]


def test_there_are_many_mutations_of_different_names():
    assert len({(mutation.file, mutation.name) for mutation in MUTATIONS}) == len(MUTATIONS) >= 60
    packages = {path.stem for path in Path(SOURCE, "proxcode").iterdir()}
    mutated = {Path(mutation.file).parts[0].removesuffix(".py") for mutation in MUTATIONS}
    assert len(mutated & packages) >= 15


@pytest.mark.parametrize(("search", "count"), [("LABEL_STEPS", 2), ("no such text", 0)])
def test_a_search_text_that_does_not_occur_once_is_out_of_date(search, count):
    mutation = Mutation(name="a mistake", file="hashing/ridge.py", search=search, replace="", tests=[])
    with pytest.raises(ValueError, match=f"occurs {count} times in hashing/ridge.py, expected once; .* out of date"):
        mutation.applied(SOURCE)
