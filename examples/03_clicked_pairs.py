"""
Codes from clicks
=================

Near means "clicked in one session".

Items of a shop have embeddings whose variance is mostly style (colour, photograph), while visitors look for a purpose
that only some directions of the embeddings show. No item has a label. Sessions are all that is known: items clicked
together are near pairs, a tenth of the clicks is stray. Far pairs need not be listed: they are drawn at random.

The items are made in this script, so that the purpose is known and the codes can be judged by it, on items that nobody
has clicked yet. Nearest neighbours in the original embeddings are the baseline.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.neighbors import NearestNeighbors

from proxcode import GivenPairs, KernelHash, LinearHash, ProximityPreservingCode

N_KNOWN, N_NEW, N_PURPOSES, N_SESSIONS, K = 2500, 500, 20, 2000, 10
rng = np.random.default_rng(0)


def make_items():
    """Return embeddings of 32 dimensions, eight directions of which show the purpose, and the purposes."""
    purpose = rng.integers(N_PURPOSES, size=N_KNOWN + N_NEW)
    meaning = 2.0 * rng.normal(size=(N_PURPOSES, 8))[purpose] + rng.normal(size=(len(purpose), 8))
    style = 3.0 * rng.normal(size=(len(purpose), 24))
    rotation, _ = np.linalg.qr(rng.normal(size=(32, 32)))
    return np.hstack([meaning, style]) @ rotation, purpose


def make_sessions(purpose):
    """Return four clicks for each session on known items of one purpose, a tenth of them on any known item."""
    items_of = [np.flatnonzero(purpose[:N_KNOWN] == wanted) for wanted in range(N_PURPOSES)]
    clicks = np.array([rng.choice(items_of[wanted], 4) for wanted in rng.integers(N_PURPOSES, size=N_SESSIONS)])
    return np.where(rng.random(clicks.shape) < 0.1, rng.integers(N_KNOWN, size=clicks.shape), clicks)


def distinct(pairs):
    """Return pairs of different items, each once, as numbers i * N_KNOWN + j with i < j."""
    i, j = np.sort(pairs, axis=1).T
    return np.unique((i * N_KNOWN + j)[i < j])


# %%
# Near pairs are the items clicked in one session.
X, purpose = make_items()
clicks = make_sessions(purpose)
near = distinct(np.vstack([clicks[:, [a, b]] for a in range(4) for b in range(a)]))
pairs = np.column_stack(divmod(near, N_KNOWN))
is_wrong = purpose[pairs[:, 0]] != purpose[pairs[:, 1]]
print(f"{len(pairs):,} near pairs of {N_KNOWN:,} items, {is_wrong.mean():.0%} of them wrong")

known, new = X[:N_KNOWN], X[N_KNOWN:]


def precision(found):
    """Return the share of the items found that have the purpose of the query."""
    return (purpose[found] == purpose[N_KNOWN:, None]).mean()


# %%
# New items, whose code follows from their embedding alone, find items of the same purpose.
print(f"precision@{K} of {N_NEW} new items")
nearest = NearestNeighbors(n_neighbors=K).fit(known).kneighbors(new, return_distance=False)
precisions = {"distance of embeddings": precision(nearest)}
print(f"  distance of embeddings      {precision(nearest):.2f}")
for hash_function in (LinearHash(), KernelHash()):
    model = ProximityPreservingCode(32, proximity=GivenPairs(pairs), hash_function=hash_function, random_state=0)
    model.fit(known)
    _, found = model.index(model.encode(known)).search(model.encode(new), k=K)
    last = model.history_[-1]
    precisions[f"codes of {hash_function!r}"] = precision(found)
    print(f"  {hash_function!r:<28}{precision(found):.2f}")
    print(f"    of the pairs held back {last.near_within:.0%}, of random pairs {last.far_within:.0%} within radius_")

_, ax = plt.subplots(figsize=(7, 2), layout="constrained")
ax.bar_label(ax.barh(list(precisions), list(precisions.values())), fmt="%.2f", padding=3)
ax.invert_yaxis()
ax.set(xlabel=f"precision@{K}: share of items with the purpose of the query", xlim=(0, 1.1))
plt.show()
