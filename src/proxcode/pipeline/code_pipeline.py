"""CodePipeline: a pipeline of scikit-learn whose last step is a code.

1. Samples pass the transformers, then the code: `encode`, `scores`, `query`, `search` and `extend` are those of the
   code, for samples as the pipeline takes them.
2. The fingerprint is that of the code and of the transformers, so that codes of different preprocessing are told apart.
3. `save` writes all steps into one file of kind "pipeline", see `storage/model_file.py` and `transformers.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from proxcode.code import ProximityPreservingCode
from proxcode.hamming import Codes, pack
from proxcode.hashing.encoder import codes_of, without_codes
from proxcode.model.saving import FilePath, component_classes, read
from proxcode.pipeline.forms import traits
from proxcode.pipeline.steps import (
    check_step_names,
    is_passed_through,
    output_of,
    restored_steps,
    skops_types,
    stored_step,
    with_output,
)
from proxcode.storage.components import ComponentReader, ComponentWriter
from proxcode.storage.container import content_digest, read_file, reading
from proxcode.storage.model_file import PIPELINE, load_objects, model_content, restored_model, write_content
from proxcode.utils.samples import Samples
from proxcode.utils.validation import check_integer, check_samples

if TYPE_CHECKING:
    from proxcode.model.drift import Drift
    from proxcode.search import FloatQueries, HammingIndex, Neighbors, ShardedIndex
    from proxcode.stores import CodeStore


def _of_code(name: str) -> Any:
    """Return a property that is an attribute of the last step."""
    return property(lambda self: getattr(self._code, name), doc=f"`{name}` of the last step.")


class CodePipeline(Pipeline):
    """Pipeline of transformers and a `ProximityPreservingCode` as its last step, used and saved as one model.

    It is a `sklearn.pipeline.Pipeline` in all respects, with the methods of a fitted code for samples before
    preprocessing, and with `save` and `load`.

    Parameters
    ----------
    steps : list of (str, transformer)
        Names and steps; the last one is a `ProximityPreservingCode`, others may be "passthrough".
    **parameters
        Other parameters of `sklearn.pipeline.Pipeline`.

    Attributes
    ----------
    n_bits_, radius_, alpha_, history_, codes_, training_loss_, updates_, hash_function_, proximity_, ...
        Those of the last step.
    n_features_in_ : int
        Number of features of the samples before preprocessing.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.preprocessing import StandardScaler
    >>> from proxcode import CodePipeline, ProximityPreservingCode
    >>> X, y = load_digits(return_X_y=True)
    >>> code = ProximityPreservingCode(n_bits=16, random_state=0)
    >>> model = CodePipeline([("scale", StandardScaler()), ("reduce", PCA(20)), ("code", code)]).fit(X[:1000], y[:1000])
    >>> model.n_features_in_, model.encode(X[1000:]).shape
    (64, (797, 2))
    """

    steps: list[tuple[str, Any]]
    n_bits_ = _of_code("n_bits_")
    radius_ = _of_code("radius_")
    alpha_ = _of_code("alpha_")
    history_ = _of_code("history_")
    training_loss_ = _of_code("training_loss_")
    n_paired_samples_ = _of_code("n_paired_samples_")
    updates_ = _of_code("updates_")
    hash_function_ = _of_code("hash_function_")
    proximity_ = _of_code("proximity_")

    @classmethod
    def from_pipeline(cls, pipeline: Pipeline) -> Self:
        """Return a pipeline of scikit-learn, fitted or not, as a `CodePipeline`; the steps are shared.

        Parameters
        ----------
        pipeline : sklearn.pipeline.Pipeline
            Its last step is a `ProximityPreservingCode`.
        """
        if not isinstance(pipeline, Pipeline):
            raise TypeError(f"pipeline={pipeline!r}: expected a sklearn.pipeline.Pipeline.")
        known = cls._get_param_names()
        parameters = {name: value for name, value in pipeline.get_params(deep=False).items() if name in known}
        taken = cls(**{**parameters, "steps": list(pipeline.steps)})
        taken._check_steps()
        return taken

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Fit all transformers, one after another, then the code.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            What the first step takes. Samples in files can be encoded, but not fitted to.
        y : labels (n_samples,), indicator matrix (n_samples, n_labels) or None
        **params
            Parameters of the method `fit` of a step, as in scikit-learn: NAME__checkpoint=path with the name of the
            last step saves the bits learned so far.
        """
        self._check_steps()
        if isinstance(X, Samples) and any(True for _ in self._transformers()):
            raise TypeError(
                f"X={X!r} is in files, but transformers are fitted to an array: pass X[:], or a part of it."
            )
        super().fit(X, y, **params)
        return self

    def extend(self, n_bits: int, X: Any, y: Any = None) -> Self:
        """Learn further bits, as `ProximityPreservingCode.extend` does; X are samples before preprocessing."""
        self._code.extend(n_bits, self.preprocess(X), y)
        return self

    def update(self, X: Any, y: Any) -> Self:
        """Learn from further samples, as `ProximityPreservingCode.update` does; the transformers stay as they are."""
        self._code.update(self.preprocess(X), y)
        return self

    def drift(self, X: Any, y: Any = None) -> Drift:
        """Compare a batch of samples with those of the fit; see `ProximityPreservingCode.drift`."""
        return self._code.drift(self.preprocess(X), y)

    def preprocess(self, X: Any) -> Any:
        """Return samples as the last step takes them: transformed by all steps before it."""
        if isinstance(X, Samples):
            raise TypeError(f"X={X!r} is in files: pass it to `encode`, or rows of it, such as X[:1000].")
        check_is_fitted(self._code, "n_bits_")
        for _, transformer in self._transformers():
            X = transformer.transform(X)
        return X

    def scores(self, X: Any, n_bits: int | None = None) -> NDArray[np.float64]:
        """Return the margins of each bit, shape (n_samples, n_bits): a bit is 1 where its margin is at least 0."""
        return self._code.scores(self.preprocess(X), n_bits)

    def encode(self, X: Any, n_bits: int | None = None) -> Codes:
        """Return the packed codes, shape (n_samples, ceil(n_bits / 8)), in the bit order of `numpy.packbits`.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Samples of shape (n_samples, n_features)
            What the first step takes. Samples in files are read and transformed in blocks.
        n_bits : int, default=None
            Length of the prefix of the code to return. None is all bits.
        """
        if isinstance(X, Samples):
            n_bits = self.n_bits_ if n_bits is None else check_integer("n_bits", n_bits, 1, self.n_bits_)
            return codes_of(without_codes(self), check_samples(self, X, reset=False), n_bits)
        return pack(self.scores(X, n_bits) >= 0)

    def query(self, X: Any) -> FloatQueries:
        """Return samples as float queries; see `ProximityPreservingCode.query`."""
        return self._fingerprinted.query(self.preprocess(X))

    def index(self, codes: ArrayLike, ids: ArrayLike | None = None, *, n_bits: int | None = None) -> HammingIndex:
        """Return an index of codes, to search among them; see `ProximityPreservingCode.index`."""
        return self._fingerprinted.index(codes, ids, n_bits=n_bits)

    def search(self, store: CodeStore | ShardedIndex, X: Any, k: int = 10, *, oversample: float = 4.0) -> Neighbors:
        """Find the neighbours of samples in any store, in two stages; see `ProximityPreservingCode.search`."""
        return self._fingerprinted.search(store, self.preprocess(X), k, oversample=oversample)

    def fingerprint(self, n_bits: int | None = None) -> str:
        """Return a SHA-256 digest that tells codes of `n_bits` bits of this pipeline from those of others.

        It differs from that of a pipeline with other transformers, and is that of the code where there are none. None
        is all bits.
        """
        return self._fingerprinted.fingerprint(n_bits)

    def save(self, path: FilePath, *, overwrite: bool = True) -> None:
        """Save the fitted pipeline in one file, atomically and without pickle.

        Transformers of the classes StandardScaler, MinMaxScaler, Normalizer, PCA and TruncatedSVD are stored by their
        parameters and learned arrays, and transform alike after loading, to the last digit. Others are written by
        skops, and loaded only with `trusted`.

        Parameters
        ----------
        path : path
        overwrite : bool, default=True
            Whether an existing file is replaced; if not, a FileExistsError is raised.

        Notes
        -----
        The file holds the setting of `set_output`, but no parameters of the pipeline other than `steps`, and nothing
        that `ProximityPreservingCode.save` leaves out.
        """
        if type(self) is not CodePipeline:
            raise TypeError(f"{type(self).__name__} cannot be saved: a file of kind pipeline holds a CodePipeline.")
        code = self._code
        check_is_fitted(code, "n_bits_")
        writer = ComponentWriter(component_classes())
        content = {
            "steps": [stored_step(name, step, writer) for name, step in self.steps[:-1]],
            "name": self.steps[-1][0],
            "output": output_of(code),
            "n_features": getattr(self, "n_features_in_", None),
            "model": model_content(code._stored(), writer),
        }
        write_content(path, PIPELINE, content, writer, overwrite=overwrite)

    @classmethod
    def load(cls, path: FilePath, *, trusted: Sequence[str] | None = None) -> Self:
        """Load a pipeline that `save` saved.

        Parameters
        ----------
        path : path
        trusted : list of str, default=None
            For pipelines with other transformers than those named in `save`, or with classifiers as hash functions:
            names of types, as skops gives them, that may be built beside those that skops trusts. None refuses such a
            file; an empty list accepts what skops trusts.
        """
        content, tensors = read_file(path, PIPELINE)
        with reading(path, PIPELINE):
            others = skops_types(content["steps"])
        if others and trusted is None:
            raise ValueError(
                f"{path} holds transformers that skops has to load, {', '.join(others)}: if you trust them, pass "
                f"trusted={others}, on the command line {' '.join(f'--trust {name}' for name in others)}."
            )
        objects = load_objects(path, tensors, trusted, PIPELINE)
        classes = component_classes()
        with reading(path, PIPELINE):
            reader = ComponentReader(classes, tensors, objects)
            steps, n_features = restored_steps(content["steps"], reader, content["n_features"])
            file = restored_model(content["model"], tensors, objects, classes)
        code = ProximityPreservingCode._restored(path, read(path, file=file))
        with reading(path, PIPELINE):
            if n_features not in (None, code.n_features_in_):
                raise ValueError(
                    f"its code takes {code.n_features_in_} features, but gets {n_features}: save the pipeline again"
                )
            steps.append((content["name"], with_output(code, content["output"])))
            check_step_names(steps)
            return cls(steps)

    @property
    def codes_(self) -> Codes:
        """`codes_` of the last step; setting it replaces the last step by a copy with these codes."""
        return self._code.codes_

    @codes_.setter
    def codes_(self, codes: Codes) -> None:
        name, code = self.steps[-1][0], copy(self._code)
        code.codes_ = codes
        self.steps = [*self.steps[:-1], (name, code)]

    @property
    def n_features_in_(self) -> int:
        """Number of features of the samples before preprocessing."""
        return int(self._first.n_features_in_)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the features of the samples before preprocessing, where `fit` was given names."""
        names: NDArray[Any] = self._first.feature_names_in_
        return names

    def __getitem__(self, ind: Any) -> Any:
        """Return a step, or a slice of the steps as a pipeline of scikit-learn."""
        return Pipeline(**self.get_params(deep=False))[ind]

    @property
    def _code(self) -> ProximityPreservingCode:
        self._check_steps()
        code: ProximityPreservingCode = self.steps[-1][1]
        return code

    @property
    def _first(self) -> Any:
        """The first step that is not passed through."""
        return next(self._transformers(), (None, self.steps[-1][1]))[1]

    @property
    def _fingerprinted(self) -> ProximityPreservingCode:
        """A copy of the last step whose fingerprint depends on the transformers too."""
        code = self._code
        check_is_fitted(code, "n_bits_")
        described = [traits(transformer) for _, transformer in self._transformers()]
        if described:
            code = copy(code)
            code._data = {**code._data, "steps": content_digest({"steps": described}, {})}
        return code

    def _transformers(self) -> Iterator[tuple[str, Any]]:
        """Yield the names and transformers of all steps before the last that change samples."""
        for name, step in self.steps[:-1]:
            if not is_passed_through(step):
                yield name, step

    def _check_steps(self) -> None:
        """Raise TypeError unless the last step is a code."""
        if not self.steps or not isinstance(self.steps[-1][1], ProximityPreservingCode):
            last = self.steps[-1][1] if self.steps else None
            raise TypeError(f"the last step is {last!r}: expected a ProximityPreservingCode.")
