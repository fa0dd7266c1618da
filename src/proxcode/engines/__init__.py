"""Engines: where blocks of samples in files are computed.

A fit and the encoding of files run in this process by default. `DaskEngine`, `RayEngine` and `SparkEngine` run them on
the workers of a cluster. Samples are not sent: a worker reads its own part of the files, which must have the same names
there. Codes and models have the same bits as those of this process.

Each engine needs its library, which is imported when an engine is made: `pip install 'proxcode[dask]'`,
`'proxcode[ray]'` or `'proxcode[spark]'`.
"""

from collections.abc import Callable

from proxcode.engines.dask import DaskEngine
from proxcode.engines.ray import RayEngine
from proxcode.engines.spark import SparkEngine
from proxcode.utils.engine import Engine, LocalEngine

__all__ = ["DaskEngine", "Engine", "LocalEngine", "RayEngine", "SparkEngine", "make_engine"]

ENGINES: dict[str, Callable[[str | None], Engine]] = {
    "local": lambda address: LocalEngine(),
    "dask": DaskEngine,
    "ray": RayEngine,
    "spark": SparkEngine,
}


def make_engine(name: str, address: str | None = None) -> Engine:
    """Return an engine by its name: "local", "dask", "ray" or "spark".

    Parameters
    ----------
    name : str
    address : str, default=None
        Address of the scheduler of a cluster. None starts workers on this machine.
    """
    if name not in ENGINES:
        raise ValueError(f"name={name!r}: expected one of {', '.join(ENGINES)}.")
    if name == "local" and address is not None:
        raise ValueError(f"engine 'local' takes no address, but {address!r} is given: choose 'dask', 'ray' or 'spark'.")
    return ENGINES[name](address)
