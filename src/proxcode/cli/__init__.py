"""Command line: the group `proxcode` with one module per verb.

A verb's module is imported when the verb is named, and imports NumPy, scikit-learn and Numba when it runs: help texts
and usage errors appear at once.
"""

import errno
import sys
from importlib import import_module
from typing import Any

import click

from proxcode.cli.printing import one_sentence

VERBS = (
    "fit",
    "encode",
    "search",
    "index",
    "dedupe",
    "load",
    "evaluate",
    "drift",
    "update",
    "extend",
    "cut",
    "export",
    "info",
    "reproduce",
    "demo",
)
INTERRUPTED = 130


class Verbs(click.Group):
    """Group that imports its commands on demand and reports every error in one sentence.

    The option --debug, at any position, shows the traceback of an error instead.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the verbs in the order of a typical use."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a verb and return its command."""
        if cmd_name not in VERBS:
            return None
        command: click.Command = getattr(import_module(f"{__name__}.{cmd_name}"), cmd_name)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, with --debug accepted at any position."""
        ctx.meta["debug"] = "--debug" in args
        return super().parse_args(ctx, [argument for argument in args if argument != "--debug"])

    def invoke(self, ctx: click.Context) -> Any:
        """Run a verb; turn an exception into a one-sentence error."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            is_resumable = ctx.meta.get("resumable", False)
            remedy = "run the same command again to resume" if is_resumable else "no progress was saved"
            click.echo(f"Interrupted: {remedy}.", err=True)
            sys.exit(INTERRUPTED)
        except Exception as error:
            # click exits silently on a broken pipe, as in `| head`.
            is_broken_pipe = isinstance(error, OSError) and error.errno == errno.EPIPE
            if ctx.meta["debug"] or is_broken_pipe:
                raise
            raise click.ClickException(one_sentence(error)) from error


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="--debug, at any position, shows the traceback of an error.",
)
@click.version_option(package_name="proxcode")
def main() -> None:
    """Short binary codes that keep your notion of near and far.

    \b
    Example, from vectors to nearest neighbours:
      proxcode fit vectors.npy --labels labels.npy --bits 64 -o my.proxcode
      proxcode encode my.proxcode vectors.npy -o codes.npy
      proxcode search codes.npy queries.npy --model my.proxcode -k 10
      proxcode evaluate my.proxcode new.npy --labels new_labels.npy

    \b
    Vectors are read from .npy, .npz, .csv, .tsv, .fvecs, .bvecs, .ivecs and .safetensors files; from .parquet,
    .arrow, .feather, .h5 and .hdf5 files with: pip install 'proxcode[tables]'
    """
