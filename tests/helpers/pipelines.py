"""Small pipelines whose last step is a code."""

from proxcode import CodePipeline, LinearHash, ProximityPreservingCode


def small_code(**parameters):
    """Return a code that is fitted in a moment."""
    return ProximityPreservingCode(
        **{"n_bits": 10, "hash_function": LinearHash(refine_steps=0), "random_state": 0, **parameters}
    )


def pipeline_of(*transformers, **parameters):
    """Return a pipeline of transformers, named by letters, and a code."""
    steps = [("abcdefgh"[number], transformer) for number, transformer in enumerate(transformers)]
    return CodePipeline([*steps, ("code", small_code(**parameters))])
