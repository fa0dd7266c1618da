"""Scans of ranges of codes in parallel threads. Kernels release Python's lock, so the threads are those of Python."""

from collections.abc import Callable, Sequence
from itertools import chain, pairwise

import numpy as np

from proxcode.search.planes import Found, merge
from proxcode.utils.threads import in_threads

# Takes the first position of a range of codes and the position after it; returns the results of each query of a group.
RangeScan = Callable[[int, int], list[Found]]


def scan_all(
    scans: Sequence[RangeScan], start: int, stop: int, k: int, n_threads: int, n_ranges: int | None = None
) -> list[Found]:
    """Scan the codes start to stop - 1, with one function per group of queries; return the k nearest codes per query.

    Each group scans `n_ranges` ranges of the codes, by default several if there are fewer groups than threads.
    """
    n_ranges = min(stop - start, n_ranges or -(-n_threads // len(scans)))
    edges = np.linspace(start, stop, n_ranges + 1).astype(np.int64).tolist()
    tasks = [(scan, *limits) for scan in scans for limits in pairwise(edges)]
    found = in_threads(lambda task: task[0](*task[1:]), tasks, n_threads)
    of_ranges = [chain.from_iterable(found[number::n_ranges]) for number in range(n_ranges)]
    return [merge(of_query, k) for of_query in zip(*of_ranges, strict=True)]
