"""
Codes without labels
====================

For top-k search, the nearest samples get the nearest codes. ``fit(X)`` learns codes whose Hamming distances rank
neighbours (:class:`~proxcode.RotationHash`). Searching them is an approximate search for true nearest neighbours, in
one of these ways:

- Hamming distance between codes: nothing but bits on both sides,
- float queries, ``model.query(Q)``: the query itself is compared with the decoded codes, by lookup tables,
- the same with :class:`~proxcode.ReconstructionHash`, whose codes are made for float queries and are poor for Hamming
  distances,
- :class:`~proxcode.search.ByDistance`: candidates are compared with the query in the original space, where you keep the
  samples.

Codes of random hyperplanes (locality-sensitive hashing) of the same length are the baseline.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NearestNeighbors

from proxcode import HammingIndex, ProximityPreservingCode, ReconstructionHash, pack
from proxcode.search import ByDistance

N_BITS, K = 32, 10

X, _ = load_digits(return_X_y=True)
X_train, Q = train_test_split(X, test_size=300, random_state=0)
true = NearestNeighbors(n_neighbors=K).fit(X_train).kneighbors(Q, return_distance=False)


def recall(index, queries, **settings):
    """Return the share of the K true nearest neighbours that are among the K found."""
    found = index.search(queries, K, **settings).neighbor
    return np.mean([len(np.intersect1d(*pair)) / K for pair in zip(true, found, strict=True)])


model = ProximityPreservingCode(N_BITS, random_state=0).fit(X_train)
decoded = ProximityPreservingCode(N_BITS, hash_function=ReconstructionHash(), random_state=0).fit(X_train)
index, decoded_index = model.index(model.encode(X_train)), decoded.index(decoded.encode(X_train))

center = X_train.mean(axis=0)
planes = np.random.default_rng(0).normal(size=(X.shape[1], N_BITS))
random_index = HammingIndex(N_BITS).add(pack((X_train - center) @ planes >= 0))
random_codes = pack((Q - center) @ planes >= 0)

# %%
# How many of the true neighbours each of them finds:
rescore = ByDistance(queries=Q, vectors=X_train)
recalls = {
    "random hyperplanes, Hamming distance": recall(random_index, random_codes),
    "RotationHash (default), Hamming distance": recall(index, model.encode(Q)),
    "RotationHash (default), float queries": recall(index, model.query(Q)),
    "ReconstructionHash, Hamming distance": recall(decoded_index, decoded.encode(Q)),
    "ReconstructionHash, float queries": recall(decoded_index, decoded.query(Q)),
    "40 candidates, rescored by distance": recall(index, model.encode(Q), rescore=rescore, oversample=40 / K),
    "100 candidates, rescored by distance": recall(index, model.encode(Q), rescore=rescore, oversample=100 / K),
}
print(f"near means: {model.proximity_.describe()}")
print(f"recall of the {K} true nearest neighbours, {N_BITS} bits")
for name, found in recalls.items():
    print(f"  {name:<42} {found:.2f}")

_, ax = plt.subplots(figsize=(8, 3.5), layout="constrained")
ax.bar_label(ax.barh(list(recalls), list(recalls.values())), fmt="%.2f", padding=3)
ax.invert_yaxis()
ax.set(xlabel=f"share of the {K} true nearest neighbours found", xlim=(0, 1.1))
plt.show()
