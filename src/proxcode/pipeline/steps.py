"""The steps of a pipeline before the last, as JSON and arrays, and back."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from proxcode.pipeline.transformers import restore, store
from proxcode.storage.components import ComponentReader, ComponentWriter
from proxcode.utils.validation import check_integer

PASSTHROUGH = "passthrough"
OUTPUTS = ("default", "pandas", "polars")


def is_passed_through(step: Any) -> bool:
    """Return whether a step leaves samples as they are."""
    return step is None or (isinstance(step, str) and step == PASSTHROUGH)


def stored_step(name: str, step: Any, writer: ComponentWriter) -> dict[str, Any]:
    """Return a step as JSON, its name alone where it leaves samples as they are."""
    if is_passed_through(step):
        return {"name": name}
    check_is_fitted(step)
    return {"name": name, "output": output_of(step), **store(step, writer, f"steps.{name}")}


def restored_steps(
    stored: list[dict[str, Any]], reader: ComponentReader, n_features: int | None
) -> tuple[list[tuple[str, Any]], int | None]:
    """Return the steps, and the number of features of their output, None where that is not known.

    Raises ValueError or TypeError for steps that do not fit together, and for content that no step has.
    """
    if n_features is not None:
        check_integer("its n_features", n_features, 1)
    steps: list[tuple[str, Any]] = []
    for step in stored:
        if set(step) == {"name"}:
            steps.append((step["name"], PASSTHROUGH))
            continue
        reader.sizes = {} if n_features is None else {"n_features": n_features}
        transformer, n_features = restore(step, reader)
        steps.append((step["name"], with_output(transformer, step["output"])))
    return steps, n_features


def check_step_names(steps: list[tuple[str, Any]]) -> None:
    """Raise ValueError unless all steps have names, which differ."""
    names = [name for name, _ in steps]
    if not all(isinstance(name, str) and "__" not in name for name in names) or len(set(names)) < len(names):
        raise ValueError(f"the names of its steps are {names!r}: expected different texts; save the pipeline again")


def skops_types(stored: list[dict[str, Any]]) -> list[str]:
    """Return the types of the transformers that skops has to load."""
    return sorted({str(step["type"]) for step in stored if "type" in step})


def output_of(step: Any) -> str | None:
    """Return what `set_output` of a step was given, None if it was not called."""
    output: str | None = getattr(step, "_sklearn_output_config", {}).get("transform")
    return output


def with_output(step: Any, output: Any) -> Any:
    """Return a step after a call of `set_output`."""
    if output is None:
        return step
    if output not in OUTPUTS:
        raise ValueError(f"the output of a step is {output!r}: save the pipeline again")
    return step.set_output(transform=output)
