"""All methods of the experiments by name."""

from proxcode.experiments.methods import FAIR, JOBS, METHODS, Method
from proxcode.experiments.variants import VARIANTS


def method_named(name: str) -> Method:
    """Return a method of the paper's experiments, a peer with what PPC has, or one of another job or an ablation."""
    return {**METHODS, **FAIR, **JOBS, **VARIANTS}[name]
