"""A full disk: one sentence, a nonzero exit code, the old file unchanged, no torn file; the same command resumes."""

import errno
import os
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from helpers.command_line import without_progress
from proxcode import HammingIndex, ProximityPreservingCode
from proxcode.cli import main
from proxcode.cli.encode import BLOCK, HEADER
from proxcode.files import write_table

resource = pytest.importorskip("resource", reason="limits on the size of files are POSIX's")

TOO_LARGE = "File too large: "
RESUMES = "the progress so far is kept, and the same command resumes once there is room."


class Limit:
    """Context manager that limits the size of files which this process writes."""

    def __init__(self, n_bytes):
        self.n_bytes = n_bytes

    def __enter__(self):
        # Python ignores SIGXFSZ: a write beyond the limit raises.
        assert signal.getsignal(signal.SIGXFSZ) == signal.SIG_IGN
        self.before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.n_bytes, self.before[1]))

    def __exit__(self, *error):
        resource.setrlimit(resource.RLIMIT_FSIZE, self.before)


def invoke(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def refuse(*words):
    """Run a command that is expected to fail; return its sentence."""
    result = invoke(*words)
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    sentence = without_progress(result.stderr)
    assert sentence.startswith("Error: ")
    assert sentence.count("\n") == 1
    return sentence.removeprefix("Error: ").rstrip()


@pytest.fixture(scope="module")
def many(tmp_path_factory, model):
    """Vectors of several blocks, and their codes."""
    folder = tmp_path_factory.mktemp("many")
    X = np.random.default_rng(0).normal(size=(3 * BLOCK + 5, 64)).astype(np.float32)
    np.save(folder / "X.npy", X)
    np.save(folder / "expected.npy", model.encode(X))
    return folder


# In the first block, within a block, between blocks, and in the last bytes.
@pytest.mark.parametrize("room", [0, HEADER, 1000, HEADER + 3 * BLOCK, HEADER + 2 * 3 * BLOCK + 999, -1])
@pytest.mark.parametrize("old", [False, True])
def test_encode_keeps_its_progress_and_resumes(room, old, many, folder, tmp_path):
    output, expected = tmp_path / "codes.npy", (many / "expected.npy").read_bytes()
    if old:
        output.write_text("old")
    command = ("encode", folder / "api.proxcode", many / "X.npy", "-o", output, *(["--force"] if old else []))
    with Limit(room % len(expected)):
        sentence = refuse(*command)
    assert sentence == f"{output}: {TOO_LARGE}{RESUMES}"
    assert output.read_text() == "old" if old else not output.exists()
    (partial,) = [path for path in tmp_path.iterdir() if path != output]
    assert expected[HEADER:].startswith(partial.read_bytes()[HEADER:])
    result = invoke(*command)
    assert result.exit_code == 0
    assert ("resumed at row" in result.stdout) == (room % len(expected) >= HEADER + 3 * BLOCK)
    assert output.read_bytes() == expected
    assert list(tmp_path.iterdir()) == [output]


def test_encode_of_many_files_keeps_finished_ones_and_resumes(many, folder, tmp_path):
    (tmp_path / "vectors").mkdir()
    (tmp_path / "vectors" / "b.npy").symlink_to(many / "X.npy")
    np.save(tmp_path / "vectors" / "a.npy", np.load(many / "X.npy")[:100])
    codes = tmp_path / "codes"
    command = ("encode", folder / "api.proxcode", tmp_path / "vectors", "-o", codes)
    with Limit(20_000):
        sentence = refuse(*command)
    assert sentence == f"{codes}/b.parquet: {TOO_LARGE}{RESUMES}"
    assert sorted(path.name for path in codes.iterdir()) == ["a.parquet", "manifest.json"]
    result = invoke(*command)
    assert result.exit_code == 0
    assert "finished before  1\n" in result.stdout
    expected = np.load(many / "expected.npy").tobytes()
    assert (
        b"".join(pytest.importorskip("pyarrow.parquet").read_table(codes / "b.parquet")["code"].to_pylist()) == expected
    )


def saved_outputs(folder):
    """Return, by kind, the name of an output and the command that writes it."""
    fit = ("fit", folder / "train.npy", "--labels", folder / "labels.npy", "--bits", 6, "--force")
    search = ("search", folder / "codes.npy", folder / "query_codes.npy", "-k", 200, "--force", "-o")
    evaluate = ("evaluate", folder / "api.proxcode", folder / "new.npy", "--labels", folder / "new_labels.npy")
    evaluate += ("--peers", "", "--force")
    return {
        "model": ("m.proxcode", (*fit, "--no-checkpoint", "-o")),
        "model and checkpoint": ("m.proxcode", (*fit, "-o")),
        **{f"neighbours{suffix}": (f"t{suffix}", search) for suffix in (".csv", ".npz", ".parquet")},
        **{f"figure{suffix}": (f"f{suffix}", (*evaluate, "--figure")) for suffix in (".png", ".svg")},
    }


KINDS = list(saved_outputs(Path()))


@pytest.fixture(scope="module")
def compiled(folder, tmp_path_factory):
    """Run all commands once: compiled kernels are not to be stored under the limits of a test."""
    for name, command in saved_outputs(folder).values():
        assert invoke(*command, tmp_path_factory.mktemp("compiled") / name).exit_code == 0


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("room", [0, 1500])
def test_other_outputs_leave_the_old_file_and_nothing_else(kind, room, folder, tmp_path):
    name, command = saved_outputs(folder)[kind]
    (tmp_path / name).write_text("old")
    with Limit(room):
        sentence = refuse(*command, tmp_path / name)
    failed = f"{name}.checkpoint" if "checkpoint" in kind else name
    assert sentence.startswith(
        f"{tmp_path / failed}: {TOO_LARGE}raise the limit on the size of files (ulimit -f), then"
    )
    assert (tmp_path / name).read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_fit_resumes_from_its_checkpoint_if_the_model_does_not_fit(folder, tmp_path, monkeypatch):
    def fail(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    output = tmp_path / "m.proxcode"
    _, command = saved_outputs(folder)["model and checkpoint"]
    write = ProximityPreservingCode.save
    save = lambda model, path, **options: fail() if options else write(model, path)  # noqa: E731
    with monkeypatch.context() as patch:
        patch.setattr(ProximityPreservingCode, "save", save)
        assert refuse(*command, output) == f"No space left on device: {RESUMES}"
    assert [path.name for path in tmp_path.iterdir()] == ["m.proxcode.checkpoint"]
    assert invoke(*command, output).exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["m.proxcode"]


def test_an_index_and_a_table_of_python_callers(rng, tmp_path):
    path = tmp_path / "a.index"
    index = HammingIndex(64).add(rng.integers(0, 256, (5000, 8), np.uint8))
    index.save(path)
    before = path.read_bytes()
    with Limit(20_000), pytest.raises(OSError, match=r"File too large: '.*a\.index'"):
        index.add(np.zeros((1, 8), np.uint8)).save(path)
    with Limit(20_000), pytest.raises(OSError, match=r"File too large: '.*t\.csv'"):
        write_table(tmp_path / "t.csv", {"a": rng.normal(size=5000)})
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 64 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = (
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True, check=False)
        if os.name == "posix" and os.geteuid() == 0
        else None
    )
    if mounted is None or mounted.returncode:
        pytest.skip("mounting a small file system is not permitted here")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.usefixtures("compiled")
def test_a_real_disk_that_is_full(small_disk, many, folder):
    expected = (many / "expected.npy").read_bytes()
    ballast, output = small_disk / "ballast", small_disk / "codes.npy"
    ballast.write_bytes(bytes(16_384))
    command = ("encode", folder / "api.proxcode", many / "X.npy", "-o", output)
    assert refuse(*command) == f"{output}: No space left on device: {RESUMES}"
    assert not output.exists()
    assert refuse(*command) == f"{output}: No space left on device: {RESUMES}"
    for name, words in saved_outputs(folder).values():
        sentence = refuse(*words, small_disk / name)
        assert "No space left on device: free some space, then run the same command again." in sentence
    assert sorted(path.name for path in small_disk.iterdir() if not path.name.startswith(".codes")) == ["ballast"]
    ballast.unlink()
    subprocess.run(["mount", "-o", "remount,size=128k", str(small_disk)], check=True)
    result = invoke(*command)
    assert result.exit_code == 0
    assert "resumed at row" in result.stdout
    assert output.read_bytes() == expected
    assert list(small_disk.iterdir()) == [output]
