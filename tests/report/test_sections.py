"""Sections that need codes alone, images and charts, against references; contrast of the colours."""

import base64
import re
import struct
import zlib

import numpy as np
import pytest

from helpers.html_pages import Page
from proxcode import HammingIndex, SameLabel, SharedLabel, pack, unpack
from proxcode.report.charts import Frame, doubling, linear, percent
from proxcode.report.code_sections import bit_correlation, bits_section, distance_section, random_pair_counts
from proxcode.report.images import pixel_range, png, thumbnails
from proxcode.report.labels import Labels
from proxcode.report.map_section import MapLabels, map_section, plane
from proxcode.report.neighbors import _neighborhood, find_neighborhoods
from proxcode.report.page import page, style_sheet

RNG = np.random.default_rng(0)


def pixels_of(address):
    """Decode a PNG without filters, as the format says."""
    content = base64.b64decode(address.removeprefix("data:image/png;base64,"))
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(content):
        (size,) = struct.unpack(">I", content[at : at + 4])
        kind, data = content[at + 4 : at + 8], content[at + 8 : at + 8 + size]
        assert struct.unpack(">I", content[at + 8 + size : at + 12 + size])[0] == zlib.crc32(kind + data)
        chunks[kind] = data
        at += 12 + size
    width, height, depth, kind = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    channels = {0: 1, 2: 3, 6: 4}[kind]
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, 1 + width * channels)
    assert depth == 8
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, channels)


@pytest.mark.parametrize("shape", [(5, 7), (5, 7, 3), (2, 3, 4)], ids=str)
def test_images_hold_their_pixels(shape):
    pixels = RNG.integers(256, size=shape, dtype=np.uint8)
    assert np.array_equal(pixels_of(png(pixels)), pixels.reshape(*shape[:2], -1))


def test_thumbnails_of_planes_and_of_pixels_are_equal():
    image = RNG.integers(256, size=(1, 4, 6, 3)).astype(float)
    planes = np.moveaxis(image, 3, 1).reshape(1, -1)
    by_planes = thumbnails(planes, (3, 4, 6), 0, 255)[0]
    assert by_planes == thumbnails(image.reshape(1, -1), (4, 6, 3), 0, 255)[0]
    assert np.array_equal(pixels_of(by_planes), image[0].astype(np.uint8))


def test_numbers_that_are_no_pixels_are_black_and_do_not_set_the_range():
    samples = np.array([[0.0, 4.0], [np.nan, 2.0], [np.inf, -np.inf]])
    assert pixel_range(samples) == (0.0, 4.0)
    assert pixel_range(samples[2:]) == (0.0, 1.0)
    assert pixel_range(samples[:1].astype(np.uint8)) == (0.0, 255.0)
    expected = [png(np.array([row], np.uint8)) for row in ([0, 255], [0, 128], [255, 0])]
    assert thumbnails(samples, (1, 2), 0.0, 4.0) == expected


def test_correlation_is_that_of_numpy():
    bits = (RNG.random((200, 6)) < [0.5, 0.1, 0.9, 0.5, 0.3, 0.6]).astype(np.uint8)
    np.testing.assert_allclose(bit_correlation(bits), np.corrcoef(bits.T), atol=1e-12)


def test_random_pairs_have_the_distances_of_all_pairs():
    bits = (RNG.random((60, 20)) < np.linspace(0.1, 0.9, 20)).astype(np.uint8)
    one, other = np.triu_indices(60, 1)
    exact = np.bincount((bits[one] != bits[other]).sum(axis=1), minlength=21) / len(one)
    counts = random_pair_counts(pack(bits), 20)
    assert counts.sum() == 200_000
    np.testing.assert_allclose(counts / counts.sum(), exact, atol=0.005)


@pytest.mark.parametrize("n_bits", [1, 3, 64, 300])
@pytest.mark.parametrize("n_samples", [2, 50])
def test_codes_of_any_length_have_sections(n_bits, n_samples):
    bits = RNG.integers(2, size=(n_samples, n_bits), dtype=np.uint8)
    codes = pack(bits)
    places, words = plane(unpack(codes, n_bits))
    sections = [
        distance_section(codes, n_bits),
        bits_section(codes, n_bits),
        map_section(places, bits, ["tip"] * n_samples, None, words, n_samples),
    ]
    read = Page(page("codes", sections))
    assert len(read.all("circle")) == n_samples
    assert [section["id"] for section in read.all("section")] == ["distances", "bits", "map"]


def test_axes_of_whole_numbers_have_no_fractions():
    for n_bits in (1, 2, 3, 4):
        words = {f"{k}" for k in range(n_bits + 1)}
        assert {name for _, name in linear(-0.5, n_bits + 0.5, 6, least_step=1).ticks} == words
        bits = RNG.integers(2, size=(50, n_bits), dtype=np.uint8)
        document = page("codes", [distance_section(pack(bits), n_bits), bits_section(pack(bits), n_bits)])
        shown = re.findall(r'<g class="ticks">.*?</g>', document)
        assert len(shown) == 3
        for ticks in shown:
            assert set(re.findall(r">([\d.]+)<", ticks)) <= words


def test_a_single_code_has_no_distances():
    read = Page(page("code", [distance_section(np.zeros((1, 2), np.uint8), 16, 3)]))
    assert "Left out. A single code has no pairs: distances need at least two codes." in read.words
    assert "on average" not in read.words


def test_equal_codes_have_sections():
    codes = np.full((30, 2), 255, np.uint8)
    read = Page(page("codes", [distance_section(codes, 16, 3), bits_section(codes, 16)]))
    assert "100% of random pairs have equal codes" in read.words
    assert "16 bits are below 5% or above 95%" in read.words


def test_bits_that_say_the_same_are_named():
    bits = RNG.integers(2, size=(500, 4), dtype=np.uint8)
    bits[:, 3] = 1 - bits[:, 1]
    assert "Bits 2 and 4 say nearly the same (-1.00)" in Page(page("codes", [bits_section(pack(bits), 4)])).words


def test_labels_are_numbered_by_their_samples():
    labels = MapLabels.of_sets([["b"], ["a", "b"], [], ["c"], ["b", "c"]])
    assert labels.names == ["b", "c", "a"]
    assert labels.sets == [[0], [0, 2], [], [1], [0, 1]]


@pytest.mark.parametrize("n_samples", [40, 5])
def test_the_map_keeps_distances_of_samples_in_a_plane(n_samples):
    flat = RNG.normal(size=(n_samples, 2)) * [5, 1]
    rotated = flat @ np.linalg.qr(RNG.normal(size=(7, 7)))[0][:2]
    places, words = plane(rotated)
    unit = np.abs(rotated).max()
    np.testing.assert_allclose(unit * _distances(places), _distances(flat), atol=1e-9)
    assert words == "the two principal components, 100% of the variance"


def test_the_map_of_huge_samples_is_that_of_others():
    samples = RNG.normal(size=(40, 7))
    for huge in (samples * 2.0**700, samples * 2.0**-700):
        places, words = plane(huge)
        np.testing.assert_allclose(places, plane(samples)[0], rtol=1e-9)
        assert words == plane(samples)[1]


def _distances(samples):
    return np.linalg.norm(samples[:, None] - samples, axis=2)


def test_scales_put_values_in_their_places():
    frame = Frame(linear(0, 10), percent())
    assert frame.at_x(10) - frame.at_x(5) == pytest.approx(frame.at_x(5) - frame.at_x(0))
    assert frame.at_y(0) == frame.floor > frame.at_y(1)
    scale = doubling([1, 2048])
    assert scale.share(64) - scale.share(32) == pytest.approx(scale.share(4) - scale.share(2))
    assert scale.ticks[-1][1] == "1k"


def test_colours_have_contrast_in_light_and_dark():
    blocks = re.findall(r":root \{(.*?)\n\s*\}", style_sheet(), re.DOTALL)[:2]
    for block in blocks:
        colours = dict(re.findall(r"--([\w]+): (#[0-9a-f]{6})", block))
        assert len(colours) > 15
        for ground in ("card", "paper", "soft"):
            for name in ("ink", "muted", "near", "far"):
                assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)
        for series in range(10):
            assert contrast(colours[f"c{series}"], colours["card"]) >= 4.5


def contrast(one, other):
    """The contrast ratio of WCAG 2."""
    lights = sorted(_luminance(colour) for colour in (one, other))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def _luminance(colour):
    parts = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    linear_parts = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear_parts @ [0.2126, 0.7152, 0.0722])


def test_what_has_no_label_neither_agrees_nor_disagrees():
    codes = np.zeros((60, 1), np.uint8)
    y = np.repeat(["a", "b", ""], [25, 25, 10])
    labels = Labels.read(y, None, SameLabel(), 60)
    found = find_neighborhoods(HammingIndex(8).add(codes), codes, np.arange(60), labels, 5)
    assert all(one.row < 50 for one in found.worst)
    for one in [*found.random, *found.worst]:
        expected = [None if "" in (y[one.row], y[other]) else y[one.row] == y[other] for other in one.neighbors]
        assert one.agree == expected
    unlabelled = _neighborhood(labels, 55, [0, 1], [0, 0])
    assert (unlabelled.known, unlabelled.share) == ([], 1.0)
    # A row of zeros is far from all others.
    matrix = Labels(SharedLabel(), np.array([[1, 0], [0, 0], [1, 1]]), np.arange(3))
    assert _neighborhood(matrix, 0, [1, 2], [0, 0]).agree == [False, True]
