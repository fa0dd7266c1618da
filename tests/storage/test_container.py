"""The container of model files: other bytes and other contents are refused, and writes are atomic."""

import errno
import gc
import itertools
import json
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

import proxcode
from proxcode import LinearHash, ProximityPreservingCode
from proxcode.storage import container
from proxcode.storage.container import FORMAT, kind_of, read_file, write_file


@pytest.fixture(scope="module")
def small(digits, tmp_path_factory):
    """The bytes of a small model file."""
    X, y = digits
    path = tmp_path_factory.mktemp("small") / "model.proxcode"
    model = ProximityPreservingCode(n_bits=3, hash_function=LinearHash(), random_state=0)
    model.fit(X[:40, 16:24], y[:40]).save(path)
    return path.read_bytes()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.proxcode"


def test_a_file_has_the_permissions_of_any_other(path):
    write_file(path, "test", {}, {"a": np.zeros(3)})
    other = path.with_name("other")
    other.touch()
    assert path.stat().st_mode == other.stat().st_mode


def test_a_reader_sees_one_version_of_a_file_that_others_replace(path):
    stop = Event()

    def write():
        for i in itertools.count():
            write_file(path, "test", {"i": i}, {"a": np.full(1000 + i % 7, i), "b": np.zeros(i % 5)})
            if stop.is_set():
                return

    write_file(path, "test", {"i": 0}, {"a": np.zeros(1000)})
    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(write)
        try:
            for _ in range(300):
                content, tensors = read_file(path, "test")
                assert (tensors["a"] == content["i"]).all()
        finally:
            stop.set()
        writer.result()


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=st.floats(0, 1, exclude_max=True), mask=st.integers(1, 255))
def test_a_changed_byte_is_noticed(where, mask, small, path):
    changed = bytearray(small)
    changed[int(where * len(small))] ^= mask
    _assert_refused(bytes(changed), path)


@pytest.mark.parametrize("mask", [0x20, 0x2A])  # the other case of a letter; a line feed for a blank
def test_a_changed_byte_of_the_header_is_noticed(mask, small, path):
    length = 8 + int.from_bytes(small[:8], "little")
    for place in range(8, length):
        changed = bytearray(small)
        changed[place] ^= mask
        _assert_refused(bytes(changed), path)


def test_another_name_type_or_shape_of_an_array_is_noticed(path):
    write_file(path, "test", {}, {"first": np.zeros((2, 8), np.int32)})
    written = path.read_bytes()
    for before, after in ((b'"first"', b'"fixed"'), (b'"I32"', b'"F32"'), (b"[2,8]", b"[8,2]")):
        assert written.count(before) == 1
        path.write_bytes(written.replace(before, after))
        with pytest.raises(ValueError, match="was changed after it was written"):
            read_file(path, "test")
    path.write_bytes(written)
    assert read_file(path, "test").tensors["first"].shape == (2, 8)


def test_a_truncated_file_is_noticed(small, path):
    for length in [*range(20), 100, 1000, len(small) // 2, len(small) - 1]:
        _assert_refused(small[:length], path)
    _assert_refused(small + b"\0", path)


def _assert_refused(data, path):
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"model\.proxcode .*(again|pass another file|upgrade proxcode)\.$"):
        ProximityPreservingCode.load(path)


def test_foreign_files_are_refused_by_name(path, small):
    load = ProximityPreservingCode.load
    with pytest.raises(FileNotFoundError, match=r"there is no file .*model\.proxcode: check"):
        load(path)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(1000))
    with pytest.raises(ValueError, match=r"model\.proxcode is truncated or not a file of proxcode"):
        load(path)
    save_file({"a": np.zeros(3)}, path)
    with pytest.raises(ValueError, match=r"model\.proxcode is a safetensors file that proxcode did not write"):
        load(path)
    write_file(path, "index", {}, {})
    with pytest.raises(ValueError, match=r"model\.proxcode holds a proxcode index, not a model"):
        load(path)


def test_a_file_of_a_later_format_is_refused(path, small):
    assert FORMAT == 2
    path.write_bytes(small.replace(rb"\"format\":2,", rb"\"format\":3,"))
    for read in (ProximityPreservingCode.load, kind_of):
        with pytest.raises(ValueError, match=r"model\.proxcode has format 3, this version reads up to 2: upgrade"):
            read(path)
    path.write_bytes(small)
    assert kind_of(path) == "model"


def _with(path, small, change):
    """Write a file that is whole but holds something else."""
    path.write_bytes(small)
    content, tensors = read_file(path, "model")
    change(content)
    write_file(path, "model", content, tensors)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c["hash_function"].update({"class": "os.system"}), r"a component 'os\.system' that this version"),
        (lambda c: c["hash_function"]["parameters"].update(speed=3), r"its LinearHash has a parameter 'speed'"),
        (lambda c: c["parameters"].update(speed=3), r"its model has a parameter 'speed'.*upgrade proxcode"),
        (lambda c: c.pop("seed"), r"lacks a part of a file of kind model \(KeyError\('seed'\)\): save the model"),
        (
            lambda c: c["parameters"].update(verbose={"eval": "1"}),
            r"a value of kind 'eval' that",
        ),
        (lambda c: c.update(history=[]), r"cannot be read: it holds no bits: save the model again"),
        (lambda c: c.update(training_loss="low"), r"its training_loss='low': expected a number"),
        (lambda c: c.update(training_loss=-0.1), r"its training_loss=-0.1: expected a number of at least 0"),
        (lambda c: c["history"][0].append(1.0), r"its history holds 9 figures of a bit: upgrade"),
        (
            lambda c: c["proximity"].update({"class": "Proximity", "parameters": {}}),
            r"cannot be read: Can't instantiate abstract class Proximity",
        ),
    ],
)
def test_contents_that_are_not_known_are_refused(change, message, small, path):
    _with(path, small, change)
    with pytest.raises(ValueError, match=rf"model\.proxcode .*{message}"):
        ProximityPreservingCode.load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop("hash_function.coef_"), "its array 'hash_function.coef_' is missing"),
        (lambda t: t.update({"hash_function.coef_": np.zeros(3)}), r"its array 'coef' has shape \(3,\): expected"),
        (lambda t: t.update({"hash_function.center_": np.zeros(7)}), r"'center' has shape \(7,\): .*n_features=8"),
        (lambda t: t.update({"hash_function.center_": np.zeros(8, int)}), "'center' holds int64: expected float32 or"),
        (lambda t: t["hash_function.coef_"].fill(np.nan), "'coef' holds NaN or infinity"),
        (lambda t: t.update(codes=np.ones((40, 1), np.uint8)), "nonzero bits after the first 3"),
        (lambda t: t.update(codes=np.zeros((40, 2), np.uint8)), "codes has 2 bytes per row: expected 1"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(change, message, small, path):
    path.write_bytes(small)
    content, tensors = read_file(path, "model")
    change(tensors)
    write_file(path, "model", content, tensors)
    with pytest.raises(ValueError, match=rf"model\.proxcode cannot be read: .*{message}") as caught:
        ProximityPreservingCode.load(path)
    assert "\n" not in str(caught.value)


def test_the_header_is_readable_json(small):
    length = int.from_bytes(small[:8], "little")
    header = json.loads(json.loads(small[8 : 8 + length])["__metadata__"]["proxcode"])
    assert (header["kind"], header["format"]) == ("model", 2)
    assert header["content"]["versions"]["proxcode"] == proxcode.__version__
    assert header["content"]["hash_function"]["class"] == "LinearHash"


def test_a_header_that_readers_refuse_is_not_written(path, monkeypatch):
    content = {"names": ["a"] * 100}
    write_file(path, "model", content, {})
    before = path.read_bytes()
    size = int.from_bytes(before[:8], "little")
    # Quotes are escaped in the header: it is longer than the content.
    assert size > len(json.dumps(content)) + 200
    monkeypatch.setattr(container, "MAX_HEADER", size - 1)
    with pytest.raises(ValueError, match=rf"the content of .* has {size} characters: pass long lists as NumPy arrays"):
        write_file(path, "model", content, {})
    assert path.read_bytes() == before


ARRAYS = {"bytes": np.arange(35, dtype=np.uint8).reshape(5, 7), "empty": np.empty((3, 0)), "one": np.array(2.5)}


def no_memory(*_, **__):
    raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))


@pytest.mark.parametrize("larger_than_memory", [False, True])
def test_mapped_arrays_may_be_written_to_and_the_file_is_not(larger_than_memory, path, monkeypatch):
    if larger_than_memory:
        monkeypatch.setattr(container, "mmap", SimpleNamespace(mmap=no_memory, ACCESS_COPY=3))
    write_file(path, "test", {}, ARRAYS | {"words": np.arange(9)})
    before = path.read_bytes()
    _, tensors = read_file(path, "test", mapped=True)
    # A file that is replaced meanwhile stays open with its old content.
    write_file(path, "test", {}, {})
    for name, expected in (ARRAYS | {"words": np.arange(9)}).items():
        found = tensors[name]
        assert type(found) is np.ndarray
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        assert found.flags.c_contiguous and found.flags.aligned and found.flags.writeable
        np.testing.assert_array_equal(found, expected)
    path.write_bytes(before)
    _, tensors = read_file(path, "test", mapped=True)
    tensors["words"][:] = -1
    assert path.read_bytes() == before


def n_descriptors(path):
    """Return how many descriptors of this process are open on a file."""
    file, n_open = path.stat(), 0
    for descriptor in Path("/dev/fd").iterdir():
        with suppress(OSError):
            n_open += os.path.samestat(os.fstat(int(descriptor.name)), file)
    return n_open


def test_a_mapped_file_holds_one_descriptor(path):
    pytest.importorskip("resource")
    write_file(path, "test", {}, {str(k): np.arange(k + 1) for k in range(6)})
    _, tensors = read_file(path, "test", mapped=True)
    assert n_descriptors(path) == 1
    del tensors
    assert n_descriptors(path) == 0


@pytest.mark.parametrize("n_left", [0, 1])
def test_too_many_open_files_are_told_with_the_remedy(n_left, path):
    resource = pytest.importorskip("resource")
    write_file(path, "test", {}, {"a": np.arange(3)})
    read_file(path, "test")
    # Objects that are collected later must not close files of other tests.
    gc.collect()
    gc.disable()
    lowest_free = os.dup(0)
    os.close(lowest_free)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free + n_left, limits[1]))
    try:
        with pytest.raises(OSError, match=r"model\.proxcode cannot be opened, since too many files are open: raise"):
            read_file(path, "test", mapped=True)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        gc.enable()
