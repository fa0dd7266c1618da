"""Signed graph cut against other solvers: Gset, BiqMac, signed networks from PROXCODE_DATA, and random graphs.

    python benchmarks/cut.py gset [--instances G1 G6 ...] [--limits 1 10] [--solvers proxcode openjij ...] [--seeds 3]
    python benchmarks/cut.py biqmac [--limits 0.3]
    python benchmarks/cut.py made [--limits 1]
    python benchmarks/cut.py signed [--limits 5 10] [--bound packing]

Limits are seconds of processor time on one thread. The graph is read before the clock starts and, for other solvers,
converted to their own form. Annealers of other libraries get one read with the number of sweeps that fits the limit
according to a short trial; the time they took is in the results. networkx has no limit: it makes one start, on graphs
of few edges only, because that takes 26 s for G11 already. The gap is the distance from the best known cut; for random
graphs, from the best cut of all solvers. Rows in results/cut_*.csv are not measured again, unless --again is passed.
Solvers that are not installed are skipped: pip install dwave-samplers openjij networkx. All of Gset with all solvers
and both limits takes about three hours.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1")

import argparse
import csv
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path
from time import process_time

import numpy as np

from _common import RESULTS, record
from _graphs import made_graphs, two_camps
from proxcode.cut import (
    Annealing,
    CycleBound,
    CyclePackingBound,
    Restarts,
    SemidefiniteBound,
    SuitableBound,
    certify,
    frustration,
    max_cut,
    sparse_graph,
)

ELEVEN = ["G1", "G6", "G11", "G14", "G22", "G32", "G43", "G55", "G60", "G70", "G81"]
# Sweeps or reads of the first trial, and the shortest trial in seconds.
FIRST_TRIAL, TRIAL_SECONDS = 20, 0.6
# Largest number of edges for networkx.
FEW_EDGES = 2000


def proxcode_annealing(n, edges):
    return _by_search(Annealing(clock=process_time), n, edges)


def bit_update(n, edges):
    return _by_search(Restarts(n_starts=10**9, clock=process_time), n, edges)


def _by_search(search, n, edges):
    """Unlike for other solvers, the graph is constructed within the limit."""
    return lambda limit, seed: (
        max_cut(sparse_graph(n, *edges), search=search, time_limit=limit, random_state=seed).partition
    )


def dwave_annealing(n, edges):
    from dwave.samplers import SimulatedAnnealingSampler

    return _by_sweeps(SimulatedAnnealingSampler(), n, edges)


def openjij_annealing(n, edges):
    from openjij import SASampler

    return _by_sweeps(SASampler(), n, edges)


def _by_sweeps(sampler, n, edges):
    couplings = _couplings(edges)

    def sample(n_sweeps, seed):
        return sampler.sample_ising({}, couplings, num_reads=1, num_sweeps=n_sweeps, seed=seed)

    return _fitted(sample, n)


def dwave_descent(n, edges):
    from dwave.samplers import SteepestDescentSampler

    couplings = _couplings(edges)

    def sample(n_reads, seed):
        return SteepestDescentSampler().sample_ising({}, couplings, num_reads=n_reads, seed=seed)

    return _fitted(sample, n)


def dwave_tabu(n, edges):
    from dwave.samplers import TabuSampler

    couplings = _couplings(edges)

    def solve(limit, seed):
        return _best_partition(TabuSampler().sample_ising({}, couplings, timeout=int(1000 * limit), seed=seed), n)

    return solve


def networkx_one_exchange(n, edges):
    """Make one start, whatever the limit."""
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_weighted_edges_from(zip(*(part.tolist() for part in edges), strict=True))

    def solve(limit, seed):
        _, (ones, _) = nx.approximation.one_exchange(graph, weight="weight", seed=seed)
        partition = -np.ones(n)
        partition[list(ones)] = 1
        return partition

    return solve


def _couplings(edges):
    return {(int(i), int(j)): float(w) for i, j, w in zip(*edges, strict=True)}


def _best_partition(samples, n):
    sample = samples.first.sample
    return np.array([sample.get(i, 1) for i in range(n)])


def _fitted(sample, n):
    """Return a solver whose number of sweeps, or reads, fits the limit according to a trial.

    The overhead of a call varies by some tenths of a second, so that the trial must take longer than that.
    """

    def seconds(amount):
        start = process_time()
        sample(amount, 0)
        return process_time() - start

    seconds(1)
    overhead, amount = float(np.median([seconds(1) for _ in range(3)])), FIRST_TRIAL
    while (taken := seconds(amount) - overhead) < TRIAL_SECONDS:
        amount *= 2
    return lambda limit, seed: _best_partition(sample(max(1, int(amount * (limit - overhead) / taken)), seed), n)


SOLVERS = {
    "proxcode": proxcode_annealing,
    "bit update": bit_update,
    "dwave annealing": dwave_annealing,
    "openjij": openjij_annealing,
    "dwave tabu": dwave_tabu,
    "dwave descent": dwave_descent,
    "networkx": networkx_one_exchange,
}
PACKAGES = {"dwave": "dwave.samplers", "openjij": "openjij", "networkx": "networkx"}


def is_installed(solver):
    package = PACKAGES.get(solver.split()[0])
    if package is None:
        return True
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def cut_weight(edges, partition):
    first, second, weight = edges
    return float(weight[partition[first] != partition[second]].sum())


def measure(solve, edges, limit, seed):
    """Return the weight of the cut and the seconds of processor time."""
    start = process_time()
    partition = solve(limit, seed)
    seconds = process_time() - start
    return cut_weight(edges, np.asarray(partition)), seconds


def data(name):
    return np.load(Path(os.environ["PROXCODE_DATA"]) / name)


def _edges(table):
    return table[:, 0].astype(np.int64) - 1, table[:, 1].astype(np.int64) - 1, table[:, 2].astype(np.float64)


def gset():
    """Yield name, number of nodes, edges and the best known cut."""
    graphs = data("gset.npz")
    with (Path(os.environ["PROXCODE_DATA"]) / "gset_best_known.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if row["instance"] in graphs:
                name = row["instance"]
                yield name, int(graphs[f"{name}_n"]), _edges(graphs[name]), float(row["best_known"])


def biqmac():
    """Yield name, number of nodes, edges and the proven optimum."""
    graphs = data("biqmac.npz")
    for name in graphs.files:
        if ":" not in name:
            yield name, int(graphs[f"{name}:n"]), _edges(graphs[name]), float(graphs[f"{name}:optimum"])


def made():
    """Yield name, number of nodes, edges and NaN, because no best cut is known."""
    for name, n, edges in made_graphs():
        yield name, n, edges, float("nan")


KEY = ("instance", "solver", "limit", "seed")


def known_rows(name, again):
    path = RESULTS / f"{name}.csv"
    if again or not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def append(name, row):
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.csv"
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, row)
        if is_new:
            writer.writeheader()
        writer.writerow(row)


def compare(name, instances, arguments):
    """Measure the missing rows, then show the mean gap of each solver and limit."""
    rows = known_rows(name, arguments.again)
    if arguments.again:
        (RESULTS / f"{name}.csv").unlink(missing_ok=True)
    known = {tuple(str(row[key]) for key in KEY) for row in rows}
    is_warm = False
    for instance, n, edges, best in instances:
        if arguments.instances and instance not in arguments.instances:
            continue
        # Compiles or loads the kernels.
        proxcode_annealing(n, edges)(0.1 if is_warm else 5.0, seed=0)
        is_warm = True
        for solver in filter(is_installed, arguments.solvers):
            runs = [
                (limit, seed)
                for limit in arguments.limits
                for seed in range(arguments.seeds)
                if (instance, solver, str(limit), str(seed)) not in known
            ]
            if runs and (solver != "networkx" or len(edges[2]) <= FEW_EDGES):
                solve = SOLVERS[solver](n, edges)
                for limit, seed in runs:
                    cut, seconds = measure(solve, edges, limit, seed)
                    key = {"instance": instance, "solver": solver, "limit": limit, "seed": seed}
                    row = key | {"n": n, "m": len(edges[2]), "cut": cut, "best_known": best}
                    row |= {"seconds": round(seconds, 3)}
                    append(name, row)
                    rows.append(row)
                    print(*row.values(), flush=True)
    if rows:
        summarise(name, rows)


def summarise(name, rows):
    best = best_cuts(rows)
    groups = defaultdict(list)
    for row in rows:
        groups[float(row["limit"]), row["solver"], row["instance"]].append(row)
    cells = defaultdict(list)
    for (limit, solver, instance), group in groups.items():
        gaps = [100 * (best[instance] - float(row["cut"])) / abs(best[instance]) for row in group]
        seconds = np.mean([float(row["seconds"]) for row in group])
        cells[limit, solver].append((np.mean(gaps), max(gaps) <= 1e-9, seconds, instance in ELEVEN))
    record(
        f"{name}_summary",
        [
            {
                "limit": limit,
                "solver": solver,
                "instances": len(cell),
                "mean_gap_percent": float(np.mean([gap for gap, *_ in cell])),
                "median_gap_percent": float(np.median([gap for gap, *_ in cell])),
                "mean_gap_eleven": float(np.mean([gap for gap, _, _, is_one in cell if is_one] or [np.nan])),
                "best_known_by_every_seed": sum(reached for _, reached, _, _ in cell),
                "mean_seconds": float(np.mean([seconds for _, _, seconds, _ in cell])),
                "above_proxcode": above(groups, limit, solver),
            }
            for (limit, solver), cell in sorted(cells.items())
        ],
    )


def best_cuts(rows):
    """Return the best known cut of each instance or, if none is known, the best of all rows."""
    best = {}
    for row in rows:
        known = float(row["best_known"])
        best[row["instance"]] = max(best.get(row["instance"], -np.inf), float(row["cut"]) if np.isnan(known) else known)
    return best


def above(groups, limit, solver):
    """Count the instances on which a solver's mean cut exceeds proxcode's, of those that both have solved."""
    better, both = 0, 0
    for (group_limit, group_solver, instance), group in groups.items():
        ours = groups.get((limit, "proxcode", instance))
        if group_limit == limit and group_solver == solver and ours:
            means = [np.mean([float(row["cut"]) for row in each]) for each in (group, ours)]
            better += bool(means[0] > means[1] + 1e-9)
            both += 1
    return f"{better} of {both}"


def signed(arguments):
    """Measure the frustration of real networks and of a large random one, with a bound."""
    networks, rows = data("signed_graphs.npz"), []
    frustration(networks["us_congress"], bound=SuitableBound(), time_limit=0.1)
    networks = {name: networks[name] for name in networks.files} | {"two camps": two_camps(82_000, 549_000)}
    for name in networks:
        if arguments.instances and name not in arguments.instances:
            continue
        for limit in arguments.limits:
            for seed in range(arguments.seeds):
                start = process_time()
                search = Annealing(clock=process_time)
                found = frustration(networks[name], search=search, time_limit=limit, random_state=seed)
                seconds = process_time() - start
                start = process_time()
                cut = certify(found.cut, NETWORK_BOUNDS[arguments.bound], random_state=0)
                bounded = type(found)(cut=cut, n_edges=found.n_edges)
                row = {
                    "instance": name,
                    "limit": limit,
                    "seed": seed,
                    "bound": arguments.bound,
                    "n": len(found.partition),
                    "m": found.n_edges,
                }
                row |= {"index": found.index, "lower_bound": bounded.lower_bound, "proved": bounded.proved}
                row |= {"best_at": cut.history[-1].seconds, "seconds": seconds, "bound_seconds": process_time() - start}
                rows.append(row)
                print(*row.values(), flush=True)
    record("cut_signed", rows)


NETWORK_BOUNDS = {
    "packing": CyclePackingBound(),
    "cycles": CycleBound(time_limit=20.0),
    "semidefinite": SemidefiniteBound(rank=30, max_iter=400),
}
SUITES = {"gset": (gset, [1.0, 10.0]), "biqmac": (biqmac, [0.3]), "made": (made, [1.0])}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=[*SUITES, "signed"])
    parser.add_argument("--instances", nargs="*", help="default: all; 'eleven' means " + " ".join(ELEVEN))
    parser.add_argument("--limits", nargs="*", type=float)
    parser.add_argument("--solvers", nargs="*", choices=list(SOLVERS), default=list(SOLVERS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--bound", choices=list(NETWORK_BOUNDS), default="packing", help="of signed networks")
    parser.add_argument("--again", action="store_true", help="measure again the rows that already exist")
    arguments = parser.parse_args()
    if arguments.instances == ["eleven"]:
        arguments.instances = ELEVEN
    if arguments.suite != "made" and not os.environ.get("PROXCODE_DATA"):
        raise SystemExit("set PROXCODE_DATA to the folder with gset.npz, biqmac.npz and signed_graphs.npz")
    if arguments.suite == "signed":
        arguments.limits = arguments.limits or [5.0]
        signed(arguments)
    else:
        instances, limits = SUITES[arguments.suite]
        arguments.limits = arguments.limits or limits
        compare(f"cut_{arguments.suite}", instances(), arguments)


if __name__ == "__main__":
    main()
