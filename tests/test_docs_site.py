"""The documentation site: every public name is in the API reference, and built pages ask nothing of other machines."""

import importlib
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SITE = ROOT / "build" / "docs"
PACKAGES = (
    "proxcode",
    "proxcode.cut",
    "proxcode.engines",
    "proxcode.export",
    "proxcode.explore",
    "proxcode.hashing",
    "proxcode.pairs",
    "proxcode.peers",
    "proxcode.proximity",
    "proxcode.search",
    "proxcode.stores",
)
# Elements that load something, unlike links that a reader follows.
LOADS_FROM_AFAR = re.compile(r"""<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=["'](?:https?:)?//[^>]*>""")


def listed_names():
    """Return the names in the pages of docs/api, with their modules: those of tables, and constants."""
    names = []
    for page in sorted((ROOT / "docs" / "api").glob("*.rst")):
        module = None
        for line in page.read_text().splitlines():
            if found := re.match(r"\.\. currentmodule:: (\S+)", line):
                module = found.group(1)
            elif found := re.fullmatch(r"   ([A-Za-z][\w.]*)", line):
                names += [f"{module}.{found.group(1)}"] if module else []
            elif found := re.match(r"\.\. py:data:: (\S+)", line):
                names.append(f"{module}.{found.group(1)}")
    return names


def resolved(name):
    module, attribute = name.rsplit(".", 1)
    return getattr(importlib.import_module(module), attribute)


def test_the_reference_lists_every_public_name():
    listed = {id(resolved(name)) for name in listed_names()}
    public = [f"{package}.{name}" for package in PACKAGES for name in importlib.import_module(package).__all__]
    assert len(public) > 120
    assert [name for name in public if id(resolved(name)) not in listed] == []


def test_the_reference_lists_a_name_once_and_each_is_documented():
    names = listed_names()
    assert sorted(set(names)) == sorted(names)
    assert len({id(resolved(name)) for name in names}) == len(names)
    assert [name for name in names if not (resolved(name).__doc__ or "").strip()] == []


@pytest.mark.parametrize(
    ("page", "link", "target"),
    [
        ("cut", "../CHANGELOG.md#changelog", "CHANGELOG.md#changelog"),
        ("results/README", "../../CHANGELOG.md", "../CHANGELOG.md"),
        ("results/README", "../decisions.md#hash-function", "../decisions.md#hash-function"),
        ("cut", "../README.md", "path:../README.md"),
        ("cut", "../src/proxcode/cut/", "path:../src/proxcode/cut/__init__.py"),
        ("cut", "../src/proxcode/code.py", "../src/proxcode/code.py"),
        ("cut", "evaluate.md", "evaluate.md"),
    ],
)
def test_links_that_leave_docs_have_a_target_in_the_site(page, link, target):
    follow = runpy.run_path(ROOT / "docs" / "conf.py")["follow_outward_links"]
    source = [f"See [this]({link}), and [that](https://example.org)."]
    follow(None, page, source)
    assert source == [f"See [this]({target}), and [that](https://example.org)."]


@pytest.mark.skipif(not (SITE / "index.html").exists(), reason="build/docs is missing: make docs builds it")
def test_built_pages_load_nothing_from_other_machines():
    pages = sorted(SITE.rglob("*.html"))
    assert len(pages) > 150
    for page in pages:
        assert LOADS_FROM_AFAR.findall(page.read_text(encoding="utf-8")) == [], page
    for sheet in SITE.rglob("*.css"):
        assert re.findall(r"url\(\s*['\"]?(?:https?:)?//", sheet.read_text(encoding="utf-8")) == [], sheet
