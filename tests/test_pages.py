"""Every block of code in README, docs and examples runs, and prints what the page shows."""

import os
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from helpers.pages import ROOT, Block, blocks_of, compare, pages, run_page
from proxcode import ProximityPreservingCode

# Blocks that run_page does not run, by page and line: the reason, or the test that runs them.
NOT_RUN = {
    ("docs/explore.md", "import csv"): "tests/explore/test_explore_page.py",
    (
        "docs/explore.md",
        "proxcode fit vectors.npy --labels labels.npy --bits 64 -o digits.proxcode",
    ): "tests/explore/test_explore_page.py",
    ("docs/explore.md", "import proxcode"): "tests/explore/test_explore_page.py",
    (
        "docs/browser.md",
        "make browser",
    ): "needs node, and serves until Ctrl-C; make test-browser builds and opens the page",
    (
        "docs/browser.md",
        'import { env, InferenceSession, Tensor } from "onnxruntime-web/wasm";',
    ): "JavaScript of the page that make test-browser opens",
    ("docs/clickhouse.md", "CREATE TABLE documents ON CLUSTER my_cluster"): "needs a cluster of ClickHouse servers",
    ("docs/postgresql.md", "pip install '.[postgres]'"): "tests/stores/test_postgresql_page.py",
    ("docs/postgresql.md", "import numpy as np"): "tests/stores/test_postgresql_page.py",
    ("docs/postgresql.md", "from proxcode.stores import PostgresStore"): "tests/stores/test_postgresql_page.py",
    (
        "docs/postgresql.md",
        "-- the 5 nearest items to item 7, which may be one of them, exactly, without pgvector",
    ): "tests/stores/test_postgresql_page.py",
    ("docs/recipes.md", "import sqlite3"): "tests/stores/test_recipes.py",
    (
        "docs/recipes.md",
        ">>> from pymilvus import MilvusClient  # doctest: +SKIP",
    ): "needs a Milvus server; tests/stores/test_milvus.py runs the same calls where Milvus Lite is installed",
    (
        "docs/sharded_search.md",
        '>>> with DaskEngine("tcp://10.0.0.1:8786") as engine:  # doctest: +SKIP',
    ): "needs a Dask cluster; tests/search/test_sharded.py searches with workers of Dask on this machine",
    (
        "docs/text_search.md",
        "from sentence_transformers import SentenceTransformer",
    ): "needs sentence-transformers, and a network that it downloads",
}
# Pages that need the folder PROXCODE_DATA, and those that take long.
NEED_DATA = SLOW = {"docs/evaluate.md", "docs/tutorial_banking77.md"}


def save(**arrays):
    for name, array in arrays.items():
        np.save(f"{name}.npy", array)


def save_column(path, name, values):
    Path(path).write_text("".join(f"{value}\n" for value in [name, *values]))


def prepare_dedupe(digits):
    rng = np.random.default_rng(0)
    originals = rng.choice(len(digits[0]), 50, replace=False)
    save(images=np.vstack([digits[0], digits[0][originals] + rng.normal(0, 0.5, (50, 64))]))


def prepare_engines(digits):
    prepare_parquet(digits)
    return {"labels": digits[1][:900]}


def prepare_evaluate(_):
    """Save the training texts of Banking77, and the others as queries and database."""
    with np.load(Path(os.environ["PROXCODE_DATA"]) / "banking77_use512.npz") as file:
        X, y, is_train = file["x"].astype(np.float32), file["y"], file["is_train"].astype(bool)
    others = np.random.default_rng(0).permutation(np.flatnonzero(~is_train))
    queries, base = others[:1000], others[1000:]
    save(train=X[is_train], train_labels=y[is_train], q=X[queries], q_labels=y[queries])
    save(base=X[base], base_labels=y[base])


def prepare_index_life(digits):
    """Save codes of digits whose ids are names of files: stored, new, changed and removed ones, and queries."""
    X, y = digits
    model = ProximityPreservingCode(n_bits=32, random_state=0).fit(X[:1500], y[:1500])
    model.save("my.proxcode")
    codes, names = model.encode(X), [f"digit{number:04}.png" for number in range(1800)]
    save(codes=codes[:1500], new_codes=codes[1500:], changed_codes=codes[:2], queries=X[[1, 17]])
    save_column("items.csv", "name", names[:1500])
    save_column("new.csv", "name", names[1500:1797])
    save_column("changed.csv", "name", [names[1000], names[1797]])
    save_column("gone.csv", "name", names[5:7])
    save_column("queries.csv", "name", [names[1], names[17]])


def prepare_labels_and_files(digits):
    """Save digits in two formats, 277 of them without a label, codes of a model, and new digits."""
    from pyarrow import parquet, table

    X, y = digits
    labels = np.where(np.random.default_rng(0).random(1000) < 0.3, -1, y[:1000])
    np.savez("digits.npz", x=X[:1000].astype(np.float16), y=labels)
    np.savez("new.npz", x=X[1000:].astype(np.float16))
    columns = {f"f{number}": X[:1000, number] for number in range(64)}
    parquet.write_table(table(columns | {"class": labels}), "digits.parquet")


def prepare_many_files(digits):
    prepare_parquet(digits)
    ProximityPreservingCode(n_bits=16, random_state=0).fit(digits[0][:300], digits[1][:300]).save("my.proxcode")


def prepare_parquet(digits):
    """Save three files with a column of vectors and a column of labels."""
    from pyarrow import FixedSizeListArray, array, parquet, table

    X, y = digits[0].astype(np.float32), digits[1]
    Path("vectors").mkdir()
    for number, rows in enumerate(np.split(np.arange(900), 3)):
        vectors = FixedSizeListArray.from_arrays(array(X[rows].ravel()), 64)
        parquet.write_table(table({"vector": vectors, "class": y[rows]}), f"vectors/{number}.parquet")


def prepare_report(digits):
    prepare_vectors(digits)
    save_column("items.csv", "text", [f"a handwritten {label}" for label in digits[1][1000:]])


def prepare_updating(digits):
    X, y = digits
    old, new = np.flatnonzero(y < 9), np.flatnonzero(y == 9)
    batch = np.concatenate([new[:100], old[1000:1200]])
    save(vectors=X[old[:1000]], labels=y[old[:1000]], new=X[batch], new_labels=y[batch])


def prepare_vectors(digits):
    X, y = digits
    save(vectors=X[:1000], labels=y[:1000], queries=X[1000:1010], new=X[1000:], new_labels=y[1000:])


# What makes the files that a page takes for granted, and returns names that its Python blocks see.
PREPARED = {
    "README.md": prepare_vectors,
    "docs/dedupe.md": prepare_dedupe,
    "docs/engines.md": prepare_engines,
    "docs/evaluate.md": prepare_evaluate,
    "docs/index_life.md": prepare_index_life,
    "docs/labels_and_files.md": prepare_labels_and_files,
    "docs/many_files.md": prepare_many_files,
    "docs/pipelines.md": prepare_vectors,
    "docs/report.md": prepare_report,
    "docs/scale.md": prepare_parquet,
    "docs/updating.md": prepare_updating,
}


def has_blocks_to_run(page):
    return any(block.kind in {"python", "shell"} and block.key not in NOT_RUN for block in blocks_of(page))


def complaint(block):
    """Return why a block does not run, or None; NOT_RUN is left out."""
    if block.kind == "doctest":
        if not block.page.startswith("docs/"):
            return f"{block}: pytest collects doctests of docs/ alone; write a block without >>>"
        return f"{block}: a doctest is skipped" if "+SKIP" in block.text else None
    if block.kind in {"python", "shell", "shown"}:
        return None
    return f"{block}: no test runs a block of the language {block.kind!r}"


def test_every_block_of_every_page_runs():
    complaints = [complaint(block) for page in pages() for block in blocks_of(page) if block.key not in NOT_RUN]
    assert [text for text in complaints if text] == [], "make them run, or add them to NOT_RUN with a reason"


def test_doctests_of_the_pages_are_collected():
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]
    assert "docs" in options["testpaths"]
    assert "--doctest-glob=*.md" in options["addopts"]


def test_blocks_that_do_not_run_exist_and_have_a_reason():
    keys = [block.key for page in pages() for block in blocks_of(page)]
    assert {key: keys.count(key) for key in NOT_RUN} == dict.fromkeys(NOT_RUN, 1)
    for reason in NOT_RUN.values():
        for test in re.findall(r"tests/\S+\.py", reason):
            assert (ROOT / test).exists()


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.slow] * (page in SLOW)) for page in pages() if has_blocks_to_run(page)],
)
def test_the_blocks_of_a_page_run(page, digits, tmp_path, monkeypatch):
    if page in NEED_DATA and not os.environ.get("PROXCODE_DATA"):
        pytest.skip("PROXCODE_DATA is not set: this page needs the real data")
    monkeypatch.chdir(tmp_path)
    names = PREPARED[page](digits) if page in PREPARED else None
    run_page(page, NOT_RUN, names)


@pytest.mark.parametrize("page", pages())
def test_links_of_a_page_lead_to_files_and_headings(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", (ROOT / page).read_text(encoding="utf-8")):
        # The site builds the gallery and the reference.
        if re.match(r"https?:|mailto:|(\.\./)*(gallery|api)/", target):
            continue
        path, _, heading = target.partition("#")
        file = (ROOT / page).parent / path if path else ROOT / page
        assert file.exists(), f"{page} links to {target}"
        if heading and file.suffix == ".md":
            titles = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
            assert heading in [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles], target


def test_pictures_are_small_and_a_page_shows_each():
    pictures = {path.name: path.stat().st_size for path in (ROOT / "docs/images").iterdir()}
    limits = {name: 100_000 if name.startswith("how_") else 150_000 for name in pictures}
    assert {name for name in pictures if pictures[name] > limits[name]} == set()
    text = "".join((ROOT / page).read_text(encoding="utf-8") for page in pages())
    assert {name for name in pictures if f"images/{name})" not in text} == set()


@pytest.mark.parametrize("page", pages())
def test_pictures_of_a_page_have_a_text_in_words(page):
    texts = re.findall(r"!\[([^\]]*)\]\(", (ROOT / page).read_text(encoding="utf-8"))
    assert [text for text in texts if len(text.split()) < 3] == []


PAGE = """# A page

```sql
SELECT 1;
```

````{tab-set}
```{code-block} r
library(proxcode)
```
````

~~~
proxcode info missing.proxcode
~~~

```python
>>> 1 + 1  # doctest: +SKIP
2
```
"""


def blocks_of_text(text, folder, page="docs/page.md"):
    (folder / page).parent.mkdir(parents=True, exist_ok=True)
    (folder / page).write_text(text)
    assert pages(folder) == [page]
    return blocks_of(page, folder)


def test_blocks_that_no_test_runs_are_named(tmp_path):
    blocks = blocks_of_text(PAGE, tmp_path)
    assert [complaint(block) for block in blocks] == [
        "docs/page.md:3: no test runs a block of the language 'sql'",
        "docs/page.md:8: no test runs a block of the language 'r'",
        None,
        "docs/page.md:17: a doctest is skipped",
    ]
    assert blocks[2].kind == "shell"


def test_doctests_outside_of_docs_are_named(tmp_path):
    (block,) = blocks_of_text("```python\n>>> 1 + 1\n2\n```\n", tmp_path, "CONTRIBUTING.md")
    assert complaint(block).startswith("CONTRIBUTING.md:1: pytest collects doctests of docs/ alone")


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("```\nproxcode info missing.proxcode\n```", r"docs/page.md:1: proxcode info missing.proxcode\n.*missing"),
        ("```bash\nls missing\n```", "docs/page.md:1: ls missing"),
        ("```bash\npip install proxcode[nothing]\n```", r"docs/page.md:1: pip install proxcode\[nothing\]"),
        ("```bash\npip install something\n```", "docs/page.md:1: pip install something"),
        ("```bash\nmake nothing VENV=x\n```", "docs/page.md:1: make nothing"),
        ("```python\nprint(1, 2)\n```\n\n```text\n1 3\n```", "docs/page.md:5 shows\n1 3\n"),
        ("```console\n$ echo right\nwrong\n```", "docs/page.md:1 shows\nwrong\n"),
        ("```console\n$ echo 7 digits; echo more\n8 digits\n...\n```", "docs/page.md:1 shows\n8 digits\n"),
    ],
)
def test_a_block_that_fails_or_prints_something_else_is_named(block, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks_of_text(f"{block}\n", tmp_path)
    with pytest.raises(AssertionError, match=message):
        run_page("docs/page.md", root=tmp_path)


def test_times_and_fingerprints_are_not_compared():
    block = Block("docs/page.md", 1, "text", "")
    table = "method        mAP  search ms   fit s\nLSH       {}     {}  {}\nfloat, x  0.5000     0.1000       -\n"
    compare(table.format("0.4000", "0.0100", "0.3000"), table.format("0.4001", "12.5000", "8.1000"), block)
    with pytest.raises(AssertionError, match=r"0\.4000"):
        compare(table.format("0.4000", "0.0100", "0.3000"), table.format("0.5000", "0.0100", "0.3000"), block)
    compare("model 0123456789ab\nseconds  0.1\n", "model ffffffffffff\nseconds  22\n", block)
    compare("one\ntwo\nthree\n", "one\n...\n", block)
