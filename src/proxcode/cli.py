"""The command line: parsing and printing only; `jobs` does the work, and is imported when a verb runs."""

import errno
import json
import os
import sys
from collections.abc import Callable
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any

import click

from proxcode._show import columns, facts

FILE = click.Path(path_type=Path)
HASHES = click.Choice(["kernel", "linear", "svm"])
METRICS = click.Choice(
    ["euclidean", "cosine", "manhattan", "chebyshev", "correlation", "canberra", "braycurtis", "hamming"]
)
BITS = click.IntRange(1, 1024)
COUNT = click.IntRange(1)
SEED = click.IntRange(0, 2**32 - 1)
EXTRAS = {"matplotlib": "plots", "pyarrow": "tables", "h5py": "tables", "skops": "skops"}


class Sentences(click.Group):
    """A group whose commands end with one sentence where something is wrong, and with a traceback under --debug."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take --debug wherever it stands."""
        ctx.meta["debug"] = "--debug" in args
        return super().parse_args(ctx, [argument for argument in args if argument != "--debug"])

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            remedy = "goes on from what was finished" if ctx.meta.get("resumes") else "begins anew"
            click.echo(f"Interrupted: the same command {remedy}.", err=True)
            sys.exit(130)
        except Exception as error:
            if ctx.meta["debug"] or (isinstance(error, OSError) and error.errno == errno.EPIPE):
                raise  # click ends in silence where nobody reads on, as in `| head`
            raise click.ClickException(_sentence(error)) from error


def _sentence(error: Exception) -> str:
    """Return what an error says, in one line."""
    if isinstance(error, MemoryError):
        reason = f" ({error})" if str(error) else ""
        return f"there is not enough memory{reason}: take fewer vectors, or a larger machine."
    if isinstance(error, ModuleNotFoundError) and (package := str(error.name).partition(".")[0]) in EXTRAS:
        return f"{package} is missing: pip install 'proxcode[{EXTRAS[package]}]'."
    if isinstance(error, OSError) and error.strerror is not None:
        named = f"{error.filename}: " if error.filename is not None else ""
        return f"{named}{error.strerror}: {_REMEDIES.get(error.errno or 0, 'choose another file or folder')}."
    text = " ".join(str(error).split())
    is_ours = isinstance(error, ValueError | TypeError | OSError | ImportError)
    return text if is_ours and text else f"unexpected {type(error).__name__}: {text} (--debug shows where)."


_REMEDIES = {
    errno.EACCES: "choose another place, or change its permissions",
    errno.EPERM: "choose another place, or change its permissions",
    errno.EROFS: "choose another place, or change its permissions",
    errno.ENOSPC: "free some space, then give the same command again",
    errno.EDQUOT: "free some space, then give the same command again",
}


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


def _gathered(name: str, gather: Callable[..., Any], *options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Options that several verbs share, and that reach a verb as one argument."""

    def decorate(command: Callable[..., Any]) -> Any:
        @wraps(command)
        def with_gathered(**values: Any) -> Any:
            own = {parameter: values.pop(parameter) for parameter in signature(gather).parameters}
            return command(**values, **{name: gather(**own)})

        decorated: Any = with_gathered
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


def _part(key: str | None, columns: str | None) -> tuple[str | None, tuple[str, ...]]:
    return key, tuple(columns.split(",")) if columns else ()


def _near(
    labels: str | None,
    pairs: Path | None,
    others: str | None,
    radius: float | None,
    neighbors: float | None,
    metric: str | None,
) -> Any:
    from proxcode.jobs import Near

    if others is not None and pairs is None:
        raise click.UsageError("--others says what the pairs not in --pairs are: give --pairs too.")
    if metric is not None and (labels is not None or pairs is not None):
        raise click.UsageError("--metric measures distances, and --labels and --pairs need none: leave it out.")
    return Near(labels, pairs, others or "unknown", radius, neighbors, metric or "euclidean")


as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
force = click.option("--force", is_flag=True, help="Replace the output file if it is there.")
part_options = _gathered(
    "part",
    _part,
    click.option("--key", help="Array to take, in a file of several (.npz, .safetensors, .h5)."),
    click.option("--columns", help="Columns to take, comma-separated names or numbers from 0 (tables)."),
)
near_options = _gathered(
    "near",
    _near,
    click.option("--labels", help="Near is the same label: FILE, FILE:COLUMN or FILE:KEY; or a 0/1 matrix."),
    click.option("--pairs", type=FILE, help="Near as listed: a CSV of i, j, near or far (or +1, -1)."),
    click.option("--others", type=click.Choice(["unknown", "far"]), help="Pairs not in --pairs; else unknown."),
    click.option("--radius", type=click.FloatRange(0), help="Near is within this distance."),
    click.option(
        "--neighbors",
        type=click.FloatRange(0, min_open=True),
        help="Near is within the distance that gives so many on average.",
    ),
    click.option("--metric", type=METRICS, help="Of --radius and --neighbors; else euclidean."),
)


def _check_free(output: Path | None, force: bool) -> None:
    """Refuse what cannot be written, or would be written over, before any work is done."""
    if output is None:
        return
    if output.is_dir():
        raise click.ClickException(f"{output} is a folder: name a file in it.")
    if output.exists() and not force:
        raise click.ClickException(f"{output} is there already: give another name, or --force to replace it.")
    _check_folder(output.parent, output.name)


def _check_folder(folder: Path, name: str) -> None:
    if not folder.is_dir():
        raise click.ClickException(f"there is no folder {folder} to write {name} to: make it first.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise click.ClickException(
            f"the folder {folder} cannot be written to: choose another, or change its permissions."
        )


def _make_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise click.ClickException(f"{folder} is a file: name a folder to write to.")
    folder.mkdir(parents=True, exist_ok=True)
    _check_folder(folder, "results")


def _print(as_json: bool, record: dict[str, Any], text: Callable[[], str] | None = None) -> None:
    click.echo(json.dumps(record) if as_json else text() if text else facts(record))


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
    from proxcode.jobs import HASH_FUNCTIONS, Table, fit_model

    _check_free(output, force)
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
    _print(as_json, {"model": str(output), **learned, "points": len(model.codes_)})


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

    from proxcode.jobs import Table, encode_vectors

    _check_free(output, force)
    click.get_current_context().meta["resumes"] = True
    bar = tqdm(unit=" rows", disable=not sys.stderr.isatty())

    def progress_of(n_rows: int | None) -> Callable[[int], object]:
        bar.total = n_rows
        return bar.update

    with bar:
        table = Table(vectors, *part)
        encoded = encode_vectors(model, table, output, n_bits=bits, trusted=trust or None, make_progress=progress_of)
    resumed = {"resumed at row": encoded.first_row} if encoded.first_row else {}
    _print(as_json, {"codes": str(output), "rows": encoded.rows, "bits": encoded.bits, **resumed})


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
    from proxcode.jobs import NEAR, Query, Table, search_codes
    from proxcode.tables import write_table
    from proxcode.tables.writing import check_table_name

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
    _check_free(output, force)
    if output is not None:
        check_table_name(output)
    query = Query(k, NEAR if near else radius, asymmetric, vectors, oversample)
    table = Table(queries, *part)
    found = search_codes(codes, table, query, model_path=model, n_bits=bits, ids=ids, n_threads=threads)
    if output is None:
        _print(as_json, {name: column.tolist() for name, column in found.items()}, lambda: _columns(found))
        return
    write_table(output, found)
    n_queries = len(set(found["query"].tolist()))
    _print(as_json, {"neighbors": str(output), "rows": len(found["query"]), "queries with neighbors": n_queries})


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
    from proxcode.jobs import Table, evaluate_model

    _check_free(figure, force)
    _check_figure(figure)
    names = tuple(name for name in peers.split(",") if name)
    evaluation = evaluate_model(model, Table(vectors, *part), near, train=train, peers=names)
    _draw(evaluation, f"{model.name} on {vectors.name}", figure)
    rows = [row._asdict() for row in evaluation.rows]
    left_out = {f"{method} {bits}": why for (method, bits), why in evaluation.left_out.items()}
    record = {"rows": rows, "left out": left_out, "radius": evaluation.model.radius_, "figure": str(figure)}
    _print(as_json, record, lambda: _evaluation_text(record))


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
@click.option("--starts", type=COUNT, default=10, show_default=True, help="The best of so many is taken.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Same seed, same cut.")
@force
@as_json
def cut(graph: Path, output: Path | None, max_cut: bool, starts: int, seed: int, force: bool, as_json: bool) -> None:
    """Cut a signed GRAPH in two: positive weights want to be together, negative ones apart.

    GRAPH is an edge list (i, j, weight; .csv, .tsv or blanks), a .mtx, Gset or .npy file, or a scipy.sparse .npz.

    \b
    Examples:
      proxcode cut friends.csv -o sides.csv
      proxcode cut G1.gset --max-cut
    """
    from proxcode.jobs import cut_graph
    from proxcode.tables.writing import check_table_name

    _check_free(output, force)
    if output is not None:
        check_table_name(output)
    _print(as_json, cut_graph(graph, max_cut=max_cut, n_starts=starts, seed=seed, output=output))


@main.command()
@click.argument("file", type=FILE)
@as_json
def info(file: Path, as_json: bool) -> None:
    """Say what a FILE holds: a model, an index, a checkpoint, or vectors.

    \b
    Example:
      proxcode info my.proxcode
    """
    from proxcode.jobs import describe

    _print(as_json, describe(file))


@main.command()
@click.argument("name", required=False)
@click.option("--output", type=FILE, default="results", show_default=True, help="Folder for tables and pictures.")
@click.option("--quick", is_flag=True, help="A small form that shows that it works.")
@as_json
def reproduce(name: str | None, output: Path, quick: bool, as_json: bool) -> None:
    """Run an experiment of the paper by its NAME; without a name, list them.

    \b
    Example:
      proxcode reproduce initial-guess --output results
    """
    from proxcode.experiments import EXPERIMENTS

    if name is None:
        about = {name: (run.__doc__ or "").strip().splitlines()[0] for name, run in EXPERIMENTS.items()}
        _print(as_json, about)
        return
    if name not in EXPERIMENTS:
        raise click.ClickException(f"there is no experiment {name!r}: choose from {', '.join(EXPERIMENTS)}.")
    _check_figure()
    _make_folder(output)
    written = EXPERIMENTS[name](output, quick, sys.stderr.isatty())
    _print(as_json, {"files": [str(path) for path in written]}, lambda: "\n".join(map(str, written)))


@main.command()
@click.option("--output", type=FILE, default="demo", show_default=True, help="Folder for the picture.")
def demo(output: Path) -> None:
    """Learn codes of bundled digits, print a table and save a figure.

    \b
    Example:
      proxcode demo --output demo
    """
    from proxcode.demo import TITLE, run_demo

    _check_figure()
    _make_folder(output)
    click.echo("Codes of handwritten digits: 1,000 to learn from, 797 new ones to measure on.\n")
    evaluation = run_demo(verbose=sys.stderr.isatty())
    _draw(evaluation, TITLE, output / "digits.png")
    rows = [row._asdict() for row in evaluation.rows]
    figure = str(output / "digits.png")
    click.echo(_evaluation_text({"rows": rows, "left out": {}, "radius": evaluation.model.radius_, "figure": figure}))
