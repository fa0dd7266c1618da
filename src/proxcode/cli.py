"""The command line: parsing and printing only."""

import sys
from pathlib import Path

import click


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="proxcode")
def main() -> None:
    """Short binary codes that keep your notion of near and far."""


@main.command()
@click.option("--output", type=click.Path(file_okay=False, path_type=Path), default="demo", show_default=True)
def demo(output: Path) -> None:
    """Learn codes of bundled digits, print a table and save a figure.

    Example: proxcode demo --output demo
    """
    from proxcode.demo import draw_demo, run_demo

    click.echo("Codes of handwritten digits: 1,000 to learn from, 797 new ones to measure on.")
    result = run_demo(verbose=sys.stderr.isatty())
    click.echo(f"\n{'method':8}{'bits':>6}{'loss':>9}{'AUC':>9}{'mAP':>9}{'seconds':>10}")
    for row in result.rows:
        click.echo(f"{row.method:8}{row.bits:6d}{row.loss:9.4f}{row.auc:9.4f}{row.map:9.4f}{row.seconds:10.3f}")
    radius = result.model.radius_
    click.echo(f"\nTwo {result.model.n_bits_}-bit codes count as near up to Hamming distance {radius}.")
    output.mkdir(parents=True, exist_ok=True)
    try:
        draw_demo(result, output / "digits.png")
    except ModuleNotFoundError as error:
        raise click.ClickException(f"the figure needs {error.name}: pip install 'proxcode[plots]'.") from error
    click.echo(f"Figure: {output / 'digits.png'}")
