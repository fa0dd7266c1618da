"""Search engines of other libraries behind the verbs of `HammingIndex`."""
