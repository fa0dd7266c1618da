"""Linear discriminant analysis, then the rotation of iterative quantisation.

Fisher's discriminant axes as the embedding that ITQ rotates (Gong, Lazebnik, CVPR 2011, with another embedding):

1. S: the covariance of the samples about the means of their classes, shrunk towards a multiple of the identity,
2. z = S^(-1/2) (x - mean): the within-class covariance is nearly the identity,
3. the discriminant axes of z: those of largest variance of the class means, at most n_classes - 1,
4. for more bits than that, the axes of largest variance of z among those orthogonal to the discriminant axes,
5. V: z on the first `n_bits` of these axes; bits are the signs of VR, R the rotation of `ITQ`.
"""

from dataclasses import dataclass

import numpy as np

from proxcode.hashing.rotation import rotate
from proxcode.peers._arrays import Integers, Matrix, Rng, project
from proxcode.peers._base import AxisPeer, LinearPeer, SupervisedPeer
from proxcode.peers._class_covariances import axes_of, class_covariances, inverse_root, remaining_axes, shrunk
from proxcode.utils.validation import check_integer, check_number


@dataclass(eq=False, repr=False)
class LDAITQ(AxisPeer, LinearPeer, SupervisedPeer):
    """Iterative quantisation of linear discriminants.

    There are at most as many bits as features and samples. Parameters and attributes not listed are those of
    `SupervisedPeer` and `LinearPeer`.

    Parameters
    ----------
    shrinkage : float, default=0.1
        Weight of the multiple of the identity in S.
    n_rotations : int, default=50
        Number of times that corners and rotation are updated.
    """

    shrinkage: float = 0.1
    n_rotations: int = 50

    def _fit(self, X: Matrix, y: Integers, rng: Rng) -> None:
        shrinkage = check_number("shrinkage", self.shrinkage, above=0, below=1)
        n_rotations = check_integer("n_rotations", self.n_rotations, 0)
        self.mean_, within, between = class_covariances(X, y)
        whitening = inverse_root(shrunk(within, shrinkage))
        n_discriminants = min(self.n_bits, len(self.classes_) - 1)
        _, discriminants = axes_of(whitening @ between @ whitening, n_discriminants)
        total = whitening @ (within + between) @ whitening
        _, others = remaining_axes(total, discriminants, self.n_bits - n_discriminants)
        directions = whitening @ np.column_stack([discriminants, others])
        V = project(X, self.mean_, directions)
        self.directions_ = directions @ rotate(V, self.n_bits, n_rotations, rng)
