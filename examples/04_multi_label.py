"""
Several labels per sample
=========================

Near means at least one label in common.

Each image of a digit gets the tags that its digit has, such as "even" or "prime". Images of 2 and 7 look different but
share the tag "prime": they are a near pair. 2 and 9 share no tag and are a far pair. The labels are a 0/1 indicator
matrix, as ``MultiLabelBinarizer`` makes it.

The average precision over all pairs of new images is the share of near pairs among the closest ones, averaged over
recall. Distances in the original space, which know nothing of the tags, are the baseline.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import average_precision_score
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MultiLabelBinarizer

from proxcode import ProximityPreservingCode
from proxcode.hamming import distances

TAGS = {"even": {0, 2, 4, 6, 8}, "prime": {2, 3, 5, 7}, "loop": {0, 6, 8, 9}, "straight": {1, 4, 7}}

X, digit = load_digits(return_X_y=True)
tags = [{tag for tag, digits in TAGS.items() if d in digits} for d in digit]
y = MultiLabelBinarizer().fit_transform(tags)
X_train, X_new, y_train, y_new = train_test_split(X, y, test_size=500, random_state=0, stratify=digit)

# %%
# Near means "at least one label in common" because y is a matrix.
model = ProximityPreservingCode(n_bits=32, random_state=0).fit(X_train, y_train)
print(f"near means: {model.proximity_.describe()}")

first, second = np.triu_indices(len(X_new), k=1)
is_near = (y_new[first] & y_new[second]).any(axis=1)
by_code = -distances(model.encode(X_new), model.encode(X_new))[first, second]
by_distance = -euclidean_distances(X_new)[first, second]
print(f"average precision over {len(is_near):,} pairs, {is_near.mean():.0%} of them near:")
print(f"  codes of 32 bits      {average_precision_score(is_near, by_code):.2f}")
print(f"  distance              {average_precision_score(is_near, by_distance):.2f}")

# %%
# Images with exactly the same tags are nearest of all, although near and far make no such difference.
same_tags = (y_new[first] == y_new[second]).all(axis=1)
kinds = {"the same tags": same_tags, "a tag in common": is_near & ~same_tags, "no common tag": ~is_near}
_, ax = plt.subplots(layout="constrained")
print("mean Hamming distance of pairs")
for name, chosen in kinds.items():
    distance = -by_code[chosen]
    print(f"  with {name:<16} {distance.mean():.0f}")
    share = np.full(len(distance), 1 / len(distance))
    ax.hist(distance, np.arange(model.n_bits_ + 2) - 0.5, weights=share, alpha=0.6, label=f"pairs with {name}")
ax.axvline(model.radius_ + 0.5, color="black", linestyle="--", label=f"near up to distance {model.radius_}")
ax.set(xlabel="Hamming distance", ylabel="share of pairs")
ax.legend()
plt.show()
