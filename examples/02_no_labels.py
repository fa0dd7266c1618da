"""Codes without labels: near means within a radius in the original space.

`fit(X)` finds the radius within which a sample has 100 neighbours on average, and learns codes whose Hamming distance
separates the pairs within it from all others. Searching them is an approximate search for true nearest
neighbours: the codes select candidates, and a rescoring puts these in a finer order.

- Hamming distance alone: nothing but the codes is kept.
- `ByMargins`: the query is compared by its margins, real numbers, with the stored bits.
- `ByDistance`: the candidates are compared with the query in the original space, where you keep the samples.

Codes of random hyperplanes (locality-sensitive hashing) of the same length are the baseline.
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


def recall(found):
    """Return the share of the K true nearest neighbours that are among the K found."""
    return np.mean([len(np.intersect1d(*pair)) / K for pair in zip(true, found.neighbor, strict=True)])


model = ProximityPreservingCode(N_BITS, random_state=0).fit(X_train)
print(f"near means: {model.proximity_.describe()}")
index = model.index(model.encode(X_train))
queries = model.encode(Q)

center, planes = X_train.mean(axis=0), np.random.default_rng(0).normal(size=(X.shape[1], N_BITS))
random_index = HammingIndex(N_BITS).add(pack((X_train - center) @ planes >= 0))
random_queries = pack((Q - center) @ planes >= 0)

by_distance = ByDistance(Q, X_train)
print(f"recall of the {K} true nearest neighbours, {N_BITS} bits:    learned  random hyperplanes")
learned, random = index.search(queries, K), random_index.search(random_queries, K)
print(f"  Hamming distance                                   {recall(learned):.2f}     {recall(random):.2f}")
learned = index.search(queries, K, rescore=ByMargins(model.scores(Q)))
print(f"  4 x {K} candidates, rescored by margins              {recall(learned):.2f}")
learned = index.search(queries, K, rescore=by_distance)
random = random_index.search(random_queries, K, rescore=by_distance)
print(f"  4 x {K} candidates, rescored by distance             {recall(learned):.2f}     {recall(random):.2f}")
learned = index.search(queries, K, rescore=by_distance, oversample=10)
random = random_index.search(random_queries, K, rescore=by_distance, oversample=10)
print(f"  10 x {K} candidates, rescored by distance            {recall(learned):.2f}     {recall(random):.2f}")
