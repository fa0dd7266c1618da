"""Within-class whitening, then iterative quantisation: labels shape the distance, not the bits.

Directions in which samples of one class vary tell nothing of the class. Whitening by the within-class covariance makes
them short, also for classes that are not in `fit` (Hatch, Stolcke, "Generalized Linear Kernels for One-Versus-All
Classification: Application to Speaker Recognition", ICASSP 2006):

1. S: the covariance of the samples about the means of their classes, shrunk towards a multiple of the identity,
2. z = S^(-1/2) (x - mean), divided by its length,
3. the bits of z are those of `ITQ`.
"""

from dataclasses import dataclass

from proxcode.peers._arrays import Integers, Matrix, Real, Rng, map_rows
from proxcode.peers._base import AxisPeer, SupervisedPeer
from proxcode.peers._class_covariances import class_covariances, inverse_root, shrunk
from proxcode.peers._kernel_features import UnitRows
from proxcode.peers.itq import ITQ
from proxcode.utils.validation import check_number


@dataclass(eq=False, repr=False)
class WCWITQ(AxisPeer, SupervisedPeer):
    """Iterative quantisation of samples whitened by the within-class covariance and scaled to unit length.

    There are at most as many bits as features and samples. Parameters and attributes not listed are those of
    `SupervisedPeer`.

    Parameters
    ----------
    shrinkage : float, default=0.1
        Weight of the multiple of the identity in S, above 0 and below 1. Near 1 the map keeps distances, up to a
        factor.

    Attributes
    ----------
    mean_ : ndarray of shape (d,)
        Mean of the samples of `fit`.
    whitening_ : ndarray of shape (d, d)
        S^(-1/2).
    itq_ : ITQ
        Iterative quantisation of the mapped samples.
    """

    shrinkage: float = 0.1

    def _fit(self, X: Matrix, y: Integers, rng: Rng) -> None:
        shrinkage = check_number("shrinkage", self.shrinkage, above=0, below=1)
        covariances = class_covariances(X, y)
        self.mean_ = covariances.mean
        self.whitening_ = inverse_root(shrunk(covariances.within, shrinkage))
        self.itq_ = ITQ(self.n_bits, random_state=rng).fit(self._map(X))

    def _map(self, X: Matrix) -> Real:
        unit_rows = UnitRows(self.mean_ @ self.whitening_)
        return map_rows(lambda block: unit_rows(block @ self.whitening_), X, len(self.mean_))

    def _margins(self, X: Matrix) -> Matrix:
        return self.itq_.scores(self._map(X))
