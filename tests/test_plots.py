"""Plots: every axis has a label, no texts overlap, and the numbers are those measured."""

from itertools import combinations

import numpy as np
import pytest

pytest.importorskip("matplotlib")

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from proxcode import Nearest, ProximityPreservingCode, WithinRadius
from proxcode.evaluation import evaluate, evaluate_search
from proxcode.metrics import PrecisionRecall, precision_recall
from proxcode.plots import (
    COLOURS,
    figure_page,
    plot_bit_balance,
    plot_loss,
    plot_near_and_far,
    plot_precision_recall,
    save_figure,
    search_page,
)

MAGIC = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}


@pytest.fixture(scope="module")
def model(train):
    return ProximityPreservingCode(n_bits=12, random_state=0).fit(*train)


@pytest.fixture(scope="module")
def evaluation(model, train, new):
    return evaluate(model, *new, train=train[0])


def texts(figure):
    """Return the boxes of all visible texts: titles, axis labels, tick labels, legends."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    boxes = {"page": figure._suptitle.get_window_extent()} if figure._suptitle else {}
    for number, ax in enumerate(figure.axes):
        parts = [ax.title, ax.xaxis.label, ax.yaxis.label]
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            parts += [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
        parts += ax.get_legend().get_texts() if ax.get_legend() else []
        for part in parts:
            if part.get_text():
                boxes[number, part.get_text(), len(boxes)] = part.get_window_extent()
    return boxes


def check_readable(figure):
    for ax in figure.axes:
        assert ax.get_xlabel()
        assert ax.get_ylabel()
        assert ax.get_title()
    boxes = texts(figure)
    for (one, box), (other, other_box) in combinations(boxes.items(), 2):
        assert not box.overlaps(other_box), (one, other)
    for name, box in boxes.items():
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1, name
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1, name
    for ax in figure.axes:
        check_legend_is_clear(ax)


def check_legend_is_clear(ax):
    """The legend lies above all lines and bars."""
    if ax.get_legend() is None:
        return
    floor = ax.transData.inverted().transform(ax.get_legend().get_window_extent())[0, 1]
    tops = [np.max(line.get_ydata()) for line in ax.lines] + [bar.get_height() for bar in ax.patches]
    assert max(tops) < floor


def test_page_of_labels(evaluation):
    figure = figure_page(evaluation, "12-bit codes of digits")
    check_readable(figure)
    histogram, curves, losses, balance = figure.axes
    assert figure.get_suptitle() == "12-bit codes of digits"
    named = [text.get_text() for text in histogram.get_legend().get_texts()]
    assert f"near up to distance {evaluation.model.radius_}" in named
    np.testing.assert_allclose(histogram.lines[0].get_xdata(), evaluation.model.alpha_ / 2)
    areas = {row.method: row.pr_area for row in evaluation.rows if row.bits == 12}
    labels = [text.get_text() for text in curves.get_legend().get_texts()]
    assert labels == [f"{method}: {area:.3f}" for method, area in areas.items()]
    np.testing.assert_array_equal(losses.lines[0].get_ydata(), [record.loss for record in evaluation.model.history_])
    np.testing.assert_array_equal(losses.lines[1].get_ydata(), [row.misplaced_share for row in evaluation.rows[:2]])
    tips = [bar.get_y() + bar.get_height() for bar in balance.patches]
    np.testing.assert_allclose(tips, evaluation.bits.mean(axis=0))


@pytest.mark.parametrize("n_bits", [1, 9, 200])
def test_pages_of_other_lengths(train, new, n_bits):
    model = ProximityPreservingCode(n_bits=n_bits, random_state=0).fit(*train)
    result = evaluate(model, *new, train=train[0], peers=["LSH", "ITQ", "SH"])
    figure = figure_page(result, f"Codes of {n_bits} bits")
    check_readable(figure)
    assert f"at {n_bits} bit" in figure.axes[0].get_title()
    assert f"at {min(64, n_bits)} bit" in figure.axes[1].get_title()  # digits have 64 features, the most bits of ITQ
    assert len(figure.axes[1].lines) == 4


@pytest.mark.parametrize("proximity", [Nearest(), WithinRadius()], ids=repr)
def test_page_of_a_model_by_distances_without_peers(proximity, train, new):
    model = ProximityPreservingCode(n_bits=6, proximity=proximity, random_state=0).fit(train[0])
    check_readable(figure_page(evaluate(model, new[0], peers=()), "near by distance"))


def test_a_shorter_page_shows_the_threshold_of_that_length(model, new):
    figure = figure_page(evaluate(model, *new, lengths=[4, 8], peers=()), "first bits")
    np.testing.assert_allclose(figure.axes[0].lines[0].get_xdata(), model.history_[7].alpha / 2)


def test_a_long_title_stays_on_the_page(evaluation):
    check_readable(figure_page(evaluation, "codes of handwritten digits, eight by eight pixels, beside others " * 2))


def test_as_many_curves_as_colours():
    figure = Figure(layout="constrained")
    curve = PrecisionRecall(np.array([1.0, 0.5]), np.array([0.5, 1.0]))
    plot_precision_recall({f"method {k}": curve for k in range(len(COLOURS))}, figure.subplots())
    check_readable(figure)


def test_more_curves_than_colours_are_all_drawn():
    curve = PrecisionRecall(np.array([1.0, 0.5]), np.array([0.5, 1.0]))
    n_curves = len(COLOURS) + 2
    ax = plot_precision_recall({f"method {k}": curve for k in range(n_curves)}, Figure().subplots())
    assert len(ax.lines) == n_curves


@pytest.mark.parametrize("title", ["codes of $HOME/a_b$ and c", "a $^{ b$"])
def test_a_title_is_no_formula(evaluation, title, tmp_path):
    with mpl.rc_context({"svg.fonttype": "none"}):
        save_figure(figure_page(evaluation, title), tmp_path / "page.svg")
    assert title in (tmp_path / "page.svg").read_text()


def test_without_axes_pyplot_makes_a_figure(model, evaluation):
    with mpl.rc_context({"backend": "agg"}):
        import matplotlib.pyplot as plt

        near, far = evaluation.counts["proxcode"]
        drawn = [
            plot_near_and_far(near, far, model.alpha_),
            plot_precision_recall({"proxcode": precision_recall(near, far)}),
            plot_loss(model.history_),
            plot_bit_balance(evaluation.bits),
        ]
        assert [ax.figure.number for ax in drawn] == plt.get_fignums()
        for ax in drawn:
            check_readable(ax.figure)
        plt.close("all")


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg", "PNG"])
def test_figures_are_saved_by_suffix(evaluation, tmp_path, suffix):
    path = tmp_path / f"page.{suffix}"
    save_figure(figure_page(evaluation, "digits"), path)
    assert path.read_bytes().startswith(MAGIC[suffix.lower()])
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["page", "page.docx"])
def test_other_suffixes_are_refused(tmp_path, name):
    with pytest.raises(ValueError, match=r"path=.*page.*: expected a file name that ends in \.png, \.pdf, \.svg"):
        save_figure(Figure(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("labels", [True, False], ids=["labels", "nearest"])
def test_page_of_a_search(model, train, new, labels):
    known = (train[1], new[1]) if labels else (None, None)
    peers = {"train": train[0], "train_labels": train[1]}
    result = evaluate_search(model, train[0], new[0], *known, k=[5, 10], **peers)
    figure = search_page(result, "handwritten digits $x$")
    check_readable(figure)
    [legend] = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names == [
        "proxcode",
        "proxcode, float queries",
        "float cosine (256 bytes)",
        "LSH",
        "ITQ",
        "Hadamard",
        "WCW-ITQ",
    ]
    at_k, mean = figure.axes
    assert (at_k.get_ylabel(), mean.get_ylabel()) == ("precision@10" if labels else "recall@10", "mAP")
    own = [row for row in result.rows if row.method == "proxcode"]
    drawn = [(row.precision if labels else row.recall)[10] for row in own]
    np.testing.assert_array_equal(at_k.lines[0].get_ydata(), drawn)
    np.testing.assert_array_equal(at_k.lines[0].get_xdata(), [8, 12])
    np.testing.assert_array_equal(mean.lines[0].get_ydata(), [row.map for row in own])
    cosine = next(row for row in result.rows if row.method == "float cosine")
    np.testing.assert_array_equal(mean.lines[2].get_ydata(), [cosine.map] * 2)
    # The legend and the caption stay clear of the plots and of the title.
    drawn_boxes = [ax.get_tightbbox() for ax in figure.axes]
    others = [legend.get_window_extent(), figure._suptitle.get_window_extent(), figure._supxlabel.get_window_extent()]
    for one, other in combinations([*drawn_boxes, *others], 2):
        assert not one.overlaps(other)


def test_page_of_a_search_with_one_length_and_another_k(model, train, new):
    result = evaluate_search(model, train[0], new[0], k=[3, 7], lengths=[12], peers=())
    figure = search_page(result, "one length")
    check_readable(figure)
    assert figure.axes[0].get_ylabel() == "recall@3"
