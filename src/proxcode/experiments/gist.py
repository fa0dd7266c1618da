"""GIST descriptors of images: energy by scale, orientation and location (Oliva and Torralba, IJCV 2001).

1. Convert to grey: the mean of the colours, scaled to 0..255 for each image.
2. Prefilter: subtract the low frequencies (below 4 cycles per image) from the logarithm, divide by the local deviation.
3. Filter with Gabor functions in the Fourier domain, 4 scales x 8 orientations, with the image mirrored at its borders.
4. Average the magnitude of each filter's output in 4 x 4 blocks: 512 features.

Features are ordered by scale (finest first), then orientation, then column of blocks, then row of blocks.
"""

import numpy as np
import scipy.fft
from numpy.typing import ArrayLike, NDArray

from proxcode.utils.blocks import map_blocks
from proxcode.utils.validation import check_integer

# Number of images processed at a time, whose spectra fit in the processor's cache.
BLOCK = 8
# Frequency, in cycles per image, at which the low-pass filter of the prefilter passes one half.
CYCLES = 4
# Numbers of pixels mirrored at each border, for the prefilter and for the Gabor filters.
MARGIN, PADDING = 5, 32
# Constant added to the local deviation, so that uniform areas are not amplified.
MIN_DEVIATION = 0.2
# Frequency of the finest scale, in cycles per pixel, and ratio between successive scales.
FINEST, SCALE_RATIO = 0.3, 1.85
# Relative bandwidth of the Gabor filters.
BANDWIDTH = 0.35

Floats = NDArray[np.float32]


def gist(images: ArrayLike, *, n_orientations: int = 8, n_scales: int = 4, n_blocks: int = 4) -> Floats:
    """Compute GIST descriptors of images.

    Parameters
    ----------
    images : array of shape (n, side, side) or (n, side, side, 3)
        Grey or colour images, in any unit of brightness. The classic descriptor of tiny images has a side of 32.
    n_orientations, n_scales : int, default=8 and 4
        Numbers of orientations and scales of the Gabor filters.
    n_blocks : int, default=4
        Number of blocks along each side of an image; the side must be a multiple of it.

    Returns
    -------
    ndarray of shape (n, n_scales * n_orientations * n_blocks ** 2), float32
        512 features by default. All features of an image of a single colour are 0.

    Examples
    --------
    >>> stripes = np.tile(np.arange(32) % 4 < 2, (1, 32, 1))
    >>> energy = gist(stripes).reshape(4, 8, 16).mean(axis=2)  # by scale and orientation
    >>> scale, orientation = np.unravel_index(energy.argmax(), energy.shape)
    >>> int(scale), int(orientation)
    (0, 0)
    """
    n_orientations = check_integer("n_orientations", n_orientations, 1)
    n_scales = check_integer("n_scales", n_scales, 1)
    images = _checked(images, check_integer("n_blocks", n_blocks, 1))
    filters = _gabor_filters(images.shape[1] + 2 * PADDING, n_orientations, n_scales)
    result = np.empty((len(images), len(filters) * n_blocks**2), np.float32)
    for rows, described in map_blocks(lambda rows: _describe(images[rows], filters, n_blocks), len(images), BLOCK):
        result[rows] = described
    return result


def _checked(images: ArrayLike, n_blocks: int) -> NDArray[np.generic]:
    images = np.asarray(images)
    if images.ndim not in {3, 4} or (images.ndim == 4 and images.shape[3] != 3) or images.dtype.kind not in "buif":
        raise ValueError(
            f"images have shape {images.shape} and type {images.dtype}: expected numbers of shape (n, side, side), "
            "or (n, side, side, 3) for colour."
        )
    height, width = images.shape[1:3]
    if height != width or height < 1 or height % n_blocks:
        raise ValueError(
            f"images have {height} x {width} pixels: expected square images whose side is a multiple of "
            f"n_blocks={n_blocks}; resize them, for instance to 32 x 32."
        )
    if images.dtype.kind == "f" and not (is_finite := np.isfinite(images).all(axis=(1, 2))).all():
        first = np.argwhere(~is_finite)[0, 0]
        raise ValueError(f"image {first} contains NaN or infinity: drop it or impute its values.")
    return images


def _describe(images: NDArray[np.generic], filters: Floats, n_blocks: int) -> Floats:
    """Return the descriptors of a block of images, computed in single precision."""
    prefiltered = _prefiltered(_stretched_grey(images))
    side = prefiltered.shape[1]
    inner = slice(PADDING, PADDING + side)
    spectra = scipy.fft.fft2(_mirrored(prefiltered, PADDING))
    result = np.empty((len(images), len(filters), n_blocks, n_blocks), np.float32)
    for f, gabor in enumerate(filters):
        # The inverse transform is done one axis at a time: the second one can skip the borders.
        columns = scipy.fft.ifft(spectra * gabor, axis=1, overwrite_x=True)[:, inner]
        magnitude = np.abs(scipy.fft.ifft(columns, axis=2)[:, :, inner])
        blocks = magnitude.reshape(-1, n_blocks, side // n_blocks, n_blocks, side // n_blocks)
        result[:, f] = blocks.mean(axis=(2, 4)).transpose(0, 2, 1)
    return result.reshape(len(images), -1)


def _stretched_grey(images: NDArray[np.generic]) -> Floats:
    """Return grey images scaled to 0..255; an image of a single colour becomes 0."""
    grey = images.astype(np.float32) if images.ndim == 3 else images.mean(axis=3, dtype=np.float32)
    grey -= grey.min(axis=(1, 2), keepdims=True)
    highest = grey.max(axis=(1, 2), keepdims=True)
    grey *= 255 / np.where(highest > 0, highest, np.float32(1))
    return grey


def _prefiltered(grey: Floats) -> Floats:
    """Normalise local contrast."""
    bright = _mirrored(np.log1p(grey), MARGIN)
    side = bright.shape[1]
    cycles = scipy.fft.fftfreq(side, 1 / side)
    low = np.exp(-np.log(2) / CYCLES**2 * (cycles[:, None] ** 2 + cycles[: side // 2 + 1] ** 2)).astype(np.float32)
    detail = bright - _filtered(bright, low)
    deviation: Floats = np.sqrt(np.abs(_filtered(detail**2, low))) + np.float32(MIN_DEVIATION)
    return (detail / deviation)[:, MARGIN:-MARGIN, MARGIN:-MARGIN]


def _filtered(images: Floats, transfer: Floats) -> Floats:
    return scipy.fft.irfft2(scipy.fft.rfft2(images) * transfer, s=images.shape[1:])


def _mirrored(images: Floats, width: int) -> Floats:
    return np.pad(images, ((0, 0), (width, width), (width, width)), "symmetric")


def _gabor_filters(side: int, n_orientations: int, n_scales: int) -> Floats:
    """Return transfer functions of shape (n_scales * n_orientations, side, side): Gaussians in polar frequency."""
    per_pixel = scipy.fft.fftfreq(side)
    radius = np.hypot(per_pixel[:, None], per_pixel)
    angle = np.arctan2(per_pixel[:, None], per_pixel)
    turned = angle + np.pi * np.arange(n_orientations)[:, None, None] / n_orientations
    turned = (turned + np.pi) % (2 * np.pi) - np.pi
    center = (FINEST / SCALE_RATIO ** np.arange(n_scales))[:, None, None]
    radial = np.exp(-10 * BANDWIDTH * (radius / center - 1) ** 2)
    # The usual formula has 16 n^2 / 32^2 = (n / 8)^2 for n orientations.
    angular = np.exp(-2 * np.pi * (n_orientations / 8) ** 2 * turned**2)
    return (radial[:, None] * angular).reshape(-1, side, side).astype(np.float32)
