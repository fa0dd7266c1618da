"""The verb `export`: a model as an ONNX file."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from proxcode.cli.inputs import VectorFile, check_bits, read_header
from proxcode.cli.options import BITS, FILE, as_json, check_output, force, trust, vector_options
from proxcode.cli.printing import show
from proxcode.cli.reading import say

if TYPE_CHECKING:
    from proxcode.export import DifferingBits

# Margins of differing bits that are printed.
MAX_MARGINS = 10


@click.command()
@click.argument("model", type=FILE)
@click.option("-o", "--output", type=FILE, required=True, help="ONNX file to write.")
@click.option(
    "--dtype",
    type=click.Choice(["float32", "float64"]),
    default="float32",
    show_default=True,
    help="Type of vectors, margins and posteriors; the graph computes in double precision.",
)
@click.option("--bits", type=BITS, show_default="all", help="Number of leading bits of the code.")
@click.option(
    "--outputs",
    help="Outputs of the graph: comma-separated names among codes, margins and posteriors.",
    show_default="all that the model has",
)
@click.option(
    "--check",
    type=FILE,
    help="Vectors whose codes are compared with those of MODEL; needs onnxruntime.",
)
@vector_options
@trust
@force
@as_json
def export(
    model: Path,
    output: Path,
    dtype: str,
    bits: int | None,
    outputs: str | None,
    check: Path | None,
    key: str | None,
    columns: str | None,
    trust: tuple[str, ...],
    force: bool,
    as_json: bool,
) -> None:
    """Write MODEL as an ONNX file: a graph from vectors X to packed codes, margins and posteriors of labels.

    With --check, bits that differ from those of MODEL are counted, and the margins at which they differ are printed:
    they should be tiny beside the median margin.

    \b
    Examples:
      proxcode export my.proxcode -o my.onnx
      proxcode export my.proxcode -o my.onnx --dtype float64 --bits 16 --check new.npy
    """
    check_output(output, force, model, check)
    header = read_header(model)
    check_bits(header, bits)
    if check is None and (key or columns):
        raise click.UsageError("--key and --columns apply to the vectors of --check: pass --check too.")
    names = None if outputs is None else [name.strip() for name in outputs.split(",")]
    if check is not None and names is not None and "codes" not in names:
        raise click.UsageError(f"--check compares codes, which --outputs {outputs} leaves out: add codes.")
    source = None if check is None else VectorFile(check, key, columns)
    opened = None if source is None else source.open(model=header)

    from proxcode.export import differing_bits, export_onnx
    from proxcode.export.onnx_file import import_onnx
    from proxcode.pipeline import load

    read = {}
    if source is not None and opened is not None:
        read["vectors"] = source.input_file(opened.taken, (opened.n_rows, opened.n_columns), opened.dtype)
        say(read)
        import_onnx("onnxruntime")
    fitted = load(model, trusted=trust or None)
    export_onnx(fitted, output, dtype=dtype, n_bits=bits, outputs=names, overwrite=force)
    record = {"model": str(output), "bytes": output.stat().st_size, "bits": bits or fitted.n_bits_, "type": dtype}
    if opened is not None:
        record |= _figures(differing_bits(fitted, output, opened.read()), as_json)
    show(as_json, record, read=read)


def _figures(found: "DifferingBits", as_json: bool) -> dict[str, Any]:
    """Return what a comparison found."""
    margins = found.margins.tolist()
    shown = [f"{margin:.2e}" for margin in margins[:MAX_MARGINS]] + ["..."] * (len(margins) > MAX_MARGINS)
    return {
        "samples compared": found.n_samples,
        "differing bits": len(margins),
        "median margin": found.median,
        "largest margin of a differing bit over the median": found.largest,
        "margins of differing bits": margins if as_json else ", ".join(shown) or "none",
    }
