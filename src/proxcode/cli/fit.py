"""The verb `fit`: learn a code and save the model."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from proxcode.cli.inputs import ProximityOptions, VectorFile, count_unlabelled, in_memory
from proxcode.cli.options import (
    BITS,
    COUNT,
    FILE,
    SEED,
    as_json,
    check_output,
    engine_options,
    force,
    proximity_options,
    vector_options,
)
from proxcode.cli.printing import learned_figures, recall_figure, show
from proxcode.cli.reading import say

if TYPE_CHECKING:
    from proxcode.code import ProximityPreservingCode
    from proxcode.pipeline import Model


@click.command()
@click.argument("vectors", type=FILE)
@click.option("-o", "--output", type=FILE, required=True, help="Model file to write.")
@click.option("--bits", type=BITS, default=64, show_default=True, help="Code length.")
@proximity_options
@vector_options
@click.option(
    "--hash",
    "hash_name",
    type=click.Choice(["kernel", "linear", "svm", "rotation", "reconstruction"]),
    show_default="rotation for top-k search, else kernel",
    help="Hash function that computes the bits of new samples; reconstruction is for float queries (search --float).",
)
@click.option(
    "--scale",
    type=click.Choice(["standard", "minmax", "unit"]),
    show_default="vectors as they are",
    help="Transform vectors first: columns to mean 0 and variance 1, or to the range 0 to 1; rows to length 1.",
)
@click.option("--pca", type=COUNT, help="Reduce vectors to this many principal components, after --scale.")
@click.option("--paper", is_flag=True, help="Use the paper's own method: its threshold, weights and hash function.")
@click.option("--new-classes", is_flag=True, help="Learn a code for classes that --labels does not contain.")
@click.option("--balanced", is_flag=True, help="Let each class of --labels count alike, however few its samples.")
@click.option(
    "--refine-steps",
    type=click.IntRange(0),
    help="Number of optimisation steps that refine each bit after the hash function (kernel or linear) is fitted to "
    "the cut; 0 disables refinement, as in the paper.",
)
@click.option(
    "--updatable",
    is_flag=True,
    help="Keep what `proxcode update` needs also with more than 20,000 vectors, up to 144 MB, or with --hash linear.",
)
@click.option(
    "--seed",
    type=SEED,
    default=0,
    show_default=True,
    help="Random seed; equal seeds give equal bits on one kind of machine.",
)
@click.option(
    "--checkpoint/--no-checkpoint",
    default=True,
    show_default=True,
    help="Save finished bits to OUTPUT.checkpoint, from which the same command resumes after an interruption.",
)
@click.option("--samples", type=COUNT, show_default="all", help="Number of evenly spaced samples to learn from.")
@engine_options
@force
@as_json
def fit(
    vectors: Path,
    output: Path,
    bits: int,
    key: str | None,
    columns: str | None,
    hash_name: str | None,
    scale: str | None,
    pca: int | None,
    paper: bool,
    refine_steps: int | None,
    updatable: bool,
    seed: int,
    checkpoint: bool,
    samples: int | None,
    engine: str | None,
    scheduler: str | None,
    force: bool,
    as_json: bool,
    **near: Any,
) -> None:
    """Learn a code from VECTORS and save the model.

    VECTORS is a file, a folder or a quoted pattern of files. More than 2 GiB are read in blocks.

    Without an option that defines near pairs, the code serves top-k search: the nearest vectors get the nearest codes.

    With --scale or --pca the model is a pipeline: it transforms all vectors that it encodes in the same way. Radii and
    neighbours are then those of transformed vectors.

    \b
    Examples:
      proxcode fit vectors.npy --labels labels.npy --bits 64 -o my.proxcode
      proxcode fit samples.csv --labels samples.csv:class -o my.proxcode
      proxcode fit samples.csv --labels samples.csv:class --unlabelled unknown -o my.proxcode
      proxcode fit vectors.npy --pairs clicked.csv -o my.proxcode
      proxcode fit vectors.npy --neighbors 50 -o my.proxcode
      proxcode fit vectors.npy --labels labels.npy --paper -o my.proxcode
      proxcode fit vectors.npy --labels labels.npy --scale standard --pca 32 -o my.proxcode
      proxcode fit vectors.npy -o for_top_k_search.proxcode
      proxcode fit "vectors/*.parquet" --labels "vectors/*.parquet:class" -o my.proxcode
      proxcode fit vectors/ --samples 200000 --engine dask -o my.proxcode
    """
    options = ProximityOptions(**near)
    own = {"--hash": hash_name, "--refine-steps": refine_steps, "--new-classes": options.new_classes or None}
    if paper and (given := [option for option, value in own.items() if value is not None]):
        raise click.UsageError(f"--paper has a hash function of its own: pass it without {' and '.join(given)}.")
    if updatable and (options.labels is None or options.new_classes or paper):
        raise click.UsageError(
            "--updatable applies to codes that are learned from --labels by --hash kernel or linear."
        )
    own_parameters = {"refine_steps": refine_steps, "updatable": updatable or None}
    own_parameters = {name: value for name, value in own_parameters.items() if value is not None}
    if own_parameters:
        has_pairs = any(near[name] is not None for name in ("labels", "pairs", "radius", "neighbors"))
        if hash_name is None and has_pairs and not options.new_classes:
            hash_name = "kernel"
        if hash_name not in ("kernel", "linear"):
            option = "--" + next(iter(own_parameters)).replace("_", "-")
            raise click.UsageError(f"{option} applies to --hash kernel and --hash linear: pass one of them.")
    if samples is not None and options.pairs is not None:
        raise click.UsageError("--pairs names rows of all VECTORS: pass it without --samples.")
    finished_bits = output.with_name(f"{output.name}.checkpoint") if checkpoint else None
    source = VectorFile(vectors, key, columns)
    inputs = (vectors, *source.input_files(), options.labels, *options.label_files(), options.pairs)
    check_output(output, force, *inputs)
    check_output(finished_bits, True, *inputs)
    click.get_current_context().meta["resumable"] = checkpoint

    from proxcode.engines import make_engine
    from proxcode.utils.rows import evenly_spaced
    from proxcode.utils.samples import select

    with make_engine(engine or "local", scheduler) as cluster:
        X, vector_file = source.samples(labels=options.labels, engine=cluster)
        n_rows = len(X)
        labels = options.take_labels(n_rows, source)
        rows = evenly_spaced(n_rows, samples or n_rows)
        X, y = in_memory(select(X, rows)), None if labels is None else labels.labels[rows]
        code = _model(bits, options.proximity(y), hash_name, own_parameters, paper, seed)

        from proxcode.proximity import default_proximity

        near_pairs = default_proximity(y) if code.proximity is None else code.proximity
        read = {"vectors": vector_file, **options.inputs(near_pairs, labels)}
        say(read)
        model = _with_transformers(code, scale, pca, seed, X)
        _fit_and_save(model, X, y, output, finished_bits, force)
    of = {} if samples is None else {"of": n_rows}
    figures = learned_figures(model.history_, model.training_loss_)
    sizes = {"samples": len(model.codes_), **of, "samples of pairs": model.n_paired_samples_}
    n_unlabelled = count_unlabelled(near_pairs, y)
    unlabelled = {} if n_unlabelled is None else {"samples without a label": n_unlabelled}
    recall = recall_figure(getattr(model.proximity_, "recall_", 1.0))
    show(as_json, {"model": str(output), **figures, **sizes, **unlabelled, **recall}, read=read)


def _model(
    bits: int, proximity: Any, hash_name: str | None, parameters: dict[str, Any], paper: bool, seed: int
) -> "ProximityPreservingCode":
    """Return the model that the options describe."""
    from proxcode import hashing
    from proxcode.code import ProximityPreservingCode

    if paper:
        return ProximityPreservingCode.paper(bits, proximity=proximity, random_state=seed, verbose=True)
    hash_classes: dict[str | None, Any] = {
        "kernel": hashing.KernelHash,
        "linear": hashing.LinearHash,
        "svm": hashing.SVMHash,
        "rotation": hashing.RotationHash,
        "reconstruction": hashing.ReconstructionHash,
        None: lambda: None,
    }
    hash_function = hash_classes[hash_name](**parameters)
    return ProximityPreservingCode(
        bits, proximity=proximity, hash_function=hash_function, random_state=seed, verbose=True
    )


def _with_transformers(
    code: "ProximityPreservingCode", scale: str | None, pca: int | None, seed: int, X: Any
) -> "Model":
    """Return a pipeline of the transformers of --scale and --pca and the code; the code itself without these."""
    if scale is None and pca is None:
        return code

    from sklearn.decomposition import PCA
    from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler

    from proxcode.pipeline import CodePipeline
    from proxcode.utils.samples import Samples

    if isinstance(X, Samples):
        raise ValueError(
            "--scale and --pca need all vectors in memory, in this process: pass fewer of them by --samples, without "
            "--engine."
        )
    if pca is not None and pca > min(X.shape):
        raise ValueError(
            f"--pca {pca}: expected at most {min(X.shape)} for {X.shape[0]} vectors of {X.shape[1]} values."
        )
    scalers: dict[str, Any] = {"standard": StandardScaler, "minmax": MinMaxScaler, "unit": Normalizer}
    steps = [] if scale is None else [("scale", scalers[scale]())]
    steps += [] if pca is None else [("pca", PCA(pca, random_state=seed))]
    return CodePipeline([*steps, ("code", code)])


def _fit_and_save(model: "Model", X: Any, y: Any, output: Path, finished_bits: Path | None, force: bool) -> None:
    """Fit the model, resuming finished bits, and write its file."""
    from proxcode.storage.atomic import is_disk_error, resume_note

    try:
        # Of a pipeline, parameters of its last step.
        prefix = "code__" if hasattr(model, "steps") else ""
        model.fit(X, y, **{f"{prefix}checkpoint": finished_bits})
        # The file does not depend on whether progress was shown.
        model.set_params(**{f"{prefix}verbose": False}).save(output, overwrite=force)
    except OSError as error:
        if is_disk_error(error) and finished_bits is not None and finished_bits.exists():
            error.add_note(resume_note(error))
        raise
    if finished_bits is not None:
        # Another process that ran the same fit may have removed it.
        finished_bits.unlink(missing_ok=True)
