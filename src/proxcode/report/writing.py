"""`write_report`: measure a model on samples and write what was found as one HTML file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from proxcode.evaluation import MODEL, Evaluation, SearchEvaluation
from proxcode.evaluation.methods import check_lengths, check_peers
from proxcode.hamming import unpack
from proxcode.pipeline import Model
from proxcode.proximity import SameLabel
from proxcode.report.code_sections import bits_section, distance_section
from proxcode.report.images import Shape, check_shape, parse_shape
from proxcode.report.map_section import MAX_SAMPLES, MapLabels, map_section, plane
from proxcode.report.measured import Choices, Measured, encode_samples, measure
from proxcode.report.model_sections import model_section, times_section
from proxcode.report.page import Section, Tile, left_out, page, paragraphs
from proxcode.report.pair_sections import CURVES, PAIRS, curves_section, pairs_section
from proxcode.report.query_section import Shown, image_of, query_section
from proxcode.report.search_section import SEARCH, headline, search_section
from proxcode.report.subsets import subset
from proxcode.storage.atomic import atomic_write
from proxcode.utils.labels import is_missing
from proxcode.utils.validation import check_component, check_integer

FilePath = str | os.PathLike[str]


class Report(NamedTuple):
    """A report that was written.

    Attributes
    ----------
    path : Path
    n_bytes : int
        Size of the file.
    pairs : Evaluation or None
        What `evaluate` measured, on the samples whose pairs the report shows.
    search : SearchEvaluation or None
        What `evaluate_search` measured.
    left_out : dict of str to str
        Why there are no pairs, or no search, by these names.
    """

    path: Path
    n_bytes: int
    pairs: Evaluation | None
    search: SearchEvaluation | None
    left_out: dict[str, str]


def write_report(
    path: FilePath,
    model: Model,
    X: Any,
    y: Any = None,
    *,
    proximity: SameLabel | None = None,
    lengths: Iterable[int] | None = None,
    peers: Iterable[str] | None = None,
    train: Any = None,
    train_labels: Any = None,
    texts: Any = None,
    image_shape: str | Shape | None = None,
    projection: Any = None,
    max_samples: int = 5000,
    title: str = "",
    command: str = "",
    overwrite: bool = True,
    verbose: bool = False,
) -> Report:
    """Write what a model does to samples, in pictures and plain words, as one HTML file that needs nothing else.

    Parameters
    ----------
    path : path
        The HTML file.
    model : ProximityPreservingCode or CodePipeline
    X : array of shape (n_samples, n_features)
        Preferably samples that the model was not fitted to. For a pipeline, what its first step takes.
    y : labels (n_samples,), indicator matrix (n_samples, n_labels) or None
        Samples with the same label, or with a label in common, are near. Without labels, near pairs are those of a
        model of `Nearest` or `WithinRadius`; for other models the sections on pairs are left out.
    proximity : SameLabel, default=None
        Says which labels mean "no label". None: the proximity of the model, or `SameLabel()` if that is another one.
    lengths : iterable of int, default=None
        Code lengths, at most that of the model. None: 8, 16, 32, ... and the model's own length.
    peers : iterable of str, default=None
        Names from `proxcode.peers.PEERS`. None: LSH and ITQ, and with `train_labels` Hadamard and WCW-ITQ.
    train : array of shape (n_train, n_features), default=None
        Samples that the peers are fitted to, at most `max_samples` of them. None: those whose pairs are measured, which
        favours the peers.
    train_labels : labels (n_train,), default=None
        Class labels of `train`, for peers that learn from them.
    texts : sequence of str, default=None
        One text per sample, shown with queries and on the map.
    image_shape : str or tuple of int, default=None
        Shape of the image that each sample is, such as "28x28", "32x32x3" or "3x32x32", for thumbnails.
    projection : transformer, default=None
        Places samples on the map, by `fit_transform`, such as `umap.UMAP(random_state=0)` of umap-learn. None: the two
        principal components.
    max_samples : int, default=5000
        Number of samples, drawn at random, whose pairs are measured. All samples are encoded.
    title : str, default=""
        Title of the page; "" names the code length and the number of samples.
    command : str, default=""
        How to make the report again, shown in it; "" shows a call of this function.
    overwrite : bool, default=True
        Whether an existing file is replaced; if not, a FileExistsError is raised.
    verbose : bool, default=False
        Whether to show progress on standard error.

    Returns
    -------
    Report

    Notes
    -----
    The same samples, model and versions give the same file, except for the section on times.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_digits
    >>> from proxcode import ProximityPreservingCode, write_report
    >>> X, y = load_digits(return_X_y=True)
    >>> model = ProximityPreservingCode(n_bits=16, random_state=0).fit(X[:1000], y[:1000])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "report.html")
    ...     report = write_report(path, model, X[1000:], y[1000:], peers=["LSH"], image_shape="8x8")
    ...     page = path.read_text(encoding="utf-8")
    >>> page.startswith("<!doctype html>"), "Near and far pairs" in page
    (True, True)
    >>> [(row.method, row.bits) for row in report.pairs.rows]
    [('proxcode', 8), ('proxcode', 16), ('LSH', 8), ('LSH', 16)]
    """
    shape = None if image_shape is None else parse_shape(image_shape)
    names, max_samples = check_peers(peers, train_labels is not None), check_integer("max_samples", max_samples, 2)
    if projection is not None and not hasattr(projection, "fit_transform"):
        raise TypeError(f"projection={projection!r}: expected a transformer with fit_transform, such as umap.UMAP().")
    if proximity is not None:
        check_component("proximity", proximity, SameLabel, "SameLabel(unlabelled='unknown')")
    with atomic_write(path, overwrite=overwrite) as partial:
        measured = encode_samples(model, X, y, proximity)
        shown = _shown(measured, texts, shape)
        choices = Choices(names, check_lengths(measured.code, lengths), train, train_labels, max_samples)
        measure(model, measured, choices, verbose)
        sections = _sections(model, measured, shown, projection, command or f"write_report({str(path)!r}, model, X, y)")
        heading = title or f"Report on {measured.code.n_bits_}-bit codes of {measured.n_samples:,} samples"
        content = page(heading, sections, lead=_lead(measured, choices), tiles=_tiles(measured)).encode()
        partial.write_bytes(content)
    return Report(Path(path), len(content), measured.pairs, measured.search, measured.left_out)


def _shown(measured: Measured, given_texts: Any, shape: Shape | None) -> Shown:
    """Return what is shown of samples, after their number and size were checked."""
    texts = None if given_texts is None else _read_texts(given_texts, measured.n_samples)
    if shape is None:
        return Shown(measured.labels, texts, None)
    given = np.asarray(measured.samples.given)
    pixels = given.reshape(len(given), -1) if given.dtype.kind in "biuf" else measured.samples.array
    check_shape(shape, pixels.shape[1])
    return Shown(measured.labels, texts, image_of(pixels, shape))


def _read_texts(texts: Any, n_samples: int) -> list[str]:
    """Return one text per sample, in their order, whatever the index of a series is; a missing one is empty."""
    if isinstance(texts, str):
        raise TypeError(f"texts={texts!r:.40}: expected one text per sample, not a single one.")
    found = list(texts)
    if len(found) != n_samples:
        raise ValueError(f"texts has {len(found):,} texts for {n_samples:,} samples: expected one each.")
    return ["" if is_missing(one) else str(one) for one in found]


def _sections(model: Model, measured: Measured, shown: Shown, projection: Any, command: str) -> list[Section]:
    code, pairs, search = measured.code, measured.pairs, measured.search
    n_bits, radius = code.n_bits_, code.radius_
    note = f"All pairs of {_of(len(measured.pair_rows), measured)} were measured."
    sections = []
    if pairs is None:
        reason = left_out(measured.left_out["pairs"])
        sections += [
            Section(*PAIRS, reason),
            distance_section(measured.codes, n_bits, radius),
            Section(*CURVES, reason),
        ]
    else:
        length = pairs.longest
        own = radius if length == n_bits else code.history_[length - 1].radius
        sections += [pairs_section(pairs, own, note), curves_section(pairs, note)]
    if search is None:
        sections.append(Section(*SEARCH, left_out(measured.left_out["search"])))
    else:
        asked = f"{search.n_queries:,} queries searched among {_of(search.n_database, measured)}."
        sections.append(search_section(search, asked))
    sections.append(_map(measured, shown, projection))
    sections.append(bits_section(measured.codes, n_bits))
    sections.append(query_section(measured.neighborhoods, shown, radius, measured.n_samples))
    return [*sections, times_section(measured), model_section(model, command)]


def _of(n: int, measured: Measured) -> str:
    """Return some samples in words."""
    labels = measured.labels
    n_all = measured.n_samples if labels is None else len(labels.labelled)
    kind = "samples" if labels is None or n_all == measured.n_samples else "samples with a label"
    return f"all {n_all:,} {kind}" if n == n_all else f"{n:,} {kind}, drawn at random from {n_all:,},"


def _map(measured: Measured, shown: Shown, projection: Any) -> Section:
    rows = subset(np.arange(measured.n_samples), MAX_SAMPLES)
    places, words = plane(measured.samples.array[rows], projection)
    bits = unpack(measured.codes[rows], measured.code.n_bits_)
    labels = None if measured.labels is None else MapLabels.of_sets(measured.labels.sets(rows))
    tips = [shown.tip(row) for row in rows.tolist()]
    return map_section(places, bits, tips, labels, words, measured.n_samples)


def _lead(measured: Measured, choices: Choices) -> Any:
    code, labels = measured.code, measured.labels
    near = code.proximity_.describe() if labels is None else labels.proximity.describe()
    sentences = [f"{measured.n_samples:,} samples were encoded. Near means: {near}."]
    if labels is not None and (n_without := measured.n_samples - len(labels.labelled)):
        sentences.append(f"{n_without:,} samples have no label and take no part in what is measured by labels.")
    if measured.are_training:
        sentences.append(
            "These are the samples that the model was fitted to: new samples will do worse. Make a report of samples "
            "that it has not seen."
        )
    if (longest := choices.lengths[-1]) < code.n_bits_:
        sentences.append(
            f"Pairs, curves and searches are those of codes of at most {longest} bits; float queries and all other "
            f"sections are those of all {code.n_bits_} bits."
        )
    if measured.pairs is not None and any(row.method != MODEL for row in measured.pairs.rows) and choices.train is None:
        sentences.append(
            "Other methods were fitted to the samples that are measured here, which favours them: pass the training "
            "samples (--train FILE)."
        )
    return paragraphs(*sentences)


def _tiles(measured: Measured) -> list[Tile]:
    code, n_bits = measured.code, measured.code.n_bits_
    n_bytes, n_floats = -(-n_bits // 8), 4 * code.n_features_in_
    tiles = [
        Tile("code length", f"{n_bits} bits", f"{n_bytes:,} bytes; the sample takes {n_floats:,} as float32"),
        Tile("learned radius", code.radius_, "distance up to which codes count as near"),
    ]
    if measured.pairs is not None:
        full = next((row for row in measured.pairs.rows if (row.method, row.bits) == (MODEL, n_bits)), None)
        if full is not None:
            tiles += [
                Tile("precision at the radius", full.precision, "share of the pairs found that are near"),
                Tile("recall at the radius", full.recall, "share of the near pairs that are found"),
                Tile("PR area", full.pr_area, "area under the precision-recall curve; 1 at best"),
            ]
    if measured.search is not None:
        name, value = headline(measured.search)
        own = [row for row in measured.search.rows if row.method == MODEL]
        tiles.append(Tile(name, value(own[-1]), f"of a search by codes of {own[-1].bits} bits"))
    return tiles
