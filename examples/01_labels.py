"""
Codes from labels
=================

Learn, encode new samples, search among the codes, save and load the model.

The digits are 8 x 8 images of ten classes. A code of 32 bits replaces 64 floating-point numbers (512 bytes) by 4 bytes;
its Hamming distance is small between images of the same class. Nearest neighbours in the original space, which know
nothing of the labels, are the baseline.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NearestNeighbors

from proxcode import ProximityPreservingCode
from proxcode.hamming import distances
from proxcode.plots import plot_near_and_far

X, y = load_digits(return_X_y=True)
X_train, X_new, y_train, y_new = train_test_split(X, y, test_size=500, random_state=0, stratify=y)

# %%
# Learn. Near means "the same label" because fit is given labels.
model = ProximityPreservingCode(n_bits=32, random_state=0).fit(X_train, y_train)
codes = model.encode(X_train)
print(f"{len(codes)} codes of {model.n_bits_} bits, {codes.nbytes:,} bytes; the images have {X_train.nbytes:,} bytes")

# %%
# Search for the 10 nearest codes of images that were not seen in fit.
index = model.index(codes)
distance, neighbor = index.search(model.encode(X_new), k=10)
precision = (y_train[neighbor] == y_new[:, None]).mean()
exact = NearestNeighbors(n_neighbors=10).fit(X_train).kneighbors(X_new, return_distance=False)
precision_exact = (y_train[exact] == y_new[:, None]).mean()
print(f"share of neighbours with the label of the query: {precision:.3f} by codes, {precision_exact:.3f} by distance")

# %%
# ``radius_`` is the learned threshold: codes up to this Hamming distance count as near.
near = index.within(model.encode(X_new), model.radius_)
query = np.repeat(np.arange(len(X_new)), np.diff(near.offsets))
is_right = y_train[near.neighbor] == y_new[query]
n_near = (y_train[:, None] == y_new).sum()
print(f"near pairs up to Hamming distance {model.radius_}: precision {is_right.mean():.3f}", end=", ")
print(f"recall {is_right.sum() / n_near:.3f}")

# %%
# Most images of the same class have nearly equal codes, those of two classes differ in about half of the bits.
distance = distances(model.encode(X_new), codes)
is_near = y_new[:, None] == y_train
near_and_far = [np.bincount(distance[kind], minlength=model.n_bits_ + 1) for kind in (is_near, ~is_near)]
plot_near_and_far(*near_and_far, model.alpha_)
plt.show()

# %%
# The first 16 bits of a code are the code of a model of 16 bits.
short = model.encode(X_new, n_bits=16)
_, neighbor = model.index(model.encode(X_train, n_bits=16), n_bits=16).search(short, k=10)
print(f"the same with the first 16 bits only: {(y_train[neighbor] == y_new[:, None]).mean():.3f}")

# %%
# A model file is a safetensors file, without pickle.
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "digits.proxcode"
    model.save(path)
    loaded = ProximityPreservingCode.load(path)
print(f"the loaded model encodes in the same way: {np.array_equal(loaded.encode(X_new), model.encode(X_new))}")
