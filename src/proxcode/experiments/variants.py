"""Variants of the method for ablations: each changes one component of the default, or of the paper's method.

Without refinement the code is the cut as the hash function predicts it, so that cuts are compared as such; these
variants share the hash function `KernelHash(refine_steps=0)`.
"""

from typing import Any

import numpy as np

from proxcode.code import ProximityPreservingCode
from proxcode.cut import (
    Annealing,
    LaplacianGuess,
    NoUpdate,
    ProjectionGuess,
    RandomGuess,
    Restarts,
    SignedLaplacianGuess,
)
from proxcode.experiments.methods import Method, one_fit
from proxcode.hashing import KernelHash, SVMHash
from proxcode.proximity import Proximity
from proxcode.threshold import EqualErrorThreshold
from proxcode.weights import DifferenceWeights, GradientWeights, Table


class UnsignedWeights(DifferenceWeights):
    """Weights of an unsigned graph (Fig. 1b of the paper, left): near pairs attract as by default, far pairs weigh 0.

    No weight is negative, so that a constant bit maximises b'Wb: a cut needs a constraint, such as that of the
    Laplacian's eigenvectors, which are orthogonal to the constant one.
    """

    def tables(self, beta: float, n_bits: int, scale: float = 1.0) -> tuple[Table, Table]:
        """Return the weights of near pairs, and 0 for far ones."""
        near, far = super().tables(beta, n_bits, scale)
        return near, np.zeros_like(far)


class Variant:
    """The default with some components replaced; made from code length, seed and proximity.

    Parameters
    ----------
    about : str
        What is changed, as shown in the table.
    **parameters
        Parameters of `ProximityPreservingCode`.
    """

    def __init__(self, about: str, **parameters: Any) -> None:
        self.about, self.parameters = about, parameters

    def __call__(self, n_bits: int, seed: int, proximity: Proximity | None) -> ProximityPreservingCode:
        """Return the estimator."""
        return ProximityPreservingCode(n_bits, proximity=proximity, random_state=seed, **self.parameters)


_SVM = SVMHash()
_UNREFINED = KernelHash(refine_steps=0)
_RANDOM = Restarts(RandomGuess(), NoUpdate())
_SPECTRAL = Restarts(LaplacianGuess(), NoUpdate())
_PAPER_RULES = {"threshold": EqualErrorThreshold(), "weights": GradientWeights()}
_VARIANTS = {
    "default": Variant("default"),
    "random-start": Variant("random partition instead of the cut", cut=_RANDOM),
    "annealing": Variant("cut by `Annealing`", cut=Annealing()),
    "laplacian": Variant("initial guess: Laplacian", cut=Restarts(LaplacianGuess())),
    "signed-laplacian": Variant("initial guess: signed Laplacian", cut=Restarts(SignedLaplacianGuess())),
    "projection": Variant("initial guess: projection (AN)", cut=Restarts(ProjectionGuess())),
    "paper-rules": Variant("the paper's threshold and weights", **_PAPER_RULES),
    "svm": Variant("the paper's hash function", hash_function=_SVM),
    "paper": Variant("the paper's method", hash_function=_SVM, **_PAPER_RULES),
    "paper-uncorrected": Variant(
        "the paper's method, no error correction", hash_function=_SVM, error_correction=False, **_PAPER_RULES
    ),
    "unrefined": Variant("no refinement: signed graph, bit update", hash_function=_UNREFINED),
    "uncorrected": Variant("no refinement, no error correction", hash_function=_UNREFINED, error_correction=False),
    "unrefined-spectral": Variant(
        "no refinement: signed graph, Laplacian eigenvector", hash_function=_UNREFINED, cut=_SPECTRAL
    ),
    "unsigned-spectral": Variant(
        "no refinement: unsigned graph, Laplacian eigenvector",
        hash_function=_UNREFINED,
        cut=_SPECTRAL,
        weights=UnsignedWeights(),
    ),
    "unsigned": Variant(
        "no refinement: unsigned graph, bit update", hash_function=_UNREFINED, weights=UnsignedWeights()
    ),
}
ABOUT = {name: variant.about for name, variant in _VARIANTS.items()}
VARIANTS = {name: Method(variant, one_fit) for name, variant in _VARIANTS.items()}
