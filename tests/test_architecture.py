"""The imports between modules are those that docs/architecture.md states; what docs/paper.md names exists."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "proxcode"
MODULES = sorted(
    path.stem
    for path in PACKAGE.iterdir()
    if not path.name.startswith("_") and (path.suffix == ".py" or (path / "__init__.py").exists())
)


def stated_imports():
    """Return the modules that each module may import, in the order of the page."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| `(\w+)/?` \| .* \|([^|]*)\|$", page, re.MULTILINE)
    return {module: set(re.findall(r"`(\w+)`", names)) for module, names in rows}


def imports_of(module):
    """Return the other top-level modules of proxcode that a module or package imports, except for types."""
    path = PACKAGE / f"{module}.py"
    files = [path] if path.exists() else sorted((PACKAGE / module).rglob("*.py"))
    found = set()
    for file in files:
        tree = ast.parse(file.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                node.body = []
        names = []
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names += [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                names += [alias.name for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("proxcode.")}
    return found & set(MODULES) - {module}


def test_the_page_lists_every_module():
    assert sorted(stated_imports()) == MODULES


@pytest.mark.parametrize("module", MODULES)
def test_imports_are_those_stated(module):
    assert imports_of(module) == stated_imports()[module]


def test_a_module_imports_only_those_listed_above_it():
    above = []
    for module, imported in stated_imports().items():
        assert imported <= set(above), module
        above.append(module)


def test_modules_stay_few_and_short():
    assert len(list(PACKAGE.glob("*.py"))) <= 12
    lengths = {file.relative_to(PACKAGE): file.read_text().count("\n") for file in PACKAGE.rglob("*.py")}
    assert {file: length for file, length in lengths.items() if length > 320} == {}


def test_no_test_module_imports_from_another():
    tests = {file.stem: file for file in (ROOT / "tests").rglob("test_*.py")}
    for file in tests.values():
        for node in ast.walk(ast.parse(file.read_text())):
            names = [node.module] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert not {str(name).split(".")[-1] for name in names} & set(tests), file


def test_what_the_page_on_the_paper_names_exists():
    links = re.findall(r"\[([^]]+)\]\(([^)#]+)(?:#([^)]*))?\)", (ROOT / "docs" / "paper.md").read_text())
    assert len(links) > 100
    for text, path, anchor in links:
        file, name = (ROOT / "docs" / path).resolve(), text.strip("`")
        assert file.is_file(), path
        if path.startswith("../src/"):
            module, _, attribute = name.rpartition(".")
            found = getattr(import_module(f"proxcode.{module}"), attribute)
            assert file == (ROOT / "src" / Path(*found.__module__.split("."))).with_suffix(".py"), name
        elif path.startswith("../tests/"):
            of_file, _, test = name.partition("::")
            assert file == ROOT / "tests" / of_file, name
            functions = {node.name for node in ast.parse(file.read_text()).body if isinstance(node, ast.FunctionDef)}
            assert test in functions, name
        elif anchor:
            titles = re.findall(r"^#+ (.*)$", file.read_text(), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}, anchor


def test_the_page_on_the_paper_has_every_equation_theorem_algorithm_figure_and_table():
    items = set(re.findall(r"^\| ([^|]*) \|", (ROOT / "docs" / "paper.md").read_text(), re.MULTILINE))
    numbers = {
        (kind, int(number))
        for item in items
        for kind, some in re.findall(r"(Eq\.|Theorem|Algorithm|Figure|Table)s? ([\d, and]+)", item)
        for number in re.findall(r"\d+", some)
    }
    for kind, last in (("Eq.", 14), ("Theorem", 4), ("Algorithm", 2), ("Figure", 6), ("Table", 1)):
        assert {number for of, number in numbers if of == kind} == set(range(1, last + 1)), kind
