"""The paper's last two figures: the initial guess hardly matters, and bit update beats vector update.

    python examples/01_initial_guess.py [--output docs/results] [--quick]

What is measured, and how, is told in proxcode.experiments.initial_guess.
"""

import argparse
import sys
from pathlib import Path

from proxcode.experiments.initial_guess import run, summary


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("docs/results"))
    parser.add_argument("--quick", action="store_true", help="500 points, 8 bits, one seed")
    arguments = parser.parse_args()
    table, figure = run(arguments.output, arguments.quick, verbose=sys.stderr.isatty())
    print(summary(table))
    print(f"\nFigure: {figure}")


if __name__ == "__main__":
    main()
