"""The cache of compiled kernels: used, and harmless where it is missing, full or damaged."""

import errno
import importlib.util
import sys
import warnings

import pytest

from proxcode.utils import jit

SOURCE = """
from proxcode.utils.jit import kernel

@kernel
def double(x):
    return 2 * x
"""


@pytest.fixture
def import_kernel(tmp_path, monkeypatch):
    """Return a function that imports `double` anew, as the next process would."""
    monkeypatch.setattr(jit, "_warnings", [])
    path = tmp_path / "doubling.py"
    path.write_text(SOURCE)

    def load():
        spec = importlib.util.spec_from_file_location("doubling", path)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "doubling", module)
        spec.loader.exec_module(module)
        return module.double

    return load


def cache_files(tmp_path, suffix):
    return list((tmp_path / "__pycache__").glob(f"*{suffix}"))


def test_the_next_process_reads_the_compiled_kernel(import_kernel):
    assert import_kernel()(3) == 6
    again = import_kernel()
    assert again(3) == 6
    assert sum(again.stats.cache_hits.values()) == 1
    assert sum(again.stats.cache_misses.values()) == 0


def test_a_changed_source_is_compiled_again(import_kernel, tmp_path):
    assert import_kernel()(3) == 6
    (tmp_path / "doubling.py").write_text(SOURCE.replace("2 *", "30 *"))
    assert import_kernel()(3) == 90


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: content[:-9] + bytes([content[-9] ^ 1]) + content[-8:],
        lambda content: b"\0" * len(content),
    ],
    ids=["empty", "truncated", "flipped", "zeros"],
)
def test_damaged_files_are_compiled_again_and_replaced(import_kernel, tmp_path, suffix, damage):
    assert import_kernel()(3) == 6
    (file,) = cache_files(tmp_path, suffix)
    file.write_bytes(damage(file.read_bytes()))
    with pytest.warns(RuntimeWarning, match=r"^the compiled kernels in .* cannot be read .*: they are compiled again"):
        assert import_kernel()(3) == 6
    healed = import_kernel()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert healed(3) == 6
    assert sum(healed.stats.cache_hits.values()) == 1


def test_a_full_disk_is_reported_once(import_kernel, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(jit.CheckedFiles, "_open_for_write", full)
    double = import_kernel()
    with pytest.warns(RuntimeWarning, match="compiled kernels cannot be kept .*No space left on device") as caught:
        assert double(3) == 6
        assert double(3.5) == 7.0
    assert len(caught) == 1


def test_no_folder_for_the_cache_is_reported_when_a_kernel_is_compiled(import_kernel, monkeypatch):
    def nowhere(_):
        raise RuntimeError("cannot cache function 'double': no locator available")

    monkeypatch.setattr(jit.KernelCache, "_impl_class", staticmethod(nowhere))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        double = import_kernel()
    with pytest.warns(RuntimeWarning, match="no locator available.*set NUMBA_CACHE_DIR to a folder"):
        assert double(3) == 6
    assert double.py_func(3) == 6


def test_a_change_of_any_module_with_kernels_is_compiled_again(import_kernel, monkeypatch):
    assert import_kernel()(3) == 6
    monkeypatch.setattr(jit, "_stamps_of_kernels", lambda: ((0, 0),))
    again = import_kernel()
    assert again(3) == 6
    assert sum(again.stats.cache_misses.values()) == 1


def test_a_file_that_another_process_gave_the_same_name_is_not_run(import_kernel, tmp_path):
    # Two processes that find no index number their files alike.
    assert import_kernel()(3.5) == 7.0
    (floats,) = cache_files(tmp_path, ".nbc")
    of_floats = floats.read_bytes()
    for file in (tmp_path / "__pycache__").iterdir():
        file.unlink()
    assert import_kernel()(3) == 6
    (integers,) = cache_files(tmp_path, ".nbc")
    integers.write_bytes(of_floats)
    again = import_kernel()
    assert again(3) == 6
    assert sum(again.stats.cache_misses.values()) == 1
