"""The command line: parsing and printing only; `jobs` does the work, and is imported when a verb runs."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from proxcode.cli._options import (
    BITS,
    COUNT,
    FILE,
    HASHES,
    SEED,
    Sentences,
    as_json,
    check_free,
    force,
    make_folder,
    near_options,
    part_options,
    show,
)
from proxcode.cli.printing import columns


@click.group(
    cls=Sentences,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="--debug, anywhere, shows the traceback of an error.",
)
@click.version_option(package_name="proxcode")
def main() -> None:
    """Short binary codes that keep your notion of near and far.

    \b
    Example, from vectors to neighbours:
      proxcode fit vectors.npy --labels labels.npy --bits 64 -o my.proxcode
      proxcode encode my.proxcode vectors.npy -o codes.npy
      proxcode search codes.npy queries.npy --model my.proxcode -k 10
      proxcode evaluate my.proxcode new.npy --labels new_labels.npy

    \b
    Vectors come from .npy, .npz, .csv, .tsv, .fvecs, .bvecs, .ivecs and .safetensors files; from .parquet,
    .arrow, .feather, .h5 and .hdf5 with: pip install 'proxcode[tables]'
    """


@main.command()
@click.argument("vectors", type=FILE)
@click.option("-o", "--output", type=FILE, required=True, help="Model file to write.")
@click.option("--bits", type=BITS, default=64, show_default=True, help="Length of the code.")
@near_options
@part_options
@click.option(
    "--hash", "hash_name", type=HASHES, default="kernel", show_default=True, help="What carries bits to new vectors."
)
@click.option("--coupling", type=click.IntRange(0), help="Steps the hash function climbs; 0 is the paper.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Same seed, same bits.")
@click.option(
    "--checkpoint/--no-checkpoint",
    default=True,
    show_default=True,
    help="Keep finished bits in OUTPUT.checkpoint: after a kill, the same command goes on.",
)
@force
@as_json
def fit(
    vectors: Path,
    output: Path,
    bits: int,
    near: Any,
    part: Any,
    hash_name: str,
    coupling: int | None,
    seed: int,
    checkpoint: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Learn a code from VECTORS and save the model.

    \b
    Examples:
      proxcode fit vectors.npy --labels labels.npy --bits 64 -o my.proxcode
      proxcode fit table.csv --labels table.csv:class -o my.proxcode
      proxcode fit vectors.npy --pairs clicked.csv --others far -o my.proxcode
      proxcode fit vectors.npy --neighbors 50 -o my.proxcode
    """
    from proxcode.cli.jobs import HASH_FUNCTIONS, Table, fit_model

    check_free(output, force)
    click.get_current_context().meta["resumes"] = checkpoint
    parameters = {
        "n_bits": bits,
        "hash_function": HASH_FUNCTIONS[hash_name](),
        "coupling": coupling,
        "random_state": seed,
        "verbose": sys.stderr.isatty(),
    }
    model = fit_model(Table(vectors, *part), near, output, parameters, checkpoint=checkpoint)
    learned = {"bits": model.n_bits_, "radius": model.radius_, "training loss": model.history_[-1].loss}
    show(as_json, {"model": str(output), **learned, "points": len(model.codes_)})


@main.command()
@click.argument("model", type=FILE)
@click.argument("vectors", type=FILE)
@click.option("-o", "--output", type=FILE, required=True, help="Codes to write, a .npy file of packed bytes.")
@click.option("--bits", type=BITS, help="Only the first so many bits.")
@click.option("--trust", multiple=True, help="A type that a model with classifiers of other libraries may build.")
@part_options
@force
@as_json
def encode(
    model: Path,
    vectors: Path,
    output: Path,
    bits: int | None,
    trust: tuple[str, ...],
    part: Any,
    force: bool,
    as_json: bool,
) -> None:
    """Write the codes of VECTORS, block by block; after a kill, the same command goes on.

    \b
    Example:
      proxcode encode my.proxcode vectors.npy -o codes.npy
    """
    from tqdm import tqdm

    from proxcode.cli.jobs import Table, encode_vectors

    check_free(output, force)
    click.get_current_context().meta["resumes"] = True
    bar = tqdm(unit=" rows", disable=not sys.stderr.isatty())

    def progress_of(n_rows: int | None) -> Callable[[int], object]:
        bar.total = n_rows
        return bar.update

    with bar:
        table = Table(vectors, *part)
        encoded = encode_vectors(model, table, output, n_bits=bits, trusted=trust or None, make_progress=progress_of)
    resumed = {"resumed at row": encoded.first_row} if encoded.first_row else {}
    show(as_json, {"codes": str(output), "rows": encoded.rows, "bits": encoded.bits, **resumed})


@main.command()
@click.argument("codes", type=FILE)
@click.argument("queries", type=FILE)
@click.option("--model", type=FILE, help="Encode the queries with this model; without it they are codes.")
@click.option("-k", type=COUNT, default=10, show_default=True, help="Neighbours of each query.")
@click.option("--radius", type=click.IntRange(0), help="All neighbours up to this Hamming distance, in place of -k.")
@click.option("--near", is_flag=True, help="All neighbours up to the distance that the model learned, in place of -k.")
@click.option("--asymmetric", is_flag=True, help="Order by how sure the query is of its bits.")
@click.option("--vectors", type=FILE, help="Order by the distance of these vectors, row i belonging to code i.")
@click.option(
    "--oversample", type=click.FloatRange(1), default=4.0, show_default=True, help="Times -k codes to order so."
)
@click.option("--bits", type=BITS, help="Bits of the codes, where not all of the model's.")
@click.option("--ids", help="Whole numbers of your own for the codes, one for each: FILE, FILE:COLUMN or FILE:KEY.")
@click.option("--threads", type=COUNT, help="All cores, if not given.")
@click.option("-o", "--output", type=FILE, help="Write to a .csv, .tsv, .npz or .parquet file instead of printing.")
@part_options
@force
@as_json
def search(
    codes: Path,
    queries: Path,
    model: Path | None,
    k: int,
    radius: int | None,
    near: bool,
    asymmetric: bool,
    vectors: Path | None,
    oversample: float,
    bits: int | None,
    ids: str | None,
    threads: int | None,
    output: Path | None,
    part: Any,
    force: bool,
    as_json: bool,
) -> None:
    """Find the neighbours of QUERIES among CODES: packed codes, or a saved index.

    \b
    Examples:
      proxcode search codes.npy queries.npy --model my.proxcode -k 10
      proxcode search codes.npy queries.npy --model my.proxcode --near -o near.csv
      proxcode search codes.npy queries.npy --model my.proxcode --vectors vectors.npy --oversample 8
    """
    from proxcode.cli.jobs import NEAR, Query, Table, search_codes
    from proxcode.files import write_table
    from proxcode.files.writing import check_table_name

    if near and radius is not None:
        raise click.UsageError("--near and --radius each say how far to look: give one of them.")
    if (asymmetric or vectors) and (near or radius is not None):
        raise click.UsageError("--asymmetric and --vectors order the -k nearest: leave --near and --radius out.")
    if asymmetric and vectors:
        raise click.UsageError("--asymmetric and --vectors are two orders: give one of them.")
    if model is None and near:
        raise click.UsageError("--near asks for the radius that a model learned: give --model too.")
    if model is None and (asymmetric or vectors):
        raise click.UsageError("--asymmetric and --vectors need the queries as vectors: give them, and --model.")
    check_free(output, force)
    if output is not None:
        check_table_name(output)
    query = Query(k, NEAR if near else radius, asymmetric, vectors, oversample)
    table = Table(queries, *part)
    found = search_codes(codes, table, query, model_path=model, n_bits=bits, ids=ids, n_threads=threads)
    if output is None:
        show(as_json, {name: column.tolist() for name, column in found.items()}, lambda: _columns(found))
        return
    write_table(output, found)
    n_queries = len(set(found["query"].tolist()))
    show(as_json, {"neighbors": str(output), "rows": len(found["query"]), "queries with neighbors": n_queries})


def _columns(found: dict[str, Any]) -> str:
    return columns(list(found), zip(*(column.tolist() for column in found.values()), strict=True))


@main.command()
@click.argument("model", type=FILE)
@click.argument("vectors", type=FILE)
@near_options
@part_options
@click.option("--train", type=FILE, help="Vectors that LSH and ITQ are fitted to, best those of the fit.")
@click.option("--peers", default="LSH,ITQ", show_default=True, help="Methods beside it, comma-separated; '' for none.")
@click.option("--figure", type=FILE, default="evaluation.png", show_default=True, help="Picture: .png, .pdf or .svg.")
@force
@as_json
def evaluate(
    model: Path,
    vectors: Path,
    near: Any,
    part: Any,
    train: Path | None,
    peers: str,
    figure: Path,
    force: bool,
    as_json: bool,
) -> None:
    """Measure a model on VECTORS it was not fitted to; print a table and draw a page of figures.

    What near means is what the model learned, or what an option says. LSH and ITQ are fitted to --train, without
    it to VECTORS themselves, which favours them.

    \b
    Example:
      proxcode evaluate my.proxcode new.npy --labels new_labels.npy --figure evaluation.png
    """
    from proxcode.cli.jobs import Table, evaluate_model

    check_free(figure, force)
    _check_figure(figure)
    names = tuple(name for name in peers.split(",") if name)
    evaluation = evaluate_model(model, Table(vectors, *part), near, train=train, peers=names)
    _draw(evaluation, f"{model.name} on {vectors.name}", figure)
    rows = [row._asdict() for row in evaluation.rows]
    left_out = {f"{method} {bits}": why for (method, bits), why in evaluation.left_out.items()}
    record = {"rows": rows, "left out": left_out, "radius": evaluation.model.radius_, "figure": str(figure)}
    show(as_json, record, lambda: _evaluation_text(record))


def _check_figure(path: Path | None = None) -> None:
    """Refuse a figure that cannot be drawn before anything is measured."""
    from proxcode.plots import FORMATS

    if path is not None and path.suffix.lower().removeprefix(".") not in FORMATS:
        raise click.ClickException(f"{path} has no suffix of a figure: end it in .{', .'.join(FORMATS)}.")
    import matplotlib.figure  # noqa: F401  to see that it is there


def _draw(evaluation: Any, title: str, path: Path) -> None:
    from proxcode.plots import figure_page, save_figure

    save_figure(figure_page(evaluation, title), path)


def _evaluation_text(record: dict[str, Any]) -> str:
    names = [name for name in record["rows"][0] if any(row[name] is not None for row in record["rows"])]
    lines = [columns(names, ([row[name] for name in names] for row in record["rows"]))]
    lines += [f"{what} bits left out: {why}" for what, why in record["left out"].items()]
    lines += [f"Two codes count as near up to Hamming distance {record['radius']}.", f"Figure: {record['figure']}"]
    return "\n".join(lines)


@main.command()
@click.argument("graph", type=FILE)
@click.option("-o", "--output", type=FILE, help="Partition to write: .csv, .tsv, .npz or .parquet.")
@click.option("--max-cut", is_flag=True, help="Cut as much weight as can be, instead of keeping it.")
@click.option(
    "--time-limit",
    type=click.FloatRange(0, min_open=True),
    help="Seconds to search, else about one; --prove takes as long again at most.",
)
@click.option("--prove", is_flag=True, help="Bound what any cut could reach; on sparse graphs often a proof.")
@click.option("--starts", type=COUNT, help="The paper's way, the best of so many starts, in place of annealing.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Same seed, same cut.")
@force
@as_json
def cut(
    graph: Path,
    output: Path | None,
    max_cut: bool,
    time_limit: float | None,
    prove: bool,
    starts: int | None,
    seed: int,
    force: bool,
    as_json: bool,
) -> None:
    """Cut a signed GRAPH in two: positive weights want to be together, negative ones apart.

    GRAPH is an edge list (i, j, weight; .csv, .tsv or blanks), a .mtx, Gset or .npy file, or a scipy.sparse .npz. An
    edge listed in both directions, with the same weight, counts once; listed again in the same one, it is summed.
    The upper bound and the gap are those of the value, with --max-cut those of the cut weight.

    \b
    Examples:
      proxcode cut friends.csv -o sides.csv
      proxcode cut G1.gset --max-cut --time-limit 10
      proxcode cut friends.csv --prove
    """
    from tqdm import tqdm

    from proxcode.cli.jobs import cut_graph
    from proxcode.files.writing import check_table_name

    check_free(output, force)
    if output is not None:
        check_table_name(output)
    bar = tqdm(bar_format="{desc} after {elapsed}", disable=not sys.stderr.isatty())

    def report(best: float) -> None:
        bar.set_description_str(f"best {best:.10g}")

    with bar:
        found = cut_graph(
            graph,
            max_cut=max_cut,
            n_starts=starts,
            time_limit=time_limit,
            prove=prove,
            seed=seed,
            output=output,
            report=report,
        )
    show(as_json, found)


@main.command()
@click.argument("file", type=FILE)
@as_json
def info(file: Path, as_json: bool) -> None:
    """Say what a FILE holds: a model, an index, a checkpoint, or vectors.

    \b
    Example:
      proxcode info my.proxcode
    """
    from proxcode.cli.jobs import describe

    show(as_json, describe(file))


@main.command()
@click.argument("names", nargs=-1)
@click.option("--output", type=FILE, default="results", show_default=True, help="Folder for tables and pictures.")
@click.option("--quick", is_flag=True, help="A small form that shows that it works.")
@as_json
def reproduce(names: tuple[str, ...], output: Path, quick: bool, as_json: bool) -> None:
    """Run experiments of the paper by their NAMES, or all; without a name, list them.

    What is finished is not run again: the same command goes on after a kill.

    \b
    Examples:
      proxcode reproduce table1 --output results
      proxcode reproduce all --quick
    """
    from proxcode.experiments import EXPERIMENTS, run_experiments

    if not names:
        show(as_json, {name: (run.__doc__ or "").strip().splitlines()[0] for name, run in EXPERIMENTS.items()})
        return
    unknown = [name for name in names if name not in (*EXPERIMENTS, "all")]
    if unknown:
        raise click.ClickException(f"there is no experiment {unknown[0]!r}: choose from {', '.join(EXPERIMENTS)}.")
    _check_figure()
    make_folder(output)
    chosen = EXPERIMENTS if "all" in names else names
    written = run_experiments(chosen, output, quick=quick, verbose=sys.stderr.isatty())
    show(as_json, {"files": [str(path) for path in written]}, lambda: "\n".join(map(str, written)))


@main.command()
@click.option("--output", type=FILE, default="demo", show_default=True, help="Folder for the picture.")
def demo(output: Path) -> None:
    """Learn codes of bundled digits, print a table and save a figure.

    \b
    Example:
      proxcode demo --output demo
    """
    from proxcode.cli.demo import TITLE, run_demo

    _check_figure()
    make_folder(output)
    click.echo("Codes of handwritten digits: 1,000 to learn from, 797 new ones to measure on.\n")
    evaluation = run_demo(verbose=sys.stderr.isatty())
    _draw(evaluation, TITLE, output / "digits.png")
    rows = [row._asdict() for row in evaluation.rows]
    figure = str(output / "digits.png")
    click.echo(_evaluation_text({"rows": rows, "left out": {}, "radius": evaluation.model.radius_, "figure": figure}))
