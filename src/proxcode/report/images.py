"""Images as data in a page: PNG files made of arrays, without another library."""

import base64
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.utils.rows import evenly_spaced

# Colour types of PNG by the number of channels: grey, red, green and blue, and these with opacity.
COLOUR_TYPES = {1: 0, 3: 2, 4: 6}
# Samples whose smallest and largest number are black and white.
N_RANGED = 1000
# Shape of an image: height, width, and 3 for channels last; or 3, height and width.
Shape = tuple[int, ...]


def png(pixels: NDArray[np.uint8]) -> str:
    """Return the address of an image as data.

    Parameters
    ----------
    pixels : ndarray of uint8, shape (height, width) or (height, width, 1, 3 or 4)
    """
    height, width, channels = pixels.reshape(*pixels.shape[:2], -1).shape
    header = struct.pack(">IIBBBBB", width, height, 8, COLOUR_TYPES[channels], 0, 0, 0)
    rows = pixels.reshape(height, width * channels)
    # Each row begins with the number of its filter; 0 is none.
    content = zlib.compress(np.hstack([np.zeros((height, 1), np.uint8), rows]).tobytes(), 9)
    chunks = (_chunk(b"IHDR", header), _chunk(b"IDAT", content), _chunk(b"IEND", b""))
    file = b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
    return f"data:image/png;base64,{base64.b64encode(file).decode()}"


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def parse_shape(shape: str | Shape) -> Shape:
    """Return the shape of an image from "28x28", "32x32x3" or "3x32x32", or from such numbers.

    Examples
    --------
    >>> parse_shape("28x28"), parse_shape((3, 32, 32))
    ((28, 28), (3, 32, 32))
    """
    if not isinstance(shape, str | tuple | list):
        raise TypeError(f"image shape {shape!r}: expected a tuple of integers or a string, as in 28x28.")
    parts = shape.lower().split("x") if isinstance(shape, str) else list(shape)
    sizes = tuple(int(part) for part in parts if str(part).strip().isdecimal())
    is_image = len(sizes) == len(parts) and min(sizes, default=0) > 0
    if not is_image or not (len(sizes) == 2 or (len(sizes) == 3 and {1, 3} & {sizes[0], sizes[2]})):
        raise ValueError(
            f"image shape {shape!r}: expected HEIGHTxWIDTH, HEIGHTxWIDTHx3 or 3xHEIGHTxWIDTH, as in 28x28."
        )
    return sizes


def check_shape(shape: Shape, n_features: int) -> None:
    """Raise ValueError unless an image of this shape has as many numbers as a sample."""
    if (n_pixels := int(np.prod(shape))) != n_features:
        named = "x".join(map(str, shape))
        raise ValueError(
            f"image shape {named} has {n_pixels:,} numbers, but a sample has {n_features:,}: pass its own."
        )


def pixel_range(samples: NDArray[Any]) -> tuple[float, float]:
    """Return the values that are black and white: of bytes 0 and 255, else the smallest and largest of some samples."""
    if samples.dtype == np.uint8:
        return 0.0, 255.0
    some = samples[evenly_spaced(len(samples), N_RANGED)]
    finite = some[np.isfinite(some)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)


def thumbnails(samples: NDArray[Any], shape: Shape, low: float, high: float) -> list[str]:
    """Return samples as images; values from `low` to `high` become black to white, NaN black."""
    grey = (np.asarray(samples, np.float64) - low) / (high - low if high > low else 1.0)
    grey = np.clip(np.nan_to_num(grey, posinf=1, neginf=0), 0, 1)
    pixels = (255 * grey + 0.5).astype(np.uint8).reshape(len(samples), *shape)
    if len(shape) == 3 and shape[2] not in (1, 3):
        pixels = np.moveaxis(pixels, 1, 3)
    return [png(image) for image in pixels]
