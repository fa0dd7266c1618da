"""The verb `report`: what a model does to samples, in pictures and plain words, as one HTML file."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from proxcode.cli.evaluation_inputs import LabelledVectors, PeerOptions
from proxcode.cli.inputs import ModelHeader, ProximityOptions, VectorFile, read_header
from proxcode.cli.options import COUNT, FILE, as_json, check_output, force, trust, vector_options
from proxcode.cli.printing import show
from proxcode.cli.reading import InputFile, say

if TYPE_CHECKING:
    from proxcode.pipeline import Model
    from proxcode.proximity import SameLabel, SharedLabel
    from proxcode.report.writing import Report

# Options that say how a report is written, not what it shows.
NOT_SHOWN = ("force", "as_json")


@click.command()
@click.argument("model", type=FILE)
@click.argument("vectors", type=FILE)
@click.option("--labels", help="Labels, one per vector, or a 0/1 matrix: FILE, FILE:COLUMN or FILE:KEY.")
@click.option(
    "--unlabelled",
    metavar="LABEL",
    show_default="-1",
    help="Label that means no label, as empty cells and NaN always do; '' for none, if -1 is a class.",
)
@click.option(
    "-o", "--output", type=FILE, default="report.html", show_default=True, help="The file to write: .html or .htm."
)
@click.option("--texts", help="Texts to show, one per vector: FILE, FILE:COLUMN or FILE:KEY.")
@click.option("--image-shape", metavar="SHAPE", help="Show vectors as images: 28x28, 32x32x3 or 3x32x32.")
@click.option(
    "--map",
    "map_by",
    type=click.Choice(["pca", "umap"]),
    default="pca",
    show_default=True,
    help="How vectors are placed on the map; umap needs umap-learn.",
)
@click.option("--lengths", show_default="8,16,32,... and that of the model", help="Comma-separated code lengths.")
@click.option(
    "--peers",
    show_default="LSH,ITQ, with --train-labels also Hadamard,WCW-ITQ",
    help="Comma-separated peers to compare with; '' for none.",
)
@click.option("--train", type=FILE, help="Vectors to fit the peers to, ideally the training samples of the model.")
@click.option("--train-labels", help="Labels of --train, for peers that learn from them.")
@click.option(
    "--max-samples", type=COUNT, default=5000, show_default=True, help="Measure the pairs of this many vectors."
)
@vector_options
@trust
@force
@as_json
@click.pass_context
def report(
    ctx: click.Context,
    model: Path,
    vectors: Path,
    labels: str | None,
    unlabelled: str | None,
    output: Path,
    texts: str | None,
    image_shape: str | None,
    map_by: str,
    lengths: str | None,
    peers: str | None,
    train: Path | None,
    train_labels: str | None,
    max_samples: int,
    key: str | None,
    columns: str | None,
    trust: tuple[str, ...],
    force: bool,
    as_json: bool,
) -> None:
    """Write a report on MODEL and VECTORS: one HTML file with pictures and plain words, which needs no network.

    It shows near and far pairs with the learned radius and a slider, precision and recall by code length and beside
    other methods, quality against bytes, a map, the bits, sample queries with their neighbours, times and parameters.

    Without --labels, near pairs are those of a model that was fitted without labels; for other models the sections on
    pairs are left out, and the report says so.

    \b
    Examples:
      proxcode report my.proxcode new.npy --labels new_labels.npy -o report.html
      proxcode report my.proxcode new.npy --labels new_labels.npy --train vectors.npy \\
        --image-shape 8x8 --texts items.csv:text --peers LSH -o images.html
    """
    options = ProximityOptions(labels=labels, unlabelled=unlabelled)
    others = PeerOptions(lengths, peers, train, train_labels)
    check_output(output, force, model, vectors, labels, texts, train, train_labels)
    if output.suffix.lower() not in (".html", ".htm"):
        raise click.ClickException(f"{output}: expected a report with the suffix .html or .htm.")
    header = read_header(model)
    source = LabelledVectors.read(VectorFile(vectors, key, columns), options, header)
    shape = None if image_shape is None else _read_shape(image_shape, header)
    words, text_file = (None, {}) if texts is None else _read_texts(texts, len(source.vectors))
    projection = None if map_by == "pca" else _umap()
    training = others.read(header)

    from proxcode.pipeline import load
    from proxcode.report.writing import write_report

    fitted = load(model, trusted=trust or None)
    given: Any = options.proximity(source.labels)
    read = source.inputs("vectors", _reads_labels(source, given, fitted)) | text_file
    if training is not None:
        read |= training.inputs("train", _reads_labels(training, None, fitted), "train ")
    say(read)
    written = write_report(
        output,
        fitted,
        source.vectors,
        source.labels,
        proximity=given,
        texts=words,
        image_shape=shape,
        projection=projection,
        max_samples=max_samples,
        title=f"{model.name} on {vectors.name}",
        command=command_line(ctx),
        overwrite=force,
        **others.arguments(training),
    )
    show(as_json, _record(written, fitted), read=read)


def _read_shape(image_shape: str, header: ModelHeader) -> tuple[int, ...]:
    from proxcode.report.images import check_shape, parse_shape

    shape = parse_shape(image_shape)
    check_shape(shape, header.n_features_in_)
    return shape


def _umap() -> Any:
    """Return the transformer of umap-learn. Raises ImportError where that is not installed."""
    try:
        from umap import UMAP
    except ImportError as error:
        raise ImportError("--map umap: umap-learn is not installed: pip install umap-learn, or use pca.") from error
    return UMAP(random_state=0)


def _read_texts(source: str, n_samples: int) -> tuple[list[Any], dict[str, InputFile]]:
    """Read one text per sample."""
    from proxcode.files import split_column, take_labels

    found, taken, _ = take_labels(source).for_samples(n_samples)
    if found.ndim != 1 or len(found) != n_samples:
        raise ValueError(f"{source} holds texts of shape {found.shape} for {n_samples} samples: expected one each.")
    return found.tolist(), {"texts": InputFile(split_column(source)[0], taken, n_samples, unit="texts")}


def _reads_labels(source: LabelledVectors, given: Any, fitted: Any) -> "SameLabel | SharedLabel | Any":
    """Return the proximity that tells which samples have no label."""
    from proxcode.evaluation.labels import label_proximity

    return fitted.proximity_ if source.labels is None else label_proximity(source.labels, given, fitted.proximity_)


def _record(written: "Report", fitted: "Model") -> dict[str, Any]:
    """Return the figures that the report begins with; the radius is that of the code length they are measured at."""
    from proxcode.evaluation import MODEL

    record: dict[str, Any] = {"report": str(written.path), "bytes": written.n_bytes, "radius": fitted.radius_}
    if written.pairs is not None:
        own = [row for row in written.pairs.rows if row.method == MODEL][-1]
        if own.bits < fitted.n_bits_:
            record["radius"] = fitted.history_[own.bits - 1].radius
        record |= {"bits": own.bits, "pr_area": own.pr_area, "map": own.map}
        record |= {"precision": own.precision, "recall": own.recall}
    return record | {f"{name} left out": reason for name, reason in written.left_out.items()}


def command_line(ctx: click.Context) -> str:
    """Return the command that was given, without the options on how to write."""
    words = ["proxcode", str(ctx.info_name)]
    for parameter in ctx.command.params:
        name = str(parameter.name)
        value = ctx.params.get(name)
        if ctx.get_parameter_source(name) is not click.core.ParameterSource.COMMANDLINE or name in NOT_SHOWN:
            continue
        if isinstance(parameter, click.Argument):
            words.append(str(value))
            continue
        for each in value if isinstance(value, tuple) else (value,):
            words += [parameter.opts[0], str(each)]
    return shlex.join(words)
