"""An index file that grows: every change is in its journal, whatever interrupts the writer."""

import copy
import errno
import os
import pickle
import shutil
import subprocess
import sys
import threading
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from helpers.codes import assert_same, random_codes
from helpers.index_operations import N_BITS, Operations, change_index, changed, same_state, state_of
from proxcode import ShardedIndex
from proxcode.files import open_codes
from proxcode.search import HammingIndex
from proxcode.storage import atomic, index_writer
from proxcode.storage import journal as journal_module
from proxcode.storage.container import write_file
from proxcode.storage.index_file import read_current
from proxcode.storage.texts import Texts
from proxcode.utils.engine import Engine

KINDS = pytest.mark.parametrize("strings", [False, True])


def journal_of(path):
    return Path(f"{path}.journal")


def made(path, strings, n_changes, n_saved=0):
    """Write an index file with the first changes, and the others to its journal; return all states."""
    operations = Operations(7, strings)
    states = operations.states(n_changes)
    index = HammingIndex(N_BITS)
    for number in range(n_saved):
        change_index(index, *operations.change(number, states[number]))
    index.save(path)
    with HammingIndex.open(path) as index:
        for number in range(n_saved, n_changes):
            change_index(index, *operations.change(number, states[number]))
    return states


@KINDS
@pytest.mark.parametrize("n_saved", [0, 3, 20])
def test_all_that_reads_an_index_file_sees_the_changes_of_its_journal(tmp_path, strings, n_saved):
    path = tmp_path / "a.index"
    last = made(path, strings, 20, n_saved)[-1]
    assert journal_of(path).exists() == (n_saved < 20)
    for mapped in (True, False):
        loaded = HammingIndex.load(path, mapped=mapped)
        assert same_state(loaded, last)
        codes = loaded.codes
        assert_same(loaded, codes[:5], codes, loaded.ids, 6, 9)
    stored = read_current(path)
    ids = stored.ids.at(np.arange(len(last))) if isinstance(stored.ids, Texts) else stored.ids
    assert list(ids) == list(last)
    assert [code.tobytes() for code in stored.planes.T] == list(last.values())
    block = open_codes(path).read()
    assert dict(zip(block.ids.tolist(), map(bytes, block.codes), strict=True)) == last
    assert same_state(loaded, dict(zip(ShardedIndex(path).ids.tolist(), last.values(), strict=True)))


class IndexLife(RuleBasedStateMachine):
    """Changes, filters, searches and reopenings of an index beside a dictionary."""

    folder = None

    @initialize(strings=st.booleans(), n_bits=st.sampled_from([5, 24, 70]), n_first=st.sampled_from([0, 3, 40]))
    def create(self, strings, n_bits, n_first):
        self.strings, self.n_bits = strings, n_bits
        self.rng = np.random.default_rng(n_bits + n_first)
        self.path = Path(self.folder, "a.index")
        journal_of(self.path).unlink(missing_ok=True)
        self.state = {}
        index = HammingIndex(n_bits)
        if n_first:
            ids, codes = self.ids(range(n_first)), self.codes(n_first)
            index.add(codes, ids)
            self.state = changed({}, "add", ids, codes)
        index.save(self.path)
        self.index = HammingIndex.open(self.path)

    def ids(self, numbers):
        return [f"{number} ä" for number in numbers] if self.strings else [3 * number - 7 for number in numbers]

    def codes(self, n):
        return random_codes(self.rng, n, self.n_bits, 3)

    def make(self, kind, ids):
        codes = self.codes(0 if kind == "remove" else len(ids))
        change_index(self.index, kind, ids, codes)
        self.state = changed(self.state, kind, ids, codes)

    @rule(numbers=st.lists(st.integers(0, 60), unique=True, max_size=6))
    def add(self, numbers):
        ids = self.ids(numbers)
        if stored := [one for one in ids if one in self.state]:
            with pytest.raises(ValueError, match=f"id {min(stored)} is already stored"):
                self.index.add(self.codes(len(ids)), ids)
        else:
            self.make("add", ids)

    @precondition(lambda self: not self.strings)
    @rule(n=st.integers(0, 4))
    def add_without_ids(self, n):
        start = max(self.state, default=-1) + 1
        codes = self.codes(n)
        self.index.add(codes)
        self.state = changed(self.state, "add", list(range(start, start + n)), codes)

    @rule(numbers=st.lists(st.integers(0, 60), unique=True, max_size=6))
    def upsert(self, numbers):
        self.make("upsert", self.ids(numbers))

    @rule(data=st.data())
    def remove(self, data):
        some = data.draw(st.lists(st.sampled_from(list(self.state)), max_size=6)) if self.state else []
        self.make("remove", some)
        with pytest.raises(ValueError, match="is not stored"):
            self.index.remove([*some[:0], *self.ids([10**6])])

    @rule(data=st.data(), k=st.integers(1, 9))
    def search(self, data, k):
        ids, codes = list(self.state), np.frombuffer(b"".join(self.state.values()), np.uint8)
        codes = codes.reshape(len(ids), -(-self.n_bits // 8))
        queries = self.codes(3)
        some = data.draw(st.sets(st.sampled_from(ids))) if ids else set()
        rows = np.flatnonzero([one in some for one in ids])
        found = self.index.search(queries, k, among=some)
        distance = np.bitwise_count(queries[:, None] ^ codes[rows]).sum(axis=2)
        order = np.argsort(distance, axis=1, kind="stable")[:, :k]
        np.testing.assert_array_equal(found.distance, np.take_along_axis(distance, order, axis=1))
        assert found.neighbor.tolist() == [[ids[rows[place]] for place in places] for places in order]
        if some:
            one = next(iter(some))
            assert one not in self.index.search(queries[:1], len(ids), exclude=[one]).neighbor[0].tolist()
            assert bytes(self.index.get([one])[0]) == self.state[one]

    @rule(mapped=st.booleans())
    def reopen(self, mapped):
        self.index.close()
        self.index = HammingIndex.open(self.path, mapped=mapped)

    @rule()
    def compact(self):
        self.index.compact()

    @rule(mapped=st.booleans())
    def load(self, mapped):
        assert same_state(HammingIndex.load(self.path, mapped=mapped), self.state)

    @invariant()
    def is_the_same(self):
        if hasattr(self, "index"):
            assert len(self.index) == len(self.state)
            assert same_state(self.index, self.state)

    def teardown(self):
        if hasattr(self, "index"):
            self.index.close()
            assert same_state(HammingIndex.load(self.path), self.state)


def test_any_life_of_an_index_is_that_of_a_dictionary(tmp_path, monkeypatch):
    monkeypatch.setattr(IndexLife, "folder", tmp_path)
    monkeypatch.setattr(index_writer, "MIN_JOURNAL", 2000)
    case = IndexLife.TestCase
    case.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
    case().runTest()


@KINDS
@pytest.mark.parametrize("n_saved", [0, 4])
def test_a_journal_cut_at_any_byte_gives_the_changes_before(tmp_path, strings, n_saved):
    path = tmp_path / "a.index"
    states = made(path, strings, 9, n_saved)
    whole = journal_of(path).read_bytes()
    ends = [journal_module.HEADER]
    while ends[-1] < len(whole):
        length = int.from_bytes(whole[ends[-1] : ends[-1] + 8], "little")
        ends.append(ends[-1] + journal_module.HEAD.size + length + journal_module.DIGEST)
    assert ends[-1] == len(whole)
    assert len(ends) == 10 - n_saved
    for size in range(len(whole) + 1):
        n_kept = n_saved + sum(end <= size for end in ends[1:])
        for content in (whole[:size], whole[:size] + bytes(len(whole) - size)):
            # Zeros after a complete record that itself ends with zeros would be a record: there is none.
            journal_of(path).write_bytes(content)
            if len(content) == size or size in (0, *ends):
                assert same_state(HammingIndex.load(path), states[n_kept])
    for size in (*range(0, len(whole), 7), *ends):
        journal_of(path).write_bytes(whole[:size])
        n_kept = n_saved + sum(end <= size for end in ends[1:])
        with HammingIndex.open(path) as index:
            assert same_state(index, states[n_kept])
            change_index(index, *Operations(7, strings).change(n_kept, states[n_kept]))
        assert same_state(HammingIndex.load(path), (states + made_states(strings))[n_kept + 1])


def made_states(strings):
    return Operations(7, strings).states(10)[10:]


@KINDS
def test_a_changed_journal_is_refused_wherever_it_was_changed(tmp_path, strings):
    path = tmp_path / "a.index"
    made(path, strings, 5)
    whole = journal_of(path).read_bytes()
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << (place % 8)
        journal_of(path).write_bytes(damaged)
        for read in (HammingIndex.load, HammingIndex.open, read_current):
            with pytest.raises(ValueError, match=r"a\.index(\.journal)?( |: )(was changed|is not a journal)"):
                read(path)
    assert journal_of(path).read_bytes() == bytes(damaged)
    # Records that were left out, moved or repeated.
    size = journal_module.HEADER
    starts = [size]
    while size < len(whole):
        size += journal_module.HEAD.size + journal_module.DIGEST + int.from_bytes(whole[size : size + 8], "little")
        starts.append(size)
    parts = [whole[a:b] for a, b in pairwise(starts)]
    for order in ([1, 2, 3, 4], [0, 2, 1, 3, 4], [0, 0, 1, 2, 3, 4], [0, 1, 3, 4]):
        journal_of(path).write_bytes(whole[: starts[0]] + b"".join(parts[number] for number in order))
        with pytest.raises(ValueError, match=r"cut it to [\d,]+ bytes to keep the changes before\.$"):
            HammingIndex.load(path)


def forged(path, *records):
    """Write a journal with right digests and these records."""
    path.with_name(f"{path.name}.journal").unlink(missing_ok=True)
    journal = journal_module.Journal(path)
    for kind, data in records:
        journal.append(kind, data)
    journal.close()


def test_records_with_right_digests_and_wrong_content_are_refused(tmp_path):
    path = tmp_path / "a.index"
    HammingIndex(12).add(np.zeros((2, 2), np.uint8), [5, 6]).save(path)
    number = lambda *values: np.array(values, "<i8").tobytes()  # noqa: E731
    layout = journal_module.struct.Struct("<IQq").pack
    for records, message in (
        ([(9, b"")], "record 0 has a record of an unknown kind"),
        ([(1, b"abc")], "has a record of an unknown kind"),
        ([(1, layout(0, 3, 7) + b"ab")], "has a record of the wrong length"),
        ([(1, layout(5, 1, 7) + b"ab")], "has a record of the wrong length"),
        ([(1, layout(0, 1, 7) + b"\0\xff")], "codes has nonzero bits after the first 12"),
        ([(1, layout(2, 1, 1) + bytes(2) + number(1) + b"a")], "has ids of another kind than the index"),
        ([(3, layout(1, 1, 0) + number(9))], "adds an id that is stored, or removes one that is not"),
        ([(1, layout(0, 1, 7) + bytes(2)), (1, layout(0, 1, 7) + bytes(2))], "adds an id that is stored"),
        ([(3, layout(0, 1, 5)), (3, layout(0, 1, 5))], "adds an id that is stored, or removes one that is not"),
        ([(2, layout(2, 1, 3) + bytes(2) + number(2) + b"a\0b")], "string ids do not fit|contain NUL"),
    ):
        forged(path, *records)
        for read in (lambda path: HammingIndex.load(path, mapped=False), read_current):
            with pytest.raises(ValueError, match=message):
                read(path)


def test_a_journal_of_another_file_is_refused_and_one_that_was_merged_ignored(tmp_path):
    path, other = tmp_path / "a.index", tmp_path / "b.index"
    states = made(path, False, 8)
    HammingIndex(N_BITS).add(np.ones((1, 3), np.uint8)).save(other)
    shutil.copy(journal_of(path), journal_of(other))
    message = r"b\.index\.journal has changes of another version of .*b\.index \(its digest differs\): restore that"
    for read in (HammingIndex.load, HammingIndex.open, read_current):
        with pytest.raises(ValueError, match=message):
            read(other)
    # A process that is killed after the file was replaced leaves the journal as it was then.
    with HammingIndex.open(path) as index:
        kept, announce = [], journal_module.Journal.announce

        def keep(journal, digest):
            announce(journal, digest)
            kept.append(journal_of(path).read_bytes())

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(journal_module.Journal, "announce", keep)
            index.compact()
    assert not journal_of(path).exists()
    journal_of(path).write_bytes(kept[0])
    assert same_state(HammingIndex.load(path), states[-1])
    with HammingIndex.open(path) as index:
        change_index(index, *Operations(7, False).change(8, states[-1]))
    assert same_state(HammingIndex.load(path), Operations(7, False).states(9)[-1])


def test_a_process_killed_before_the_file_is_replaced_leaves_the_old_file_and_its_journal(tmp_path, monkeypatch):
    path = tmp_path / "a.index"
    states = made(path, True, 8)
    with HammingIndex.open(path) as index:
        with monkeypatch.context() as patch:
            patch.setattr(atomic, "_publish", lambda *arguments: (_ for _ in ()).throw(OSError(errno.EIO, "broken")))
            with pytest.raises(OSError, match="Input/output error"):
                index.compact()
        assert same_state(HammingIndex.load(path), states[-1])
        change_index(index, *Operations(7, True).change(8, states[-1]))
        assert same_state(HammingIndex.load(path), Operations(7, True).states(9)[-1])
        index.compact()
    assert same_state(HammingIndex.load(path), Operations(7, True).states(9)[-1])
    assert [file.name for file in tmp_path.iterdir()] == ["a.index"]


@pytest.mark.parametrize("first", ["before", "after"])
@pytest.mark.parametrize("second", ["before", "after"])
@pytest.mark.parametrize("how", ["save", "compact"])
def test_two_kills_in_a_row_lose_nothing(tmp_path, first, second, how):
    """A merge is killed before or after the file is replaced; the next writer replaces it again, and is killed too."""
    folder = tmp_path / "files"
    folder.mkdir()
    path = folder / "a.index"
    states = made(path, False, 8)
    new = HammingIndex(N_BITS).add(np.ones((2, 3), np.uint8), [5, 6])
    killed(folder, first, lambda: compact(path))
    assert same_state(HammingIndex.load(path), states[-1])
    killed(folder, second, lambda: new.save(path) if how == "save" else compact(path))
    is_new = how == "save" and second == "after"
    for _ in range(2):
        assert same_state(HammingIndex.load(path), state_of(new) if is_new else states[-1])
        HammingIndex.open(path).close()


def compact(path):
    with HammingIndex.open(path) as index:
        index.compact()


def killed(folder, moment, write):
    """Run what writes a file, killed before or after the file is replaced: the files are those of that moment."""

    class Kill(BaseException):
        pass

    kept = folder.with_name("kept")

    def kill(*_):
        shutil.copytree(folder, kept)
        raise Kill

    owner, name = {"before": (atomic, "_publish"), "after": (journal_module.Journal, "restart")}[moment]
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Kill):
        patch.setattr(owner, name, kill)
        write()
    shutil.rmtree(folder)
    kept.rename(folder)


def test_a_full_disk_changes_nothing_and_the_next_change_succeeds(tmp_path, monkeypatch):
    path = tmp_path / "a.index"
    states = made(path, False, 6)
    before = journal_of(path).read_bytes()
    for room in (0, 1, 20, 60):
        left = [room]

        class Limited(atomic.CompleteFile):
            def write(self, data, left=left):
                n = os.write(self.fileno(), bytes(data)[: left[0]])
                left[0] -= n
                if n < len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                return n

        with monkeypatch.context() as patch:
            patch.setattr(journal_module, "CompleteFile", Limited)
            index = HammingIndex.open(path)
        with pytest.raises(OSError, match=r"No space left on device: '.*a\.index\.journal'"):
            index.add(np.zeros((5, 3), np.uint8), np.arange(5) + 10**6)
        assert same_state(index, states[-1])
        assert journal_of(path).read_bytes() == before
        left[0] = 10**6
        index.add(np.zeros((1, 3), np.uint8), [10**6]).remove([10**6])
        index.close()
        assert same_state(HammingIndex.load(path), states[-1])
        before = journal_of(path).read_bytes()


def test_one_writer_at_a_time(tmp_path):
    path = tmp_path / "a.index"
    made(path, False, 3)
    message = r"a\.index is open for writing in another process or index: close it there first\.$"
    with HammingIndex.open(path) as index:
        for call in (lambda: HammingIndex.open(path), lambda: HammingIndex(8).save(path)):
            with pytest.raises(BlockingIOError, match=message):
                call()
        script = f"from proxcode import HammingIndex; HammingIndex.open({str(path)!r})"
        other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert "BlockingIOError" in other.stderr
        assert len(HammingIndex.load(path)) == len(index)
    HammingIndex.open(path).close()


def test_a_closed_index_and_a_copy_cannot_change_the_file(tmp_path):
    path = tmp_path / "a.index"
    states = made(path, False, 5)
    with HammingIndex.open(path) as index:
        for other in (
            copy.copy(index),
            copy.deepcopy(index),
            pickle.loads(pickle.dumps(index)),
            HammingIndex.load(path),
        ):
            other.add(np.zeros((1, 3), np.uint8))
            with pytest.raises(ValueError, match=r"^the index is in memory alone: compact\(\) is for an index that"):
                other.compact()
    for call in (lambda: index.add(np.zeros((1, 3), np.uint8)), index.compact, lambda: index.remove(index.ids[:1])):
        with pytest.raises(ValueError, match=r"a\.index is closed: open it again to change it\.$"):
            call()
    assert same_state(index, states[-1])
    assert same_state(HammingIndex.load(path), states[-1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_cannot_write_to_the_journal(tmp_path):
    path = tmp_path / "a.index"
    states = made(path, False, 5)
    with HammingIndex.open(path) as index:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                index.add(np.zeros((1, 3), np.uint8))
            except ValueError as error:
                status = 0 if "from which this one was forked" in str(error) else 2
                index.close()
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        change_index(index, *Operations(7, False).change(5, states[-1]))
    assert same_state(HammingIndex.load(path), Operations(7, False).states(6)[-1])


def test_a_file_that_was_replaced_after_it_was_opened_is_not_changed(tmp_path):
    path = tmp_path / "a.index"
    made(path, False, 5)
    HammingIndex(N_BITS).save(tmp_path / "other")
    with HammingIndex.open(path) as index:
        (tmp_path / "other").replace(path)
        with pytest.raises(ValueError, match=r"a\.index was replaced after it was opened: open it again, then repeat"):
            index.add(np.zeros((1, 3), np.uint8), [10**6])


def test_a_file_that_is_no_index_gets_no_journal(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        HammingIndex.open(tmp_path / "missing.index")
    (tmp_path / "text").write_text("text")
    with pytest.raises(ValueError, match="not a file of proxcode"):
        HammingIndex.open(tmp_path / "text")
    write_file(tmp_path / "other", "model", {}, {})
    with pytest.raises(ValueError, match="holds a proxcode model, not an index"):
        HammingIndex.open(tmp_path / "other")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["other", "text"]
    (tmp_path / "a.index.journal").write_text("my notes")
    HammingIndex(8).save(tmp_path / "b.index")
    (tmp_path / "b.index").rename(tmp_path / "a.index")
    for read in (HammingIndex.open, HammingIndex.load):
        with pytest.raises(ValueError, match=r"a\.index\.journal is not a journal of proxcode: rename it"):
            read(tmp_path / "a.index")
    assert (tmp_path / "a.index.journal").read_text() == "my notes"


def test_a_save_replaces_the_file_and_its_journal(tmp_path):
    path = tmp_path / "a.index"
    states = made(path, False, 5)
    index = HammingIndex(N_BITS).add(np.ones((2, 3), np.uint8))
    with pytest.raises(FileExistsError):
        index.save(path, overwrite=False)
    assert same_state(HammingIndex.load(path), states[-1])
    index.save(path)
    assert [file.name for file in tmp_path.iterdir()] == ["a.index"]
    assert same_state(HammingIndex.load(path), state_of(index))
    # An opened index that is saved to its own file goes on with it.
    with HammingIndex.open(path) as index:
        index.remove([0]).save(path)
        index.add(np.ones((1, 3), np.uint8), [9])
        assert HammingIndex.load(path).ids.tolist() == [1, 9]
    # A journal without its file.
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"there is no file .*a\.index"):
        HammingIndex.open(path)
    index.save(path, overwrite=False)
    assert HammingIndex.load(path).ids.tolist() == [1, 9]
    assert [file.name for file in tmp_path.iterdir()] == ["a.index"]


def test_a_journal_longer_than_its_file_is_merged(tmp_path, monkeypatch):
    monkeypatch.setattr(index_writer, "MIN_JOURNAL", 500)
    path = tmp_path / "a.index"
    HammingIndex(N_BITS).save(path)
    operations, state, sizes = Operations(1, True), {}, []
    with HammingIndex.open(path) as index:
        for number in range(120):
            change = operations.change(number, state)
            state = changed(state, *change)
            change_index(index, *change)
            size = journal_of(path).stat().st_size
            assert size <= max(500, path.stat().st_size)
            sizes.append(size)
            assert same_state(HammingIndex.load(path), state)
        assert 2 <= sizes.count(0) < 60
        monkeypatch.setattr(index_writer, "write_compacted", lambda *arguments: (_ for _ in ()).throw(OSError("full")))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for number in range(120, 200):
                change = operations.change(number, state)
                state = changed(state, *change)
                change_index(index, *change)
        assert 1 <= len(caught) <= 4
        assert "cannot be merged into it (full): no change is lost" in str(caught[0].message)
        assert Path(caught[0].filename).name == "index_operations.py"
    assert same_state(HammingIndex.load(path), state)


def test_readers_beside_a_writer_see_whole_changes_in_their_order(tmp_path, monkeypatch):
    monkeypatch.setattr(index_writer, "MIN_JOURNAL", 2000)
    path = tmp_path / "a.index"
    HammingIndex(N_BITS).save(path)
    operations = Operations(3, True)
    states = operations.states(150)
    number_of = {}
    for number, state in enumerate(states):
        number_of.setdefault(tuple(state.items()), []).append(number)
    seen, done = [], threading.Event()

    def read():
        while not done.is_set():
            seen.append(tuple(state_of(HammingIndex.load(path)).items()))
            tuple(read_current(path))

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    with HammingIndex.open(path) as index:
        for number in range(150):
            change_index(index, *operations.change(number, states[number]))
    done.set()
    for thread in threads:
        thread.join()
    assert len(seen) > 5
    assert all(state in number_of for state in seen)


def test_threads_may_change_an_open_index(tmp_path):
    path = tmp_path / "a.index"
    HammingIndex(N_BITS).save(path)
    with HammingIndex.open(path) as index:

        def change(thread):
            for number in range(15):
                ids = [f"{thread}/{number}/{k}" for k in range(3)]
                index.add(np.full((3, 3), thread, np.uint8), ids)
                index.search(np.zeros((1, 3), np.uint8), 3)
                index.upsert(np.full((2, 3), 100 + thread, np.uint8), ids[1:])
                index.remove(ids[:1])

        threads = [threading.Thread(target=change, args=(thread,)) for thread in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expected = state_of(index)
    assert len(expected) == 6 * 15 * 2
    assert all(code == bytes([100 + int(one.split("/")[0])] * 3) for one, code in expected.items())
    assert same_state(HammingIndex.load(path), expected)


class Pickled(Engine):
    """Computes tasks from copies, as a cluster does."""

    def map(self, function, tasks):
        for task in tasks:
            yield pickle.loads(pickle.dumps(function))(pickle.loads(pickle.dumps(task)))


def test_shards_with_journals(tmp_path):
    made(tmp_path / "a.index", True, 9)
    made(tmp_path / "b.index", True, 0)
    with HammingIndex.open(tmp_path / "b.index") as index:
        index.add(np.ones((2, 3), np.uint8), ["x", "y"])
    one = HammingIndex.load(tmp_path / "a.index").add(np.ones((2, 3), np.uint8), ["x", "y"])
    for engine in (None, Pickled()):
        shards = ShardedIndex(tmp_path, engine=engine)
        assert [path.name for path in shards.paths] == ["a.index", "b.index"]
        found, expected = shards.search(one.codes, 50), one.search(one.codes, 50)
        np.testing.assert_array_equal(found.neighbor, expected.neighbor)
        np.testing.assert_array_equal(found.distance, expected.distance)
    from proxcode.search import shards as shards_module

    shards_module._opened.cache_clear()
    with HammingIndex.open(tmp_path / "b.index") as index:
        index.remove(["x"])
    with pytest.raises(ValueError, match=r"b\.index was replaced or changed after the sharded index was opened"):
        shards.search(one.codes)


def test_the_time_of_an_addition_does_not_depend_on_the_size_of_the_index(tmp_path):
    """No array of the size of the index is made, joined or copied by an addition."""
    path, rng = tmp_path / "a.index", np.random.default_rng(0)
    ids = rng.permutation(2_000_000)
    HammingIndex(64).add(rng.integers(0, 256, (2_000_000, 8), np.uint8), ids).save(path)
    with HammingIndex.open(path) as index:
        index.add(np.zeros((1, 8), np.uint8), [-1])
        planes, values = index._snapshot.planes, index._snapshot.ids._values
        for number in range(2, 50):
            index.add(np.zeros((1, 8), np.uint8), [-number])
        for array in (planes, values):
            assert array._state[1] == 2_000_000
        assert index._snapshot.planes._state[0] is planes._state[0]
        assert len(index._snapshot.planes._state[2]) == 49
        assert journal_of(path).stat().st_size < 10_000
    assert len(HammingIndex.load(path)) == 2_000_049


def test_ids_whose_difference_wraps_around_are_kept(tmp_path):
    path, ids = tmp_path / "codes.index", [2**63 - 1, -(2**63)]
    codes = np.array([[1], [2]], np.uint8)
    HammingIndex(8).save(path)
    with HammingIndex.open(path) as index:
        index.add(codes, ids=ids)
    found = HammingIndex.load(path)
    assert found.ids.tolist() == ids
    np.testing.assert_array_equal(found.get(ids), codes)
