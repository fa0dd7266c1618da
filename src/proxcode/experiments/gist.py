"""GIST: the energy of an image by scale, orientation and place (Oliva and Torralba, IJCV 2001), 512 numbers.

1. Grey: the mean of the colours, stretched to 0..255 for each image.
2. Prefilter: the logarithm, less its own low frequencies (below 4 cycles per image), over the local deviation.
3. Filter with Gabor functions in the Fourier domain, 4 scales x 8 orientations, the image mirrored at its borders.
4. Mean magnitude of each filter's output in 4 x 4 blocks.

Numbers run over scales (the finest first), then orientations, then the columns of blocks, then their rows.
"""

import numpy as np
import scipy.fft
from numpy.typing import ArrayLike, NDArray

from proxcode.utils.blocks import map_blocks
from proxcode.utils.validation import check_whole

BLOCK = 8  # images; their spectra stay in the processor's cache
CYCLES = 4  # per image, where the prefilter passes half
MARGIN, PADDING = 5, 32  # pixels mirrored at each border, for the prefilter and for the Gabor filters
MIN_DEVIATION = 0.2  # added to the local deviation, so that flat places stay flat
FINEST, SCALE_RATIO = 0.3, 1.85  # cycles per pixel of the finest scale; each other is so many times coarser
BANDWIDTH = 0.35

Floats = NDArray[np.float32]


def gist(images: ArrayLike, *, n_orientations: int = 8, n_scales: int = 4, n_blocks: int = 4) -> Floats:
    """Describe images by their GIST.

    Parameters
    ----------
    images : array of shape (n, side, side) or (n, side, side, 3)
        Grey or colour, in any unit of brightness. The classic descriptor of tiny images has a side of 32.
    n_orientations, n_scales : int, default=8 and 4
        The Gabor filters.
    n_blocks : int, default=4
        Blocks along each side, which must be a multiple of it.

    Returns
    -------
    ndarray of shape (n, n_scales * n_orientations * n_blocks ** 2), float32
        512 numbers by default. An image of one colour has none but zeros.

    Examples
    --------
    >>> stripes = np.tile(np.arange(32) % 4 < 2, (1, 32, 1))
    >>> energy = gist(stripes).reshape(4, 8, 16).mean(axis=2)  # by scale and orientation
    >>> scale, orientation = np.unravel_index(energy.argmax(), energy.shape)
    >>> int(scale), int(orientation)
    (0, 0)
    """
    n_orientations = check_whole("n_orientations", n_orientations, 1)
    n_scales = check_whole("n_scales", n_scales, 1)
    images = _checked(images, check_whole("n_blocks", n_blocks, 1))
    filters = _gabor_filters(images.shape[1] + 2 * PADDING, n_orientations, n_scales)
    result = np.empty((len(images), len(filters) * n_blocks**2), np.float32)
    for rows, described in map_blocks(lambda rows: _describe(images[rows], filters, n_blocks), len(images), BLOCK):
        result[rows] = described
    return result


def _checked(images: ArrayLike, n_blocks: int) -> NDArray[np.generic]:
    images = np.asarray(images)
    if images.ndim not in {3, 4} or (images.ndim == 4 and images.shape[3] != 3) or images.dtype.kind not in "buif":
        raise ValueError(
            f"images have shape {images.shape} and type {images.dtype}: give numbers of shape (n, side, side), "
            "or (n, side, side, 3) for colour."
        )
    height, width = images.shape[1:3]
    if height != width or height < 1 or height % n_blocks:
        raise ValueError(
            f"images are of {height} x {width} pixels, not square with a side that is a multiple of n_blocks = "
            f"{n_blocks}: resize them, to 32 x 32 for instance."
        )
    if images.dtype.kind == "f" and not (is_whole := np.isfinite(images).all(axis=(1, 2))).all():
        first = np.argwhere(~is_whole)[0, 0]
        raise ValueError(f"image {first} contains NaN or infinity: leave it out or fill it in.")
    return images


def _describe(images: NDArray[np.generic], filters: Floats, n_blocks: int) -> Floats:
    """Return the GIST of a block of images, in single precision throughout."""
    prefiltered = _prefiltered(_stretched_grey(images))
    side = prefiltered.shape[1]
    inner = slice(PADDING, PADDING + side)
    spectra = scipy.fft.fft2(_mirrored(prefiltered, PADDING))
    result = np.empty((len(images), len(filters), n_blocks, n_blocks), np.float32)
    for f, gabor in enumerate(filters):
        # Back from the Fourier domain one axis at a time: the borders need not go through the second.
        columns = scipy.fft.ifft(spectra * gabor, axis=1, overwrite_x=True)[:, inner]
        magnitude = np.abs(scipy.fft.ifft(columns, axis=2)[:, :, inner])
        blocks = magnitude.reshape(-1, n_blocks, side // n_blocks, n_blocks, side // n_blocks)
        result[:, f] = blocks.mean(axis=(2, 4)).transpose(0, 2, 1)
    return result.reshape(len(images), -1)


def _stretched_grey(images: NDArray[np.generic]) -> Floats:
    """Return grey images from 0 to 255; one of a single colour becomes 0."""
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
    """Return the filters' transfer functions, (n_scales * n_orientations, side, side): Gaussians in polar frequency."""
    per_pixel = scipy.fft.fftfreq(side)
    radius = np.hypot(per_pixel[:, None], per_pixel)
    angle = np.arctan2(per_pixel[:, None], per_pixel)
    turned = angle + np.pi * np.arange(n_orientations)[:, None, None] / n_orientations
    turned = (turned + np.pi) % (2 * np.pi) - np.pi
    center = (FINEST / SCALE_RATIO ** np.arange(n_scales))[:, None, None]
    radial = np.exp(-10 * BANDWIDTH * (radius / center - 1) ** 2)
    angular = np.exp(-2 * np.pi * (n_orientations / 8) ** 2 * turned**2)  # 16 n^2 / 32^2 = (n / 8)^2
    return (radial[:, None] * angular).reshape(-1, side, side).astype(np.float32)
