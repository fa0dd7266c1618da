"""Random changes of an index, the same for the same seed, on an index or on a dictionary of ids and codes."""

import numpy as np

N_BITS = 24


class Operations:
    """Changes number 0, 1, 2, ...; each depends on the seed, its number and the ids that are stored."""

    def __init__(self, seed, strings):
        self.seed, self.strings = seed, strings

    def ids(self, numbers):
        return [f"bild/{number}.jpg" for number in numbers] if self.strings else [int(number) for number in numbers]

    def change(self, number, stored):
        """Return kind, ids and codes of a change of stored ids."""
        rng = np.random.default_rng([self.seed, number])
        stored, kind = list(stored), rng.choice(["add", "upsert", "remove"], p=[0.4, 0.3, 0.3])
        known = [stored[k] for k in rng.permutation(len(stored))[: rng.integers(1, 6)]]
        new = self.ids(10 * number + np.arange(rng.integers(1, 6)))
        if kind == "add" or not known:
            kind, ids = "add", new
        else:
            ids = known if kind == "remove" else known + new
        codes = rng.integers(0, 256, (0 if kind == "remove" else len(ids), N_BITS // 8), np.uint8)
        return kind, ids, codes

    def states(self, n):
        """Return the dictionaries before change 0, 1, ..., n."""
        states = [{}]
        for number in range(n):
            states.append(changed(states[-1], *self.change(number, states[-1])))
        return states


def changed(state, kind, ids, codes):
    """Return a dictionary of ids and codes after a change."""
    if kind == "remove":
        return {one: code for one, code in state.items() if one not in ids}
    return state | {one: code.tobytes() for one, code in zip(ids, codes, strict=True)}


def change_index(index, kind, ids, codes):
    if kind == "remove":
        index.remove(ids)
    else:
        getattr(index, kind)(codes, ids)


def state_of(index):
    """Return the ids and codes of an index, in its order."""
    return dict(zip(index.ids.tolist(), (code.tobytes() for code in index.codes), strict=True))


def same_state(index, state):
    return list(state_of(index).items()) == list(state.items())
