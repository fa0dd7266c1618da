"""The pictures of docs/how_it_works.md.

    python benchmarks/pictures.py

Runs the Python blocks of the page, one after another, and draws their variables: the pictures show what the page
computes. Writes docs/images/how_*.png.
"""

import re
from pathlib import Path

import numpy as np
from matplotlib.colors import ListedColormap, TwoSlopeNorm
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from proxcode.plots import FAR, INK, NEAR, plot_near_and_far, save_figure

DOCS = Path(__file__).parents[1] / "docs"
# Inches of a picture of two panels, and dots per inch.
SIZE, DPI = (8, 3.6), 110
# A sample in the middle, whose pairs are drawn.
CHOSEN = (0.0, 0.0)
GREY = "#bbbbbb"


def variables():
    """Run the blocks of the page; return its variables, with C as the code of four bits."""
    page = (DOCS / "how_it_works.md").read_text(encoding="utf-8")
    names, code = {"__name__": "page"}, None
    for block in re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
        exec(block, names)
        # A later block uses the name C again.
        code = names.get("C") if code is None else code
    return names | {"C": code}


def panels(n_panels=2, size=SIZE):
    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(1, n_panels)


def plane(ax, title):
    ax.set(xlim=(-0.53, 0.53), ylim=(-0.53, 0.53), aspect="equal", xticks=[-0.5, 0, 0.5], yticks=[-0.5, 0, 0.5])
    ax.set_title(title, fontsize=11)


def scatter_bits(ax, X, bits, size=14):
    for value, colour, marker in ((1, NEAR, "o"), (-1, FAR, "s")):
        ax.scatter(*X[bits == value].T, s=size, color=colour, marker=marker, linewidth=0, label=f"{value:+d}")


def near_and_far(page):
    X, Y = page["X"], page["Y"]
    figure, (left, right) = panels()
    chosen = int(np.argmin(np.linalg.norm(X - CHOSEN, axis=1)))
    scatter_bits(left, X, Y[chosen])
    left.scatter(*X[chosen], s=40, color=INK, zorder=3)
    left.add_patch(Circle(X[chosen], 0.2, fill=False, color=INK, linewidth=1))
    plane(left, "near to one sample, and far from it")
    order = np.argsort(X[:, 0])
    right.imshow(Y[np.ix_(order, order)], cmap=ListedColormap([FAR, NEAR]), interpolation="nearest")
    right.set(xticks=[], yticks=[], xlabel="samples, from left to right", ylabel="samples, from left to right")
    right.set_title("all pairs", fontsize=11)
    return figure


def threshold(page):
    figure, axes = panels(size=(8, 3.3))
    codes = page["C"], page["encode"](page["learn"](32), page["X"])
    for ax, code in zip(axes, codes, strict=True):
        n_bits = code.shape[1]
        distance, y = ((n_bits - code @ code.T) // 2)[page["pairs"]], page["Y"][page["pairs"]]
        near, far = (np.bincount(distance[y == value], minlength=n_bits + 1) for value in (1, -1))
        plot_near_and_far(near, far, n_bits - page["threshold"](code, page["Y"]), ax)
        ax.set_title(f"{n_bits} bits", fontsize=11)
        ax.set_ylim(0, 1.45 * max((near / near.sum()).max(), (far / far.sum()).max()))
        ax.legend(fontsize=9, frameon=False, loc="upper right")
    return figure


def weights(page):
    X, Y, C, W = (page[name] for name in ("X", "Y", "C", "W"))
    figure, (left, right) = panels(size=(8.6, 3.6))
    n_bits = C.shape[1]
    distance = np.arange(n_bits + 1)
    gamma = n_bits - 2 * distance - page["threshold"](C, Y)
    for y, colour, marker, name in ((1, NEAR, "o", "near pairs attract"), (-1, FAR, "s", "far pairs repel")):
        left.plot(distance, y / (1 + np.exp(y * gamma)), color=colour, marker=marker, label=name)
    left.axhline(0, color=INK, linewidth=0.8)
    left.set(xlabel="Hamming distance", ylabel="weight", xticks=distance, ylim=(-1.1, 1.1))
    left.legend(fontsize=9, frameon=False, loc="center right", bbox_to_anchor=(1, 0.4))
    left.set_title(f"weights after {n_bits} bits", fontsize=11)
    # The sample in the inner part that the code so far places worst among its near samples.
    inner = np.abs(X).max(axis=1) < 0.35
    chosen = int(np.argmax(np.where(inner, (W * (W > 0)).sum(axis=1), -1)))
    others = np.arange(len(X)) != chosen
    norm = TwoSlopeNorm(0, -1, 1)
    shade = W[chosen, others]
    drawn = right.scatter(
        *X[others].T, s=6 + 60 * abs(shade), c=shade, cmap="RdBu", norm=norm, linewidth=0.3, edgecolor="0.4"
    )
    right.scatter(*X[chosen], s=40, color=INK, zorder=3)
    right.add_patch(Circle(X[chosen], 0.2, fill=False, color=INK, linewidth=1))
    figure.colorbar(drawn, ax=right, label="weight")
    plane(right, "weights of one sample")
    return figure


def cut(page):
    figure, axes = panels(3, size=(9, 3.5))
    rounds = page["rounds"]
    last = len(rounds) - 1
    for ax, number in zip(axes, (0, 1, last), strict=True):
        bits = rounds[number]
        scatter_bits(ax, page["X"], bits)
        name = {0: "at random", 1: "after one round", last: "at the end"}[number]
        plane(ax, f"{name}: b'Wb = {bits @ page['W'] @ bits:,.0f}")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    return figure


def hash_function(page):
    X, bits, function = page["X"], page["rounds"][-1], page["hash_function"]
    figure = Figure(figsize=(5.4, 4.4), layout="constrained")
    ax = figure.subplots()
    grid = np.linspace(-0.53, 0.53, 150)
    points = np.column_stack([axis.ravel() for axis in np.meshgrid(grid, grid)])
    margin = function.decision_function(points).reshape(len(grid), -1)
    largest = float(abs(margin).max())
    field = ax.contourf(grid, grid, margin, 21, cmap="RdBu", vmin=-2 * largest, vmax=2 * largest)
    ax.contour(grid, grid, margin, [0], colors=INK, linewidths=1.5)
    scatter_bits(ax, X, bits, size=18)
    wrong = function.predict(X) != bits
    ax.scatter(*X[wrong].T, s=110, facecolor="none", edgecolor=INK, linewidth=1.5, label="other side")
    figure.colorbar(field, ax=ax, label="margin")
    plane(ax, "samples coloured by the cut, margin of the hash function")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return figure


def error_correction(page):
    figure = Figure(figsize=(5.6, 3.6), layout="constrained")
    ax = figure.subplots()
    number = np.arange(1, 33)
    for name, label, colour, style in (
        ("corrected", "with error correction", NEAR, "-"),
        ("uncorrected", "without", FAR, "--"),
    ):
        losses = [page["loss"](page[name][:, :k], page["Y_new"]) for k in number]
        ax.plot(number, losses, style, color=colour, label=label)
    ax.axhline((page["Y_new"][page["pairs"]] == 1).mean(), color=GREY, linewidth=1)
    ax.text(31.5, 0.11, "no pair is called near", color="0.4", ha="right", va="bottom", fontsize=9)
    ax.set(xlabel="bits", ylabel="share of misplaced pairs", ylim=(0, 0.2), xlim=(1, 32), xticks=[1, 8, 16, 24, 32])
    ax.set_title("300 new samples", fontsize=11)
    ax.legend(frameon=False)
    return figure


def main():
    page = variables()
    (DOCS / "images").mkdir(exist_ok=True)
    for draw in (near_and_far, threshold, weights, cut, hash_function, error_correction):
        path = DOCS / "images" / f"how_{draw.__name__}.png"
        save_figure(draw(page), path, dpi=DPI)
        print(f"{path.relative_to(DOCS)}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
