"""Codes without labels: near means within a radius in the original space.

`fit(X)` finds the radius within which a sample has 100 neighbours on average, and learns codes whose Hamming distance
separates the pairs within it from all others. Searching them is an approximate search for true nearest neighbours: the
codes select candidates, and a rescoring puts these in a finer order.

- Hamming distance alone: nothing but the codes is kept.
- `ByMargins`: the query is compared by its margins, real numbers, with the stored bits.
- `ByDistance`: the candidates are compared with the query in the original space, where you keep the samples.

Codes of random hyperplanes (locality-sensitive hashing) of the same length are the baseline; they have no margins that
were learned to be compared.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NearestNeighbors

from proxcode import HammingIndex, ProximityPreservingCode, pack
from proxcode.search import ByDistance, ByMargins

N_BITS, K = 32, 10

X, _ = load_digits(return_X_y=True)
X_train, Q = train_test_split(X, test_size=300, random_state=0)
true = NearestNeighbors(n_neighbors=K).fit(X_train).kneighbors(Q, return_distance=False)


def recall(index, codes, **settings):
    """Return the share of the K true nearest neighbours that are among the K found."""
    found = index.search(codes, K, **settings).neighbor
    return np.mean([len(np.intersect1d(*pair)) / K for pair in zip(true, found, strict=True)])


model = ProximityPreservingCode(N_BITS, random_state=0).fit(X_train)
print(f"near means: {model.proximity_.describe()}")
learned = model.index(model.encode(X_train)), model.encode(Q)

center = X_train.mean(axis=0)
planes = np.random.default_rng(0).normal(size=(X.shape[1], N_BITS))
random = HammingIndex(N_BITS).add(pack((X_train - center) @ planes >= 0)), pack((Q - center) @ planes >= 0)

by_margins, by_distance = ByMargins(model.scores(Q)), ByDistance(Q, X_train)
print(f"recall of the {K} true nearest neighbours, {N_BITS} bits  learned  random")
print(f"Hamming distance                                {recall(*learned):.2f}     {recall(*random):.2f}")
print(f"40 candidates, rescored by margins              {recall(*learned, rescore=by_margins):.2f}")
for n_candidates in (40, 100):
    settings = {"rescore": by_distance, "oversample": n_candidates / K}
    recalls = f"{recall(*learned, **settings):.2f}     {recall(*random, **settings):.2f}"
    print(f"{f'{n_candidates} candidates, rescored by distance':<48}{recalls}")
