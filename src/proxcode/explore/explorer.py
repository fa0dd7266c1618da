"""CodeExplorer: live search among stored codes, with answers that a page can show.

1. A query is a stored code, or a vector that the model encodes.
2. `HammingIndex` finds its nearest codes; a stored code does not find itself.
3. The distances of all codes to the query are counted, so that the page can tell how many are within any radius.
4. What is known of each neighbour is added: its items, its label, its picture and its bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proxcode.explore.items import Items
from proxcode.explore.labels import label_array, label_text
from proxcode.explore.vectors import check_vectors, read_vector
from proxcode.hamming import check_codes, to_words
from proxcode.pipeline import Model, check_fitted_model
from proxcode.report.images import check_shape, parse_shape, pixel_range, thumbnails
from proxcode.report.markup import shortened
from proxcode.search import HammingIndex
from proxcode.search.string_ids import StringIds, ids_for
from proxcode.stores.ids import MAX_ID, Ids
from proxcode.utils.kernels import count_grades
from proxcode.utils.validation import check_integer

Rows = NDArray[np.int64]
# Largest number of neighbours of an answer, of suggestions, and of characters to search for.
MAX_K, MAX_SUGGESTIONS, MAX_TEXT = 1000, 50, 1000


class CodeExplorer:
    """Stored codes, what is known of each of them, and search among them.

    Parameters
    ----------
    model : ProximityPreservingCode or CodePipeline
        The fitted model that encoded the samples.
    codes : array of uint8, shape (n_codes, ceil(n_bits / 8))
        Packed codes.
    n_bits : int, default=None
        Code length. None: that of the model.
    fingerprint : str, default=None
        That of the model of the codes, where it is known: codes of another model are refused.
    ids : array of int64 or of str, shape (n_codes,), default=None
        Ids of the codes. None: the numbers of the rows.
    items : Items, default=None
        Columns of text, a row for each code.
    labels : array of shape (n_codes,) or (n_codes, n_labels), default=None
    vectors : array of shape (n_codes, n_features), default=None
        The samples, for pictures of them.
    image_shape : tuple of int or str, default=None
        Shape of the images that `vectors` are, such as (8, 8), "8x8" or "32x32x3". None: there are no pictures.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from proxcode import ProximityPreservingCode
    >>> X, y = load_digits(return_X_y=True)
    >>> model = ProximityPreservingCode(n_bits=32, random_state=0).fit(X, y)
    >>> explorer = CodeExplorer(model, model.encode(X), labels=y)
    >>> found = explorer.search({"row": 0, "k": 3})
    >>> [neighbor["label"] for neighbor in found["neighbors"]]
    ['0', '0', '0']
    >>> explorer.search({"vector": X[1].tolist(), "k": 1})["neighbors"][0]["label"]
    '1'
    """

    def __init__(
        self,
        model: Model,
        codes: ArrayLike,
        *,
        n_bits: int | None = None,
        fingerprint: str | None = None,
        ids: ArrayLike | None = None,
        items: Items | None = None,
        labels: ArrayLike | None = None,
        vectors: NDArray[Any] | None = None,
        image_shape: tuple[int, ...] | str | None = None,
    ) -> None:
        check_fitted_model(model)
        self.model = model
        self.n_bits = model.n_bits_ if n_bits is None else check_integer("n_bits", n_bits, 1, model.n_bits_)
        self.codes = check_codes(codes, self.n_bits)
        if len(self.codes) == 0:
            raise ValueError("codes has no rows: expected at least one code.")
        # Hash tables would be built during a search, which would then take seconds.
        self.index = HammingIndex(self.n_bits, tables=False, model=fingerprint)
        self.index.check_model(model)
        self.index.add(self.codes)
        self.radius = int(model.history_[self.n_bits - 1].radius)
        self.items = items
        self.labels = None if labels is None else label_array(labels)
        # A pipeline whose first step takes texts, or counts no features, has none.
        self.n_features: int | None = getattr(model, "n_features_in_", None)
        self.vectors = None if vectors is None else check_vectors(vectors, self._checked_n_features())
        self._check_lengths(items=items, labels=self.labels, vectors=self.vectors)
        self._words, self._one_grade = to_words(self.codes), np.zeros(len(self.codes), np.uint8)
        self._ids = None if ids is None else _known_ids(len(self.codes), ids)
        self.image_shape = None if image_shape is None else parse_shape(image_shape)
        if self.image_shape is not None:
            if self.vectors is None:
                raise ValueError(f"image_shape={image_shape}: pass the vectors that are images.")
            check_shape(self.image_shape, self.vectors.shape[1])
            self._black, self._white = pixel_range(self.vectors)

    def _check_lengths(self, **given: Any) -> None:
        for name, values in given.items():
            if values is not None and len(values) != len(self.codes):
                raise ValueError(
                    f"{name} has {len(values):,} rows for {len(self.codes):,} codes: expected one for each."
                )

    def _checked_n_features(self) -> int:
        if self.n_features is None:
            raise ValueError(
                "the number of features of this model is not known: leave out vectors, search by a stored code."
            )
        return self.n_features

    def about(self) -> dict[str, Any]:
        """Return what a page says of the codes: their number and length, the learned radius, the names of columns."""
        return {
            "codes": len(self.codes),
            "bits": self.n_bits,
            "radius": self.radius,
            "features": self.n_features,
            "columns": [] if self.items is None else self.items.names,
            "ids": self._ids is not None,
            "labels": self.labels is not None,
            "images": self.image_shape is not None,
            "largest k": MAX_K,
        }

    def warm_up(self) -> None:
        """Search once by item, by text and by vector: what is compiled or sorted at first use is then ready."""
        self.search({"row": 0})
        self.suggest({"text": "a"})
        if self.n_features is not None:
            # A pipeline may refuse zeros.
            with suppress(ValueError):
                self.search({"vector": [0.0] * self.n_features})

    def search(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the nearest codes of a query.

        Parameters
        ----------
        request : dict
            One of "row" (number of a stored code), "id" (its id) and "vector" (a list or a text of numbers), and "k",
            the number of neighbours, by default 10.

        Returns
        -------
        dict
            "query" and "neighbors", each with "row", "id", "cells", "label", "image" and "bits", where they are known;
            the bits are those of `numpy.packbits` as hexadecimal digits. Neighbours also have a "distance" and whether
            they are "near", within the learned radius. "counts" has the number of codes at each distance from 0,
            "milliseconds" the time that all this took.
        """
        start = perf_counter()
        _check_keys(request, ("row", "id", "vector", "k"))
        k = check_integer("k", request.get("k", 10), 1, MAX_K)
        kinds = [kind for kind in ("row", "id", "vector") if kind in request]
        if len(kinds) != 1:
            raise ValueError("a search has one query: pass one of row, id and vector.")
        if kinds == ["vector"]:
            vector = read_vector(request["vector"], self._checked_n_features())
            code, row = self.model.encode(vector[None], self.n_bits), None
            query = {"bits": code.tobytes().hex()}
            if self.image_shape is not None:
                query["image"] = self._pictures(vector[None])[0]
        else:
            row = self._row(request["row"]) if kinds == ["row"] else self._row_of(request["id"])
            code, query = self.codes[[row]], self._described(np.array([row]))[0]
        found = self.index.search(code, k, exclude=None if row is None else [row])
        is_found = found.is_found[0]
        rows, distances = found.neighbor[0][is_found], found.distance[0][is_found].tolist()
        neighbors = [
            {**known, "distance": distance, "near": distance <= self.radius}
            for known, distance in zip(self._described(rows), distances, strict=True)
        ]
        counts = self._counts(code)
        if row is not None:
            counts[0] -= 1
        milliseconds = round(1000 * (perf_counter() - start), 1)
        return {"query": query, "neighbors": neighbors, "counts": counts.tolist(), "milliseconds": milliseconds}

    def suggest(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return stored codes to choose from: those with this id, row number, or text in the searched column.

        Parameters
        ----------
        request : dict
            "text", and "limit", the largest number of suggestions, by default 10.
        """
        _check_keys(request, ("text", "limit"))
        text, limit = request.get("text", ""), check_integer("limit", request.get("limit", 10), 1, MAX_SUGGESTIONS)
        if not isinstance(text, str):
            raise TypeError(f"text={text!r:.40}: expected a string.")
        if len(text) > MAX_TEXT:
            raise ValueError(f"the text has {len(text):,} characters: expected at most {MAX_TEXT:,}.")
        rows = self._numbered(text.strip())
        if self.items is not None:
            rows += self.items.find(text.strip(), limit).tolist()
        elif not text.strip():
            rows += range(min(limit, len(self.codes)))
        distinct = np.array(list(dict.fromkeys(rows))[:limit], np.int64)
        return {"suggestions": self._described(distinct, in_full=False)}

    def _numbered(self, text: str) -> list[int]:
        """Return the rows whose id or number is this text."""
        rows = []
        if self._ids is not None and text and (row := self._position(text)) >= 0:
            rows.append(row)
        if text.isdecimal() and len(text) <= len(str(len(self.codes))) and int(text) < len(self.codes):
            rows.append(int(text))
        return rows

    def _row(self, given: Any) -> int:
        return check_integer("row", given, 0, len(self.codes) - 1)

    def _row_of(self, given: Any) -> int:
        if isinstance(given, bool) or not isinstance(given, int | str):
            raise TypeError(f"id={given!r:.40}: expected an integer or a string.")
        row = self._position(str(given))
        if row < 0:
            raise ValueError(f"id {str(given)[:100]} is not stored: pass the id of a stored code.")
        return row

    def _position(self, text: str) -> int:
        """Return the row of an id in text, -1 where there is none."""
        if isinstance(self._ids, StringIds):
            # No id has NUL, or half a surrogate pair.
            is_possible = "\0" not in text and text == text.encode(errors="replace").decode()
            return int(self._ids.positions([text])[0]) if is_possible else -1
        digits = text.removeprefix("-")
        number = int(text) if digits.isdecimal() and len(digits) <= len(str(MAX_ID)) else None
        if number is None or not -MAX_ID - 1 <= number <= MAX_ID:
            return -1
        return int((self._ids or Ids(len(self.codes))).positions([number])[0])

    def _counts(self, code: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return the number of codes at each distance from a code."""
        counts = np.zeros((1, self.n_bits + 1), np.int64)
        count_grades(to_words(code)[:, 0], self._words, self._one_grade, counts)
        return counts[0]

    def _described(self, rows: Rows, *, in_full: bool = True) -> list[dict[str, Any]]:
        """Return what is known of some codes; `in_full` with their bits and pictures."""
        described: list[dict[str, Any]] = [{"row": row} for row in rows.tolist()]
        known: dict[str, Sequence[Any]] = {}
        if self._ids is not None:
            known["id"] = [str(one) for one in self._ids.at(rows)]
        if self.items is not None:
            known["cells"] = self.items.at(rows)
        if self.labels is not None:
            known["label"] = [", ".join(labels) for labels in self.label_sets(rows)]
        if in_full:
            known["bits"] = [code.tobytes().hex() for code in self.codes[rows]]
            if self.vectors is not None and self.image_shape is not None:
                known["image"] = self._pictures(self.vectors[rows])
        for name, values in known.items():
            for one, value in zip(described, values, strict=True):
                one[name] = value
        return described

    def _pictures(self, vectors: NDArray[Any]) -> list[str]:
        """Return vectors as addresses of images that are data."""
        return thumbnails(vectors, self.image_shape or (), self._black, self._white)

    def names(self, rows: Rows) -> list[str]:
        """Return a short name of some codes: their searched column, id or row number, and their label."""
        names = []
        for one in self._described(rows, in_full=False):
            name = one["cells"][0] if one.get("cells") else ""
            lines = name or one.get("id", one["row"]), one.get("label", "")
            names.append("\n".join(shortened(line, 80) for line in lines if line != ""))
        return names

    def label_sets(self, rows: Rows) -> list[list[str]]:
        """Return the labels of some codes, in text; none without labels."""
        if self.labels is None:
            return [[] for _ in rows]
        if self.labels.ndim == 2:
            return [list(map(str, np.flatnonzero(row))) for row in self.labels[rows]]
        return [[text] if (text := label_text(label)) else [] for label in self.labels[rows]]


def _known_ids(n_codes: int, ids: ArrayLike) -> Ids | StringIds:
    empty = ids_for(Ids(), ids)
    known: Any = empty.extended(empty.new(n_codes, ids))  # type: ignore[arg-type]
    # Made now, not in the first search.
    known.positions(known.at(np.array([0])).tolist())
    return known


def _check_keys(request: Any, known: Sequence[str]) -> None:
    if not isinstance(request, dict):
        raise TypeError(f"the request is {request!r:.40}: expected an object.")
    unknown = [key for key in request if key not in known]
    if unknown:
        raise ValueError(f"the request has {unknown[0]!r:.40}: expected {', '.join(known)}.")
