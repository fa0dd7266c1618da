"""Mutation tests: `make mutants` puts one mistake at a time into a copy of the package; a test has to notice each.

1. Read the mutations, each a replacement of text in one file and the tests that concern it (`mutants.toml`).
2. Copy src to a temporary folder. All tests named in the list must pass there; this also fills numba's cache.
3. For each mutation, copy that folder with its cache, replace the text and run the tests until one fails.
4. Print the mutations that no test noticed. Exit with an error if one of them has no written explanation.

Usage: python tests/mutants.py [TEXT ...], to run only mutations whose name or file contains one of the texts.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).parent
ROOT = TESTS.parent
PACKAGE = Path("proxcode")
# Seconds after which tests count as failed: a mutation may have made a loop endless.
TIME_LIMIT = 120.0
# Exit codes of pytest.
PASSED, FAILED = 0, 1


class Mutation(NamedTuple):
    """A mistake to put into the code.

    Attributes
    ----------
    name : str
    file : str
        Path below src/proxcode.
    search, replace : str
        Text that occurs once in the file, and what to write in its place.
    tests : list of str
        Files or test functions below tests/.
    survives : str
        Why no test can notice it; empty where one has to.
    """

    name: str
    file: str
    search: str
    replace: str
    tests: list[str]
    survives: str = ""

    def applied(self, source: Path) -> str:
        """Return the mutated text of the file. Raises ValueError where the search text does not occur once."""
        text = (source / PACKAGE / self.file).read_text()
        if (count := text.count(self.search)) != 1:
            raise ValueError(
                f"{self.name}: the search text occurs {count} times in {self.file}, expected once; the list "
                f"tests/mutants.toml is out of date: {self.search!r}"
            )
        return text.replace(self.search, self.replace)


def read_mutations() -> list[Mutation]:
    """Return the mutations of the list."""
    with (TESTS / "mutants.toml").open("rb") as file:
        return [Mutation(**entry) for entry in tomllib.load(file)["mutation"]]


def run_tests(source: Path, tests: list[str], time_limit: float | None = TIME_LIMIT) -> int:
    """Run tests against a copy of src until one fails; return the exit code of pytest."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(source),
        # Examples that a mutation fails on are not to be tried first by later runs.
        "HYPOTHESIS_STORAGE_DIRECTORY": str(source / ".hypothesis"),
    }
    # The caches of numba and Python lie beside the files of the copy.
    environment.pop("NUMBA_CACHE_DIR", None)
    environment.pop("PYTHONPYCACHEPREFIX", None)
    command = [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider", *(f"tests/{test}" for test in tests)]
    try:
        finished = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=time_limit, check=False
        )
    except subprocess.TimeoutExpired:
        return FAILED
    if finished.returncode < 0:
        # A mutated kernel wrote beyond its arrays, and the system ended the process.
        return FAILED
    if finished.returncode not in (PASSED, FAILED):
        raise RuntimeError(f"the tests could not be run:\n{finished.stdout}\n{finished.stderr}")
    return finished.returncode


def mutate(source: Path, mutation: Mutation) -> None:
    """Apply a mutation to a copy of src. Kernels are compiled again if it changes a module with kernels."""
    (source / PACKAGE / mutation.file).write_text(mutation.applied(source))


def main(texts: list[str]) -> int:
    """Run the mutations and print what became of them; return 1 if one survives without explanation, else 0."""
    mutations = read_mutations()
    for mutation in mutations:
        mutation.applied(ROOT / "src")
    if texts:
        mutations = [m for m in mutations if any(text in f"{m.file}: {m.name}" for text in texts)]
    surprises = []
    with tempfile.TemporaryDirectory() as folder:
        original, mutant = Path(folder, "original"), Path(folder, "mutant")
        shutil.copytree(ROOT / "src", original)
        start = time.monotonic()
        named = sorted({test for mutation in mutations for test in mutation.tests})
        if run_tests(original, named, time_limit=None) != PASSED:
            raise RuntimeError("the tests fail without a mutation: run make test")
        print(f"the tests pass without a mutation ({time.monotonic() - start:.0f} s)", flush=True)
        for mutation in mutations:
            begin = time.monotonic()
            shutil.copytree(original, mutant)
            mutate(mutant, mutation)
            survived = run_tests(mutant, mutation.tests) == PASSED
            shutil.rmtree(mutant)
            seconds = time.monotonic() - begin
            verdict = "survived" if survived else "killed"
            print(f"{verdict:8} {seconds:4.0f} s  {mutation.file}: {mutation.name}", flush=True)
            if survived and mutation.survives:
                print(f"                 {mutation.survives}")
            if survived != bool(mutation.survives):
                surprises.append(mutation)
    print(f"{len(mutations)} mutations in {time.monotonic() - start:.0f} s")
    for mutation in surprises:
        problem = "killed, but the list explains why it survives" if mutation.survives else "no test noticed it"
        print(f"{mutation.file}: {mutation.name}: {problem}")
    return int(bool(surprises))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
