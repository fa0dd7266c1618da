"""The report on the samples of an explorer, measured when it is first opened."""

from __future__ import annotations

import tempfile
from pathlib import Path
from threading import Lock

import numpy as np

from proxcode.explore.explorer import CodeExplorer
from proxcode.explore.page import Page, served
from proxcode.hamming import lengths_to_compare
from proxcode.pipeline import Model, code_of
from proxcode.report.subsets import subset
from proxcode.report.writing import write_report

# Samples that are measured, drawn at random: a reader waits for the report.
MAX_SAMPLES = 20_000


class LiveReport:
    """The report of `proxcode report` on the vectors of an explorer.

    Parameters
    ----------
    explorer : CodeExplorer
        With vectors; its labels, items and image shape are used if it has them.
    command : str, default=None
        How to write such a report to a file, shown in it. None: a call of `write_report`.
    """

    def __init__(self, explorer: CodeExplorer, command: str | None = None) -> None:
        self._explorer, self._command = explorer, command
        self._lock = Lock()
        self._page: Page | None = None

    def page(self) -> Page:
        """Return the report; the first call takes seconds."""
        with self._lock:
            if self._page is None:
                self._page = self._measured()
            return self._page

    def _measured(self) -> Page:
        explorer = self._explorer
        if explorer.vectors is None:
            raise ValueError("a report needs vectors: pass them to the explorer.")
        rows = subset(np.arange(len(explorer.codes)), MAX_SAMPLES)
        lengths = lengths_up_to(explorer.n_bits, explorer.model)
        options = "" if lengths is None else f", lengths={lengths}"
        texts = None if explorer.items is None else [cells[0] for cells in explorer.items.at(rows)]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "report.html")
            write_report(
                path,
                explorer.model,
                np.asarray(explorer.vectors[rows]),
                None if explorer.labels is None else explorer.labels[rows],
                texts=texts,
                image_shape=explorer.image_shape,
                lengths=lengths,
                command=self._command or f"write_report('report.html', model, vectors, labels{options})",
            )
            return served(path.read_text(encoding="utf-8"))


def lengths_up_to(n_bits: int, model: Model) -> list[int] | None:
    """Return code lengths up to that of the stored codes; None where it is that of the model.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from proxcode import ProximityPreservingCode
    >>> X, y = load_digits(return_X_y=True)
    >>> lengths_up_to(20, ProximityPreservingCode(n_bits=24, random_state=0).fit(X[:200], y[:200]))
    [8, 16, 20]
    """
    code = code_of(model)
    if n_bits == code.n_bits_:
        return None
    return lengths_to_compare(n_bits, code.hash_function_.has_prefixes)
