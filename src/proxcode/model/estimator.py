"""Conventions of scikit-learn that `ProximityPreservingCode` follows beyond those of `BaseEstimator`.

1. Output columns are named bit0, bit1, ...
2. A nested parameter of a component that is None, such as `hash_function__ridge`, is set in the default component,
   which takes the place of None: a grid search needs no component to be named.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from proxcode.bits import Rules
from proxcode.hashing.encoder import BinaryEncoderMixin
from proxcode.proximity import Nearest, Proximity, SameLabel, SharedLabel


class CodeEstimator(BinaryEncoderMixin, BaseEstimator):
    """Base class of an estimator of codes whose components may be None."""

    proximity: Proximity | None

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns of `transform`: bit0, bit1, ...

        Parameters
        ----------
        input_features : array of str or None, default=None
            Names of the features of X; they must be those of `fit`, and do not occur in the names returned.
        """
        n_bits = len(super().get_feature_names_out(input_features))
        return np.array([f"bit{bit}" for bit in range(n_bits)], dtype=object)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also those of components, such as `hash_function__ridge`.

        A component that is None is first replaced by its default. Where the default depends on y, the names of the
        parameters decide:

        - proximity: `SameLabel()` for `balanced`, `new_classes` and `unlabelled`, `Nearest()` for `n_neighbors`; for
          parameters of another proximity, pass the proximity too;
        - hash_function: that of the proximity, if there is one; otherwise `KernelHash()`, the default with labels, or
          `RotationHash()` for parameters that only it has, the default without labels.

        Parameters
        ----------
        **params

        Returns
        -------
        self

        Examples
        --------
        >>> from proxcode import ProximityPreservingCode
        >>> ProximityPreservingCode().set_params(hash_function__ridge=0.1).hash_function
        KernelHash(ridge=0.1)
        """
        super().set_params(**{name: value for name, value in params.items() if "__" not in name})
        nested = {name: value for name, value in params.items() if "__" in name}
        # The proximity first: it names the default hash function.
        for component in ("proximity", "threshold", "weights", "cut", "hash_function"):
            prefix = f"{component}__"
            own = {name.removeprefix(prefix): value for name, value in nested.items() if name.startswith(prefix)}
            if own and getattr(self, component) is None:
                default = self._default_with(component, own)
                _check_path(component, default, own)
                setattr(self, component, default.set_params(**own))
                nested = {name: value for name, value in nested.items() if not name.startswith(prefix)}
        super().set_params(**nested)
        return self

    def _default_with(self, component: str, nested: dict[str, Any]) -> Any:
        """Return the default that has the given parameters, where None stands for different components."""
        defaults = self._defaults(component)
        names = {name.partition("__")[0] for name in nested}
        for default in defaults:
            if names <= set(default.get_params(deep=False)):
                return default
        if len(defaults) == 1:
            return defaults[0]
        unknown = sorted(names - {name for default in defaults for name in default.get_params(deep=False)})
        raise ValueError(
            f"Invalid parameter {(unknown or sorted(names))[0]!r} for {component}=None, which stands for "
            f"{_one_of(defaults)}: set parameters of one of these, or `{component}` itself."
        )

    def _defaults(self, component: str) -> list[Any]:
        """Return what None may stand for, the default with labels first."""
        proximities = [SameLabel(), SharedLabel(), Nearest()] if self.proximity is None else [self.proximity]
        if component == "proximity":
            return proximities
        if component == "hash_function":
            defaults = [proximity.hash_function() for proximity in proximities]
            return list({type(default): default for default in defaults}.values())
        return [getattr(Rules.resolved(None, None, None), component)]


def _one_of(defaults: list[Any]) -> str:
    *first, last = map(repr, defaults)
    return f"{', '.join(first)} or {last}"


def _check_path(component: str, default: Any, nested: dict[str, Any]) -> None:
    """Raise ValueError where a parameter belongs to a component of the default that is None itself."""
    own = default.get_params(deep=False)
    for name in nested:
        inner, _, rest = name.partition("__")
        if rest and inner not in nested and own.get(inner, inner) is None:
            raise ValueError(
                f"{component}__{name}: `{inner}` of {default!r} is None and has no parameters; set "
                f"`{component}__{inner}` too."
            )
