import numpy as np
import pytest

from proxcode.experiments import datasets
from proxcode.experiments.datasets import DATASETS, Dataset, load

SHAPES = {
    "mnist": (70_000, 784),
    "cifar10-gist": (60_000, 512),
    "scene15-gist": (4485, 512),
    "banking77": (13_083, 512),
    "notredame-sift": (103_936, 128),
    "nursery": (12_960, 8),
    "sift10k": (10_000, 128),
}
N_CLASSES = {"mnist": 10, "cifar10-gist": 10, "scene15-gist": 15, "banking77": 77, "nursery": 5}
N_TRAIN = {"mnist": 60_000, "cifar10-gist": 50_000}
MNIST_DIGEST = "c2069063c1105f2bf96266aef1ff68c6e13bdda7a54e37bf19c16f1db24efc83"
SPLIT = {*N_TRAIN, "scene15-gist", "banking77"}


@pytest.fixture
def data(tmp_path, monkeypatch):
    """An empty data folder."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("PROXCODE_DATA", str(folder))
    return folder


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache folder that does not exist yet."""
    monkeypatch.setenv("PROXCODE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


class OpenML:
    """Replaces scikit-learn's fetch_openml: returns images in the same types, and records the calls."""

    def __init__(self, x, y):
        self.x, self.y, self.asked = x, y, []

    def __call__(self, *, data_id, as_frame, return_X_y, parser, cache):
        assert (as_frame, return_X_y, cache) == (False, True, False)
        assert parser in {"auto", "liac-arff"}
        self.asked.append(data_id)
        if isinstance(self.x, Exception):
            raise self.x
        return self.x.astype(float), self.y.astype(str).astype(object)


@pytest.fixture
def openml(monkeypatch):
    """Replace all datasets of OpenML by forty images, 32 of them for training; MNIST has the given digest."""

    def serve(x, y=None, digest=None):
        fetch = OpenML(x, np.arange(40) % 4 if y is None else y)
        monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
        for file, source in list(datasets._OPENML.items()):
            small = source._replace(shape=(40, source.shape[1]), n_train=32)
            monkeypatch.setitem(datasets._OPENML, file, small)
        mnist = datasets._OPENML["mnist.npz"]._replace(digest=digest)
        monkeypatch.setitem(datasets._OPENML, "mnist.npz", mnist)
        return fetch

    return serve


@pytest.fixture
def images(rng):
    return rng.integers(0, 256, (40, 784), dtype=np.uint8)


# Contents of the datasets.


@pytest.mark.parametrize("name", SHAPES)
def test_real_data(name, data_folder):
    dataset = load(name)
    assert isinstance(dataset, Dataset)
    assert dataset.name == name
    assert (dataset.X.shape, dataset.X.dtype) == (SHAPES[name], np.float32)
    assert "\n" not in dataset.about
    if name in N_CLASSES:
        assert (dataset.y.shape, dataset.y.dtype) == (SHAPES[name][:1], np.int64)
        np.testing.assert_array_equal(np.unique(dataset.y), np.arange(N_CLASSES[name]))
    else:
        assert dataset.y is None
    if name in SPLIT:
        assert (dataset.is_train.shape, dataset.is_train.dtype) == (SHAPES[name][:1], np.bool_)
        assert dataset.is_train[: N_TRAIN.get(name, 0)].all()
        assert 0 < dataset.is_train.sum() == N_TRAIN.get(name, dataset.is_train.sum()) < len(dataset.X)
    else:
        assert dataset.is_train is None


def test_the_known_digest_is_that_of_mnist(data_folder):
    mnist = np.load(data_folder / "mnist.npz")
    assert datasets._digest(mnist["x"], mnist["y"]) == MNIST_DIGEST == datasets._OPENML["mnist.npz"].digest


def test_digits_and_uniform_samples_need_no_folder(monkeypatch):
    monkeypatch.setenv("PROXCODE_DATA", "/nowhere")
    digits, uniform = load("digits"), load("uniform-10d")
    assert (digits.X.shape, digits.X.dtype, digits.y.dtype) == ((1797, 64), np.float32, np.int64)
    assert (uniform.X.shape, uniform.X.dtype, uniform.y) == ((4000, 10), np.float32, None)
    assert uniform.is_train.sum() == 1000
    assert -0.5 <= uniform.X.min() < -0.49 < 0.49 < uniform.X.max() <= 0.5
    np.testing.assert_array_equal(uniform.X, load("uniform-10d").X)


def test_unknown_name():
    with pytest.raises(ValueError, match="name='imagenet': expected one of digits, mnist, fashion-mnist"):
        load("imagenet")
    assert set(DATASETS) == {"digits", "uniform-10d", "fashion-mnist", *SHAPES}


# Order of the sources.


def write(folder, value, file="nursery.npz", **more):
    folder.mkdir(exist_ok=True)
    np.savez(folder / file, x=np.full((3, 2), value, np.uint8), **more)


def test_the_data_folder_comes_before_the_cache(data, cache):
    write(cache, 2)
    assert load("nursery").X[0, 0] == 2
    write(data, 1, is_train=np.array([True, False, True]))
    dataset = load("nursery")
    assert dataset.X[0, 0] == 1
    assert dataset.y is None
    np.testing.assert_array_equal(dataset.is_train, [True, False, True])


def test_the_cache_comes_before_a_download(data, cache, openml, images):
    fetch = openml(images)
    write(cache, 3, "mnist.npz", n_train=2)
    dataset = load("mnist")
    np.testing.assert_array_equal(dataset.is_train, [True, True, False])
    assert fetch.asked == []


def test_places_of_the_cache(monkeypatch, tmp_path):
    monkeypatch.delenv("PROXCODE_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert datasets._cache_folder() == tmp_path / ".cache" / "proxcode"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert datasets._cache_folder() == tmp_path / "xdg" / "proxcode"
    monkeypatch.setenv("PROXCODE_CACHE", str(tmp_path / "own"))
    assert datasets._cache_folder() == tmp_path / "own"


@pytest.mark.parametrize("name", ["scene15-gist", "banking77", "notredame-sift", "nursery", "sift10k"])
def test_a_missing_file_is_named_with_its_folders(name, monkeypatch, cache):
    monkeypatch.delenv("PROXCODE_DATA", raising=False)
    with pytest.raises(FileNotFoundError) as caught:
        load(name)
    message = str(caught.value)
    assert all(
        word in message
        for word in (name, "PROXCODE_DATA", datasets._FILES[name][0], str(cache), "cannot be downloaded")
    )


def test_a_data_folder_that_does_not_exist(monkeypatch, cache, openml, images):
    fetch = openml(images)
    monkeypatch.setenv("PROXCODE_DATA", "/nowhere")
    with pytest.raises(NotADirectoryError, match="PROXCODE_DATA=/nowhere: expected an existing folder"):
        load("mnist")
    assert fetch.asked == []


def test_a_broken_file(data, cache):
    write(data, 1)
    path = data / "nursery.npz"
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ValueError, match=r"nursery\.npz cannot be read .*: copy it again or delete it"):
        load("nursery")


# Downloads.


@pytest.mark.parametrize(("name", "data_id"), [("mnist", 554), ("fashion-mnist", 40996)])
def test_a_download_is_kept(name, data_id, data, cache, openml, images):
    labels = (np.arange(40) % 4).astype(np.uint8)
    fetch = openml(images, labels, digest=datasets._digest(images, labels))
    first, second = load(name), load(name)
    assert fetch.asked == [data_id]
    assert [path.name for path in cache.iterdir()] == [datasets._FILES[name][0]]
    for dataset in (first, second):
        np.testing.assert_array_equal(dataset.X, images)
        np.testing.assert_array_equal(dataset.y, labels)
        np.testing.assert_array_equal(dataset.is_train, np.arange(40) < 32)


def test_photographs_become_gist(data, cache, openml, rng):
    from proxcode.experiments.gist import gist

    x = rng.integers(0, 256, (40, 3072), dtype=np.uint8)
    fetch = openml(x)
    first, second = load("cifar10-gist"), load("cifar10-gist")
    assert fetch.asked == [40927]
    assert sorted(path.name for path in cache.iterdir()) == ["cifar10_gist512.npz", "cifar10_raw.npz"]
    expected = gist(np.stack([x[:, :1024], x[:, 1024:2048], x[:, 2048:]], axis=2).reshape(40, 32, 32, 3))
    np.testing.assert_allclose(first.X, expected, rtol=1e-3, atol=1e-6)
    np.testing.assert_array_equal(first.X, second.X)
    assert second.is_train.sum() == 32
    (cache / "cifar10_gist512.npz").unlink()
    load("cifar10-gist")
    assert fetch.asked == [40927]  # the raw images were cached


def test_no_split_where_the_order_is_another(data, cache, openml, images):
    openml(images, np.arange(40) // 10)
    assert load("fashion-mnist").is_train is None


def test_another_digest_is_refused(data, cache, openml, images):
    openml(images, digest=MNIST_DIGEST)
    with pytest.raises(ValueError, match=r"OpenML 554 \(mnist_784\) for mnist has SHA-256 .*; expected c2069063c"):
        load("mnist")
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize("change", [lambda x: x[:-1], lambda x: x / 255, lambda x: x * 2.0, lambda x: x - 1.0])
def test_other_shapes_and_ranges_are_refused(change, data, cache, openml, images):
    openml(change(images))
    with pytest.raises(ValueError, match=r"; expected shape \(40, 784\) and integers from 0 to 255"):
        load("fashion-mnist")
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist", "cifar10-gist"])
def test_a_failed_download_is_named_with_a_remedy(name, data, cache, openml):
    openml(OSError("no network"))
    with pytest.raises(ConnectionError) as caught:
        load(name)
    message = str(caught.value)
    words = (name, "PROXCODE_DATA", str(cache), "OpenML", "no network", datasets._FILES[name][0])
    assert all(word in message for word in words)
    assert "\n" not in message
