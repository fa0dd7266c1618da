"""The verb `cut`: cut a signed graph in two."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from proxcode.cli.options import COUNT, FILE, SEED, as_json, check_output, force
from proxcode.cli.printing import show

if TYPE_CHECKING:
    from proxcode.cut import Progress
    from proxcode.cut.result import Partition

Report = Callable[[float], object]


@click.command()
@click.argument("graph", type=FILE)
@click.option("-o", "--output", type=FILE, help="Partition to write: .csv, .tsv, .jsonl, .npz or .parquet.")
@click.option("--max-cut", is_flag=True, help="Maximise the weight between the two sides of the partition.")
@click.option("--frustration", is_flag=True, help="Minimise the number of frustrated edges; only signs count.")
@click.option(
    "--directed",
    type=click.Choice(["sum", "mean", "sign"]),
    show_default="different weights are an error",
    help="How to combine the two directions of an edge: their sum, their mean, or the sign of the sum of their signs.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(0, min_open=True),
    show_default="about one second",
    help="Seconds to search; --prove may take as long again.",
)
@click.option("--prove", is_flag=True, help="Bound the objective over all partitions; often a proof for sparse graphs.")
@click.option("--starts", type=COUNT, help="Use the best of this many local searches, as in the paper, not annealing.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Random seed; equal seeds give equal cuts.")
@force
@as_json
def cut(
    graph: Path,
    output: Path | None,
    max_cut: bool,
    frustration: bool,
    directed: Literal["sum", "mean", "sign"] | None,
    time_limit: float | None,
    prove: bool,
    starts: int | None,
    seed: int,
    force: bool,
    as_json: bool,
) -> None:
    """Cut a signed GRAPH in two.

    Positive weights attract, negative weights repel. GRAPH is an edge list (i, j, weight; .csv, .tsv or separated by
    blanks), a .mtx, Gset or .npy file, or a scipy.sparse .npz file. An edge listed in both directions with equal
    weights counts once; weights of an edge listed repeatedly in one direction are summed. The upper bound and the gap
    refer to the value, with --max-cut to the cut weight; with --frustration the lower bound and the gap refer to the
    number of frustrated edges.

    \b
    Examples:
      proxcode cut friends.csv -o partition.csv
      proxcode cut G1.gset --max-cut --time-limit 10
      proxcode cut friends.csv --frustration --prove
    """
    if max_cut and frustration:
        raise click.UsageError("--max-cut and --frustration each define an objective: pass only one of them.")
    check_output(output, force, graph)

    from proxcode.files import check_suffix, read_graph, write_table
    from proxcode.utils.progress import ProgressDisplay

    if output is not None:
        check_suffix(output)
    weights, names = read_graph(graph, directed=directed or ("sign" if frustration else None))
    with ProgressDisplay("found", "better partitions") as display:
        problem: dict[str, Any] = {"max_cut": max_cut, "frustration": frustration, "prove": prove, "n_starts": starts}
        problem |= {"time_limit": time_limit, "random_state": seed}
        partition, record = cut_weights(weights, lambda best: display.update(note=f"best {best:.10g}"), **problem)
    if output is not None:
        write_table(output, {"node": names, "partition": partition}, overwrite=force)
    show(as_json, record)


def cut_weights(
    weights: Any,
    report: Report,
    *,
    max_cut: bool,
    frustration: bool,
    prove: bool,
    n_starts: int | None,
    **settings: Any,
) -> "tuple[Partition, dict[str, Any]]":
    """Cut a graph; return the partition and a record to print.

    `report` is called with each better value: b'Wb, the cut weight (`max_cut`) or the number of frustrated edges
    (`frustration`). `settings` are the time limit and the random state of the search.
    """
    from proxcode import cut as problems

    n_edges, total = int(weights.count_nonzero()) // 2, float(weights.sum()) / 2

    def report_objective(progress: "Progress") -> None:
        value = progress.value
        report((total + value / 2) / 2 if max_cut else (2 * n_edges - value) / 4 if frustration else value)

    search: problems.Search = problems.Annealing(report=report_objective)
    if n_starts is not None:
        search = problems.Restarts(n_starts=n_starts, report=report_objective)
    settings["search"] = search
    settings["bound"] = problems.SuitableBound() if prove else None
    objective: dict[str, float | None]
    cut_weight: float | None = None
    if frustration:
        fewest = problems.frustration(weights, **settings)
        cut, gap = fewest.cut, fewest.gap
        objective = {"frustrated edges": fewest.index, "lower bound": fewest.lower_bound}
    elif max_cut:
        largest = problems.max_cut(weights, **settings)
        cut, gap = largest.cut, largest.gap
        objective = {"value": -cut.value, "upper bound": _finite(largest.upper_bound)}
        cut_weight = largest.weight
    else:
        cut = problems.signed_cut(weights, **settings)
        gap = cut.gap
        objective = {"value": cut.value, "upper bound": _finite(cut.upper_bound)}
        cut_weight = cut.cut_weight
    is_plus = cut.partition > 0
    record: dict[str, Any] = {"nodes": len(is_plus), "edges": n_edges, **objective}
    record |= {"proved": cut.proved, "gap": _finite(gap), "ended": cut.status}
    if cut_weight is not None:
        record |= {"cut weight": cut_weight, "frustrated weight": cut.frustrated_weight}
    record |= {"partition +1": int(is_plus.sum()), "partition -1": int((~is_plus).sum())}
    return cut.partition, record


def _finite(value: float) -> float | None:
    """Return None for infinity, which JSON does not have."""
    return value if math.isfinite(value) else None
