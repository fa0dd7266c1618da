"""Tuning constants of the annealing search, measured on Gset, BiqMac, signed networks and random graphs."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Tuning:
    """Constants of the search. Temperatures have the unit of local fields s_i = sum_j w_ij b_j.

    Attributes
    ----------
    hot : float
        Temperature at which a cooling starts, relative to the root mean square local field of a random partition.
    hot_spectral : float
        Temperature at which melting starts, relative to the largest eigenvalue of W.
    cold : float
        Temperature at which a cooling ends, relative to the median local field of a random partition.
    reheat : (float, float)
        Range of the temperature at which a reheat starts, relative to the root mean square local field.
    melting_share : float
        Part of the sweeps of a cooling that is spent on melting.
    lanczos_share : float
        Largest part of the time left that is spent on the largest eigenvector.
    lanczos_tolerance : float
        Relative accuracy of the largest eigenvalue.
    full_run : int
        Number of nodes from which on a run has its full length; the runs of smaller graphs are shorter.
    shortest_run : float
        Length of the shortest run, relative to the full length.
    first_share : float
        Largest part of the sweeps left that is spent on the first cooling of a run.
    n_scouts : int
        Number of short coolings at the beginning of a run.
    shortest_scout : int
        Smallest number of sweeps of a short cooling; with fewer, a run begins without short coolings.
    scouting_share : (float, float)
        Part of a run's sweeps that is spent on short coolings, in the first run and in later ones.
    worth_scouting : float
        Gain by the graph of parts, relative to the value, above which later runs begin with short coolings too.
    few_parts : float
        Number of parts, relative to the number of nodes, below which later runs begin with short coolings too.
    few_parts_patience : float
        Factor of the patience if there are few parts, because reheats do not move large parts.
    default_work : float
        Largest number of weights that all sweeps read together, if neither sweeps nor seconds are limited.
    default_sweeps : (int, int)
        Range of the number of sweeps that follows from `default_work`.
    implicit_sweeps : (int, int)
        The same range for graphs whose weights are not stored, because reading a weight takes longer.
    most_enumerated : int
        Largest number of nodes of which all partitions may be tried; 2^27 partitions take seconds.
    ending : float
        Time that is reserved for the end of a search, in multiples of the time to compute the field of a partition.
    ending_share : float
        Largest part of the time limit that is reserved for the end of a search.
    usable_share : float
        Part of the time limit that is planned for; the rest is a safety margin.
    kernel_seconds : float
        Longest interval, in seconds, between checks of the clock and for Ctrl-C.
    table_size : int
        Number of exponential random numbers that all sweeps share, each from an offset of its own; a power of two.
    dense_share : float
        Part of all pairs of nodes with an edge above which rows are read faster as arrays.
    dense_reducible : int
        Largest number of nodes of a dense graph that is reduced, because the reduction lists all edges.
    scan_limit : int
        Largest degree of a node that is tested for a dominating edge; hubs would be read again for each neighbour.
    """

    hot: float = 0.45
    hot_spectral: float = 0.25
    cold: float = 0.05
    reheat: tuple[float, float] = (0.15, 0.3)
    melting_share: float = 0.1
    lanczos_share: float = 0.3
    lanczos_tolerance: float = 1e-2
    full_run: int = 2000
    shortest_run: float = 0.1
    first_share: float = 0.3
    n_scouts: int = 8
    shortest_scout: int = 5
    scouting_share: tuple[float, float] = (0.25, 0.5)
    worth_scouting: float = 0.002
    few_parts: float = 0.1
    few_parts_patience: float = 0.3
    default_work: float = 3e8
    default_sweeps: tuple[int, int] = (200, 50_000)
    implicit_sweeps: tuple[int, int] = (50, 200)
    most_enumerated: int = 28
    ending: float = 8.0
    ending_share: float = 0.2
    usable_share: float = 0.98
    kernel_seconds: float = 0.05
    table_size: int = 1 << 16
    dense_share: float = 0.25
    dense_reducible: int = 2000
    scan_limit: int = 512


TUNING = Tuning()
