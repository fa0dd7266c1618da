"""Atomic writes: complete or an error, never over another file, never through a link or to a device."""

import errno
import io
import os
import threading
from pathlib import Path

import pytest

from proxcode.storage import atomic
from proxcode.storage.atomic import atomic_write, resumable_write

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links, pipes and locks are POSIX's")
HEX = "0123456789abcdef"


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def write(path, text="new", **options):
    with atomic_write(path, **options) as partial:
        partial.write_text(text)


def write_resumable(path, data=b"new", identity="a", **options):
    with resumable_write(path, identity, **options) as file:
        file.write(data)


def interrupt(path, identity):
    """Leave the partial file of an interrupted run; return it."""
    before = names(path.parent)
    with pytest.raises(KeyboardInterrupt), resumable_write(path, identity) as file:
        file.write(b"begun")
        raise KeyboardInterrupt
    (new,) = set(names(path.parent)) - set(before)
    return path.with_name(new)


def full_disk(monkeypatch, n_bytes, code=errno.ENOSPC):
    """Let a file take `n_bytes` bytes in total; the write that goes beyond is short, the next one fails."""
    room, original = [n_bytes], io.FileIO.write

    class Limited(io.FileIO):
        def write(self, data):
            if not room[0]:
                raise OSError(code, os.strerror(code))
            n = original(self, memoryview(data)[: room[0]])
            room[0] -= n
            return n

    class LimitedCompleteFile(atomic.CompleteFile, Limited):
        pass

    monkeypatch.setattr(atomic, "CompleteFile", LimitedCompleteFile)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO])
def test_a_short_write_is_continued_and_a_full_disk_keeps_the_progress(code, tmp_path, monkeypatch):
    path = tmp_path / "codes.npy"
    with monkeypatch.context() as patch, pytest.raises(OSError, match=r"codes\.npy") as raised:
        full_disk(patch, 5, code)
        write_resumable(path, b"0123456789")
    assert raised.value.errno == code
    assert raised.value.filename == str(path)
    assert any("the same command resumes once" in note for note in raised.value.__notes__)
    (partial,) = tmp_path.iterdir()
    assert partial.read_bytes() == b"01234"
    with resumable_write(path, "a") as file:
        assert file.read() == b"01234"
        file.write(b"56789")
    assert path.read_bytes() == b"0123456789"
    assert names(tmp_path) == ["codes.npy"]


def test_a_write_returns_the_number_of_all_bytes(tmp_path):
    with resumable_write(tmp_path / "a", "a") as file:
        assert file.write(memoryview(bytes(100)).cast("I")) == 100
        assert file.write(b"") == 0


def test_another_error_removes_the_progress(tmp_path):
    with pytest.raises(ValueError, match="bad row"), resumable_write(tmp_path / "a.npy", "a") as file:
        file.write(b"begun")
        raise ValueError("bad row")
    with pytest.raises(PermissionError), resumable_write(tmp_path / "a.npy", "a"):
        raise PermissionError(errno.EACCES, "Permission denied", "input")
    assert names(tmp_path) == []


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(code, tmp_path):
    path = tmp_path / "m.proxcode"
    path.write_text("old")
    with pytest.raises(OSError, match=r"m\.proxcode") as raised, atomic_write(path) as partial:
        partial.write_text("half")
        raise OSError(code, os.strerror(code))
    assert raised.value.filename == str(path)
    assert (names(tmp_path), path.read_text()) == (["m.proxcode"], "old")


def test_an_input_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(OSError, match=r"Input/output error: 'X\.npy'"), resumable_write(tmp_path / "a.npy", "a"):
        raise OSError(errno.EIO, "Input/output error", "X.npy")


def test_partial_files_of_outputs_that_begin_alike_are_kept(tmp_path):
    others = [
        interrupt(tmp_path / name, "other")
        for name in ("a.npy.b.npy", f"a.npy.{HEX}", f"a.npy.{HEX}.npy", "b.npy", "a.npyx", "[a].npy")
    ]
    (tmp_path / ".a.npy.notes.partial").write_text("mine")
    (tmp_path / f".a.npy.{HEX.upper()}.partial").write_text("mine")
    (tmp_path / f".a.npy.{HEX}0.partial").write_text("mine")
    stale = interrupt(tmp_path / "a.npy", "other")
    before = names(tmp_path)
    write_resumable(tmp_path / "a.npy")
    assert names(tmp_path) == sorted({*before, "a.npy"} - {stale.name})
    assert all(other.read_bytes() == b"begun" for other in others)


def test_a_file_that_appears_while_another_is_written_is_kept(tmp_path):
    path = tmp_path / "a.npy"
    message = r"a\.npy already exists; choose another name or replace it \(--force, overwrite=True\)\.$"
    with pytest.raises(FileExistsError, match=message), atomic_write(path, overwrite=False) as partial:
        partial.write_text("new")
        path.write_text("theirs")
    assert (names(tmp_path), path.read_text()) == (["a.npy"], "theirs")
    with pytest.raises(FileExistsError, match=message):
        write(path, overwrite=False)
    with pytest.raises(FileExistsError, match=message):
        write_resumable(path, overwrite=False)
    assert (names(tmp_path), path.read_text()) == (["a.npy"], "theirs")
    write(path, overwrite=True)
    assert path.read_text() == "new"


def test_codes_are_kept_where_a_file_appeared_in_their_place(tmp_path):
    path = tmp_path / "a.npy"
    with pytest.raises(FileExistsError), resumable_write(path, "a", overwrite=False) as file:
        file.write(b"all")
        path.write_text("theirs")
    assert path.read_text() == "theirs"
    assert len(names(tmp_path)) == 2
    with resumable_write(path, "a") as file:
        assert file.read() == b"all"
    assert (names(tmp_path), path.read_bytes()) == (["a.npy"], b"all")


@pytest.mark.parametrize("appears", [False, True])
def test_file_systems_without_hard_links(appears, tmp_path, monkeypatch):
    def fail(*arguments, **options):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", fail)
    path = tmp_path / "a"
    if not appears:
        write(path, overwrite=False)
        assert path.read_text() == "new"
    else:
        with pytest.raises(FileExistsError), atomic_write(path, overwrite=False):
            path.write_text("theirs")
        assert path.read_text() == "theirs"
    assert names(tmp_path) == ["a"]


def test_many_writers_without_overwriting_write_one_file(tmp_path):
    path, written = tmp_path / "a", []

    def run(number):
        try:
            write(path, f"{number}", overwrite=False)
            written.append(number)
        except (FileExistsError, BlockingIOError):
            pass

    threads = [threading.Thread(target=run, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(written) == 1
    assert path.read_text() == f"{written[0]}"


@pytest.mark.parametrize("resumable", [False, True])
def test_a_process_killed_between_link_and_removal_does_not_endanger_the_output(resumable, tmp_path):
    path = tmp_path / "a"
    partial = interrupt(path, "a") if resumable else path.with_name(".a.partial")
    path.write_text("finished")
    partial.unlink(missing_ok=True)
    os.link(path, partial)
    with pytest.raises(ValueError, match="stop"):
        if resumable:
            with resumable_write(path, "a") as file:
                assert file.read() == b""
                file.write(b"torn")
                raise ValueError("stop")
        with atomic_write(path) as opened:
            opened.write_text("torn")
            raise ValueError("stop")
    assert path.read_text() == "finished"
    write(path)
    assert (names(tmp_path), path.read_text()) == (["a"], "new")


@pytest.mark.parametrize("resumable", [False, True])
@pytest.mark.parametrize("kind", ["link", "dangling link", "pipe", "folder"])
def test_a_planted_partial_file_is_refused(kind, resumable, tmp_path):
    path, victim = tmp_path / "out" / "a", tmp_path / "victim"
    path.parent.mkdir()
    victim.write_text("precious")
    partial = interrupt(path, "a") if resumable else path.with_name(".a.partial")
    partial.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(partial)
    elif kind == "folder":
        partial.mkdir()
    else:
        partial.symlink_to(victim if kind == "link" else tmp_path / "new victim")
    with pytest.raises(OSError, match=r"\.partial is not a regular file: remove it"):
        (write_resumable if resumable else write)(path)
    assert victim.read_text() == "precious"
    assert names(tmp_path) == ["out", "victim"]
    assert names(path.parent) == [partial.name]


# Never the real /dev: a broken version, run as root, would replace its devices.
@pytest.mark.parametrize("call", [write, write_resumable])
@pytest.mark.parametrize("target", ["dev/stdout", "dev/shm/../new", "dev/sub/new", "link/new", "pipe", "device link"])
def test_devices_and_pipes_are_refused(target, call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Path("/dev") in atomic.SYSTEM
    monkeypatch.setattr(atomic, "SYSTEM", (tmp_path / "dev",))
    monkeypatch.setattr(atomic, "SHARED_MEMORY", tmp_path / "dev" / "shm")
    for folder in ("dev", "dev/sub", "dev/shm"):
        Path(folder).mkdir()
    os.mkfifo("pipe")
    Path("device link").symlink_to("/dev/null")
    Path("link").symlink_to("dev")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(OSError, match=r"is a device, a pipe or a file of the system: name a regular file to write\.$"):
        call(target)
    assert sorted(tmp_path.rglob("*")) == before
    assert Path("device link").is_symlink()
    call("dev/shm/new")
    assert Path("dev/shm/new").read_text() == "new"


def test_a_link_is_replaced_and_its_target_stays(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    write(link)
    assert (target.read_text(), link.read_text(), link.is_symlink()) == ("old", "new", False)
    link.unlink()
    link.symlink_to(tmp_path / "missing")
    with pytest.raises(FileExistsError):
        write(link, overwrite=False)
    assert link.is_symlink()


def test_file_systems_without_locks_and_synced_folders(tmp_path, monkeypatch):
    import fcntl

    original = os.fsync

    def no_lock(*arguments):
        raise OSError(errno.ENOLCK, "No locks available")

    def sync(descriptor):
        if Path(f"/proc/self/fd/{descriptor}").is_dir():
            raise OSError(errno.EINVAL, "Invalid argument")
        original(descriptor)

    monkeypatch.setattr(fcntl, "flock", no_lock)
    monkeypatch.setattr(os, "fsync", sync)
    write(tmp_path / "a")
    assert (tmp_path / "a").read_text() == "new"


def test_a_replaced_file_keeps_its_permissions(tmp_path):
    path = tmp_path / "private"
    path.touch(0o600)
    write(path)
    assert path.stat().st_mode & 0o777 == 0o600
    write_resumable(path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_link_that_is_replaced_does_not_pass_permissions_on(tmp_path):
    target, plain = tmp_path / "target", tmp_path / "plain"
    target.touch(0o600)
    plain.touch()
    (tmp_path / "link").symlink_to(target)
    write(tmp_path / "link")
    assert (tmp_path / "link").stat().st_mode == plain.stat().st_mode
