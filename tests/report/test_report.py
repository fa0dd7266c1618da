"""Reports: their numbers are those of the evaluation, and nothing that they show can harm."""

import json
import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

from helpers.html_pages import Page
from proxcode import CodePipeline, LinearHash, Nearest, ProximityPreservingCode, SharedLabel, WithinRadius, write_report
from proxcode.evaluation import evaluate, evaluate_search
from proxcode.report.charts import N_SERIES
from proxcode.report.markup import number
from proxcode.report.search_section import search_section

TIMES = {"fit_seconds", "encode_ms", "search_ms"}
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</script><b>",
    "'; --\x00\ud800",
    "&amp;",
    "]]>",
]


@pytest.fixture(scope="module")
def model(train):
    return ProximityPreservingCode(16, random_state=0).fit(*train)


@pytest.fixture(scope="module")
def few(new):
    return new[0][:160], new[1][:160]


@pytest.fixture(scope="module")
def write(tmp_path_factory, model, few):
    """A function that writes a report, by default of this model and new digits, and returns it with its page."""
    folder = tmp_path_factory.mktemp("reports")

    def written(fitted=model, X=few[0], y=few[1], **options):
        path = folder / "report.html"
        report = write_report(path, fitted, X, y, **{"peers": (), **options})
        document = path.read_text(encoding="utf-8")
        assert report.n_bytes == path.stat().st_size
        return report, Page(document), document

    return written


@pytest.fixture(scope="module")
def by_label(write, train, new):
    return write(
        X=new[0], y=new[1], peers=["LSH"], train=train[0], image_shape="8x8", texts=[f"item {k}" for k in range(400)]
    )


def without_times(rows):
    return [{name: value for name, value in row._asdict().items() if name not in TIMES} for row in rows]


def test_the_numbers_are_those_of_evaluate(by_label, model, train, new):
    report, page, _ = by_label
    expected = evaluate(model, *new, peers=["LSH"], train=train[0])
    assert without_times(report.pairs.rows) == without_times(expected.rows)
    shown = page.tables["Measures of all pairs, by method and code length"][1:]
    names = ("method", "bits", "pr_area", "map", "misplaced_share", "precision", "recall")
    assert shown == [[number(getattr(row, name)) for name in names] for row in expected.rows]
    own = expected.rows[1]
    for value in (own.precision, own.recall, own.pr_area):
        assert f"{value:.3f}" in page.words


def test_the_slider_reads_counts_of_all_pairs(by_label, model, new):
    _, page, _ = by_label
    X, y = new
    bits = model.transform(X) > 0
    one, other = np.triu_indices(len(X), 1)
    distance, is_near = (bits[one] != bits[other]).sum(axis=1), y[one] == y[other]
    rows = page.tables["Near and far pairs by Hamming distance"][1:]
    assert len(rows) == 17
    for t, row in enumerate(rows):
        found = distance <= t
        near, far = int((found & is_near).sum()), int((found & ~is_near).sum())
        precision = near / (near + far) if near + far else None
        at = (int(((distance == t) & kind).sum()) for kind in (is_near, ~is_near))
        assert row == [number(value) for value in (t, precision, near / int(is_near.sum()), near, far, *at)]


def test_searches_are_those_of_evaluate_search(by_label, model, train, new):
    report, page, _ = by_label
    X, y = new
    expected = evaluate_search(model, X, X, y, y, k=[1, 10], peers=["LSH"], train=train[0], exclude_self=True)
    assert without_times(report.search.rows) == without_times(expected.rows)
    rows = page.tables["Measures of a search, by method and code length"][1:]
    assert [row[3:5] for row in rows] == [[number(row.precision[k]) for k in (1, 10)] for row in expected.rows]
    assert {row[0] for row in rows} == {"proxcode", "proxcode, float queries", "float cosine", "LSH"}


def test_neighbours_are_the_nearest_by_brute_force(by_label, model, new):
    _, page, _ = by_label
    bits = model.transform(new[0]) > 0
    distance = (bits[:, None] != bits).sum(axis=2)
    shown = re.findall(
        r"Sample (\d+), label (\d)\.( \d of 8 neighbours have its label\.)((?:(?!Sample ).)*)", page.words
    )
    assert len(shown) >= 2
    for row, label, agree, cards in shown:
        assert new[1][int(row)] == int(label)
        nearest = np.sort(np.delete(distance[int(row)], int(row)))[:8]
        assert [int(found) for found in re.findall(r"distance (\d+)", cards)] == nearest.tolist()
        n_agree = cards.partition("What you see")[0].count("\N{CHECK MARK}")
        assert agree == f" {n_agree} of 8 neighbours have its label."


def test_the_page_is_accessible(by_label):
    _, page, document = by_label
    assert page.all("html") == [{"lang": "en"}]
    levels = [int(name[1]) for name, _ in page.elements if re.fullmatch(r"h[1-6]", name)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    pictures = [svg for svg in page.all("svg") if svg.get("aria-hidden") != "true"]
    assert len(pictures) == 7
    assert all(svg["role"] == "img" and re.search(r"\d", svg["aria-label"]) for svg in pictures)
    assert all(image["alt"] for image in page.all("img"))
    labels = {label["for"] for label in page.all("label")}
    assert {field["id"] for name in ("input", "select") for field in page.all(name)} == labels
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {link["href"] for link in page.all("a")} <= {f"#{name}" for name in ids}
    assert "prefers-color-scheme: dark" in document
    assert "@media print" in document


def test_the_page_asks_for_nothing(by_label):
    _, page, document = by_label
    policy = next(meta["content"] for meta in page.all("meta") if meta.get("http-equiv"))
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    addresses = [value for _, found in page.elements for name, value in found.items() if name in ("src", "href")]
    assert all(address.startswith(("data:image/png", "#")) for address in addresses)
    assert not any(name in ("link", "iframe", "object", "form") for name, _ in page.elements)
    assert "http://" not in document.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in document
    assert not any("style" in found or any(name.startswith("on") for name in found) for _, found in page.elements)


def test_hostile_labels_and_texts_are_harmless(write, model, few):
    X, y = few
    names = np.array(["a b", *HOSTILE, "c", "d", "e"], object)
    harmless = [f"name {k}" for k in range(10)]
    texts = [HOSTILE[k % len(HOSTILE)] for k in range(len(X))]
    plain, hostile = (
        write(y=np.array(labels, object)[y], texts=shown, title=title, command=title)[1]
        for labels, shown, title in ((harmless, ["text"] * len(X), "title"), (names, texts, HOSTILE[0]))
    )
    assert [name for name, _ in hostile.elements] == [name for name, _ in plain.elements]
    assert [set(found) for _, found in hostile.elements] == [set(found) for _, found in plain.elements]
    assert HOSTILE[0] in hostile.words
    assert HOSTILE[1] in json.loads(hostile.data["map-data"])["names"]


def test_the_same_samples_give_the_same_file_except_for_times(write):
    first, second = (re.sub(r'<section id="timings".*?</section>', "", write()[2]) for _ in range(2))
    assert 'id="timings"' not in first
    assert first == second


def test_pairs_of_a_subset_are_those_of_these_samples(write, model, few):
    report, page, _ = write(max_samples=60)
    rows = np.sort(np.random.default_rng(0).choice(160, 60, replace=False))
    expected = evaluate(model, few[0][rows], few[1][rows], peers=())
    assert without_times(report.pairs.rows) == without_times(expected.rows)
    assert "All pairs of 60 samples, drawn at random from 160, were measured." in page.words
    assert "160 samples were encoded." in page.words


def test_samples_without_a_label_take_no_part(write, model, few):
    X, y = few
    some = np.where(np.arange(len(y)) % 4 == 0, -1, y)
    report, page, _ = write(y=some)
    expected = evaluate(model, X, some, peers=())
    assert without_times(report.pairs.rows) == without_times(expected.rows)
    assert "40 samples have no label and take no part" in page.words
    words = [None if label == -1 else f"class {label}" for label in some]
    assert without_times(write(y=words)[0].pairs.rows) == without_times(expected.rows)


LEFT_OUT = {
    "one class": (lambda y: np.zeros(len(y), int), "all labels are 0: without a second class there is no far pair"),
    "all differ": (lambda y: np.arange(len(y)), "no two samples have the same label"),
    "no label": (lambda y: [None] * len(y), "no sample has a label: label some"),
    "not given": (lambda _: None, "do not follow from the model's SameLabel: pass labels"),
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_cannot_be_measured_is_left_out_with_a_reason(name, write, few):
    labels, reason = LEFT_OUT[name]
    report, page, _ = write(y=labels(few[1]))
    assert report.pairs is None
    assert reason in report.left_out["pairs"]
    assert page.words.count(report.left_out["pairs"]) >= 2
    assert "Distances of random pairs" in page.words
    assert "Balance and correlation of bits" in page.words
    # Without labels a search is for the true neighbours.
    assert (report.search is not None) == (name == "not given")


@pytest.mark.parametrize("proximity", [Nearest(10), WithinRadius(mean_neighbors=10)], ids=["nearest", "radius"])
def test_without_labels_near_is_what_the_model_says(proximity, write, train, few):
    model = ProximityPreservingCode(16, proximity=proximity, random_state=0).fit(train[0])
    report, page, _ = write(model, y=None)
    assert without_times(report.pairs.rows) == without_times(evaluate(model, few[0], peers=()).rows)
    assert f"Near means: {model.proximity_.describe()}." in page.words
    assert "Without labels only you can tell" in page.words


def test_several_labels_per_sample(write, train, few):
    indicator = [y[:, None] % np.arange(2, 6) == 0 for _, y in (train, few)]
    model = ProximityPreservingCode(16, proximity=SharedLabel(), random_state=0).fit(train[0], indicator[0])
    report, page, _ = write(model, y=indicator[1])
    assert without_times(report.pairs.rows) == without_times(evaluate(model, few[0], indicator[1], peers=()).rows)
    sets = json.loads(page.data["map-data"])["sets"]
    assert sorted(map(len, sets)) == sorted(indicator[1].sum(axis=1).tolist())


def test_without_labels_in_common_searches_are_left_out_too(write, few):
    report, page, _ = write(y=np.eye(160, dtype=int))
    assert set(report.left_out) == {"pairs", "search"}
    assert "none of the 160 queries has a relevant sample (at least one label in common)" in page.words


def test_a_pipeline_is_measured_on_what_its_code_takes(write, train, few):
    code = ProximityPreservingCode(16, random_state=0)
    model = CodePipeline([("scale", StandardScaler()), ("code", code)]).fit(*train)
    report, page, _ = write(model, image_shape=(8, 8))
    assert without_times(report.pairs.rows) == without_times(evaluate(model, *few, peers=()).rows)
    assert "StandardScaler()" in page.words
    assert model.fingerprint() in page.words


def test_twenty_samples_suffice(write, model, few):
    report, page, _ = write(X=few[0][:20], y=few[1][:20])
    assert report.left_out == {}
    assert json.loads(page.data["map-data"])["bits"] == [code.tobytes().hex() for code in model.encode(few[0][:20])]


def test_training_samples_are_recognised(write, few):
    model = ProximityPreservingCode(8, hash_function=LinearHash(refine_steps=0), random_state=0).fit(*few)
    assert "new samples will do worse" in write(model)[1].words
    assert "new samples will do worse" not in write()[1].words


def test_a_map_by_a_transformer(write, few):
    class LastTwo:
        def __init__(self, *columns):
            self.columns = columns

        def fit_transform(self, samples):
            return samples[:, self.columns]

        def __repr__(self):
            return "LastTwo()"

    words = write(projection=LastTwo(20, 21))[1].words
    assert "LastTwo" in words
    assert "principal components" not in words
    with pytest.raises(ValueError, match=r"^projection=LastTwo\(\) gives an array of shape \(160, 3\): expected two"):
        write(projection=LastTwo(20, 21, 22))


def test_texts_are_those_of_the_samples_in_their_order(write, few):
    shuffled = np.random.default_rng(0).permutation(160)
    texts = pd.Series([f"text {k}" for k in range(160)])[shuffled]
    _, _, document = write(X=few[0][shuffled], y=few[1][shuffled], texts=texts)
    shown = re.findall(r'data-tip="sample (\d+)\nlabel \d+\ntext (\d+)"', document)
    assert [(int(row), int(text)) for row, text in shown] == list(enumerate(shuffled.tolist()))


def test_missing_texts_are_empty(write):
    texts = [None, float("nan"), "", "word"] * 40
    tips = re.findall(r'data-tip="sample \d+\nlabel \d+(\n\w+)?"', write(texts=texts)[2])
    assert tips == ["", "", "", "\nword"] * 40


def test_what_is_no_fitted_model_or_no_list_of_texts_is_refused(write):
    with pytest.raises(TypeError, match=r"^model='m': expected a ProximityPreservingCode or a CodePipeline\.$"):
        write("m")
    with pytest.raises(NotFittedError):
        write(ProximityPreservingCode())
    with pytest.raises(TypeError, match=r"^texts='aaa': expected one text per sample, not a single one\.$"):
        write(texts="aaa")
    with pytest.raises(TypeError, match=r"^projection='umap': expected a transformer with fit_transform, such as umap"):
        write(projection="umap")
    with pytest.raises(TypeError, match=r"^image shape 64: expected a tuple of integers or a string, as in 28x28\.$"):
        write(image_shape=64)


def test_wrong_arguments_are_refused_before_pairs_are_measured(write, monkeypatch):
    monkeypatch.setattr("proxcode.report.writing.measure", lambda *_: pytest.fail("pairs were measured"))
    for wrong, kind in (
        ({"texts": ["one"]}, ValueError),
        ({"image_shape": "9x9"}, ValueError),
        ({"projection": "umap"}, TypeError),
    ):
        with pytest.raises(kind):
            write(**wrong)


WRONG = {
    "texts": ({"texts": ["one"]}, "texts has 1 texts for 160 samples: expected one each"),
    "shape": ({"image_shape": "9x9"}, "image shape 9x9 has 81 numbers, but a sample has 64"),
    "no shape": ({"image_shape": "8by8"}, "image shape '8by8': expected HEIGHTxWIDTH"),
    "peers": ({"peers": ["ABC"]}, "peers='ABC': expected names from"),
    "lengths": ({"lengths": [17]}, "lengths=17: expected an integer from 1 to 16"),
    "labels": ({"y": [1, 2]}, "X has 160 samples but y has 2 labels"),
    "one sample": ({"X": np.ones((1, 64)), "y": None}, "X has 1 sample: a report needs at least 2"),
    "NaN": ({"X": np.full((3, 64), np.nan), "y": None}, "NaN"),
    "features": ({"X": np.ones((3, 2)), "y": None}, "2 features"),
    "training labels": ({"train_labels": [1]}, "train_labels are given without train"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_refused_and_write_nothing(name, write, model, few, tmp_path):
    options, message = WRONG[name]
    arguments = {"X": few[0], "y": few[1], "peers": (), **options}
    with pytest.raises(ValueError, match=re.escape(message)):
        write_report(tmp_path / "new.html", model, arguments.pop("X"), arguments.pop("y"), **arguments)
    assert list(tmp_path.iterdir()) == []


def test_training_labels_are_as_many_as_the_training_samples(write, train):
    X, y = train[0][50:300], train[1]
    for labels in (y[:300], y[:100], y[:300].tolist(), np.eye(10, dtype=int)[y[:300]]):
        with pytest.raises(ValueError, match=rf"^train_labels has {len(labels)} labels for 250 samples: expected one"):
            write(train=X, train_labels=labels, peers=["Hadamard"])
    right = write(train=X, train_labels=y[50:300], peers=["Hadamard"])[0]
    assert {row.method for row in right.pairs.rows} == {"proxcode", "Hadamard"}


def test_iterators_are_read_once_for_pairs_and_searches(write):
    report = write(lengths=iter([8, 4]), peers=iter(["lsh"]))[0]
    for rows in (report.pairs.rows, report.search.rows):
        assert [row.bits for row in rows if row.method == "proxcode"] == [4, 8]
        assert [row.bits for row in rows if row.method == "LSH"] == [4, 8]
    assert {row.method for row in write(lengths=[8], peers="LSH")[0].pairs.rows} == {"proxcode", "LSH"}


def test_the_keys_of_more_methods_than_colours_have_colours(write):
    report, page, _ = write(lengths=range(1, 13))
    others = [report.search.rows[0]._replace(method=f"method {k}") for k in range(N_SERIES)]
    search = search_section(replace(report.search, rows=[*report.search.rows, *others]), "")
    for read in (page, Page(search.body)):
        classes = {group["class"] for group in read.all("g") if group.get("class", "").startswith("series")}
        assert classes == {f"series s{series}" for series in range(N_SERIES)}


def test_an_existing_file_is_kept_unless_it_may_be_replaced(model, few, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="already exists"):
        write_report(path, model, *few, overwrite=False)
    assert path.read_text() == "mine"
