"""Progress: a bar on a terminal, lines at intervals elsewhere."""

import io
import re

import numpy as np
import pytest
from click.testing import CliRunner

from helpers.command_line import READ, call
from proxcode import ProximityPreservingCode
from proxcode.cli import main
from proxcode.cli.encode import BLOCK
from proxcode.utils import progress as progress_module
from proxcode.utils.progress import ProgressDisplay, duration, track


class Clock:
    """Time that passes only when it is told to."""

    now = 100.0

    def __call__(self):
        return self.now


class Terminal(io.StringIO):
    def isatty(self):
        return True


def run(steps, **options):
    """Pass (seconds, amount) to the progress of some work; return the lines."""
    clock, file = Clock(), io.StringIO()
    with ProgressDisplay("encoded", "rows", file=file, clock=clock, **options) as progress:
        for seconds, amount in steps:
            clock.now += seconds
            progress.update(amount)
    return file.getvalue().splitlines()


def test_a_line_every_ten_seconds_with_the_time_left():
    assert run([(1, 100)] * 35, total=5000) == [
        "encoded 1,000 of 5,000 rows, 40 s left",
        "encoded 2,000 of 5,000 rows, 30 s left",
        "encoded 3,000 of 5,000 rows, 20 s left",
    ]


def test_short_work_shows_nothing():
    assert run([(3, 100)] * 3, total=300) == []
    assert run([(60, 100)], total=300, shown=False) == []


def test_one_line_after_a_long_step():
    assert run([(3600, 1), (1, 1)], total=3) == ["encoded 1 of 3 rows, 2 h 0 min left"]


def test_work_done_before_does_not_enter_the_estimate():
    assert run([(20, 1000)], total=10_000, done=8000) == ["encoded 9,000 of 10,000 rows, 20 s left"]
    file, clock = io.StringIO(), Clock()
    with ProgressDisplay("encoded", "rows", 10_000, file=file, clock=clock) as progress:
        progress.skip(8000)
        clock.now += 20
        progress.update(1000)
    assert file.getvalue() == "encoded 9,000 of 10,000 rows, 20 s left\n"


def test_work_of_unknown_size_and_figures():
    assert run([(200, 7000)]) == ["encoded 7,000 rows in 3 min"]
    file, clock = io.StringIO(), Clock()
    with ProgressDisplay("learned", "bits", 2, file=file, clock=clock) as progress:
        clock.now += 30
        progress.update(note="loss 0.1")
    assert file.getvalue() == "learned 1 of 2 bits, 30 s left, loss 0.1\n"


def test_a_bar_on_a_terminal():
    file = Terminal()
    with ProgressDisplay("learned", "bits", 2, file=file) as progress:
        progress.update(note="loss 0.1")
        progress.update(note="loss 0.05")
    assert "2/2" in file.getvalue()
    assert "loss" in file.getvalue()
    assert "learned" not in file.getvalue()
    hidden = Terminal()
    with ProgressDisplay("learned", "bits", 2, file=hidden, shown=False) as progress:
        progress.update()
    assert hidden.getvalue() == ""


def test_items_are_tracked(capsys, monkeypatch):
    monkeypatch.setattr(progress_module, "INTERVAL", 0.0)
    assert list(track("abc", "finished", "cells")) == ["a", "b", "c"]
    assert capsys.readouterr().err.splitlines()[-1] == "finished 3 of 3 cells"
    assert list(track("abc", "finished", "cells", shown=False)) == ["a", "b", "c"]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("seconds", "text"), [(0, "1 s"), (89.4, "89 s"), (90, "2 min"), (5400, "1 h 30 min")])
def test_durations(seconds, text):
    assert duration(seconds) == text


LINE = r"learned (5 of 5 bits|\d of 5 bits, \d+ s left), share of misplaced pairs \d\.\d{4}"


def test_a_verbose_fit_writes_lines_to_a_pipe(digits, capsys, monkeypatch):
    monkeypatch.setattr(progress_module, "INTERVAL", 0.0)
    X, y = digits[0][:100], digits[1][:100]
    ProximityPreservingCode(5, random_state=0, verbose=True).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 5
    assert all(re.fullmatch(LINE, line) for line in lines)
    ProximityPreservingCode(5, random_state=0).fit(X, y)
    assert capsys.readouterr().err == ""


def lines_of(*arguments):
    """Return what a command writes to standard error, but for the lines that say what was read."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return READ.sub("", result.stderr).splitlines()


def test_commands_write_lines_to_a_pipe(digits, tmp_path, monkeypatch):
    monkeypatch.setattr(progress_module, "INTERVAL", 0.0)
    X = np.resize(digits[0], (2 * BLOCK + 9, 64)).astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    np.savetxt(tmp_path / "X.csv", X, delimiter=",", fmt="%d")
    np.save(tmp_path / "few.npy", digits[0][:100])
    np.save(tmp_path / "y.npy", digits[1][:100])
    W = np.random.default_rng(0).choice([-1, 1], (60, 60))
    np.save(tmp_path / "graph.npy", np.triu(W, 1) + np.triu(W, 1).T)
    model = tmp_path / "m.proxcode"
    lines = lines_of("fit", tmp_path / "few.npy", "--labels", tmp_path / "y.npy", "--bits", 5, "-o", model)
    assert len(lines) == 5
    assert all(re.fullmatch(LINE, line) for line in lines)
    assert ProximityPreservingCode.load(model).verbose is False
    lines = lines_of("encode", model, tmp_path / "X.npy", "-o", tmp_path / "codes.npy")
    assert re.fullmatch(rf"encoded {BLOCK:,} of {len(X):,} rows, \d+ s left", lines[-3])
    lines = lines_of("encode", model, tmp_path / "X.csv", "-o", tmp_path / "again.npy")
    assert re.fullmatch(rf"encoded {len(X):,} rows in \d+ s", lines[-1])
    named = ("--labels", tmp_path / "y.npy", "--peers", "LSH", "--figure", tmp_path / "f.png")
    assert lines_of("evaluate", model, tmp_path / "few.npy", *named) == ["measured 1 of 1 codes of peers"]
    lines = lines_of("cut", tmp_path / "graph.npy")
    assert re.fullmatch(r"found \d+ better partitions in \d+ s, best \d+", lines[-1])


def test_short_commands_write_nothing_to_a_pipe(digits, tmp_path):
    np.save(tmp_path / "few.npy", digits[0][:100])
    np.save(tmp_path / "y.npy", digits[1][:100])
    call("fit", tmp_path / "few.npy", "--labels", tmp_path / "y.npy", "--bits", 5, "-o", tmp_path / "m")


def test_a_process_without_standard_error_shows_nothing(monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    with ProgressDisplay("encoded", "rows", clock=(clock := Clock())) as progress:
        clock.now += 20
        progress.update(3)
    assert progress.done == 3


class Gone(io.StringIO):
    """Pipe whose reader has ended, or terminal that was closed."""

    def write(self, text):
        raise BrokenPipeError


class GoneTerminal(Gone, Terminal):
    pass


@pytest.mark.parametrize("file", [Gone(), GoneTerminal()], ids=["pipe", "terminal"])
def test_work_goes_on_where_progress_cannot_be_written(file):
    with ProgressDisplay("encoded", "rows", 10, file=file, clock=(clock := Clock())) as progress:
        for _ in range(3):
            clock.now += 20
            progress.update(3)
    assert progress.done == 9


def test_passes_over_samples_show_progress_where_a_fit_is_verbose(monkeypatch, capsys):
    from proxcode import ProximityPreservingCode

    monkeypatch.setattr("proxcode.utils.samples.PIECE", 64)
    monkeypatch.setattr("proxcode.utils.progress.INTERVAL", 0.0)
    X = np.random.default_rng(0).standard_normal((200, 4))
    ProximityPreservingCode(4, random_state=0).fit(X, X[:, 0] > 0)
    assert capsys.readouterr().err == ""
    ProximityPreservingCode(4, random_state=0, verbose=True).fit(X, X[:, 0] > 0)
    assert "read 64 of 200 samples" in capsys.readouterr().err
