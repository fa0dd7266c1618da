"""`python -m proxcode` runs the command `proxcode`."""

from proxcode.cli import main

main(prog_name="proxcode")
