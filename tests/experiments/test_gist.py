import numpy as np
import pytest

from proxcode.experiments.gist import BLOCK, gist


@pytest.fixture(scope="module")
def photographs(data_folder):
    """Colour images, and their descriptors from another implementation."""
    raw = np.load(data_folder / "cifar10_raw_sample.npz")
    images, rows = raw["x"][:400], raw["index"][:400]
    stored = np.load(data_folder / "cifar10_gist512.npz")["x"][rows].astype(np.float32)
    return images.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), stored


@pytest.fixture(scope="module")
def described(photographs):
    return gist(photographs[0])


def fourier(side):
    k = np.arange(side)
    return np.exp(-2j * np.pi * np.outer(k, k) / side)


def filtered(image, transfer):
    """Filter by sums over all frequencies; transfer(fx, fy) takes cycles per image."""
    side = len(image)
    F = fourier(side)
    spectrum = F @ image @ F.T
    for row in range(side):
        for column in range(side):
            fy, fx = (k if k < side / 2 else k - side for k in (row, column))
            spectrum[row, column] *= transfer(fx, fy)
    return F.conj() @ spectrum @ F.conj().T / side**2


def gabor(scale, orientation, side):
    def transfer(fx, fy):
        angle = np.angle(fx + 1j * fy) + np.pi / 8 * orientation
        angle += 2 * np.pi * (angle < -np.pi) - 2 * np.pi * (angle > np.pi)
        distance = np.hypot(fx, fy) / side / (0.3 / 1.85**scale) - 1
        return np.exp(-10 * 0.35 * distance**2 - 2 * (16 * 8**2 / 32**2) * np.pi * angle**2)

    return transfer


def slow_gist(image, filters):
    """The steps of the module for one image, in double precision; filters are pairs (scale, orientation)."""
    grey = image.astype(float).mean(axis=2)
    grey = 255 * (grey - grey.min()) / (grey.max() - grey.min())
    bright = np.pad(np.log(grey + 1), 5, "symmetric")
    width = 4 / np.sqrt(np.log(2))
    low = lambda fx, fy: np.exp(-(fx**2 + fy**2) / width**2)  # noqa: E731
    detail = bright - filtered(bright, low).real
    even = detail / (0.2 + np.sqrt(np.abs(filtered(detail**2, low))))
    wide = np.pad(even[5:-5, 5:-5], 32, "symmetric")
    numbers = []
    for scale, orientation in filters:
        energy = np.abs(filtered(wide, gabor(scale, orientation, len(wide))))[32:-32, 32:-32]
        for column in range(0, 32, 8):
            numbers += [energy[row : row + 8, column : column + 8].mean() for row in range(0, 32, 8)]
    return np.array(numbers)


def test_follows_the_steps_written_down(rng):
    image = rng.integers(0, 256, (32, 32, 3), dtype=np.uint8)
    filters = [(0, 0), (1, 7), (3, 4)]
    numbers = gist(image[None])[0].reshape(4, 8, 16)
    fast = np.concatenate([numbers[scale, orientation] for scale, orientation in filters])
    np.testing.assert_allclose(fast, slow_gist(image, filters), rtol=1e-4, atol=1e-6)


def test_equals_the_stored_descriptors(photographs, described):
    _, stored = photographs
    assert described.shape == (400, 512)
    assert described.dtype == np.float32
    centered = [X - X.mean(axis=1, keepdims=True) for X in (described, stored)]
    unit = [X / np.linalg.norm(X, axis=1, keepdims=True) for X in centered]
    correlation = (unit[0] * unit[1]).sum(axis=1)
    assert correlation.min() > 0.9999
    np.testing.assert_allclose(described, stored, rtol=1e-3, atol=2e-6)  # they are stored in half precision


def nearest(X, k=10):
    squares = (X**2).sum(axis=1)
    distances = squares[:, None] + squares - 2 * X @ X.T
    np.fill_diagonal(distances, np.inf)
    return np.argsort(distances, axis=1)[:, :k]


def test_neighbours_are_those_of_the_stored_descriptors(photographs, described):
    ours, theirs = nearest(described.astype(float)), nearest(photographs[1].astype(float))
    shared = np.mean([len(np.intersect1d(a, b)) / 10 for a, b in zip(ours, theirs, strict=True)])
    assert shared > 0.995
    assert np.mean(ours[:, 0] == theirs[:, 0]) > 0.99


def test_images_do_not_depend_on_one_another(rng):
    images = rng.random((2 * BLOCK + 3, 32, 32))
    together = gist(images)
    for i in (0, BLOCK, len(images) - 1):
        np.testing.assert_array_equal(gist(images[i : i + 1])[0], together[i])


def test_descriptors_are_invariant_to_brightness_and_contrast(rng):
    image = rng.integers(0, 101, (1, 32, 32))
    np.testing.assert_allclose(gist(2 * image + 50), gist(image), rtol=1e-4)


def test_grey_is_the_mean_of_the_colours(rng):
    image = rng.integers(0, 256, (2, 32, 32, 3))
    np.testing.assert_allclose(gist(image), gist(image.mean(axis=3)), rtol=1e-4, atol=1e-6)


def test_turning_an_image_turns_orientations_and_blocks(rng):
    image = rng.random((1, 64, 64)).cumsum(axis=2)
    straight, turned = (gist(X).reshape(4, 8, 4, 4) for X in (image, image.transpose(0, 2, 1)))
    # The mirror image in the diagonal has orientation j at -pi/2 - (-pi j / 8): 4 - j for j = 0..4.
    # Not to the last digit: the mean passes at orientation 0 alone, and the highest frequency has no mirror image.
    np.testing.assert_allclose(turned[:, :5], straight[:, 4::-1].transpose(0, 1, 3, 2), rtol=0.02, atol=1e-3)


def test_one_colour_has_no_energy():
    assert not gist(np.full((1, 32, 32), 7)).any()


def test_other_numbers_of_filters_and_blocks(rng):
    assert gist(rng.random((3, 30, 30)), n_orientations=6, n_scales=3, n_blocks=5).shape == (3, 450)
    assert gist(np.empty((0, 32, 32))).shape == (0, 512)


@pytest.mark.parametrize(
    ("images", "words"),
    [
        (np.zeros((2, 3072)), r"shape \(2, 3072\)"),
        (np.zeros((2, 32, 32, 4)), r"\(n, side, side, 3\) for colour"),
        (np.full((1, 32, 32), "a"), "expected numbers"),
        (np.zeros((2, 32, 24)), "32 x 24 pixels: expected square images"),
        (np.zeros((2, 30, 30)), "multiple of n_blocks=4"),
        (np.stack([np.zeros((32, 32)), np.full((32, 32), np.nan)]), "image 1 contains NaN"),
    ],
)
def test_invalid_images_are_refused(images, words):
    with pytest.raises(ValueError, match=words):
        gist(images)


def test_numbers_of_filters_are_validated():
    with pytest.raises(ValueError, match=r"n_scales=0: .*at least 1"):
        gist(np.zeros((1, 32, 32)), n_scales=0)
