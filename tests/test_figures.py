"""Numbers in README and docs are those of the result files."""

import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def figures():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        import figures

        yield figures
        for name in ("figures", "_common"):
            sys.modules.pop(name, None)


@pytest.fixture
def copy(tmp_path, figures):
    """Return a copy of the files that are compared."""
    for name in {"README.md", "docs/results/README.md", *(e["file"] for e in figures.read_list(ROOT)["entry"])}:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "docs" / "figures.toml", tmp_path / "docs")
    for path in (ROOT / "docs" / "results").glob("*.[cj]s*"):
        shutil.copy(path, tmp_path / "docs" / "results")
    return tmp_path


def replace(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_numbers_are_those_of_the_result_files(figures):
    assert figures.differences(ROOT) == []


def test_numbers_of_readme_but_those_of_the_cut_have_result_files(figures):
    entries = [entry for entry in figures.read_list(ROOT)["entry"] if entry["file"] == "README.md"]
    missing = [e["command"] for e in entries if figures.numbers(e, ROOT / "docs" / "results") is None]
    assert [command.split()[1] for command in missing] == ["benchmarks/cut.py"]


def test_every_number_measured_in_readme_is_listed(figures):
    assert figures.uncovered(ROOT) == []


def test_entries_are_well_formed(figures):
    """Entries whose result files do not exist yet are not compared, but must be right when these appear."""
    listed = figures.read_list(ROOT)
    files = {*listed["benchmarks"], *(path.name for path in (ROOT / "docs" / "results").glob("*.csv"))}
    options = {"csv", "column", "where", "by", "take", "digits", "scale", "zero", "exponent", "over", "without"}
    options |= {"named"}
    takes = {"only", "mean", "min", "max", "spread", "gain", "best"}
    for entry in listed["entry"]:
        assert set(entry) <= {"file", "text", "values", "command"}
        if "values" in entry:
            lengths = [len(next(iter(value.get("by", {"": [0]}).values()))) for value in entry["values"]]
            assert sum(lengths) == entry["text"].count("{}"), entry["text"]
        for value in entry.get("values", ()):
            assert {"csv", "column"} <= set(value) <= options
            assert value["csv"] in files
            assert value.get("take", "only") in takes


def test_some_numbers_are_compared(figures):
    results = ROOT / "docs" / "results"
    compared = [entry for entry in figures.read_list(ROOT)["entry"] if figures.numbers(entry, results)]
    assert len(compared) >= 4


def test_a_wrong_number_is_found_and_corrected(figures, copy):
    right = (copy / "README.md").read_text()
    first = figures.pattern("59,000 training samples | proxcode | **{}**").search(right).group(1)
    replace(copy / "README.md", f"**{first}**", "**.999**")
    (difference,) = figures.differences(copy)
    assert ".999" in difference
    assert figures.documents(copy)[copy / "README.md"] == right


def test_a_changed_result_is_found(figures, copy):
    path = copy / "docs" / "results" / "table1.csv"
    path.write_text(path.read_text().replace("\nPPC,32,0.5", "\nPPC,32,0.6"))
    (difference,) = figures.differences(copy)
    assert difference.startswith("README.md: '| CIFAR-10 GIST, same class")


def test_a_text_that_does_not_occur_is_an_error(figures, copy):
    replace(copy / "README.md", "FAISS-PQ, which compares", "PQ, which compares")
    with pytest.raises(ValueError, match=r"README.md: 0 places match 'FAISS-PQ, which compares"):
        figures.differences(copy)


def test_a_number_that_is_not_listed_is_found(figures, copy):
    replace(copy / "README.md", "## More", "Also .123 and 1,234 of Banking77.\n\n## More")
    assert figures.uncovered(copy) == [".123", "1,234"]


def test_a_result_file_that_appears_is_compared(figures, copy):
    name = "encode_memory.csv"
    (copy / "docs" / "results" / name).write_text("hash_function,peak_GiB\nkernel,0.77\n")
    assert any("takes 0.8 GiB of memory" in difference for difference in figures.differences(copy))


def test_means_spreads_and_gains(figures, tmp_path):
    rows = [("PPC", 8, 0.4), ("PPC", 8, 0.6), ("PPC", 16, 0.9), ("PPC", 16, 0.9), ("ITQ", 8, 0.4), ("ITQ", 16, 0.9)]
    text = "".join(f"some,{method},{bits},{auc}\n" for method, bits, auc in rows)
    path = tmp_path / "some.csv"
    path.write_text("protocol,method,bits,auc\n" + text)
    value = {"csv": "some.csv", "column": "auc"}

    def taken(take, where, **options):
        return figures.one_value(path, where, {**value, "take": take, **options})

    assert taken("mean", {"method": "PPC"}) == pytest.approx(0.7)
    assert taken("min", {"bits": 16}) == taken("max", {"bits": 16}) == 0.9
    assert taken("spread", {"method": "PPC"}) == pytest.approx(0.02**0.5)
    assert taken("gain", {"method": "PPC"}, over="ITQ") == pytest.approx((0.25 + 0) / 2)
    assert taken("best", {"bits": 8}, named="PPC") == pytest.approx(0.5)
    assert taken("best", {"bits": 8}, named="ITQ", without=["PPC"]) == pytest.approx(0.4)
    with pytest.raises(ValueError, match=r"some.csv: the best is PPC with 0.500, not ITQ"):
        taken("best", {"bits": 8}, named="ITQ")
    with pytest.raises(ValueError, match=r"some.csv: 2 rows with .*: expected one"):
        taken("only", {"method": "PPC", "bits": 8})
    assert figures.shown(0.1234, {}) == ".123"
    assert figures.shown(0.1234, {"digits": 1, "zero": True}) == "0.1"
    assert figures.shown(1234.5, {"digits": 0}) == "1,234"
    assert figures.shown(0.00011, {"digits": 1, "exponent": True}) == "1.1e-04"
    assert figures.shown(0.0, {"digits": 1, "exponent": True}) == "0"
