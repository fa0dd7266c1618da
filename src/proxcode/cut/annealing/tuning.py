"""Tuning constants of the annealing search, measured on Gset, BiqMac, signed networks and random graphs."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Tuning:
    """Constants of the search. Temperatures have the unit of local fields s_i = sum_j w_ij b_j."""

    # Temperature at which a cooling starts, relative to the root mean square local field of a random partition.
    hot: float = 0.45
    # Temperature at which melting starts, relative to the largest eigenvalue of W.
    hot_spectral: float = 0.25
    # Temperature at which a cooling ends, relative to the median local field of a random partition.
    cold: float = 0.05
    # Range of the temperature at which a reheat starts, relative to the root mean square local field.
    reheat: tuple[float, float] = (0.15, 0.3)
    # Part of the sweeps of a cooling that is spent on melting.
    melting_share: float = 0.1
    # Largest part of the time left that is spent on the largest eigenvector.
    lanczos_share: float = 0.3
    # Relative accuracy of the largest eigenvalue.
    lanczos_tolerance: float = 1e-2
    # Number of nodes from which on a run has its full length; the runs of smaller graphs are shorter.
    full_run: int = 2000
    # Length of the shortest run, relative to the full length.
    shortest_run: float = 0.1
    # Largest part of the sweeps left that is spent on the first cooling of a run.
    first_share: float = 0.3
    # Number of short coolings at the beginning of a run.
    n_scouts: int = 8
    # Smallest number of sweeps of a short cooling; with fewer, a run begins without short coolings.
    shortest_scout: int = 5
    # Part of a run's sweeps that is spent on short coolings, in the first run and in later ones.
    scouting_share: tuple[float, float] = (0.25, 0.5)
    # Gain by the graph of parts, relative to the value, above which later runs begin with short coolings too.
    worth_scouting: float = 0.002
    # Number of parts, relative to the number of nodes, below which later runs begin with short coolings too.
    few_parts: float = 0.1
    # Factor of the patience if there are few parts, because reheats do not move large parts.
    few_parts_patience: float = 0.3
    # Largest number of weights that all sweeps read together, if neither sweeps nor seconds are limited.
    default_work: float = 3e8
    # Range of the number of sweeps that follows from `default_work`.
    default_sweeps: tuple[int, int] = (200, 50_000)
    # The same range for graphs whose weights are not stored, because reading a weight takes longer.
    implicit_sweeps: tuple[int, int] = (50, 200)
    # Largest number of nodes of which all partitions may be tried; 2^27 partitions take seconds.
    most_enumerated: int = 28
    # Time that is reserved for the end of a search, in multiples of the time to compute the field of a partition.
    ending: float = 8.0
    # Largest part of the time limit that is reserved for the end of a search.
    ending_share: float = 0.2
    # Part of the time limit that is planned for; the rest is a safety margin.
    usable_share: float = 0.98
    # Longest interval, in seconds, between checks of the clock and for Ctrl-C.
    kernel_seconds: float = 0.05
    # Number of exponential random numbers that all sweeps share, each from an offset of its own; a power of two.
    table_size: int = 1 << 16
    # Part of all pairs of nodes with an edge above which rows are read faster as arrays.
    dense_share: float = 0.25
    # Largest number of nodes of a dense graph that is reduced, because the reduction lists all edges.
    dense_reducible: int = 2000
    # Largest degree of a node that is tested for a dominating edge; hubs would be read again for each neighbour.
    scan_limit: int = 512


TUNING = Tuning()
