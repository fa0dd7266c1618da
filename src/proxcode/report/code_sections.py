"""Sections that need nothing but codes: the distances of random pairs, the balance of bits and their correlation."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from proxcode.hamming import Codes, check_codes, unpack
from proxcode.report.charts import (
    Frame,
    bars,
    chart,
    legend,
    linear,
    percent,
    rule_x,
    rule_y,
)
from proxcode.report.images import png
from proxcode.report.markup import Html, short, table, tag
from proxcode.report.page import Section, data, left_out, picture
from proxcode.report.subsets import subset

# Codes, drawn at random, that the balance and the correlation of bits are computed from, and random pairs of codes.
MAX_CODES, N_PAIRS = 20_000, 200_000
# A bit whose rarer value has less than this share of the samples tells few of them apart.
UNEVEN = 0.05
# Correlation above which two bits say nearly the same, and from which on they are worth a remark.
COPIES, STRONG = 0.95, 0.7
# Cells of the heat map on each side; beyond, a cell is the strongest correlation of several bits.
MAX_CELLS = 128
# Colours of positive and of negative correlation; their opacity is its size.
POSITIVE, NEGATIVE = (16, 110, 190), (214, 94, 10)
SIDE = 360.0


def distance_section(codes: Codes, n_bits: int, radius: int | None = None) -> Section:
    """Return the section on distances of random pairs of codes, with the radius of the model if it is known."""
    counts = random_pair_counts(codes, n_bits)
    n_pairs, distance = int(counts.sum()), np.arange(n_bits + 1)
    if n_pairs == 0:
        none = left_out("A single code has no pairs: distances need at least two codes.")
        return Section("distances", "Distances of random pairs", none)
    shares = counts / n_pairs
    mean = float(shares @ distance)
    frame = Frame(linear(-0.5, n_bits + 0.5, 6, least_step=1), percent(1.12 * max(0.01, float(shares.max()))))
    tips = [f"distance {h}: {share:.2%} of random pairs" for h, share in enumerate(shares)]
    marks = [bars(frame, shares.tolist(), "near", tips)]
    if radius is not None:
        marks.append(rule_x(frame, radius + 0.5, "radius", f"near up to {radius}"))
    within = (
        "" if radius is None else f" {shares[: radius + 1].sum():.2%} of random pairs are within the radius {radius}."
    )
    alt = f"Histogram of the Hamming distances of {n_pairs:,} random pairs of codes: mean {mean:.1f} of {n_bits} bits."
    drawn = chart(frame, marks, "Hamming distance", "share of random pairs", alt + within)
    rows = [(int(h), int(counts[h]), f"{shares[h]:.2%}") for h in np.flatnonzero(counts)]
    numbers = table(("distance", "pairs", "share"), rows, "Random pairs by Hamming distance")
    seen = f"Two samples drawn at random differ in {mean:.1f} of {n_bits} bits on average.{within}"
    body = picture(tag("div", drawn, class_="plot"), seen, _distance_advice(shares, radius), more=numbers)
    return Section("distances", "Distances of random pairs", body)


def _distance_advice(shares: NDArray[np.float64], radius: int | None) -> str:
    if shares[0] > 0.1:
        return (
            f"{shares[0]:.0%} of random pairs have equal codes: a search cannot rank these. Use more bits, or look for "
            "duplicates with proxcode dedupe."
        )
    if radius is not None and shares[: radius + 1].sum() > 0.3:
        return (
            "A large share of random pairs is within the radius: a search within it returns much. Ask for the first k."
        )
    return "A search within a radius returns about this share of all codes: choose the radius by what you can look at."


def random_pair_counts(codes: Codes, n_bits: int) -> NDArray[np.int64]:
    """Return how many of at most 200,000 random pairs of different samples have each Hamming distance."""
    codes = check_codes(codes, n_bits)
    rng = np.random.default_rng(0)
    if len(codes) < 2:
        return np.zeros(n_bits + 1, np.int64)
    one = rng.integers(len(codes), size=N_PAIRS)
    other = (one + rng.integers(1, len(codes), size=N_PAIRS)) % len(codes)
    distance = np.bitwise_count(codes[one] ^ codes[other]).sum(axis=1, dtype=np.int64)
    return np.bincount(distance, minlength=n_bits + 1)


def bits_section(codes: Codes, n_bits: int) -> Section:
    """Return the section on the balance of bits and on the correlation between them."""
    some = check_codes(codes, n_bits)[subset(np.arange(len(codes)), MAX_CODES)]
    bits = unpack(some, n_bits)
    correlation = bit_correlation(bits)
    of = f"all {len(codes):,}" if len(some) == len(codes) else f"{len(some):,} of {len(codes):,}, drawn at random,"
    note = tag("p", f"Computed from the codes of {of} samples.")
    body = tag("div", note, _balance(bits.mean(axis=0)), _correlation(correlation))
    return Section("bits", "Balance and correlation of bits", body)


def bit_correlation(bits: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the correlation of each pair of bits; 0 for a bit that is constant.

    Examples
    --------
    >>> bit_correlation(np.array([[0, 1, 1], [1, 0, 1], [0, 1, 1]], np.uint8)).round(2).tolist()
    [[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """
    centred = bits - bits.mean(axis=0)
    length = np.sqrt((centred**2).sum(axis=0))
    unit = np.divide(centred, length, out=np.zeros_like(centred), where=length > 0)
    return np.clip(unit.T @ unit, -1, 1)


def _balance(share: NDArray[np.float64]) -> Html:
    n_bits = len(share)
    uneven = np.flatnonzero(np.minimum(share, 1 - share) < UNEVEN) + 1
    frame = Frame(linear(0.5, n_bits + 0.5, 6, least_step=1), percent())
    tips = [f"bit {k}: {value:.1%} ones" for k, value in enumerate(share, 1)]
    marks = [bars(frame, share.tolist(), "near", tips, first=1.0, base=0.5), rule_y(frame, 0.5, "even")]
    seen = (
        "Bars go from one half to the share of ones: a balanced bit has no bar. The shares are between "
        f"{share.min():.1%} and {share.max():.1%}; {_count(len(uneven), 'bit')} below {UNEVEN:.0%} or above "
        f"{1 - UNEVEN:.0%}."
    )
    advice = "All bits divide the samples: nothing to do."
    if len(uneven):
        advice = (
            f"{_listed(uneven)} tell few samples apart. If these are samples that the model was not fitted to, compare "
            "them with proxcode drift; otherwise fewer bits may do: see the quality by code length."
        )
    alt = f"Share of ones in each of {n_bits} bits, from {share.min():.1%} to {share.max():.1%}."
    drawn = chart(frame, marks, "bit", "share of ones", alt)
    numbers = table(
        ("bit", "share of ones"), [(k, f"{v:.1%}") for k, v in enumerate(share, 1)], "Share of ones in each bit"
    )
    return tag("div", tag("h3", "Balance"), picture(tag("div", drawn, class_="plot"), seen, advice, more=numbers))


def _correlation(correlation: NDArray[np.float64]) -> Html:
    n_bits = len(correlation)
    rows, columns = np.triu_indices(n_bits, 1)
    values = correlation[rows, columns]
    strongest = np.argsort(-np.abs(values), kind="stable")[:10]
    top = [(f"{rows[at] + 1} and {columns[at] + 1}", f"{values[at]:.2f}") for at in strongest]
    total = float((correlation**2).sum())
    varied = float(np.trace(correlation) ** 2 / total) if total else 0.0
    mean = float(np.abs(values).mean()) if len(values) else 0.0
    seen = (
        "Blue cells are pairs of bits that tend to be equal, orange ones those that tend to differ; faint cells are "
        f"pairs of independent bits. The mean strength is {mean:.2f}, and the code is as varied as {varied:.0f} "
        "independent bits."
    )
    alt = f"Heat map of the correlation between {n_bits} bits: mean absolute value {mean:.2f}"
    alt += f", strongest {top[0][1]} between bits {top[0][0]}." if top else "."
    numbers = table(("bits", "correlation"), top, "The strongest correlations between bits")
    drawn = tag("div", _heat_map(correlation, alt), _scale_legend(), class_="plot")
    words = picture(drawn, seen, _correlation_advice(values[strongest], top), more=numbers)
    return tag("div", tag("h3", "Correlation"), words)


def _correlation_advice(strongest: NDArray[np.float64], top: Sequence[tuple[str, str]]) -> str:
    size = float(np.abs(strongest[0])) if len(strongest) else 0.0
    if size >= COPIES:
        return (
            f"Bits {top[0][0]} say nearly the same ({top[0][1]}). With labels this is common, since few classes need "
            "few different bits: a shorter code is smaller, and as good if the quality by code length says so."
        )
    if size >= STRONG:
        return (
            f"The strongest correlation is {top[0][1]}, of bits {top[0][0]}: some bits repeat others in part. This "
            "is no harm, but it is why longer codes gain less and less."
        )
    return "No two bits say the same: nothing to do."


def _heat_map(correlation: NDArray[np.float64], alt: str) -> Html:
    block = -(-len(correlation) // MAX_CELLS)
    cells = _strongest_of_blocks(correlation, block)
    pixels = np.zeros((*cells.shape, 4), np.uint8)
    pixels[..., :3] = np.where(cells[..., None] >= 0, POSITIVE, NEGATIVE)
    pixels[..., 3] = np.round(255 * np.abs(cells)).astype(np.uint8)
    left = 52.0
    image = tag("image", href=png(pixels), x=left, y=6, width=SIDE, height=SIDE, class_="heat", data_heat="heat-values")
    frame = tag("rect", x=left, y=6, width=SIDE, height=SIDE, fill="none", class_="axis")
    words = []
    for value, name in linear(0.5, len(correlation) + 0.5, 6, least_step=1).ticks:
        at = (value - 0.5) / len(correlation) * SIDE
        words.append(tag("text", name, x=left + at, y=SIDE + 8, dy="1.1em", text_anchor="middle"))
        words.append(tag("text", name, x=left - 6, y=6 + at, dy="0.34em", text_anchor="end"))
    names = tag("text", "bit", x=left + SIDE / 2, y=SIDE + 48, text_anchor="middle")
    first = [f"bit {k * block + 1}" if block == 1 else f"bits from {k * block + 1}" for k in range(len(cells))]
    known = data("heat-values", {"values": np.round(100 * cells).astype(int).tolist(), "first": first})
    drawn = tag(
        "svg",
        tag("title", alt),
        image,
        frame,
        tag("g", *words, class_="ticks"),
        tag("g", names, class_="names"),
        viewBox=f"0 0 {short(SIDE + left + 8)} {short(SIDE + 54)}",
        class_="chart square",
        role="img",
        aria_label=alt,
    )
    return tag("div", drawn, known)


def _strongest_of_blocks(matrix: NDArray[np.float64], block: int) -> NDArray[np.float64]:
    """Return the value of largest magnitude in each square of `block` cells."""
    if block == 1:
        return matrix
    n = -(-len(matrix) // block)
    padded = np.zeros((n * block, n * block))
    padded[: len(matrix), : len(matrix)] = matrix
    cells = padded.reshape(n, block, n, block).swapaxes(1, 2).reshape(n, n, block * block)
    at = np.abs(cells).argmax(axis=2)
    return np.take_along_axis(cells, at[..., None], axis=2)[..., 0]


def _scale_legend() -> Html:
    return legend([("equal more often than by chance", "near"), ("different more often", "far")])


def _count(n: int, noun: str) -> str:
    return f"{'no' if n == 0 else n} {noun}{'' if n == 1 else 's'} {'is' if n == 1 else 'are'}"


def _listed(numbers: NDArray[np.int64], longest: int = 8) -> str:
    """Return numbers of bits in words.

    Examples
    --------
    >>> _listed(np.array([3])), _listed(np.array([3, 7])), _listed(np.arange(1, 12), 3)
    ('Bit 3', 'Bits 3 and 7', 'Bits 1, 2, 3 and 8 more')
    """
    if len(numbers) == 1:
        return f"Bit {numbers[0]}"
    shown = [str(k) for k in numbers[:longest]] + ([f"{len(numbers) - longest} more"] if len(numbers) > longest else [])
    return f"Bits {', '.join(shown[:-1])} and {shown[-1]}"
