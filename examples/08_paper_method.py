"""
The method of the paper
=======================

The paper beside the defaults, which go beyond it. :meth:`~proxcode.ProximityPreservingCode.paper` is the method of the
paper (Lavi, Avidan, Singer, Hel-Or, AAAI 2020): the components ``EqualErrorThreshold``, ``GradientWeights``, bit update
from a random guess and ``SVMHash``. The defaults are

- ``CalibratedThreshold``, which also fits the scale of the loss to the code so far,
- ``DifferenceWeights``, by which b'Wb is the exact change of the loss,
- ``KernelHash``, whose bits are refined after the cut: their own b'Wb is raised, not that of the cut.

Each change of the paper's method is tried on its own. Near means the same label, then within a radius. Without labels
``KernelHash`` does not choose its penalty by itself: the last line shows a stronger one than its default.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from proxcode import KernelHash, ProximityPreservingCode, SameLabel, WithinRadius
from proxcode.threshold import CalibratedThreshold
from proxcode.weights import DifferenceWeights

X, y = load_digits(return_X_y=True)
X_train, X_new, y_train, y_new = train_test_split(X, y, train_size=800, random_state=0, stratify=y)

PAPER, DEFAULTS = ProximityPreservingCode.paper, ProximityPreservingCode
METHODS = {
    "paper": (PAPER, {}),
    "paper, calibrated threshold": (PAPER, {"threshold": CalibratedThreshold()}),
    "paper, difference weights": (PAPER, {"weights": DifferenceWeights()}),
    "paper, kernel, not refined": (PAPER, {"hash_function": KernelHash(refine_steps=0)}),
    "paper, kernel, refined": (PAPER, {"hash_function": KernelHash()}),
    "defaults": (DEFAULTS, {}),
    "defaults, ridge=0.01": (DEFAULTS, {"hash_function": KernelHash(ridge=0.01)}),
}

# %%
# Codes of 8 bits are extended to 16 and 32 bits.
_, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
print("area under the precision-recall curve of new images")
for ax, near, proximity, labels, new_labels in (
    (axes[0], "same label", SameLabel(), y_train, y_new),
    (axes[1], "within a radius", WithinRadius(), None, None),
):
    print(f"{near:<30}8 bits   16 bits   32 bits")
    for name, (method, changes) in METHODS.items():
        model = method(8, proximity=proximity, random_state=0, **changes).fit(X_train, labels)
        areas = [model.score(X_new, new_labels)]
        for n_bits in (16, 32):
            model.extend(n_bits, X_train, labels)
            areas.append(model.score(X_new, new_labels))
        print(f"  {name:<29}" + "     ".join(f"{area:.3f}" for area in areas))
        ax.plot((8, 16, 32), areas, "-o" if method is PAPER else "--s", label=name)
    ax.set(title=f"near: {near}", xlabel="bits", xticks=(8, 16, 32))
axes[0].set_ylabel("area under the precision-recall curve")
axes[1].legend()
plt.show()
