"""
The life of an index
====================

Codes are added, replaced and removed under identifiers of your own, in a file that grows.

The samples are random, around 200 centres. The index holds their codes alone; the samples live elsewhere, here in a
dictionary that stands for a database, and are fetched only to rescore a few candidates.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from proxcode import HammingIndex, LinearHash, ProximityPreservingCode
from proxcode.search import ByDistance

K = 10
rng = np.random.default_rng(0)
centers = rng.normal(size=(200, 32))


def make_samples(n):
    return centers[rng.integers(len(centers), size=n)] + 0.5 * rng.normal(size=(n, 32))


# %%
# Learn from a part of the data; the samples of every later day are encoded by the same model.
model = ProximityPreservingCode(64, hash_function=LinearHash(), random_state=0).fit(make_samples(2000))
index = HammingIndex(model.n_bits_)
database = {}
for day in (1, 2, 3):
    samples, ids = make_samples(20_000), 1_000_000 * day + np.arange(20_000)
    index.add(model.encode(samples), ids=ids)
    database.update(zip(ids.tolist(), samples, strict=True))
print(f"{len(index):,} codes, {8 * len(index):,} bytes; the samples have {8 * 32 * len(index):,} bytes")

# %%
# The samples of the first day expire.
expired = index.ids[index.ids < 2_000_000]
index.remove(expired)
print(f"after the removal of {len(expired):,} codes: {len(index):,} codes, the first with id {index.ids[0]}")

# %%
# The index becomes a file, which is searched, and then changed while it is open for writing.
recalls = {}
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "items.index"
    index.save(path)
    # A memory-mapped index opens at once, and processes that open it share its memory.
    opened = HammingIndex.load(path, mapped=True)

    queries = make_samples(100)
    codes = model.encode(queries)
    is_same = np.array_equal(opened.search(codes, K).neighbor, index.search(codes, K).neighbor)
    print(f"the opened index finds the same neighbours: {is_same}")

    fetched = []

    def fetch(ids):
        """Return the samples of some ids, as a query of a database would."""
        fetched.extend(ids.tolist())
        return [database[i] for i in ids.tolist()]

    stored = np.array([database[i] for i in opened.ids.tolist()])
    true = [opened.ids[np.argsort(((stored - query) ** 2).sum(axis=1))[:K]] for query in queries]
    print(f"recall of the {K} true nearest neighbours, and samples fetched for {len(queries)} queries")
    for name, settings in {
        "Hamming distance alone": {},
        "40 candidates, rescored": {"rescore": ByDistance(queries=queries, vectors=fetch)},
        "200 candidates, rescored": {"rescore": ByDistance(queries=queries, vectors=fetch), "oversample": 20},
    }.items():
        fetched.clear()
        found = opened.search(codes, K, **settings).neighbor
        recalls[name] = np.mean([len(np.intersect1d(*pair)) / K for pair in zip(true, found, strict=True)])
        print(f"  {name:<26}{recalls[name]:.2f}  {len(fetched):>6,}")

    # Changes of an index that is open for writing are permanent; they are appended to a journal beside the file.
    with HammingIndex.open(path) as growing:
        growing.add(codes).upsert(codes[:3], ids=[2_000_000, 2_000_001, 9_000_000]).remove([2_000_002])
    loaded, journal = HammingIndex.load(path), Path(f"{path}.journal").stat().st_size
    print(f"{len(loaded):,} codes in the file and {journal:,} bytes of its journal, the last with id {loaded.ids[-1]}")

    # The neighbours of a stored sample, without itself, among those of the last day.
    day = loaded.ids[loaded.ids >= 3_000_000]
    own = np.array([3_000_000, 3_000_001])
    found = loaded.search(loaded.get(own), K, among=day, exclude=own).neighbor
    print(f"a stored sample finds itself: {bool((found == own[:, None]).any())}; the smallest id found: {found.min()}")

# %%
# Few samples that are fetched make up for most of what short codes lose.
_, ax = plt.subplots(figsize=(7, 2), layout="constrained")
ax.bar_label(ax.barh(list(recalls), list(recalls.values())), fmt="%.2f", padding=3)
ax.invert_yaxis()
ax.set(xlabel=f"share of the {K} true nearest neighbours found", xlim=(0, 1.1))
plt.show()
