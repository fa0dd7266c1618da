"""What the last digits of results depend on: the kind of processor and the versions of libraries."""

from importlib.metadata import version

import llvmlite.binding
import scipy.linalg  # noqa: F401  loads the BLAS of scipy
from threadpoolctl import threadpool_info


def blas_architecture():
    """Return the architectures that the BLAS of numpy and that of scipy have chosen their kernels for."""
    blas = {
        info["filepath"]: info.get("architecture", "unknown")
        for info in threadpool_info()
        if info["user_api"] == "blas"
    }
    # Other libraries, such as FAISS, may have loaded a BLAS of their own.
    ours = sorted(file for file in blas if "numpy.libs" in file or "scipy.libs" in file) or sorted(blas)
    return ", ".join(blas[file] for file in ours)


def environment():
    """Return the architecture of BLAS, the processor as numba sees it, and the versions of libraries."""
    versions = {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")}
    return {"architecture": blas_architecture(), "processor": llvmlite.binding.get_host_cpu_name(), **versions}
