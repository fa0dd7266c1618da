"""What a release must agree on: versions, classifiers, the changelog, the commands that CONTRIBUTING names."""

import re
import tomllib

import pytest

import proxcode
from helpers.lowest_versions import PYPROJECT

ROOT = PYPROJECT.parent


def read(name):
    return (ROOT / name).read_text()


def test_the_version_is_written_once_and_cited():
    project = tomllib.loads(read("pyproject.toml"))
    assert "version" not in project["project"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/proxcode/__init__.py"
    assert re.search(r"^version: (.+)$", read("CITATION.cff"), re.MULTILINE)[1] == proxcode.__version__


def test_the_changelog_begins_with_this_version():
    heading = re.search(r"^## (\S+) \((.+)\)$", read("CHANGELOG.md"), re.MULTILINE)
    assert heading[1] == proxcode.__version__
    assert heading[2] == "unreleased" or re.fullmatch(r"\d{4}-\d\d-\d\d", heading[2])


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "README.md"])
def test_commands_of_make_exist(page):
    targets = set(re.findall(r"^([\w-]+):", read("Makefile"), re.MULTILINE))
    named = {name for line in re.findall(r"`make ([\w -]+)`", read(page)) for name in line.split()}
    assert named
    assert named <= targets


def test_types_of_the_package_are_seen_by_users():
    assert (ROOT / "src" / "proxcode" / "py.typed").is_file()
    assert "Typing :: Typed" in tomllib.loads(read("pyproject.toml"))["project"]["classifiers"]


def test_hooks_before_a_commit_call_what_lint_calls():
    hooks = read(".pre-commit-config.yaml")
    for tool in re.findall(
        r"^\t\$\(BIN\)/(\w+)", re.search(r"^lint:.*?\n\n", read("Makefile"), re.DOTALL | re.M)[0], re.M
    ):
        assert f".venv/bin/{tool}" in hooks


def test_what_tests_do_not_install_is_imported_where_it_is_used():
    # pytest imports every module of tests/ for its doctests, also scripts; Playwright comes with make test-browser.
    files = sorted((ROOT / "tests").rglob("*.py"))
    assert [
        file.name for file in files if re.search(r"^(from|import) playwright", file.read_text(), re.MULTILINE)
    ] == []


def test_the_readme_is_short():
    assert read("README.md").count("\n") < 120
