"""Short binary codes that preserve your notion of near and far.

>>> from sklearn.datasets import load_digits
>>> from proxcode import ProximityPreservingCode
>>> X, y = load_digits(return_X_y=True)
>>> model = ProximityPreservingCode(n_bits=32, random_state=0).fit(X, y)
>>> codes = model.encode(X)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from proxcode.bits import in_sample_code as in_sample_code
    from proxcode.code import ProximityPreservingCode as ProximityPreservingCode
    from proxcode.cut import frustration as frustration
    from proxcode.cut import max_cut as max_cut
    from proxcode.cut import signed_cut as signed_cut
    from proxcode.encoding import encode_files as encode_files
    from proxcode.export import export_onnx as export_onnx
    from proxcode.files import open_samples as open_samples
    from proxcode.hamming import pack as pack
    from proxcode.hamming import unpack as unpack
    from proxcode.hashing import ClassifierHash as ClassifierHash
    from proxcode.hashing import KernelHash as KernelHash
    from proxcode.hashing import LinearHash as LinearHash
    from proxcode.hashing import NewClassHash as NewClassHash
    from proxcode.hashing import ReconstructionHash as ReconstructionHash
    from proxcode.hashing import RotationHash as RotationHash
    from proxcode.hashing import SVMHash as SVMHash
    from proxcode.pipeline import CodePipeline as CodePipeline
    from proxcode.pipeline import load as load
    from proxcode.proximity import GivenPairs as GivenPairs
    from proxcode.proximity import Nearest as Nearest
    from proxcode.proximity import SameLabel as SameLabel
    from proxcode.proximity import SharedLabel as SharedLabel
    from proxcode.proximity import WithinRadius as WithinRadius
    from proxcode.search import FloatQueries as FloatQueries
    from proxcode.search import HammingIndex as HammingIndex
    from proxcode.search import ShardedIndex as ShardedIndex
    from proxcode.search import find_duplicates as find_duplicates

__version__ = "0.1.0"
_NAMES = {
    "bits": ("in_sample_code",),
    "code": ("ProximityPreservingCode",),
    "cut": ("frustration", "max_cut", "signed_cut"),
    "encoding": ("encode_files",),
    "export": ("export_onnx",),
    "files": ("open_samples",),
    "hamming": ("pack", "unpack"),
    "hashing": (
        "ClassifierHash",
        "KernelHash",
        "LinearHash",
        "NewClassHash",
        "ReconstructionHash",
        "RotationHash",
        "SVMHash",
    ),
    "pipeline": ("CodePipeline", "load"),
    "proximity": ("GivenPairs", "Nearest", "SameLabel", "SharedLabel", "WithinRadius"),
    "search": ("FloatQueries", "HammingIndex", "ShardedIndex", "find_duplicates"),
}
_MODULE_OF = {name: f"proxcode.{module}" for module, names in _NAMES.items() for name in names}
__all__ = sorted(_MODULE_OF)  # noqa: PLE0605


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first used: `import proxcode` alone costs next to nothing."""
        if name not in _MODULE_OF:
            raise AttributeError(f"module 'proxcode' has no attribute {name!r}")
        return getattr(import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
