"""FastHash: two-step hashing whose hash functions are boosted decision trees.

Lin, Shen, Shi, van den Hengel, Suter, "Fast Supervised Hashing with Decision Trees for High-Dimensional Data" (CVPR
2014):

1. the bits of the samples are inferred as in `TSH`: the hinge loss of pairs, block by block given all other blocks,
2. boosted trees of depth 4 learn each bit; their own bits enter the code before the next bit is inferred.

Trees are those of scikit-learn's `HistGradientBoostingClassifier`, which grows them from histograms of features. The
paper boosts with the exponential loss and skips features and samples of small weight; here the loss is logistic.
"""

from dataclasses import dataclass
from typing import Any

from proxcode.peers.tsh import TSH

N_TREES = 200
DEPTH = 4


@dataclass(eq=False, repr=False)
class FastHash(TSH):
    """Two-step hashing with boosted decision trees.

    Parameters and attributes are those of `TSH`; `hash_function=None` is a `HistGradientBoostingClassifier` of 200
    trees of depth 4.
    """

    def _default_hash_function(self) -> Any:
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(max_iter=N_TREES, max_depth=DEPTH, early_stopping=False)
