"""Faults: damaged files, processes that are killed, and full disks.

python benchmarks/faults.py [--part fuzz|kills|disk-full] [--case NAME] [--tries N] [--seconds S] [--print-only]

Parts
-----
fuzz : mutations of valid files, given to all readers.
kills : a process is killed (SIGKILL) at a random moment; then the same command runs again. `--tries` in total.
disk-full : a file system of limited size; then the same command runs again with enough room. `--tries` sizes per case.

Each try checks the files after the fault: the old output or the complete new one, checkpoints that can be read, and
after the second run the same bytes as those of an uninterrupted run, and no other file. The exit code is nonzero if
anything crashed, hung, was torn or was lost silently.

All runs are forks of this process, which itself runs no kernels, and work in a temporary folder. Small file systems are
mounted if this is permitted; otherwise the size of files is limited (RLIMIT_FSIZE).
"""

import argparse
import filecmp
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import NamedTuple

import numpy as np

import proxcode.code
import proxcode.evaluation
import proxcode.plots
import proxcode.storage.timer
from _common import record
from proxcode import HammingIndex
from proxcode.cli import main
from proxcode.cli.printing import one_sentence
from proxcode.storage.container import read_file

# Seconds after which a run counts as hung.
PATIENCE = 120.0
PAGE = 4096
N_KILLS, N_SIZES = 100, 20
OLD = b"old"


class Ended(NamedTuple):
    """How a run ended: its exit code, negative for a signal, None for a hang; and what it wrote to standard error."""

    code: int | None
    errors: str


class Case(NamedTuple):
    """A run that writes one file."""

    name: str
    output: str
    run: Callable[[Path], None]
    is_resumable: bool = False


@dataclass
class Tally:
    """Counts of what must not happen."""

    part: str
    case: str
    tries: int = 0
    # Tries in which the run ended by the fault; in the others the kill came too late, or the room was enough.
    faults: int = 0
    crashes: int = 0
    hangs: int = 0
    torn: int = 0
    silent: int = 0
    seen: list[str] = field(default_factory=list)

    def row(self):
        """Return the counts under their names in the printed table."""
        return {
            "part": self.part,
            "case": self.case,
            "tries": self.tries,
            "faults": self.faults,
            "crashes": self.crashes,
            "hangs": self.hangs,
            "torn files": self.torn,
            "silent losses": self.silent,
        }

    @property
    def is_clean(self):
        """Whether all that must not happen did not."""
        return not (self.crashes or self.hangs or self.torn or self.silent)

    def note_end(self, ended, expected):
        """Count a run that ended otherwise than with one of the expected exit codes, or not in one sentence."""
        self.hangs += ended.code is None
        sentences = [line for line in ended.errors.splitlines() if line.startswith("Error: ")]
        is_one_sentence = ended.code != 1 or (len(sentences) == 1 and "unexpected" not in ended.errors)
        if ended.code is not None and (ended.code not in expected or not is_one_sentence):
            self.crashes += 1
            self.seen.append(f"exit code {ended.code}: {ended.errors[-500:]}")

    def note_files(self, case, output, whole, had_old):
        """Count an output that is neither the old one nor complete, and checkpoints that cannot be read."""
        is_old = output.exists() and output.read_bytes() == OLD
        is_intact = is_old if had_old else not output.exists()
        if not is_intact and not (output.exists() and filecmp.cmp(output, whole, shallow=False)):
            self.torn += 1
            self.seen.append(f"{output.name} is torn")
        for path in output.parent.glob("*.checkpoint"):
            try:
                read_file(path, "model")
            except (ValueError, OSError) as error:
                self.torn += 1
                self.seen.append(str(error))
        allowed = (".partial", ".checkpoint") if case.is_resumable else (".partial",)
        self.torn += sum(path != output and path.suffix not in allowed for path in output.parent.iterdir())

    def note_resumed(self, ended, output, whole):
        """Count a second run that fails, ends with other bytes, or leaves further files."""
        self.note_end(ended, (0,))
        if ended.code == 0 and not (output.exists() and filecmp.cmp(output, whole, shallow=False)):
            self.silent += 1
            self.seen.append(f"{output.name} differs after the second run")
        if ended.code == 0 and list(output.parent.iterdir()) != [output]:
            self.torn += 1
            self.seen.append(f"left over: {[path.name for path in output.parent.iterdir()]}")


def run_child(call, log, *, kill_after=None, max_file_bytes=None):
    """Run a function in a forked process; kill it after some seconds, if given."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            descriptor = os.open(log, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
            os.dup2(descriptor, 1)
            os.dup2(descriptor, 2)
            if max_file_bytes is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (max_file_bytes, resource.RLIM_INFINITY))
            code = _exit_code(call)
        finally:
            sys.stderr.flush()
            os._exit(code)
    deadline = monotonic() + (PATIENCE if kill_after is None else kill_after)
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        if monotonic() >= deadline:
            os.kill(child, signal.SIGKILL)
            ended = os.waitpid(child, 0)
            if kill_after is None:
                return Ended(None, log.read_text())
            break
        sleep(0.001)
    return Ended(os.waitstatus_to_exitcode(ended[1]), log.read_text())


def _exit_code(call):
    try:
        call()
    except SystemExit as error:
        return error.code or 0
    except Exception as error:
        print(f"Error: {one_sentence(error)}", file=sys.stderr)
        return 1
    return 0


def make_cases(data):
    """Write inputs to a folder; return the cases."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(10, 16))
    y = rng.integers(0, 10, 400)
    np.save(data / "X.npy", centers[y] + 0.5 * rng.normal(size=(400, 16)))
    np.save(data / "y.npy", y)
    np.save(data / "many.npy", rng.normal(size=(60_000, 16)).astype(np.float32))
    codes = rng.integers(0, 256, (400_000, 8), np.uint8)

    def command(*words):
        return lambda output: main([*map(str, words), str(output)], prog_name="proxcode")

    labels = ("--labels", data / "y.npy")
    fit = ("fit", data / "X.npy")
    ended = run_child(lambda: command(*fit, *labels, "--bits", 16, "-o")(data / "m.proxcode"), data / "log")
    assert ended.code == 0, ended.errors
    encode = ("encode", data / "m.proxcode")
    ended = run_child(lambda: command(*encode, data / "X.npy", "-o")(data / "codes.npy"), data / "log")
    assert ended.code == 0, ended.errors
    search = ("search", data / "codes.npy", data / "codes.npy", "-k", 50)
    evaluate = ("evaluate", data / "m.proxcode", data / "X.npy", *labels, "--peers", "LSH")
    return [
        Case("fit by labels", "m.proxcode", command(*fit, *labels, "--bits", 48, "--force", "-o"), True),
        Case("fit by radius", "m.proxcode", command(*fit, "--neighbors", 20, "--bits", 32, "--force", "-o"), True),
        Case("encode", "codes.npy", command(*encode, data / "many.npy", "--force", "-o"), True),
        Case("index save", "my.index", lambda output: HammingIndex(64).add(codes).save(output)),
        Case("search", "found.csv", command(*search, "--force", "-o")),
        Case("evaluate", "figure.png", command(*evaluate, "--force", "--figure")),
    ]


class Measured(NamedTuple):
    """The output of an uninterrupted run, and its time in seconds."""

    whole: Path
    seconds: float


def measure(case, folder):
    """Run a case twice without a fault: the first run may compile kernels."""
    whole = folder / "whole" / case.name / case.output
    whole.parent.mkdir(parents=True, exist_ok=True)
    for _ in range(2):
        start = monotonic()
        ended = run_child(partial(case.run, whole), folder / "log")
        seconds = monotonic() - start
        assert ended.code == 0, ended.errors
    return Measured(whole, seconds)


def kill_rows(cases, folder, tries, deadline):
    """Kill runs at random moments."""
    rng = np.random.default_rng(1)
    tallies = []
    for number, (case, last) in enumerate(zip(cases, spread(deadline, len(cases)), strict=True)):
        tally = Tally("kills", case.name)
        tallies.append(tally)
        whole, seconds = measure(case, folder)
        n_tries = tries // len(cases) + (number < tries % len(cases))
        while tally.faults < n_tries and monotonic() < last:
            had_old = tally.tries % 2
            with tempfile.TemporaryDirectory(dir=folder) as place:
                output = Path(place) / case.output
                if had_old:
                    output.write_bytes(OLD)
                start, moment = monotonic(), rng.uniform(0, seconds)
                ended = run_child(partial(case.run, output), folder / "log", kill_after=moment)
                tally.tries += 1
                tally.faults += ended.code == -signal.SIGKILL
                if ended.code == 0:
                    # The kill came too late, and does not count: the next ones come earlier.
                    seconds = min(seconds, monotonic() - start)
                tally.note_end(ended, (-signal.SIGKILL, 0))
                tally.note_files(case, output, whole, had_old)
                tally.note_resumed(run_child(partial(case.run, output), folder / "log"), output, whole)
    return tallies


def disk_rows(cases, folder, tries, deadline):
    """Run cases on file systems of many sizes."""
    is_mounting = can_mount(folder)
    print(f"full disks are {'mounted file systems' if is_mounting else 'limits on the size of files'}", file=sys.stderr)
    tallies = []
    for case, last in zip(cases, spread(deadline, len(cases)), strict=True):
        tally = Tally("disk-full", case.name)
        tallies.append(tally)
        whole, _ = measure(case, folder)
        whole_pages = whole.stat().st_size // PAGE * PAGE
        needed = whole_pages * (2 if case.name.startswith("fit") else 1) + PAGE
        # The last size lacks room for the last bytes alone.
        sizes = [*np.linspace(0, 1.1 * needed, tries - 1).astype(int).tolist(), whole_pages]
        for attempt, size in enumerate(sizes):
            if monotonic() >= last:
                break
            with tempfile.TemporaryDirectory(dir=folder) as place, small_disk(place, size, is_mounting) as disk:
                output = disk.folder / case.output
                had_old = (tries - attempt) % 2
                if had_old:
                    output.write_bytes(OLD)
                call = partial(case.run, output)
                ended = run_child(call, folder / "log", max_file_bytes=disk.max_file_bytes)
                tally.tries += 1
                tally.faults += ended.code == 1
                tally.note_end(ended, (0, 1))
                tally.note_files(case, output, whole, had_old)
                if ended.code == 0 and not (output.exists() and filecmp.cmp(output, whole, shallow=False)):
                    tally.silent += 1
                if ended.code == 1 and case.output not in ended.errors:
                    tally.crashes += 1
                    tally.seen.append(f"the file is not named: {ended.errors}")
                disk.enlarge()
                tally.note_resumed(run_child(call, folder / "log"), output, whole)
    return tallies


class Disk(NamedTuple):
    """A folder with little room."""

    folder: Path
    max_file_bytes: int | None
    enlarge: Callable[[], object]


@contextmanager
def small_disk(place, n_bytes, is_mounting):
    """Yield a folder in which an old file and `n_bytes` bytes can be written, on a mounted file system or per file."""
    if not is_mounting:
        yield Disk(Path(place), n_bytes, lambda: None)
        return
    mount(place, f"size={max(2 * PAGE, PAGE + n_bytes)}")
    try:
        yield Disk(Path(place), None, lambda: mount(place, "remount,size=1g"))
    finally:
        subprocess.run(["umount", place], check=True)


def mount(place, options):
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], check=True, capture_output=True)


def can_mount(folder):
    if os.geteuid() != 0:
        return False
    try:
        with tempfile.TemporaryDirectory(dir=folder) as place, small_disk(place, PAGE, True):
            return True
    except (subprocess.CalledProcessError, FileNotFoundError):
        return False


def fuzz_rows(tries, seconds):
    """Return the tallies of all readers."""
    from _fuzzing import fuzz_rows as fuzz

    rows = fuzz(tries, seconds)
    return [
        Tally("fuzz", row["reader"], row["mutations"], row["refused"], crashes=row["crashes"], hangs=row["hangs"])
        for row in rows
    ], rows


def spread(deadline, n):
    """Return the times at which the tries of each of n cases end."""
    return np.linspace(monotonic(), deadline, n + 1)[1:].tolist()


def run(arguments):
    start, tallies, tables = monotonic(), [], {}
    parts = arguments.part or ["fuzz", "kills", "disk-full"]
    # A checkpoint after every bit, where a fit of this length would write one at the end.
    proxcode.storage.timer.CHECKPOINT_SECONDS = proxcode.storage.timer.CHECKPOINT_MULTIPLE = 0
    if "fuzz" in parts:
        of_readers, tables["faults_fuzz"] = fuzz_rows(arguments.tries or 200, arguments.seconds / len(parts))
        tallies += of_readers
    with tempfile.TemporaryDirectory(prefix="proxcode-faults-") as temporary:
        folder = Path(temporary)
        cases = make_cases(folder) if {"kills", "disk-full"} & set(parts) else []
        cases = [case for case in cases if not arguments.case or case.name in arguments.case]
        for name, rows, n in (("kills", kill_rows, N_KILLS), ("disk-full", disk_rows, N_SIZES)):
            if name in parts:
                share = (parts.index(name) + 1) / len(parts)
                tallies += rows(cases, folder, arguments.tries or n, start + share * arguments.seconds)
    tables["faults"] = [tally.row() for tally in tallies]
    for name, rows in tables.items():
        if arguments.print_only:
            print("\n".join(" | ".join(f"{key}: {value}" for key, value in row.items()) for row in rows))
        else:
            record(name, rows)
    for tally in tallies:
        for text in tally.seen:
            print(f"{tally.part}, {tally.case}: {text}", file=sys.stderr)
    return 0 if all(tally.is_clean and tally.tries for tally in tallies) else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--part", action="append", choices=["fuzz", "kills", "disk-full"], help="repeatable; default: all"
    )
    parser.add_argument("--case", action="append", help="name of a case; repeatable; default: all")
    parser.add_argument("--tries", type=int, help="kills in total, sizes per case, mutations per reader")
    parser.add_argument("--seconds", type=float, default=1200.0, help="time after which no further try begins")
    parser.add_argument("--print-only", action="store_true", help="do not write benchmarks/results")
    sys.exit(run(parser.parse_args()))
